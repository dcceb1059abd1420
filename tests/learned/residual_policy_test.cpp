#include <rubato/learned/residual_policy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/rivals/batched.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/cluster.hpp"
#include "../support/shared_machine.hpp"

namespace rubato {
namespace {

using test::cluster;
using residual = residual_policy<progress_state, nn::dynamic_mlp>;
using range = trained_range<progress_state::dim>;

static_assert(SyncPolicy<residual> && StatefulPolicy<residual> && DescribedPolicy<residual>);
static_assert(SyncPolicy<residual_policy<progress_state, nn::mlp<progress_state::dim, 4, 2>>>);

// Says the same of every push.
nn::dynamic_mlp says(float rate, float batch) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({progress_state::dim, 2});
  network.bias(0)[0] = rate;
  network.bias(0)[1] = batch;
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
std::vector<grant> grants_of(Policy policy, float first_loss = 3.0F, std::uint32_t samples = 16) {
  cluster<Policy> c{std::move(policy), 10};
  c.samples = samples;
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

TEST(ResidualPolicy, BatchByHand) {
  const auto small = grants_of(residual{says(0, -1)});
  const auto mean_of = [](const std::vector<grant>& all, std::size_t from) {
    double octaves = 0;
    for (std::size_t i = from; i < all.size(); ++i) octaves += std::log2(static_cast<double>(all[i].batch));
    return octaves / static_cast<double>(all.size() - from);
  };
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(small[i].batch, 0U) << "before the first loss";
  EXPECT_NEAR(mean_of(small, 100), 3.0, 0.1);
  for (std::size_t i = 100; i < small.size(); ++i)
    EXPECT_TRUE(small[i].batch == 6 || small[i].batch == 11) << small[i].batch;
}

TEST(ResidualPolicy, BatchesTakeTurns) {
  cluster<residual> c{residual{says(0, 1)}, 2};
  c.samples = 16;
  go_on(c, 100, 1.0F);
  std::vector<std::uint32_t> of_worker_0;
  for (const auto& each : c.heard().releases)
    if (each.worker.index == 0) of_worker_0.push_back(each.terms.batch);
  for (std::size_t i = of_worker_0.size() - 20; i + 1 < of_worker_0.size(); ++i)
    EXPECT_EQ(of_worker_0[i] + of_worker_0[i + 1], 23U + 45U) << "half an octave around 32";
}

TEST(ResidualPolicy, BatchFollowsSlowly) {
  cluster<residual> c{residual{says(0, 2)}, 1};
  c.samples = 16;
  const auto octaves = [&] { return c.control().policy().log2_factor(correction::batch); };
  for (int n = 0; n < 10; ++n) c.push(0);
  EXPECT_EQ(octaves(), 0.0F) << "nine changes";
  c.push(0);
  EXPECT_NEAR(octaves(), 0.2F, 1e-6F);
  c.push(0);
  EXPECT_NEAR(octaves(), 0.38F, 1e-6F);
}

TEST(ResidualPolicy, AtAHostThatKeepsItsBatchTheRuleIsInCharge) {
  cluster<residual> c{residual{says(1, -2)}, 1};
  c.samples = 16;
  c.obeys = false;
  for (int n = 1; n < 100; ++n) {
    c.push(0);
    const grant& terms = c.heard().releases.back().terms;
    EXPECT_TRUE(terms.batch == 11 || terms.batch == 23) << "it goes on to ask for batches around the host's";
    EXPECT_EQ(terms.lr_scale, 1.0F);
    EXPECT_FALSE(c.control().policy().corrects());
  }
}

// Nor may it be taken for one that obeys if the batch that is left is by chance the one that was asked for.
TEST(ResidualPolicy, WhoseOwnBatchVariesToo) {
  for (const std::uint32_t left : {5U, 11U, 23U}) {
    cluster<residual> c{residual{says(1, -2)}, 3};
    c.obeys = false;
    for (std::uint32_t n = 0; n < 3000; ++n) {
      c.samples = n % 7 == 6 ? left : 16;  // the last one of an epoch
      const auto running = c.running();
      c.push(running[n % running.size()], 1.0F);
      ASSERT_FALSE(c.control().policy().corrects()) << left << ", step " << n;
    }
  }
}

TEST(ResidualPolicy, WhoStopsObeyingIsLeftToTheRule) {
  cluster<residual> c{residual{says(1, -1)}, 1};
  c.samples = 16;
  for (int n = 0; n < 200; ++n) c.push(0, 1.0F);
  EXPECT_TRUE(c.control().policy().corrects());
  EXPECT_EQ(c.count(reason::degraded), 0U);
  c.obeys = false;
  for (int n = 0; n < 21; ++n) c.push(0, 1.0F);
  EXPECT_FALSE(c.control().policy().corrects());
  EXPECT_EQ(c.heard().releases.back().terms.lr_scale, 1.0F);
  EXPECT_EQ(c.count(reason::degraded), 1U);
}

TEST(ResidualPolicy, TakesOverAJobThatRunsSmallBatches) {
  cluster<any_policy> c{batched{asp{}, 2}, 3};
  c.samples = 16;
  for (std::uint32_t n = 0; n < 30; ++n) c.push(n % 3);
  c.switch_to(residual{says(0, -1)});
  for (std::uint32_t n = 0; n < 200; ++n) c.push(c.running()[n % c.running().size()]);
  const residual* policy = c.control().policy().target<residual>();
  EXPECT_EQ(policy->encoder().cost().usual(), 16U);
  EXPECT_TRUE(policy->corrects());
  for (std::size_t i = c.heard().releases.size() - 20; i < c.heard().releases.size(); ++i)
    EXPECT_GE(c.heard().releases[i].terms.batch, 6U);
}

TEST(ResidualPolicy, WithoutSamplesTheRuleIsInCharge) {
  for (const float batch : {-1.0F, 0.0F})
    EXPECT_EQ(grants_of(residual{says(0.5F, batch)}, 3.0F, 0), grants_of(loss_decayed{knee{}}, 3.0F, 0)) << batch;
}

TEST(ResidualPolicy, ABatchIsNeverEmpty) {
  const auto all = grants_of(residual{says(0, -2)}, 3.0F, 2);
  for (std::size_t i = 200; i < all.size(); ++i) EXPECT_EQ(all[i].batch, 1U);
}

// Nearly equal workers with a core each: everybody runs, at a barrier, for good.
TEST(ResidualPolicy, ABarrierSurvivesBatches) {
  for (const float octaves : {0.0F, -2.0F, -0.5F, 0.5F, 2.0F}) {
    test::shared_machine<residual> machine{residual{says(0, octaves)}, 6, [](double n) { return n; }};
    for (std::size_t w = 0; w < 6; ++w) machine.speed[w] = 1 / (1 + 0.01 * static_cast<double>(w));
    machine.batch = 16;
    machine.loss = 1;
    machine.run(200);
    int without = 0;
    for (int n = 0; n < 1000; ++n) without += machine.run(1).control().policy().rule().has_barrier() ? 0 : 1;
    EXPECT_EQ(without, 0) << octaves;
  }
}

// A quarter of the batch, and from one push to the next all of it.
TEST(ResidualPolicy, ABarrierSurvivesGivingUp) {
  range trained;
  trained.most[progress_state::loss_input] = 1.6F;  // 1.5 while the loss is what it was
  test::shared_machine<residual> machine{residual{says(0, -2), trained}, 6, [](double n) { return n; }};
  for (std::size_t w = 0; w < 6; ++w) machine.speed[w] = 1 / (1 + 0.01 * static_cast<double>(w));
  machine.batch = 16;
  machine.loss = 1;
  ASSERT_TRUE(machine.run(400).control().policy().corrects());
  machine.loss = 3;
  int without = 0;
  for (int n = 0; n < 400; ++n) without += machine.run(1).control().policy().rule().has_barrier() ? 0 : 1;
  EXPECT_FALSE(machine.control().policy().corrects());
  EXPECT_EQ(without, 0);
}

// Four cores: knee must not take small batches for a quick cluster.
TEST(ResidualPolicy, BatchesDoNotMoveTheKnee) {
  for (const float octaves : {0.0F, -2.0F, 1.5F}) {
    test::shared_machine<residual> machine{residual{says(0, octaves)}, 8, [](double n) { return std::min(n, 4.0); }};
    machine.batch = 16;
    machine.loss = 1;
    EXPECT_EQ(machine.run(600).control().policy().rule().parallelism(), 4U) << octaves;
  }
}

TEST(ResidualPolicy, CorrectionsAreCutOff) {
  cluster<residual> c{residual{says(-7, 7)}, 4};
  c.samples = 16;
  go_on(c, 200, 1.0F);
  EXPECT_EQ(c.control().policy().log2_factor(correction::rate), -1.0F);
  EXPECT_NEAR(c.control().policy().log2_factor(correction::batch), 2.0F, 1e-4F);
}

TEST(ResidualPolicy, OutsideTheTrainedRangeTheRuleIsInCharge) {
  range seen;
  seen.most[0] = 1.6F;  // losses that have not risen by more than a little
  cluster<residual> c{residual{says(1, -1), seen}, 2};
  c.samples = 16;
  go_on(c, 60, 1.0F);
  EXPECT_TRUE(c.control().policy().corrects());
  EXPECT_EQ(c.count(reason::degraded), 0u);
  go_on(c, 1, 50.0F);
  EXPECT_FALSE(c.control().policy().corrects());
  EXPECT_EQ(c.control().policy().log2_factor(correction::rate), 0.0F);
  EXPECT_EQ(c.heard().releases.back().terms.batch, 0U);
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
  nn::dynamic_mlp network = says(0, -1);
  for (std::size_t i = 0; i < progress_state::dim; ++i) network.weight(0)(i, 0) = 0.3F;
  cluster<residual> c{residual{network}, 3};
  c.samples = 16;
  go_on(c, 60, 2.0F);
  residual before = c.control().policy(), after{network};
  after.resize(3);
  archive saved;
  before.state(saved);
  archive reader{saved.bytes()};
  after.state(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(after.corrects());
  EXPECT_EQ(after.log2_factor(correction::rate), before.log2_factor(correction::rate));
  EXPECT_NE(after.log2_factor(correction::rate), 0.0F);
  EXPECT_EQ(after.log2_factor(correction::batch), before.log2_factor(correction::batch));
  EXPECT_NEAR(after.log2_factor(correction::batch), -1.0F, 0.1F);
  EXPECT_EQ(after.encoder().cost().overhead(), before.encoder().cost().overhead());
}

TEST(ResidualPolicy, BadBytesAreRefused) {
  const residual policy{says(0, -1)};
  const auto loads = [&](float rate, float batch) {
    residual to = policy;
    to.resize(1);
    archive saved;
    residual from = policy;
    from.resize(1);
    from.state(saved);
    std::vector<std::byte> bytes{saved.bytes().begin(), saved.bytes().end()};
    archive last;
    last(rate, batch);
    std::ranges::copy(last.bytes(), bytes.end() - 8);
    archive reader{bytes};
    to.state(reader);
    return reader.finished();
  };
  EXPECT_TRUE(loads(1, -2));
  for (const auto& [rate, batch] :
       {std::pair{100.0F, 0.0F}, {0.0F, 3.0F}, {std::nanf(""), 0.0F}, {0.0F, std::nanf("")}})
    EXPECT_FALSE(loads(rate, batch)) << rate << " " << batch;
}

TEST(ResidualPolicy, Describes) {
  const description self = residual{says(0, 0)}.describe();
  EXPECT_NE(self.line.find("knee"), std::string::npos);
  EXPECT_NE(self.json.find(R"("kind":"residual")"), std::string::npos);
  range seen;
  seen.most[2] = 1.0F;
  const auto hidden = [](nn::activation_kind kind) {
    return residual{*nn::dynamic_mlp::make({progress_state::dim, 2, corrections}, {.hidden = {.kind = kind}})};
  };
  EXPECT_NE(hidden(nn::activation_kind::tanh).describe().json, hidden(nn::activation_kind::relu).describe().json);
  for (const residual& other :
       {residual{says(0.1F, 0)}, residual{says(0, 0), seen}, residual{says(0, 0), {}, knee{.threshold = 0.5F}}})
    EXPECT_NE(other.describe().json, self.json);
  cluster<residual> c{residual{says(0, 1)}, 2};
  c.push(0);
  EXPECT_EQ(c.control().policy().describe().json, residual{says(0, 1)}.describe().json) << "whatever it does now";
}

}  // namespace
}  // namespace rubato
