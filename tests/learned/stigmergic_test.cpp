#include <rubato/learned/stigmergic.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <vector>

#include "../support/falling_loss.hpp"

namespace rubato {
namespace {

using test::grants_while_losses_fall;
using test::last_batch_octaves;

static_assert(StatefulPolicy<stigmergic> && DescribedPolicy<stigmergic>);

TEST(Stigmergic, NeedsNoOptions) {
  const description self = any_policy{stigmergic{}}.describe();
  EXPECT_TRUE(self.line.starts_with("by traces: stigmergic: ")) << self.line;
  EXPECT_NE(self.json.find(R"("of":{"kind":"stigmergic_rule",)"), self.json.npos) << self.json;
  EXPECT_EQ(any_policy{stigmergic{}}.problem(1), "");
  EXPECT_NE(any_policy{stigmergic{{.gain = -1.0F}}}.problem(1), "");
}

TEST(Stigmergic, ChoosesRateAndBatch) {
  const std::vector<grant> all = grants_while_losses_fall(stigmergic{}, 2.3F);
  EXPECT_GT(std::abs(last_batch_octaves(all) - 4), 0.3) << "not the host's 16";
  for (const grant& each : grants_while_losses_fall(loss_decayed{stigmergic_rule{}}, 2.3F))
    EXPECT_EQ(each.batch, 0U) << "the rule alone leaves the batch to the host";
}

}  // namespace
}  // namespace rubato
