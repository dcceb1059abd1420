#include <rubato/learned/residual_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/learned/loader.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/add_tensors.hpp"
#include "../support/folder_test.hpp"

namespace rubato {
namespace {

using correction_of_knee = residual_policy<progress_state, nn::dynamic_mlp>;
using range_of_inputs = trained_range<progress_state::dim>;

nn::dynamic_mlp some_correction(std::vector<std::size_t> widths = {progress_state::dim, 5, corrections}) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make(widths, {.hidden = {.kind = nn::activation_kind::tanh}});
  random_sequence random{3};
  for (float& w : network.parameters()) w = static_cast<float>(random.normal());
  return network;
}

range_of_inputs some_range() {
  range_of_inputs range;
  for (std::size_t i = 0; i < progress_state::dim; ++i) {
    range.least[i] = -1.0F - static_cast<float>(i);
    range.most[i] = 2.0F * static_cast<float>(i);
  }
  return range;
}

class ResidualFile : public test::folder_test {
 protected:
  void SetUp() override {
    folder_test::SetUp();
    file = at("policy.safetensors");
  }
  [[nodiscard]] std::string error_of_loading() const {
    const auto back = load_residual_policy(file);
    return back ? "" : back.error().message;
  }
  [[nodiscard]] static std::string content_of(const std::string& name) {
    std::ifstream in{name, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::string file;
};

TEST_F(ResidualFile, RoundTripIsBitExact) {
  const nn::dynamic_mlp network = some_correction();
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{network, some_range()}));
  const auto back = load_residual_policy(file);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(std::ranges::equal(back->network().parameters(), network.parameters()));
  EXPECT_EQ(back->network().options(), network.options());
  EXPECT_EQ(back->range().least, some_range().least);
  EXPECT_EQ(back->range().most, some_range().most);
  const auto any = load_policy(file);
  ASSERT_TRUE(any) << any.error().message;
  EXPECT_EQ(any->describe().json, (correction_of_knee{network, some_range()}.describe().json));
}

TEST_F(ResidualFile, SameBytesTwice) {
  const correction_of_knee policy{some_correction(), some_range()};
  ASSERT_TRUE(save_residual_policy(file, policy));
  ASSERT_TRUE(save_residual_policy(at("other"), policy));
  EXPECT_EQ(content_of(file), content_of(at("other")));
}

TEST_F(ResidualFile, WithoutARangeItAlwaysCorrects) {
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{some_correction()}));
  const auto back = load_residual_policy(file);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->range().most, range_of_inputs{}.most);
}

TEST_F(ResidualFile, SaysWhatDisagrees) {
  nn::dynamic_mlp q = *nn::dynamic_mlp::make({cluster_state::dim, group_actions});
  ASSERT_TRUE(save_q_policy(file, q_policy<cluster_state, nn::dynamic_mlp>{q}));
  EXPECT_NE(error_of_loading().find(R"(found kind "cluster", expected "progress")"), std::string::npos)
      << error_of_loading();

  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{some_correction()}));
  const auto wrong = load_q_policy<cluster_state>(file);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find(R"(found kind "progress", expected "cluster")"), std::string::npos)
      << wrong.error().message;
}

// The network was trained on other inputs than a correction gives it.
TEST_F(ResidualFile, StatisticsAreRefused) {
  ASSERT_TRUE(save_residual_policy(file, correction_of_knee{some_correction()}));
  test::add_tensors(file, {"obs_norm/mean", "obs_norm/var"}, std::vector<double>(progress_state::dim, 1.0));
  EXPECT_EQ(error_of_loading(),
            file + ": tensor \"obs_norm/mean\": found one, expected none in a policy of kind \"progress\"");
  EXPECT_FALSE(load_policy(file));
}

TEST_F(ResidualFile, RefusesToSave) {
  const std::string expected = file +
                               ": not written: found a trained range that is empty, or has an end that is not finite, "
                               "expected finite ones, the least first";
  range_of_inputs half = some_range(), empty, odd = some_range();
  half.most[1] = std::numeric_limits<float>::infinity();
  std::swap(empty.least, empty.most);
  odd.least[2] = std::numeric_limits<float>::quiet_NaN();
  for (const range_of_inputs& range : {half, empty, odd}) {
    const auto saved = save_residual_policy(file, correction_of_knee{some_correction(), range});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().message, expected);
  }
  nn::dynamic_mlp network = some_correction();
  network.parameters()[2] = std::numeric_limits<float>::quiet_NaN();
  const auto weighed = save_residual_policy(file, correction_of_knee{network});
  ASSERT_FALSE(weighed);
  EXPECT_EQ(weighed.error().code, errc::invalid_option);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "nothing half-written";
}

}  // namespace
}  // namespace rubato
