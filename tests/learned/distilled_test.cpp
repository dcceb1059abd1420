#include <rubato/learned/distilled.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/cluster.hpp"

namespace rubato {
namespace {

using test::cluster;

static_assert(StatefulPolicy<distilled_policy> && DescribedPolicy<distilled_policy>);

// Of a step: batch over the host's, and the rate of a sample over the rule's.
std::pair<double, double> factors_of(double own_batch, double overhead, double jump) {
  const std::vector<feature> features = progress_state{}.features();
  EXPECT_EQ(features[progress_state::change_input].name, "loss_change");
  EXPECT_EQ(features[progress_state::samples_input].name, "samples");
  EXPECT_EQ(features[progress_state::overhead_input].name, "overhead");
  std::array<float, progress_state::dim> inputs{};
  inputs[progress_state::samples_input] =
      static_cast<float>(std::log2(own_batch) - 4);  // as progress_state scales them
  inputs[progress_state::overhead_input] = static_cast<float>(std::log2(overhead) / 2);
  inputs[progress_state::change_input] = static_cast<float>(2 * std::log(jump) + 6);
  std::array<float, corrections> outputs{};
  distilled_correction{}.evaluate(inputs, outputs);
  return {std::exp2(outputs[1]), std::exp2(outputs[0])};
}

TEST(DistilledPolicy, BatchAndRateByHand) {
  struct {
    double own, overhead, jump;
  } const cases[] = {{16, 1, 0.05}, {16, 0.125, 0.1}, {8, 3, 0.02}, {32, 0.02, 0.05}};
  for (const auto& [own, overhead, jump] : cases) {
    const auto [batch, rate] = factors_of(own, overhead, jump);
    EXPECT_NEAR(own * batch, std::cbrt(16 * own * (overhead * own)), 1e-4) << own << ' ' << overhead;
    EXPECT_NEAR(rate * batch, std::sqrt(batch) * std::cbrt(std::exp(-3) / jump), 1e-5) << "the step, by its samples";
  }
}

// Two hundred pushes of six workers whose losses fall.
template <class Policy>
std::vector<grant> grants_of(Policy policy, std::uint32_t samples) {
  cluster<Policy> c{std::move(policy), 6};
  c.samples = samples;
  float loss = 2.3F;
  for (std::size_t n = 0; n < 200; ++n, loss *= 0.99F) {
    const auto running = c.running();
    c.push(running[n % running.size()], loss);
  }
  EXPECT_EQ(c.overrides(), 0U);
  std::vector<grant> all;
  for (const auto& each : c.heard().releases) all.push_back(each.terms);
  return all;
}

TEST(DistilledPolicy, NeedsNoOptions) {
  const std::vector<grant> all = grants_of(distilled_policy{}, 16);
  double octaves = 0;
  for (std::size_t i = all.size() - 50; i < all.size(); ++i) octaves += std::log2(all[i].batch) / 50;
  EXPECT_GT(octaves, 4.5) << "steps take as long whatever their batch";

  const description self = any_policy{distilled_policy{}}.describe();
  EXPECT_TRUE(self.json.starts_with(R"json({"kind":"distilled","batch":"cbrt(16 * own * overhead)",)json"))
      << self.json;
  EXPECT_NE(self.line.find("cube root"), std::string::npos) << self.line;
  EXPECT_EQ(any_policy{distilled_policy{}}.problem(1), "");
}

TEST(DistilledPolicy, OtherBatchesAreLeftAlone) {
  for (const std::uint32_t samples : {0U, 4U, 64U})
    EXPECT_EQ(grants_of(distilled_policy{}, samples), grants_of(loss_decayed{knee{}}, samples)) << samples;
}

}  // namespace
}  // namespace rubato
