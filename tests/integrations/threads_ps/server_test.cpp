#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <rubato/core/rng.hpp>
#include <rubato/rivals.hpp>
#include <rubato/rubato.hpp>
#include <rubato/threads_ps/server.hpp>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../../support/crew.hpp"

namespace rubato::threads_ps {
namespace {

using numbers = std::vector<float>;
using test::crew;

template <class Policy>
using plain = server<Policy, sgd>;

// A server of `size` zeros at learning rate 1.
template <class Policy>
std::unique_ptr<plain<Policy>> zeros(std::size_t size, const server_options& o, Policy policy) {
  return std::make_unique<plain<Policy>>(o, numbers(size, 0.0F), std::move(policy), sgd{{.learning_rate = 1}});
}

template <class Server>
numbers values_of(Server& ps) {
  numbers all(ps.size());
  ps.snapshot(all);
  return all;
}

// Each of the workers makes so many steps with gradients of its own number.
template <class Server>
void run_all(Server& ps, std::uint32_t workers, int steps) {
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      auto me = ps.join({w});
      ASSERT_TRUE(me);
      numbers parameters(ps.size());
      const numbers gradient(ps.size(), static_cast<float>(w + 1));
      for (int n = 0; n < steps; ++n) {
        (*me)->pull(parameters);
        if (n + 1 < steps)
          ASSERT_TRUE((*me)->push(gradient));
        else
          static_cast<void>((*me)->push(gradient));  // who is last may find the others gone, and wait for nobody
      }
      EXPECT_EQ((*me)->finish(), errc::ok);
    });
}

TEST(ThreadsPs, SumsAreExact) {
  for (const std::uint32_t shards : {1U, 3U, 7U}) {
    const auto ps = zeros(100, {.sync = {.capacity = 6}, .shards = shards}, asp{});
    run_all(*ps, 6, 50);
    EXPECT_EQ(values_of(*ps), numbers(100, -50.0F * (1 + 2 + 3 + 4 + 5 + 6)));
    numbers now(100);
    EXPECT_EQ(ps->snapshot(now).lowest, 300u);
  }
}

TEST(ThreadsPs, ABarrierIsOne) {
  // The mean of 1, 2, 3 in each of 40 rounds, and all parameters move together.
  const auto ps = zeros(10, {.sync = {.capacity = 3}, .shards = 2}, bsp{});
  crew threads;
  for (std::uint32_t w = 0; w < 3; ++w)
    threads.start([&, w] {
      auto me = ps->join({w});
      numbers parameters(10);
      for (int n = 0; n < 40; ++n) {
        const version_range read = (*me)->pull(parameters);
        EXPECT_EQ(read.lowest, static_cast<std::uint64_t>(n));
        EXPECT_EQ(read.highest, static_cast<std::uint64_t>(n));
        EXPECT_EQ(parameters, numbers(10, -2.0F * static_cast<float>(n)));
        static_cast<void>((*me)->push(numbers(10, static_cast<float>(w + 1))));
      }
      EXPECT_EQ((*me)->finish(), errc::ok);
    });
  threads.gather();
  EXPECT_EQ(values_of(*ps), numbers(10, -80.0F));
  const staleness_histogram stale = ps->staleness();
  EXPECT_EQ(stale.counts[0], 120u) << "nothing is stale behind a barrier";
}

TEST(ThreadsPs, NobodyPassesTheBound) {
  constexpr std::uint32_t workers = 5;
  constexpr std::uint64_t bound = 2, steps = 80;
  const auto ps = zeros(8, {.sync = {.capacity = workers}}, ssp{.staleness = bound});
  std::array<std::atomic<std::uint64_t>, workers> finished{};
  std::atomic<std::uint64_t> too_far{0};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      auto me = ps->join({w});
      for (std::uint64_t n = 0; n < steps; ++n) {
        for (const auto& other : finished) too_far += finished[w] > other + bound;
        if (w == 0) std::this_thread::yield();
        ++finished[w];  // before the push: whoever it lets go sees it
        static_cast<void>((*me)->push(numbers(8, 1.0F)));
      }
      EXPECT_EQ((*me)->finish(), errc::ok);
    });
  threads.gather();
  EXPECT_EQ(too_far, 0u);
  EXPECT_EQ(values_of(*ps), numbers(8, -1.0F * workers * steps));
}

