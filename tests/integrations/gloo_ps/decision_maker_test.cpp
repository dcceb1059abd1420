#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <rubato/gloo_ps/decision_maker.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <thread>
#include <vector>

namespace gloo_ps_decision_maker_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::cause;
using rubato::errc;
using values = std::vector<float>;

constexpr std::uint32_t workers = 3, shards = 2;
const ps::job_options options{.model = {4, shards},
                              .workers = workers,
                              .nominal_samples = 1,
                              .rule = rubato::threads_ps::sgd{{.learning_rate = 1}}};

values parameters(ps::decision_maker<>& maker) {
  values all(4);
  maker.visit([&](std::uint32_t s, ps::shard& here) {
    for (std::size_t i = 0; i < 2; ++i) all[2 * s + i] = here.parameters()[i];
  });
  return all;
}

struct member {
  rubato::worker_id id{};
  ps::ticket box = std::make_shared<ps::mailbox>();
  std::uint64_t step = 0;

  rubato::admitted push(ps::decision_maker<>& maker, const rubato::grant& terms, float value, float loss = 0) {
    return maker.push({.worker = id, .step = ++step, .samples = 1, .loss = loss, .grad_norm = std::abs(value)}, terms,
                      {{value, 0}, {0, value}}, box);
  }
  bool granted(double within = 10) {
    const auto letter = box->take(ps::after(within));
    return letter && letter->granted;
  }
};

// Everybody takes so many steps with gradients of ones.
void train(ps::decision_maker<>& maker, int steps) {
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&maker, w, steps] {
      member m{.id = {w, 0}};
      ASSERT_EQ(maker.join(m.id, m.box), errc::ok);
      for (int i = 0; i < steps; ++i) {
        const auto letter = m.box->take(ps::after(10));
        ASSERT_TRUE(letter && letter->granted);
        m.push(maker, letter->terms, 1);
      }
      ASSERT_TRUE(m.granted());
      maker.depart(m.id, cause::done);
    });
  for (std::thread& t : threads) t.join();
}

TEST(DecisionMaker, SumsAreExact) {
  for (const rubato::any_policy& rule : {rubato::any_policy{rubato::asp{}}, rubato::any_policy{rubato::ssp{1}},
                                         rubato::any_policy{rubato::bsp{.aggregate = rubato::bsp::sum}}}) {
    ps::decision_maker<> maker{options, {"a", rule}, values(4)};
    train(maker, 200);
    EXPECT_EQ(parameters(maker), (values{-600, 0, 0, -600})) << rule.describe().line;
    EXPECT_EQ(maker.version(), 600U);
  }
  ps::decision_maker<> maker{options, {"bsp", rubato::bsp{}}, values(4)};
  train(maker, 200);  // one update a round; the mean of ones is one, but for the rounding of a third
  EXPECT_EQ(maker.version(), 200U);
  EXPECT_NEAR(parameters(maker)[0], -200, 1e-3);
}

TEST(DecisionMaker, ShardsAgree) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  bool stop = false, same = true;
  std::mutex lock;
  std::thread reader{[&] {
    for (;;) {
      std::uint64_t version[shards];
      maker.visit([&](std::uint32_t s, ps::shard& here) { version[s] = here.version(); });
      const std::lock_guard guard{lock};
      same = same && version[0] == version[1];
      if (stop) return;
    }
  }};
  train(maker, 300);
  {
    const std::lock_guard guard{lock};
    stop = true;
  }
  reader.join();
  EXPECT_TRUE(same) << "a read between two updates that saw one of them in one shard only";
}

TEST(DecisionMaker, EveryTicketIsAnswered) {
  ps::decision_maker<> maker{options, {"bsp", rubato::bsp{}}, values(4)};
  member a{.id = {0, 0}}, b{.id = {1, 0}}, c{.id = {2, 0}};
  for (member* m : {&a, &b, &c}) ASSERT_EQ(maker.join(m->id, m->box), errc::ok);
  for (member* m : {&a, &b, &c}) ASSERT_TRUE(m->granted());
  a.push(maker, {}, 1);
  EXPECT_FALSE(a.granted(0.02)) << "a barrier";
  maker.depart(b.id, cause::death);
  c.push(maker, {}, 1);
  EXPECT_TRUE(a.granted());
  EXPECT_TRUE(c.granted());
  a.push(maker, {}, 1);
  maker.close();
  const auto end = a.box->take(ps::after(10));
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->granted);
  c.push(maker, {}, 1);  // too late
  ASSERT_TRUE(c.box->take(ps::after(10)));
  member late{.id = {1, 1}};
  EXPECT_EQ(maker.join(late.id, late.box), errc::ok);
  EXPECT_FALSE(late.box->take(ps::after(10))->granted);
}

