#include <rubato/adapt/batch_policy_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/sync/bsp.hpp>
#include <string>
#include <vector>

#include "../support/folder_test.hpp"

namespace rubato {
namespace {

static_assert(adapt::BatchSizer<adapt::learned_batches>);
static_assert(SyncPolicy<adapt::batch_sized<bsp, adapt::learned_batches>>);

adapt::learned_batches some_policy(std::vector<std::size_t> widths = {32, 4, 5}) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make(widths, {.hidden = {.kind = nn::activation_kind::tanh}});
  random_sequence random{3};
  for (float& w : network.parameters()) w = static_cast<float>(random.normal());
  return {std::move(network)};
}

class BatchPolicyFile : public test::folder_test {
 protected:
  void SetUp() override {
    folder_test::SetUp();
    file = at("batches.safetensors");
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  /// With one text of the card, once, in place of another of the same length.
  [[nodiscard]] std::string refusal_with(const std::string& found, const std::string& put) const {
    std::string bytes = content();
    const std::size_t at = bytes.find(found);
    EXPECT_NE(at, std::string::npos) << found;
    std::ofstream{file, std::ios::binary} << bytes.replace(at, found.size(), put);
    const auto back = adapt::load_batch_policy(file);
    EXPECT_FALSE(back);
    return back ? "" : back.error().message;
  }

  std::string file;
};

TEST_F(BatchPolicyFile, RoundTripIsBitExact) {
  const adapt::learned_batches policy = some_policy();
  const auto written = adapt::save_batch_policy(file, policy, {.trained_on = "a test", .seed = 7});
  ASSERT_TRUE(written) << written.error().message;
  const auto back = adapt::load_batch_policy(file);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(std::ranges::equal(back->network.parameters(), policy.network.parameters()));
  const std::string first = content();
  EXPECT_EQ(*written, first.size());
  ASSERT_TRUE(adapt::save_batch_policy(file, *back, {.trained_on = "a test", .seed = 7}));
  EXPECT_EQ(content(), first) << "the same bytes";
}

TEST_F(BatchPolicyFile, SaysWhatDisagrees) {
  const auto saved = [&] { ASSERT_TRUE(adapt::save_batch_policy(file, some_policy())); };
  saved();
  EXPECT_NE(refusal_with("dynamix", "dynamit").find("found kind \"dynamit\", expected \"dynamix\""), std::string::npos);
  saved();
  EXPECT_NE(refusal_with("2 steps of", "9 steps of").find("decision_period \"9 steps of each worker\""),
            std::string::npos);
  saved();
  EXPECT_NE(refusal_with("progress_known", "progress_knowm"), "") << "another feature";
}

TEST_F(BatchPolicyFile, RefusesToSave) {
  const auto refusal = [&](const adapt::learned_batches& policy) {
    const auto written = adapt::save_batch_policy(file, policy);
    return written ? "" : written.error().message;
  };
  EXPECT_NE(refusal(some_policy({32, 4, 3})).find("found a network from 32 to 3, expected one from 32 to 5"),
            std::string::npos);
  EXPECT_NE(refusal(some_policy({16, 4, 5})).find("from 16 to 5"), std::string::npos);
  adapt::learned_batches bad = some_policy();
  bad.network.parameters()[0] = std::numeric_limits<float>::infinity();
  EXPECT_NE(refusal(bad).find("a weight that is not finite"), std::string::npos);
}

}  // namespace
}  // namespace rubato