TEST(ThreadsPs, WhatIsPulledHoldsEveryUpdateOfTheGrant) {
  for (any_policy policy : {any_policy{asp{}}, any_policy{bsp{}}, any_policy{k_sync{.k = 2}}}) {
    const auto ps = zeros(64, {.sync = {.capacity = 4}, .shards = 4}, std::move(policy));
    std::atomic<int> short_of{0};
    crew threads;
    for (std::uint32_t w = 0; w < 4; ++w)
      threads.start([&, w] {
        auto me = ps->join({w});
        numbers parameters(64);
        for (int n = 0; n < 60 && (*me)->here(); ++n) {
          short_of += (*me)->pull(parameters).lowest < (*me)->terms().version;
          static_cast<void>((*me)->push(numbers(64, 1.0F)));
        }
        if ((*me)->here()) {
          EXPECT_EQ((*me)->finish(), errc::ok);
        }
      });
    threads.gather();
    EXPECT_EQ(short_of, 0);
  }
}

TEST(ThreadsPs, StalenessIsMeasuredAtTheShard) {
  const auto ps = zeros(4, {.sync = {.capacity = 2}, .shards = 2}, asp{});
  ASSERT_EQ(ps->set_quorum(1), errc::ok);
  numbers parameters(4);
  auto slow = ps->join({0});
  (*slow)->pull(parameters);
  auto quick = ps->join({1});
  for (int n = 0; n < 5; ++n) {
    (*quick)->pull(parameters);
    ASSERT_TRUE((*quick)->push(numbers(4, 1.0F)));
  }
  ASSERT_TRUE((*slow)->push(numbers(4, 1.0F)));
  const staleness_histogram stale = ps->staleness();
  EXPECT_EQ(stale.counts[0], 5u);
  EXPECT_EQ(stale.counts[staleness_histogram::bucket_of(5)], 1u);
}

TEST(ThreadsPs, AThreadThatThrowsHoldsNobodyBack) {
  const auto ps = zeros(4, {.sync = {.capacity = 2}}, bsp{});
  crew threads;
  threads.start([&] {
    try {
      auto me = ps->join({0});
      ASSERT_TRUE((*me)->push(numbers(4, 1.0F)));
      throw std::runtime_error{"out of memory"};
    } catch (const std::runtime_error&) {
    }
  });
  auto me = ps->join({1});
  for (int n = 0; n < 3; ++n) ASSERT_TRUE((*me)->push(numbers(4, 1.0F)));  // alone from the second round on
  EXPECT_EQ(values_of(*ps), numbers(4, -3.0F));
  EXPECT_EQ(ps->inspect([](auto& sync) { return sync.workers()[0].state; }), worker_state::dead);
}

// An update by more than 100 throws.
struct fragile {
  void resize(std::size_t) {}
  void update(std::span<float> values, const update_step& by) {
    if (by.scale * by.direction[0] > 100) throw std::runtime_error{"too far"};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= by.scale * by.direction[i];
  }
};

// Whether this ends in time; where it does not, the server is shut down, so that the thread ends.
template <class Server, class Result>
bool ends_in_time(Server& ps, std::future<Result>& work) {
  const bool ended = work.wait_for(std::chrono::seconds{10}) == std::future_status::ready;
  if (!ended) ps.shutdown();
  work.wait();
  return ended;
}

TEST(ThreadsPs, ARuleThatThrowsEndsThatLifeAndHoldsNobodyBack) {
  const auto ps = std::make_unique<server<asp, fragile>>(server_options{.sync = {.capacity = 1}, .shards = 3},
                                                         numbers(3, 0.0F), asp{});
  {
    auto me = ps->join({0, 0});
    ASSERT_TRUE((*me)->push(numbers{1, 1, 1}));
    EXPECT_THROW(static_cast<void>((*me)->push(numbers{1, 999, 1})), std::runtime_error);
    EXPECT_FALSE((*me)->here());
  }
  auto next = std::async(std::launch::async, [&] { return ps->join({0, 1}); });
  ASSERT_TRUE(ends_in_time(*ps, next)) << "it waits for the commit of its former life";
  auto me = next.get();
  ASSERT_TRUE(me);
  numbers now(3);
  const version_range read = (*me)->pull(now);
  EXPECT_EQ(now, (numbers{-2, -1, -1})) << "the shard before the throw has moved";
  EXPECT_EQ(read.lowest, 2u) << "and the update counts at all of them";
  EXPECT_EQ(read.highest, 2u);
  EXPECT_EQ((*me)->terms().version, 2u);
  ASSERT_TRUE((*me)->push(numbers{1, 1, 1}));
  EXPECT_EQ(values_of(*ps), (numbers{-3, -2, -2}));
  EXPECT_EQ(ps->inspect([](auto& sync) { return sync.counts().of(0, reason::failed); }), 1u);
}