TEST(DecisionMaker, NonFiniteGradientsAreDropped) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  std::vector<member> all(workers);
  for (std::uint32_t w = 0; w < workers; ++w) all[w].id = {w, 0}, static_cast<void>(maker.join(all[w].id, all[w].box));
  ASSERT_TRUE(all[0].granted());
  EXPECT_EQ(all[0].push(maker, {}, std::numeric_limits<float>::quiet_NaN()).what.what, rubato::verdict::drop);
  ASSERT_TRUE(all[0].granted()) << "the step counts";
  EXPECT_EQ(all[0].push(maker, {}, 2).what.what, rubato::verdict::apply);
  EXPECT_EQ(parameters(maker), (values{-2, 0, 0, -2}));
}

// Keeps what it is told.
struct listener : rubato::asp {
  std::shared_ptr<values> heard;
  void measured(std::uint32_t, const rubato::step_metrics& step) const noexcept { heard->push_back(step.compute_time); }
};

TEST(DecisionMaker, WhatWasMeasuredReachesThePolicyOnce) {
  const auto heard = std::make_shared<values>();
  ps::job_options of_one = options;
  of_one.quorum = 1;
  ps::decision_maker<> maker{of_one, {"asp", listener{{}, heard}}, values(4)};
  member m{.id = {0, 0}};
  ASSERT_EQ(maker.join(m.id, m.box), errc::ok);
  ASSERT_TRUE(m.granted());
  const auto push = [&](rubato::worker_id who, std::uint64_t step, float time) {
    static_cast<void>(maker.push({.worker = who, .step = step, .samples = 1}, {}, {{1, 0}, {0, 1}},
                                 std::make_shared<ps::mailbox>(), {.compute_time = time}));
  };
  push(m.id, 1, 7);
  EXPECT_EQ(*heard, values{7});
  push({1, 0}, 1, 8);
  push({workers, 0}, 1, 9);
  EXPECT_EQ(*heard, values{7}) << "of steps that nobody started, nothing is told";
  push(m.id, 2, 10);
  EXPECT_EQ(*heard, (values{7, 10}));
}

TEST(DecisionMaker, SwitchIsMeasured) {
  ps::decision_maker<> maker{options, {"bsp", rubato::bsp{}}, values(4)};
  std::vector<member> all(workers);
  for (std::uint32_t w = 0; w < workers; ++w) all[w].id = {w, 0}, static_cast<void>(maker.join(all[w].id, all[w].box));
  for (member& m : all) ASSERT_TRUE(m.granted());
  all[0].push(maker, {}, 1);
  EXPECT_FALSE(all[0].granted(0.02));
  const auto change = maker.switch_to({"asp", rubato::asp{}});
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_TRUE(all[0].granted()) << "nobody waits any longer";
  EXPECT_EQ(parameters(maker), (values{-1, 0, 0, -1})) << "the open round was flushed";
  const auto changes = maker.changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].from, "bsp");
  EXPECT_EQ(changes[0].to, "asp");
  EXPECT_GT(changes[0].pause, 0);
  EXPECT_LT(changes[0].pause, 10);
}

TEST(DecisionMaker, PauseEndsWithTheFirstRelease) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  std::vector<member> all(workers);
  for (std::uint32_t w = 0; w < workers; ++w) all[w].id = {w, 0}, static_cast<void>(maker.join(all[w].id, all[w].box));
  for (member& m : all) ASSERT_TRUE(m.granted());
  all[0].push(maker, {}, 1);
  ASSERT_TRUE(all[0].granted());
  ASSERT_TRUE(maker.switch_to({"sum", rubato::bsp{.aggregate = rubato::bsp::sum}}));
  ASSERT_TRUE(maker.switch_to({"bsp", rubato::bsp{}}));
  for (member& m : all) {
    EXPECT_EQ(maker.changes()[0].pause, -1) << "nobody has been released yet";
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    m.push(maker, {}, 1);  // these pushes are after the change
  }
  const auto changes = maker.changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_GE(changes[0].pause, 0.06);
  EXPECT_EQ(changes[1].pause, changes[0].pause) << "one stop for both";
}

