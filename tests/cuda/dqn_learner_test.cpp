#include <rubato/cuda/dqn_state.cuh>
#include <rubato/cuda/dqn_update.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/rl/action_choice.hpp>
#include <rubato/rl/dqn.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dqn_on_host.hpp"
#include "random_network.hpp"
#include "support/corridor.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {

using small_learner = dqn_learner<mlp_shape<5, 16, 8, 3>>;
using small_network = nn::mlp<5, 16, 8, 3>;

// Learns from the first update on.
rl::dqn_options learning(std::size_t batch, rl::dqn_options options = {}) {
  options.n_step = 1;
  options.replay_capacity = 300;
  options.batch = batch;
  options.learn_after = batch;
  return options;
}

// As rl::dqn is told of it.
rl::transition transition_of(const dqn_experience& what, std::size_t inputs) {
  return {.observation = {what.observation, inputs},
          .action = what.action,
          .reward = what.reward,
          .next = {what.next, inputs},
          .next_legal = what.next_legal,
          .terminated = what.discount == 0};
}

// Two agents of ours beside two of the host, which are given the same experiences and draw the same batches.
class beside_rl_dqn {
 public:
  beside_rl_dqn(const rl::dqn_options& options, const nn::mlp_options& endings, std::size_t experiences)
      : ours{2, options, endings, 77} {
    const auto net = test::random_network<small_network>(endings, 1);
    ours.start(net.parameters().data());
    for (unsigned a = 0; a < 2; ++a) {
      hosts.push_back(*rl::dqn<small_network>::make(net, options));
      const test::random_experiences all{5, 3, experiences, 10 + a};
      for (std::size_t i = 0; i < experiences; ++i) record(a, all[i]);
    }
  }
  void record(unsigned a, dqn_experience what) {
    hosts[a].record(transition_of(what, 5));
    // The host's discount is that of its options.
    what.discount = what.discount == 0 ? 0 : static_cast<float>(hosts[a].options().gamma);
    ours.record(a, what);
  }

  test::dqn_on_host<small_learner> ours;
  std::vector<rl::dqn<small_network>> hosts;
  std::array<random_sequence, 2> random{random_sequence{77, 0}, random_sequence{77, 1}};
};

std::vector<float> parameters_of(const small_network& net) {
  return {net.parameters().begin(), net.parameters().end()};
}

const rl::dqn_options ways_to_learn[] = {
    learning(32),
    learning(32, {.target = rl::td_target::target_max,
                  .target_period = 3,
                  .target_rate = 1,
                  .loss = rl::td_loss::squared,
                  .max_gradient_norm = 0.5,
                  .learning_rate = 0.01}),
    learning(32, {.target = rl::td_target::online_max,
                  .masks_targets = false,
                  .update_every = 2,
                  .huber_delta = 0.3,
                  .mean_loss = false,
                  .max_gradient_norm = 0}),
};

TEST(CudaDqnLearner, OneTileLearnsWithTheBitsOfRlDqn) {
  for (const rl::dqn_options& options : ways_to_learn) {
    beside_rl_dqn both{options, {}, 400};
    for (int update = 0; update < 40; ++update) {
      both.ours.update<exact_arithmetic>(test::one_thread);
      for (unsigned a = 0; a < 2; ++a) {
        const rl::update_stats stats = both.hosts[a].update(both.random[a]);
        const dqn_agent& now = both.ours.view().agent[a];
        ASSERT_EQ(both.ours.online(a), parameters_of(both.hosts[a].online())) << update;
        ASSERT_EQ(both.ours.target(a), parameters_of(both.hosts[a].target())) << update;
        EXPECT_EQ(now.iterations, both.hosts[a].counters().iterations);
        EXPECT_EQ(now.updates, both.hosts[a].counters().updates);
        if (!stats.learned) continue;
        EXPECT_EQ(now.loss, stats.loss);
        EXPECT_NEAR(now.gradient_norm, stats.gradient_norm, 1e-12 * stats.gradient_norm);
      }
    }
    EXPECT_NE(both.ours.online(0), both.ours.online(1));
    EXPECT_NE(both.ours.online(0), parameters_of(test::random_network<small_network>({}, 1)));
  }
}