TEST(ThreadsPs, AThrowTakesItsGradientOutOfTheRound) {
  const auto ps = std::make_unique<server<bsp, fragile>>(server_options{.sync = {.capacity = 2}, .shards = 2},
                                                         numbers(2, 0.0F), bsp{});
  std::promise<void> thrown;
  auto other = std::async(std::launch::async, [&, may_go_on = thrown.get_future()]() mutable {
    auto me = ps->join({1});
    if (!me || !(*me)->push(numbers{1, 999})) return false;  // the flush of this round throws at the second shard
    may_go_on.wait();
    return (*me)->push(numbers{4, 4}).has_value();
  });
  {
    auto me = ps->join({0});
    EXPECT_TRUE((*me)->push(numbers{1, 999}));
    EXPECT_THROW(static_cast<void>((*me)->push(numbers{8, 8})), std::runtime_error) << "it is the first to touch it";
  }
  thrown.set_value();
  ASSERT_TRUE(ends_in_time(*ps, other)) << "the round waits for the commit of the gradient that threw";
  EXPECT_TRUE(other.get());
  numbers now(2);
  const version_range read = ps->snapshot(now);
  EXPECT_EQ(now, (numbers{-1 - 4, -4}));
  EXPECT_EQ(read.lowest, 2u);
  EXPECT_EQ(read.highest, 2u);
}

TEST(ThreadsPs, TheSameLifeIsLetInOnce) {
  const auto ps = zeros(4, {.sync = {.capacity = 1}}, asp{});
  auto me = ps->join({0, 0});
  ASSERT_TRUE(me);
  for (int n = 0; n < 2; ++n) {
    const auto again = ps->join({0, 0});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::repeated);
    EXPECT_EQ(again.error().message, "worker 0 with incarnation 0 is here already, expected a higher incarnation");
  }
  ASSERT_TRUE((*me)->push(numbers(4, 1.0F))) << "which leaves it as it was";
  EXPECT_EQ((*me)->finish(), errc::ok);
  EXPECT_EQ(ps->join({0, 0}).error().code, errc::old_incarnation);
  EXPECT_EQ(ps->join({1, 0}).error().code, errc::unknown_worker);
  EXPECT_TRUE(ps->join({0, 1}));
}

TEST(ThreadsPs, OfThreadsThatJoinAsOneWorkerOneIsLetIn) {
  const auto ps = zeros(4, {.sync = {.capacity = 1}}, asp{});
  for (std::uint32_t life = 0; life < 20; ++life) {
    std::array<std::unique_ptr<plain<asp>::session>, 4> sessions;
    std::atomic<int> let_in{0}, repeated{0};
    crew threads;
    for (auto& mine : sessions)
      threads.start([&] {
        auto me = ps->join({0, life});
        if (me)
          mine = std::move(*me), ++let_in;
        else
          repeated += me.error().code == errc::repeated;
      });
    threads.gather();
    EXPECT_EQ(let_in, 1);
    EXPECT_EQ(repeated, 3);
  }
}

TEST(ThreadsPs, AWorkerComesBack) {
  const auto ps = zeros(4, {.sync = {.capacity = 1}}, asp{});
  auto old = ps->join({0, 0});
  auto young = ps->join({0, 1});
  ASSERT_TRUE(young);
  const auto answer = (*old)->push(numbers(4, 1.0F));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::old_incarnation);
  EXPECT_FALSE((*old)->here());
  ASSERT_TRUE((*young)->push(numbers(4, 1.0F)));
  EXPECT_EQ(values_of(*ps), numbers(4, -1.0F)) << "of the former life nothing was applied";
}

