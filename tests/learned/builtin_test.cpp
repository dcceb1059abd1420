#include <rubato/learned/builtin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <string>
#include <vector>

#include "../support/cluster.hpp"

namespace rubato {
namespace {

using test::cluster;

static_assert(StatefulPolicy<learned_policy> && DescribedPolicy<learned_policy>);

// Two hundred pushes of six workers whose losses fall from here.
template <class Policy>
std::vector<grant> grants_over_200_pushes(Policy policy, float loss) {
  cluster<Policy> c{std::move(policy), 6};
  c.samples = 16;
  for (std::size_t n = 0; n < 200; ++n, loss *= 0.99F) {
    const auto running = c.running();
    c.push(running[n % running.size()], loss);
  }
  EXPECT_EQ(c.overrides(), 0U);
  std::vector<grant> all;
  for (const auto& each : c.heard().releases) all.push_back(each.terms);
  return all;
}

TEST(LearnedPolicy, NeedsNoOptions) {
  const description self = any_policy{learned_policy{}}.describe();
  EXPECT_TRUE(self.line.starts_with("learned: ")) << self.line;
  EXPECT_TRUE(self.json.starts_with(R"({"kind":"learned","of":{"kind":"residual","state":"progress")")) << self.json;
  EXPECT_EQ(any_policy{learned_policy{}}.problem(1), "");
}

TEST(LearnedPolicy, ChoosesRateAndBatch) {
  const std::vector<grant> all = grants_over_200_pushes(learned_policy{}, 2.3F);
  const std::vector<grant> rule = grants_over_200_pushes(loss_decayed{knee{}}, 2.3F);
  double octaves = 0, rates = 0, rates_of_rule = 0;
  for (std::size_t i = all.size() - 50; i < all.size(); ++i) octaves += std::log2(all[i].batch) / 50;
  for (const grant& each : all) rates += static_cast<double>(each.lr_scale) / static_cast<double>(all.size());
  for (const grant& each : rule) rates_of_rule += static_cast<double>(each.lr_scale) / static_cast<double>(rule.size());
  EXPECT_GT(std::abs(octaves - 4), 0.3) << "not the host's 16";
  EXPECT_GT(std::abs(std::log2(rates / rates_of_rule)), 0.2);
  for (const grant& each : all) {
    EXPECT_LE(each.batch, 91U) << "four times the host's, and half an octave";
    EXPECT_LE(each.lr_scale, 4.0F) << "twice what knee makes of the host's";
  }
}

TEST(LearnedPolicy, WithoutLossesItIsKnee) {
  EXPECT_EQ(grants_over_200_pushes(learned_policy{}, 0.0F), grants_over_200_pushes(knee{}, 0.0F));
}

}  // namespace
}  // namespace rubato
