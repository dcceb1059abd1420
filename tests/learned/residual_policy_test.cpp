#include <rubato/learned/residual_policy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sync/any_policy.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/cluster.hpp"

namespace rubato {
namespace {

using test::cluster;
using residual = residual_policy<progress_state, nn::dynamic_mlp>;
using range = trained_range<progress_state::dim>;

static_assert(SyncPolicy<residual> && StatefulPolicy<residual> && DescribedPolicy<residual>);
static_assert(SyncPolicy<residual_policy<progress_state, nn::mlp<progress_state::dim, 4, 2>>>);

// Says the same of every push.
nn::dynamic_mlp says(float rate, float threshold) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({progress_state::dim, 2});
  network.bias(0)[0] = rate;
  network.bias(0)[1] = threshold;
  return network;
}

// Pushes of whoever runs.
void go_on(cluster<residual>& c, int pushes, float loss) {
  for (int n = 0; n < pushes; ++n) {
    const auto running = c.running();
    c.push(running[static_cast<std::size_t>(n) % running.size()], loss);
  }
}

// Everything that a random run of ten workers made the policy say.
template <class Policy>
std::vector<grant> grants_of(Policy policy, float first_loss = 3.0F) {
  cluster<Policy> c{std::move(policy), 10};
  random_sequence random{5};
  float loss = first_loss;
  for (int n = 0; n < 400; ++n) {
    const auto running = c.running();
    loss *= 0.99F;
    c.push(running[random.below(running.size())], loss);
  }
  std::vector<grant> all;
  for (const auto& each : c.heard().releases) all.push_back(each.terms);
  return all;
}

TEST(ResidualPolicy, ZeroIsTheRule) {
  EXPECT_EQ(grants_of(residual{says(0, 0)}), grants_of(loss_decayed{knee{}}));
  const residual strict{says(0, 0), {}, knee{.threshold = 0.5F}};
  EXPECT_EQ(grants_of(strict), grants_of(loss_decayed{knee{.threshold = 0.5F}}));
}

TEST(ResidualPolicy, RateByHand) {
  const auto plain = grants_of(loss_decayed{knee{}}), more = grants_of(residual{says(0.5F, 0)});
  ASSERT_EQ(more.size(), plain.size());
  for (std::size_t i = 10; i < more.size(); ++i)  // the first ten were released before there was a loss
    EXPECT_NEAR(more[i].lr_scale, std::exp2(0.5F) * plain[i].lr_scale, 1e-5F);
}

TEST(ResidualPolicy, ThresholdByHand) {
  cluster<residual> c{residual{says(0, 1)}, 4};
  EXPECT_EQ(c.control().policy().rule().threshold, 0.3F) << "nobody has pushed";
  c.push(0);
  EXPECT_FLOAT_EQ(c.control().policy().rule().threshold, 0.6F);
  EXPECT_EQ(grants_of(residual{says(0, 1)}), grants_of(loss_decayed{knee{.threshold = 0.6F}}));
}

TEST(ResidualPolicy, CorrectionsAreCutOff) {
  cluster<residual> c{residual{says(-7, 7)}, 4};
  c.push(0);
  EXPECT_EQ(c.control().policy().factor(correction::rate), 0.5F);
  EXPECT_EQ(c.control().policy().factor(correction::threshold), 2.0F);
  cluster<residual> strict{residual{says(0, 1), {}, knee{.threshold = 0.8F}}, 4};
  strict.push(0);
  EXPECT_LT(strict.control().policy().rule().threshold, 1.0F) << "knee has no threshold of 1";
}

TEST(ResidualPolicy, OutsideTheTrainedRangeTheRuleIsInCharge) {
  range seen;
  seen.most[0] = 1.6F;  // losses that have not risen by more than a little
  cluster<residual> c{residual{says(1, 0), seen}, 2};
  go_on(c, 40, 1.0F);
  EXPECT_TRUE(c.control().policy().corrects());
  EXPECT_EQ(c.count(reason::degraded), 0u);
  go_on(c, 1, 50.0F);
  EXPECT_FALSE(c.control().policy().corrects());
  EXPECT_EQ(c.control().policy().factor(correction::rate), 1.0F);
  go_on(c, 1, 50.0F);
  EXPECT_EQ(c.count(reason::degraded), 1u) << "once each time that the rule takes over";
  go_on(c, 400, 0.5F);
  EXPECT_TRUE(c.control().policy().corrects());
}

TEST(ResidualPolicy, WithoutLossesTheRuleIsInCharge) {
  EXPECT_EQ(grants_of(residual{says(1, 1)}, 0.0F), grants_of(knee{}, 0.0F));
}

TEST(ResidualPolicy, SurvivesNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(grants_of(residual{says(nan, 0)}), grants_of(loss_decayed{knee{}}));
  EXPECT_EQ(grants_of(residual{says(0, nan)}), grants_of(loss_decayed{knee{}}));
}

TEST(ResidualPolicy, SavesItsState) {
  nn::dynamic_mlp network = says(0, 0);
  for (std::size_t i = 0; i < progress_state::dim; ++i) network.weight(0)(i, 0) = 0.3F;
  cluster<residual> c{residual{network}, 3};
  go_on(c, 60, 2.0F);
  residual before = c.control().policy(), after{network};
  after.resize(3);
  archive saved;
  before.state(saved);
  archive reader{saved.bytes()};
  after.state(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(after.corrects());
  EXPECT_EQ(after.factor(correction::rate), before.factor(correction::rate));
  EXPECT_NE(after.factor(correction::rate), 1.0F);
}

TEST(ResidualPolicy, Describes) {
  const description self = residual{says(0, 0)}.describe();
  EXPECT_NE(self.line.find("knee"), std::string::npos);
  EXPECT_NE(self.json.find(R"("kind":"residual")"), std::string::npos);
  range seen;
  seen.most[2] = 1.0F;
  for (const residual& other :
       {residual{says(0.1F, 0)}, residual{says(0, 0), seen}, residual{says(0, 0), {}, knee{.threshold = 0.5F}}})
    EXPECT_NE(other.describe().json, self.json);
  cluster<residual> c{residual{says(0, 1)}, 2};
  c.push(0);
  EXPECT_EQ(c.control().policy().describe().json, residual{says(0, 1)}.describe().json) << "whatever it does now";
}

}  // namespace
}  // namespace rubato
