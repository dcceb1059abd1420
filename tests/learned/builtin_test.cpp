#include <rubato/learned/builtin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <string>
#include <vector>

#include "../support/falling_loss.hpp"

namespace rubato {
namespace {

using test::grants_while_losses_fall;
using test::last_batch_octaves;

static_assert(StatefulPolicy<learned_policy> && DescribedPolicy<learned_policy>);

TEST(LearnedPolicy, NeedsNoOptions) {
  const description self = any_policy{learned_policy{}}.describe();
  EXPECT_TRUE(self.line.starts_with("learned: ")) << self.line;
  EXPECT_TRUE(self.json.starts_with(R"({"kind":"learned","of":{"kind":"residual","state":"progress")")) << self.json;
  EXPECT_EQ(any_policy{learned_policy{}}.problem(1), "");
}

TEST(LearnedPolicy, ChoosesRateAndBatch) {
  const std::vector<grant> all = grants_while_losses_fall(learned_policy{}, 2.3F);
  const std::vector<grant> rule = grants_while_losses_fall(loss_decayed{knee{}}, 2.3F);
  double rates = 0, rates_of_rule = 0;
  for (const grant& each : all) rates += static_cast<double>(each.lr_scale) / static_cast<double>(all.size());
  for (const grant& each : rule) rates_of_rule += static_cast<double>(each.lr_scale) / static_cast<double>(rule.size());
  EXPECT_GT(std::abs(last_batch_octaves(all) - 4), 0.3) << "not the host's 16";
  EXPECT_GT(std::abs(std::log2(rates / rates_of_rule)), 0.2);
  for (const grant& each : all) {
    EXPECT_LE(each.batch, 91U) << "four times the host's, and half an octave";
    EXPECT_LE(each.lr_scale, 4.0F) << "twice what knee makes of the host's";
  }
}

TEST(LearnedPolicy, WithoutLossesItIsKnee) {
  EXPECT_EQ(grants_while_losses_fall(learned_policy{}, 0.0F), grants_while_losses_fall(knee{}, 0.0F));
}

}  // namespace
}  // namespace rubato