// Adam makes a step of full length of the smallest gradient: its last digits show where it is nearly 0, and there
// alone.
TEST(CudaDqnLearner, ManyTilesAreCloseToRlDqn) {
  for (rl::dqn_options options : ways_to_learn) {
    options.batch = options.learn_after = 256;
    beside_rl_dqn both{options, {}, 400};
    constexpr int updates = 20;
    for (int update = 0; update < updates; ++update) {
      both.ours.update<fused_arithmetic>(test::one_thread);
      for (unsigned a = 0; a < 2; ++a) {
        const rl::update_stats stats = both.hosts[a].update(both.random[a]);
        if (!stats.learned) continue;
        EXPECT_NEAR(both.ours.view().agent[a].loss, stats.loss, 1e-4 * stats.loss);
        EXPECT_NEAR(both.ours.view().agent[a].gradient_norm, stats.gradient_norm, 1e-4 * stats.gradient_norm);
      }
    }
    for (unsigned a = 0; a < 2; ++a) {
      const std::vector<float> found = both.ours.online(a), expected = parameters_of(both.hosts[a].online());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 0.02 * options.learning_rate * updates) << i;
    }
  }
}

TEST(CudaDqnLearner, AnyNumberOfLanesGivesTheSameUpdate) {
  const auto learned_by = [](const auto& run) {
    beside_rl_dqn both{learning(64), {}, 100};
    for (int update = 0; update < 3; ++update) both.ours.update<fused_arithmetic>(run);
    std::vector<std::vector<float>> all;
    for (unsigned a = 0; a < 2; ++a) {
      all.push_back(both.ours.online(a));
      all.push_back(both.ours.target(a));
      const dqn_agent& now = both.ours.view().agent[a];
      EXPECT_EQ(now.updates, 3u);
      all.push_back({now.loss, static_cast<float>(now.gradient_norm)});
    }
    return all;
  };
  const auto expected = learned_by(test::one_thread);
  for (const unsigned count : {2u, 5u, 32u})
    EXPECT_EQ(learned_by([&](const auto& body) { test::on_lanes(count, body); }), expected) << count << " lanes";
}

// The number of steps that greedy actions need to the end of the corridor; 30 where it is not reached.
int greedy_steps(const network<mlp_shape<2, 16, 3>>& net) {
  test::corridor task;
  std::span<const float> seen = task.reset(99);
  std::array<float, evaluate_scratch<mlp_shape<2, 16, 3>>> scratch;
  std::array<float, 3> value;
  for (int steps = 1;; ++steps) {
    evaluate(net, one_lane{}, seen.data(), scratch.data(), value.data());
    const auto value_of = [&](std::uint32_t action) { return value[action]; };
    const auto outcome = task.step(best_action(3, value_of, task.legal(), 0));
    if (outcome.terminated || outcome.truncated) return steps;
    seen = outcome.observation;
  }
}

TEST(CudaDqnLearner, LearnsTheCorridor) {
  using learner = dqn_learner<mlp_shape<2, 16, 3>>;
  rl::dqn_options options = learning(32);
  options.replay_capacity = 2'000;
  options.learn_after = 100;
  options.learning_rate = 0.005;
  options.target_rate = 0.02;
  constexpr unsigned agents = 3;
  test::dqn_on_host<learner> ours{agents, options, {}, 5};
  const auto net = test::random_network<nn::mlp<2, 16, 3>>({}, 2);
  ours.start(net.parameters().data());
  EXPECT_EQ(greedy_steps(ours.view().online_of(0)), 30);

  std::array<test::corridor, agents> task;
  std::array<std::array<float, 2>, agents> seen;
  for (unsigned a = 0; a < agents; ++a) std::ranges::copy(task[a].reset(a), seen[a].begin());
  random_sequence random{6};
  for (std::uint64_t step = 0; step < 2'000; ++step) {
    for (unsigned a = 0; a < agents; ++a) {
      const auto outcome = task[a].step(rl::random_action(3, task[a].legal(), random));
      ours.record(a, {.observation = seen[a].data(),
                      .next = outcome.observation.data(),
                      .action = outcome.executed,
                      .reward = outcome.reward,
                      .discount = outcome.terminated ? 0 : static_cast<float>(std::pow(0.9, outcome.elapsed)),
                      .next_legal = task[a].legal()});
      const bool over = outcome.terminated || outcome.truncated;
      std::ranges::copy(over ? task[a].reset(step * agents + a) : outcome.observation, seen[a].begin());
    }
    ours.update<exact_arithmetic>(test::one_thread);
  }
  for (unsigned a = 0; a < agents; ++a) EXPECT_EQ(greedy_steps(ours.view().policy_of(a)), 5) << "agent " << a;
}