TEST(DecisionMaker, PauseBeginsWithTheLastPushBeforeIt) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  std::vector<member> all(workers);
  for (std::uint32_t w = 0; w < workers; ++w) all[w].id = {w, 0}, static_cast<void>(maker.join(all[w].id, all[w].box));
  for (member& m : all) ASSERT_TRUE(m.granted());
  const auto change = [&](const char* name) {
    ASSERT_TRUE(maker.switch_to({name, rubato::asp{}}));
    all[0].push(maker, {}, 1);
    ASSERT_TRUE(all[0].granted());
  };
  change("first");  // before any push
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  all[0].push(maker, {}, 1);
  ASSERT_TRUE(all[0].granted());
  const double pushed_by = maker.seconds();
  change("second");
  const auto changes = maker.changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_GE(changes[1].at, pushed_by);
  EXPECT_LT(changes[1].pause, maker.seconds() - changes[0].at - 0.05)
      << "the push that ended the first pause is not the last";
}

TEST(DecisionMaker, TwoMayTakeCheckpointsAtOnce) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  std::vector<std::thread> savers;
  for (int s = 0; s < 3; ++s)
    savers.emplace_back([&maker] {
      for (int i = 0; i < 50; ++i) static_cast<void>(maker.take_checkpoint());
    });
  train(maker, 300);
  for (std::thread& each : savers) each.join();
}

TEST(DecisionMaker, CheckpointIsOfOneInstant) {
  ps::decision_maker<> maker{options, {"asp", rubato::asp{}}, values(4)};
  std::vector<ps::checkpoint> taken;
  std::thread saver{[&] {
    for (int i = 0; i < 50; ++i)
      if (auto c = maker.take_checkpoint()) taken.push_back(std::move(*c));
  }};
  train(maker, 300);
  saver.join();
  ASSERT_FALSE(taken.empty());
  for (const ps::checkpoint& c : taken) {
    ASSERT_EQ(c.shards.size(), shards);
    EXPECT_EQ(c.shards[0].version, c.version);
    EXPECT_EQ(c.shards[1].version, c.version);
    EXPECT_EQ(c.shards[0].parameters[0], -static_cast<float>(c.version));
    EXPECT_EQ(c.shards[1].parameters[1], -static_cast<float>(c.version));
  }
}

TEST(DecisionMaker, RestoredJobGoesOn) {
  ps::decision_maker<> first{options, {"bsp", rubato::bsp{}}, values(4)};
  std::vector<member> all(workers);
  for (std::uint32_t w = 0; w < workers; ++w) all[w].id = {w, 0}, static_cast<void>(first.join(all[w].id, all[w].box));
  for (member& m : all) ASSERT_TRUE(m.granted());
  for (member& m : all) m.push(first, {}, 4);
  for (member& m : all) ASSERT_TRUE(m.granted());
  all[0].push(first, {}, 2);  // waits in the open round
  auto saved = first.take_checkpoint();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->version, 1U);

  ps::decision_maker<> other{options, {"asp", rubato::asp{}}, values(4)};
  EXPECT_EQ(other.restore(*saved).error().code, errc::wrong_kind);
  const auto refused = [&saved](auto change) {
    ps::job_options another = options;
    change(another);
    ps::decision_maker<> wrong{another, {"bsp", rubato::bsp{}}, values(another.model.parameters)};
    return wrong.restore(*saved).error().code == errc::invalid_option;
  };
  EXPECT_TRUE(refused([](auto& o) { o.workers = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.job = 9; }));
  EXPECT_TRUE(refused([](auto& o) { o.model.parameters = 6; }));
  ps::checkpoint forged = *saved;
  forged.version = forged.shards[0].version = forged.shards[1].version = 2;
  ps::decision_maker<> first_life{options, {"bsp", rubato::bsp{}}, values(4)};
  EXPECT_EQ(first_life.restore(std::move(forged)).error().code, errc::corrupt) << "of another version than the clocks";
  EXPECT_EQ(first_life.version(), 0U);
  EXPECT_TRUE(refused([](auto& o) { o.rule = rubato::threads_ps::sgd{{.learning_rate = 1, .momentum = 0.5F}}; }));

  ps::decision_maker<> second{options, {"bsp", rubato::bsp{}}, values(4)};
  const auto version = second.restore(*saved);
  ASSERT_TRUE(version) << version.error().message;
  // All have left the barrier, so the round that was open is complete: the gradient in it is not lost.
  EXPECT_EQ(*version, 1U);
  EXPECT_EQ(second.version(), 2U);
  EXPECT_FLOAT_EQ(parameters(second)[0], -4 - 2);
  EXPECT_EQ(second.note_seen(5), 4U);
  member again{.id = {1, 0}};
  EXPECT_EQ(second.join(again.id, again.box), errc::old_incarnation);
  again.id.incarnation = 1;
  EXPECT_EQ(second.join(again.id, again.box), errc::ok);
  const auto old = again.box->take(ps::after(10));
  EXPECT_TRUE(old);
}

}  // namespace
}  // namespace gloo_ps_decision_maker_test