TEST(ThreadsPs, SwitchesLoseNothing) {
  for (const pending_gradients waiting : {pending_gradients::flush, pending_gradients::discard}) {
    using watched = server<any_policy, sgd, scores>;
    const auto ps = std::make_unique<watched>(server_options{.sync = {.capacity = 3}}, numbers(4, 0.0F), bsp{},
                                              sgd{{.learning_rate = 1}}, scores{3});
    crew threads;
    std::atomic<int> parked{0};
    for (std::uint32_t w = 0; w < 2; ++w)
      threads.start([&, w] {
        auto me = ps->join({w});
        ++parked;
        ASSERT_TRUE((*me)->push(numbers(4, 1.0F)));  // waits for the third
        EXPECT_EQ((*me)->finish(), errc::ok);
      });
    auto third = ps->join({2});
    while (ps->inspect([](auto& sync) { return sync.workers().parked().size(); }) < 2) std::this_thread::yield();
    ASSERT_EQ(ps->switch_to(asp{}, waiting), errc::ok);
    threads.gather();
    const float flushed = waiting == pending_gradients::flush ? -1.0F : 0.0F;  // the mean of two ones
    EXPECT_EQ(values_of(*ps), numbers(4, flushed));
    ASSERT_TRUE((*third)->push(numbers(4, 1.0F)));
    EXPECT_EQ(values_of(*ps), numbers(4, flushed - 1.0F));
    ps->inspect([&](auto&, scores& seen) {
      const gradient_fates fates = seen.of(0, 0).gradients;
      EXPECT_EQ(fates.contributed, waiting == pending_gradients::flush ? 1u : 0u);
      EXPECT_EQ(fates.lost(reason::switched), waiting == pending_gradients::flush ? 0u : 1u);
    });
  }
}

TEST(ThreadsPs, ShutdownFreesEverybody) {
  const auto ps = zeros(4, {.sync = {.capacity = 3}}, bsp{});
  crew threads;
  std::atomic<int> told{0};
  for (std::uint32_t w = 0; w < 2; ++w)
    threads.start([&, w] {
      auto me = ps->join({w});
      const auto next = (*me)->push(numbers(4, 1.0F));
      told += !next && next.error().code == errc::departed_worker;
    });
  auto third = ps->join({2});
  while (ps->inspect([](auto& sync) { return sync.workers().parked().size(); }) < 2) std::this_thread::yield();
  ps->shutdown();
  threads.gather();
  EXPECT_EQ(told, 2);
  const auto next = (*third)->push(numbers(4, 1.0F));
  EXPECT_EQ(next.error().code, errc::departed_worker);
  EXPECT_FALSE(ps->join({0, 1}));
}

TEST(ThreadsPs, CancelledStepsAreTold) {
  const auto ps = zeros(4, {.sync = {.capacity = 2, .quorum = 1}}, ringmaster{.delay = 2, .stops = true});
  auto late = ps->join({0});
  auto quick = ps->join({1});
  ASSERT_TRUE((*quick)->push(numbers(4, 1.0F)));
  EXPECT_FALSE((*late)->cancelled());
  ASSERT_TRUE((*quick)->push(numbers(4, 1.0F)));
  EXPECT_TRUE((*late)->cancelled()) << "its gradient would be two updates old";
  EXPECT_FALSE((*quick)->cancelled());
  ASSERT_TRUE((*late)->push(numbers(4, 100.0F)));
  EXPECT_FALSE((*late)->cancelled()) << "that was the former step";
  EXPECT_EQ(values_of(*ps), numbers(4, -2.0F)) << "its gradient was dropped";
  EXPECT_EQ(ps->inspect([](auto& sync) { return sync.counts().of(0, reason::cancelled); }), 1u);
}

