#include <rubato/learned/builtin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/knee.hpp>
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

TEST(Builtin, NeedsNoOptions) {
  const description self = any_policy{learned_policy{}}.describe();
  EXPECT_TRUE(self.line.starts_with("learned: ")) << self.line;
  EXPECT_TRUE(self.json.starts_with(R"({"kind":"learned","of":{"kind":"residual","state":"progress")")) << self.json;
  EXPECT_EQ(any_policy{learned_policy{}}.problem(1), "");
}

TEST(Builtin, ChoosesRateAndBatch) {
  const std::vector<grant> all = grants_over_200_pushes(learned_policy{}, 2.3F);
  const auto [slow, quick] = std::ranges::minmax(all, {}, &grant::lr_scale);
  EXPECT_LT(slow.lr_scale, 0.8F * quick.lr_scale) << "the rate follows the loss";
  EXPECT_TRUE(std::ranges::any_of(all, [](const grant& g) { return g.batch != 0 && g.batch != 16; }));
  for (const grant& each : all) {
    EXPECT_LE(each.batch, 91U) << "four times the host's, and half an octave";
    EXPECT_LE(each.lr_scale, 4.0F) << "twice what knee makes of the host's";
  }
}

TEST(Builtin, WithoutLossesItIsKnee) {
  EXPECT_EQ(grants_over_200_pushes(learned_policy{}, 0.0F), grants_over_200_pushes(knee{}, 0.0F));
}

TEST(Builtin, IsSmall) { EXPECT_LT(sizeof(detail::builtin::network), 64U << 10); }

}  // namespace
}  // namespace rubato