TEST(CudaDqnLearner, OldestExperienceIsReplaced) {
  rl::dqn_options options = learning(32);
  options.replay_capacity = 40;
  test::dqn_on_host<small_learner> ours{2, options, {}, 1};
  const std::vector<float> initial(small_learner::shape::parameters);
  ours.start(initial.data());
  const test::random_experiences all{5, 3, 50, 2};
  for (std::size_t i = 0; i < 50; ++i) ours.record(1, all[i]);
  const small_learner& view = ours.view();
  EXPECT_EQ(view.size_of(view.agent[0]), 0u);
  EXPECT_EQ(view.size_of(view.agent[1]), 40u);
  for (std::size_t i = 10; i < 50; ++i) {
    const float* const at = view.experience_at(1, i % 40);
    const auto rest = view.rest_of(at);
    EXPECT_TRUE(std::equal(at, at + 5, all[i].observation)) << i;
    EXPECT_TRUE(
        std::equal(at + small_learner::observation_words, at + small_learner::observation_words + 5, all[i].next));
    EXPECT_EQ(rest.action, all[i].action);
    EXPECT_EQ(rest.reward, all[i].reward);
    EXPECT_EQ(rest.discount, all[i].discount);
    EXPECT_EQ(rest.next_legal, all[i].next_legal);
  }
}

TEST(CudaDqnLearner, UnsoundExperiencesAreCounted) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  test::dqn_on_host<small_learner> ours{1, learning(32), {}, 1};
  const std::vector<float> initial(small_learner::shape::parameters);
  ours.start(initial.data());
  const std::array<float, 5> good{}, bad{0, 0, 0, 0, nan};
  const dqn_experience sound{.observation = good.data(), .next = good.data()};
  ours.record(0, sound);
  for (const int wrong : {0, 1, 2, 3, 4}) {
    dqn_experience what = sound;
    if (wrong == 0) what.observation = bad.data();
    if (wrong == 1) what.next = bad.data();
    if (wrong == 2) what.action = 3;
    if (wrong == 3) what.reward = infinite;
    if (wrong == 4) what.discount = nan;
    ours.record(0, what);
  }
  EXPECT_EQ(ours.view().agent[0].recorded, 1u);
  EXPECT_EQ(ours.view().agent[0].rejected_transitions, 5u);
}

TEST(CudaDqnLearner, NothingIsLearnedBeforeTheReplayHasABatch) {
  beside_rl_dqn both{learning(32), {}, 31};
  const std::vector<float> before = both.ours.online(0);
  both.ours.update<exact_arithmetic>(test::one_thread);
  EXPECT_EQ(both.ours.view().agent[0].updates, 0u);
  EXPECT_EQ(both.ours.view().agent[0].iterations, 1u);
  EXPECT_EQ(both.ours.online(0), before);
  for (unsigned a = 0; a < 2; ++a) both.record(a, test::random_experiences{5, 3, 1, 9}[0]);
  both.ours.update<exact_arithmetic>(test::one_thread);
  EXPECT_EQ(both.ours.view().agent[0].updates, 1u);
  EXPECT_NE(both.ours.online(0), before);
}

TEST(CudaDqnLearner, GradientsThatAreNotFiniteAreCounted) {
  rl::dqn_options options = learning(32);
  options.loss = rl::td_loss::squared;
  beside_rl_dqn both{options, {}, 32};
  test::random_experiences some{5, 3, 1, 9};
  for (int i = 0; i < 300; ++i) {
    dqn_experience what = some[0];
    what.reward = 3e38F;
    both.record(0, what);
  }
  const std::vector<float> before = both.ours.online(0);
  both.ours.update<exact_arithmetic>(test::one_thread);
  EXPECT_EQ(both.ours.view().agent[0].rejected_updates, 1u);
  EXPECT_EQ(both.ours.view().agent[0].updates, 0u);
  EXPECT_EQ(both.ours.online(0), before);
  EXPECT_EQ(both.ours.view().agent[1].updates, 1u) << "the other agents go on";
}