TEST(ThreadsPs, AFreshLifeIsNotCancelled) {
  const auto ps = zeros(4, {.sync = {.capacity = 2, .quorum = 1}}, ringmaster{.delay = 2, .stops = true});
  auto quick = ps->join({1});
  {
    auto late = ps->join({0, 0});
    for (int n = 0; n < 2; ++n) ASSERT_TRUE((*quick)->push(numbers(4, 1.0F)));
    EXPECT_TRUE((*late)->cancelled());
  }
  auto fresh = ps->join({0, 1});
  ASSERT_TRUE(fresh);
  EXPECT_FALSE((*fresh)->cancelled()) << "that was the former life";
  for (int n = 0; n < 2; ++n) ASSERT_TRUE((*quick)->push(numbers(4, 1.0F)));
  EXPECT_TRUE((*fresh)->cancelled()) << "and this one can be, too";
}

TEST(ThreadsPs, GradientsOfAnotherSize) {
  const auto ps = zeros(4, {.sync = {.capacity = 1}}, asp{});
  auto me = ps->join({0});
  const auto wrong = (*me)->push(numbers(3, 1.0F));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, errc::invalid_option);
  EXPECT_EQ(wrong.error().message, "the gradient has 3 numbers, expected 4, as many as there are parameters");
  EXPECT_TRUE((*me)->here());
  EXPECT_TRUE((*me)->push(numbers(4, 1.0F))) << "the step goes on";
  EXPECT_EQ(values_of(*ps), numbers(4, -1.0F));
}

TEST(ThreadsPs, RefusesBadOptions) {
  const auto refused = [](const server_options& o, std::size_t size) {
    auto made = server<any_policy>::make(o, numbers(size), ssp{.staleness = 3});
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(refused({.sync = {.capacity = 2}}, 4), "");
  EXPECT_EQ(refused({.sync = {.capacity = 2}}, 0), "there are no parameters, expected at least 1");
  EXPECT_EQ(refused({.sync = {.capacity = 2}, .shards = 5}, 4),
            "shards is 5, expected 1 to the number of parameters, 4");
  EXPECT_EQ(refused({.sync = {.capacity = 2}, .nominal_samples = 0}, 4), "nominal_samples is 0, expected at least 1");
  EXPECT_NE(refused({.sync = {.capacity = 0}}, 4), "");
}

// All gradients are ones, and every update is a mean of gradients: so each parameter is minus the number of updates.
TEST(ThreadsPs, KillsAndSwitchesAtRandom) {
  constexpr std::uint32_t workers = 6;
  constexpr int lives = 6;
  using watched = server<any_policy, sgd, scores>;
  const auto ps = std::make_unique<watched>(server_options{.sync = {.capacity = workers}, .shards = 3},
                                            numbers(30, 0.0F), asp{}, sgd{{.learning_rate = 1}}, scores{workers});
  std::atomic<std::uint32_t> running{workers};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      random_sequence random{1, w};
      numbers parameters(30);
      for (std::uint32_t life = 0; life < lives; ++life) {
        auto me = ps->join({w, life});
        if (!me) continue;
        for (auto steps = random.below(40); steps > 0 && (*me)->here(); --steps) {
          (*me)->pull(parameters);
          if (random.below(8) == 0) std::this_thread::yield();
          static_cast<void>((*me)->push(numbers(30, 1.0F)));
        }
        if (life + 1 == lives && (*me)->here()) {
          EXPECT_EQ((*me)->finish(), errc::ok);
        }
      }  // all but the last life end without a word
      --running;
    });
  const any_policy policies[] = {asp{}, bsp{}, ssp{.staleness = 1}, k_sync{.k = 3}, backup_workers{.backups = 2}};
  random_sequence random{2};
  while (running > 0) {
    ASSERT_EQ(ps->switch_to(policies[random.below(std::size(policies))], pending_gradients::flush), errc::ok);
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  threads.gather();
  ps->inspect([&](auto& sync, scores& seen) {
    EXPECT_EQ(sync.pending(), 0u) << "the last switch, or the last departure, has flushed";
    for (std::uint32_t w = 0; w < workers; ++w) {
      const gradient_fates fates = seen.of(w, 0).gradients;
      EXPECT_EQ(fates.pushed, fates.contributed + fates.lost());
      EXPECT_EQ(fates.in_flight, 0u);
    }
    for (const float value : values_of(*ps)) EXPECT_NEAR(value, -static_cast<double>(sync.version()), 1e-2);
  });
}

}  // namespace
}  // namespace rubato::threads_ps
