#include <rubato/learned/distilled.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/falling_loss.hpp"

namespace rubato {
namespace {

using test::grants_while_losses_fall;
using test::last_batch_octaves;

static_assert(StatefulPolicy<distilled_policy> && DescribedPolicy<distilled_policy>);

// The rule reads a progress_state; of others there is no such policy.
template <class Encoder>
concept Distilled = requires {
  typename basic_distilled_policy<Encoder>;
};
static_assert(Distilled<progress_state> && !Distilled<cluster_state>);

// Of a step: batch over the host's, and the rate of a sample over the rule's.
std::pair<double, double> factors_of(double own_batch, double overhead, double jump) {
  const std::vector<feature> features = progress_state{}.features();
  EXPECT_EQ(features[progress_state::loss_change_input].name, "loss_change");
  EXPECT_EQ(features[progress_state::samples_input].name, "samples");
  EXPECT_EQ(features[progress_state::overhead_input].name, "overhead");
  std::array<float, progress_state::dim> inputs{};
  inputs[progress_state::samples_input] =
      static_cast<float>(std::log2(own_batch) - 4);  // as progress_state scales them
  inputs[progress_state::overhead_input] = static_cast<float>(std::log2(overhead) / 2);
  inputs[progress_state::loss_change_input] = static_cast<float>(2 * std::log(jump) + 6);
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

TEST(DistilledPolicy, NeedsNoOptions) {
  EXPECT_GT(last_batch_octaves(grants_while_losses_fall(distilled_policy{})), 4.5)
      << "steps take as long whatever their batch";

  const description self = any_policy{distilled_policy{}}.describe();
  EXPECT_TRUE(self.json.starts_with(R"json({"kind":"distilled","batch":"cbrt(16 * own * overhead)",)json"))
      << self.json;
  EXPECT_NE(self.line.find("cube root"), std::string::npos) << self.line;
  EXPECT_EQ(any_policy{distilled_policy{}}.problem(1), "");
}

TEST(DistilledPolicy, OtherBatchesAreLeftAlone) {
  for (const std::uint32_t samples : {0U, 4U, 64U})
    EXPECT_EQ(grants_while_losses_fall(distilled_policy{}, 2.3F, samples),
              grants_while_losses_fall(loss_decayed{knee{}}, 2.3F, samples))
        << samples;
}

}  // namespace
}  // namespace rubato