TEST(CudaDqnLearner, BestActionIsThatOfTheHost) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {nan, -1, 0, 0.5F};
  for (int code = 0; code < 64; ++code)
    for (std::uint32_t legal = 0; legal < 9; ++legal)
      for (const std::uint32_t undecided : {0u, 2u}) {
        const std::array<float, 3> all{values[code % 4], values[code / 4 % 4], values[code / 16]};
        const auto value_of = [&](std::uint32_t action) { return all[action]; };
        EXPECT_EQ(best_action(3, value_of, legal, undecided), rl::best_action(all, legal, undecided))
            << code << ' ' << legal;
      }
}

TEST(CudaDqnLearner, MemoryIsCutIntoParts) {
  const rl::dqn_options options = learning(64);
  const test::dqn_on_host<small_learner> ours{3, options, {}, 1};
  const small_learner& view = ours.view();
  const auto* const end = reinterpret_cast<const float*>(ours.bytes().data() + ours.bytes().size());
  static_assert(std::is_trivially_copyable_v<small_learner>);
  static_assert((sizeof(dqn_tile<mlp_shape<40, 64, 32, 3>, 32>) + 1023) / 1024 == 42);  // as its docstring says
  EXPECT_EQ(static_cast<void*>(view.agent), ours.bytes().data());
  EXPECT_GE(reinterpret_cast<std::uintptr_t>(view.online), reinterpret_cast<std::uintptr_t>(view.agent + 3));
  EXPECT_GE(view.target, view.online + 3 * small_learner::parameter_stride);
  EXPECT_GE(view.first_mean, view.target + 3 * small_learner::parameter_stride);
  EXPECT_GE(view.second_mean, view.first_mean + 3 * small_learner::parameter_stride);
  EXPECT_GE(view.gradient, view.second_mean + 3 * small_learner::parameter_stride);
  EXPECT_GE(view.loss, view.gradient_of(2, 1) + small_learner::parameter_stride);
  EXPECT_GE(view.replay, view.loss + 3 * 2);
  EXPECT_LE(view.experience_at(2, options.replay_capacity - 1) + small_learner::experience_words, end);
}

TEST(CudaDqnLearner, BadOptionsAreNamed) {
  const auto complaint = [](const rl::dqn_options& options, unsigned agents, std::size_t bytes, std::size_t at) {
    const auto made = small_learner::over(reinterpret_cast<void*>(at), bytes, agents, options, {}, 1);
    return made ? std::string{} : made.error().message;
  };
  constexpr std::size_t plenty = std::size_t{1} << 40;
  EXPECT_EQ(complaint(learning(64), 1, plenty, 256), "");
  const auto expect_named = [&](const std::string& name, const rl::dqn_options& options) {
    EXPECT_NE(complaint(options, 1, plenty, 256).find(name), std::string::npos) << complaint(options, 1, plenty, 256);
  };
  expect_named("sample", learning(64, {.sample = rl::sampling::distinct}));
  expect_named("optimiser", learning(64, {.optimiser = rl::optimiser_kind::sgd}));
  expect_named("dueling", learning(64, {.dueling = true}));
  expect_named("batch", learning(40));
  expect_named("gamma", learning(64, {.gamma = 2}));
  expect_named("undecided_action", learning(64, {.undecided_action = 3}));
  EXPECT_NE(complaint(learning(64), 0, plenty, 256).find("agents"), std::string::npos);
  EXPECT_NE(complaint(learning(64), 1, plenty, 128).find("address"), std::string::npos);
  EXPECT_NE(complaint(learning(64), 1, plenty, 0).find("null"), std::string::npos);
  const std::size_t needed = small_learner::memory_needed(2, learning(64));
  EXPECT_EQ(complaint(learning(64), 2, needed, 256), "");
  EXPECT_NE(complaint(learning(64), 2, needed - 1, 256).find(std::to_string(needed)), std::string::npos);
  // 2^32 agents with 10^9 experiences each: more than 2^64 bytes.
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  rl::dqn_options huge = learning(64);
  huge.replay_capacity = 1'000'000'000;
  EXPECT_EQ(small_learner::memory_needed(0xffffffff, huge), most);
  EXPECT_NE(complaint(huge, 0xffffffff, most, 256).find("fewer agents"), std::string::npos);
}

}  // namespace
}  // namespace rubato::cuda
