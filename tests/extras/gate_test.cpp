#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/sync/extras/gate.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/all_policies.hpp"
#include "../support/crew.hpp"
#include "../support/scaled.hpp"

namespace rubato {
namespace {

using namespace std::chrono_literals;
using test::crew;

// Until something is true that another thread brings about.
template <class Condition>
void await(Condition&& holds) {
  while (!holds()) std::this_thread::yield();
}

template <class Gate>
[[nodiscard]] worker_state state_of(Gate& gate, std::uint32_t worker) {
  return gate.inspect([&](auto& sync) { return sync.workers()[worker].state; });
}

struct rounds {  // a host that counts
  std::uint64_t flushed = 0;
  std::uint64_t discarded = 0;
  void flush(std::uint64_t, float, std::uint32_t n) { flushed += n; }
  void discard(std::uint64_t, std::uint32_t n) { discarded += n; }
};

TEST(Gate, NobodyPassesTheBound) {
  constexpr std::uint32_t workers = 8;
  constexpr std::uint64_t steps = 60;
  constexpr std::uint64_t staleness = 2;
  gate<ssp> gate{{.capacity = workers}, {.staleness = staleness}};
  std::array<std::atomic<std::uint64_t>, workers> finished{};
  std::atomic<std::uint64_t> too_far{0};
  std::atomic<std::uint64_t> refused{0};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      const worker_id me{w, 0};
      for (auto terms = gate.join_and_wait(me); finished[w] < steps; terms = gate.arrive_and_wait({.worker = me})) {
        refused += !terms;
        // The others have finished at least as many steps as when this one was let go.
        for (const auto& other : finished) too_far += finished[w] > other + staleness;
        if (w == 0) std::this_thread::yield();
        ++finished[w];
      }
      refused += gate.finish(me) != errc::ok;
    });
  threads.gather();
  EXPECT_EQ(too_far, 0u);
  EXPECT_EQ(refused, 0u);
  gate.inspect([&](auto& sync) {
    EXPECT_EQ(sync.counts().overrides(), 0u);
    EXPECT_EQ(sync.version(), workers * steps);
  });
}

TEST(Gate, AGrantThatHasComeIsFetchedWithoutWaiting) {
  gate<asp> gate{{.capacity = 1}, {}};
  ASSERT_EQ(gate.join({0, 0}), errc::ok);
  EXPECT_TRUE(gate.wait({0, 0}));
  const auto terms = gate.arrive_and_wait({.worker = {0, 0}});
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->version, 1u);
  EXPECT_EQ(gate.wait({0, 0})->version, 1u) << "asked again, told again";
}

TEST(Gate, TheVerdictIsCarriedOutBetweenAdmitAndArrive) {
  gate<bsp, rounds> gate{{.capacity = 2}, {}};
  std::thread other{[&] {
    EXPECT_TRUE(gate.join_and_wait({1, 0}));
    EXPECT_TRUE(gate.commit_and_wait(gate.admit({.worker = {1, 0}}).work));
  }};
  EXPECT_TRUE(gate.join_and_wait({0, 0}));
  const admitted mine = gate.admit({.worker = {0, 0}});
  EXPECT_EQ(mine.what.what, verdict::accumulate);
  const auto terms = gate.commit_and_wait(mine.work);
  other.join();
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->version, 1u);
  EXPECT_EQ(gate.host().flushed, 2u) << "before anybody went on";
}

TEST(Gate, RefusalsAreErrors) {
  gate<asp> gate{{.capacity = 2, .quorum = 1}, {}};
  EXPECT_EQ(gate.arrive_and_wait({.worker = {0, 0}}).error().code, errc::unknown_worker);
  EXPECT_EQ(gate.wait({7, 0}).error().code, errc::unknown_worker);
  EXPECT_EQ(gate.join_and_wait({7, 0}).error().code, errc::unknown_worker);
  EXPECT_EQ(gate.arrive_and_wait({.worker = {7, 0}}).error().code, errc::unknown_worker);
  ASSERT_TRUE(gate.join_and_wait({0, 1}));
  EXPECT_EQ(gate.join_and_wait({0, 0}).error().code, errc::old_incarnation);
  EXPECT_EQ(gate.wait({0, 0}).error().code, errc::old_incarnation);
  ASSERT_EQ(gate.leave({0, 1}), errc::ok);
  EXPECT_EQ(gate.arrive_and_wait({.worker = {0, 1}}).error().code, errc::departed_worker);
  EXPECT_EQ(gate.die({0, 1}), errc::departed_worker);
}

TEST(Gate, ADeadThreadHoldsNobodyBack) {
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  std::thread survivor{[&] {
    auto terms = gate.join_and_wait({0, 0});
    for (int steps = 0; terms && steps < 10; ++steps) terms = gate.arrive_and_wait({.worker = {0, 0}});
    EXPECT_TRUE(terms);
  }};
  ASSERT_TRUE(gate.join_and_wait({1, 0}));  // and it never comes back
  await([&] { return state_of(gate, 0) == worker_state::parked; });
  EXPECT_EQ(gate.die({1, 0}), errc::ok);
  survivor.join();
}

TEST(Gate, AWaiterThatIsDeclaredDeadIsTold) {
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  ASSERT_EQ(gate.join({1, 0}), errc::ok);
  std::thread zombie{[&] {
    ASSERT_TRUE(gate.join_and_wait({0, 0}));
    EXPECT_EQ(gate.arrive_and_wait({.worker = {0, 0}}).error().code, errc::departed_worker);
  }};
  await([&] { return state_of(gate, 0) == worker_state::parked; });
  EXPECT_EQ(gate.die({0, 0}), errc::ok);
  zombie.join();
}

// A life that was thought dead still waits when the next one comes to the same place.
TEST(Gate, AnotherLifeTakesThePlace) {
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  ASSERT_EQ(gate.join({1, 0}), errc::ok);
  std::thread zombie{[&] {
    ASSERT_TRUE(gate.join_and_wait({0, 0}));
    EXPECT_EQ(gate.arrive_and_wait({.worker = {0, 0}}).error().code, errc::old_incarnation);
  }};
  await([&] { return state_of(gate, 0) == worker_state::parked; });
  EXPECT_TRUE(gate.join_and_wait({0, 1})) << "at the minimum clock";
  zombie.join();
}

TEST(Gate, ALaterWaitReplacesAnEarlierOne) {
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  ASSERT_EQ(gate.join({1, 0}), errc::ok);
  ASSERT_TRUE(gate.join_and_wait({0, 0}));
  std::atomic<int> replaced{0};
  std::atomic<int> granted{0};
  crew threads;
  for (int n = 0; n < 2; ++n)
    threads.start([&] {
      const auto terms = gate.arrive_and_wait({.worker = {0, 0}, .step = 1});
      ++(terms ? granted : replaced);
      EXPECT_TRUE(terms || terms.error().code == errc::repeated);
    });
  await([&] { return replaced == 1; });
  EXPECT_TRUE(gate.arrive_and_wait({.worker = {1, 0}}));
  threads.gather();
  EXPECT_EQ(granted, 1);
}

template <class Gate>
concept Arriving = requires(Gate& gate, const push_event& push) {
  gate.arrive_and_wait(push);
  gate.arrive_and_wait_for(push, 1s);
  gate.arrive_and_wait_until(push, std::chrono::steady_clock::now());
  gate.async_arrive(push);
};
template <class Gate>
concept Admitting = requires(Gate& gate, const push_event& push) {
  gate.admit(push);
};

// Where the host adds and flushes, every gradient needs its verdict; where it does not, there is none to be lost.
static_assert(Arriving<gate<bsp>> && !Admitting<gate<bsp>>);
static_assert(!Arriving<gate<bsp, rounds>> && Admitting<gate<bsp, rounds>>);
static_assert(Arriving<gate<ssp>> && Admitting<gate<ssp>>);
static_assert(Arriving<gate<ssp, rounds>> && Admitting<gate<ssp, rounds>>);
static_assert(Arriving<gate<any_policy>> && !Admitting<gate<any_policy>>);

TEST(Gate, ABarrierNeedsNoHost) {
  constexpr std::uint32_t workers = 4;
  constexpr std::uint64_t steps = 50;
  gate<bsp> barrier{{.capacity = workers}, {}};
  std::array<std::atomic<std::uint64_t>, workers> finished{};
  std::atomic<std::uint64_t> apart{0};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      EXPECT_TRUE(barrier.join_and_wait({w, 0}));
      for (std::uint64_t n = 1; n <= steps; ++n) {
        finished[w] = n;
        const auto terms = barrier.arrive_and_wait({.worker = {w, 0}});
        apart += !terms || terms->version != n;
        for (const auto& other : finished) apart += other < n;
      }
    });
  threads.gather();
  EXPECT_EQ(apart, 0u);
}

TEST(Gate, RefusesBadOptions) {
  const auto wrong = gate<ssp>::make({.capacity = 0}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, errc::invalid_option);
  EXPECT_EQ(wrong.error().message, problem(controller_options{.capacity = 0}, ssp{}));
  const auto right = gate<ssp>::make({.capacity = 1}, {.staleness = 1});
  ASSERT_TRUE(right);
  EXPECT_TRUE((*right)->join_and_wait({0, 0}));
}

TEST(Gate, WhoReadsCanChangeNothing) {
  gate<asp, no_effects, scores> gate{{.capacity = 1}, {}, {}, scores{1}};
  const bool constant =
      gate.inspect([](auto& sync) { return std::is_const_v<std::remove_reference_t<decltype(sync)>>; });
  EXPECT_TRUE(constant);
  ASSERT_TRUE(gate.join_and_wait({0, 0}));
  ASSERT_TRUE(gate.arrive_and_wait({.worker = {0, 0}}));
  EXPECT_EQ(gate.inspect(
                [](const auto& sync, const scores& seen) { return seen.of(0, 0.0).gradients.pushed + sync.version(); }),
            2u);
}

// Limits that the clock, which counts in nanoseconds, cannot say.
TEST(Gate, LimitsMayBeBeyondTheClock) {
  using coarse = std::chrono::time_point<std::chrono::steady_clock, std::chrono::hours>;
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  for (std::uint32_t w = 0; w < 2; ++w) ASSERT_EQ(gate.join({w, 0}), errc::ok);
  EXPECT_EQ(gate.arrive_and_wait_until({.worker = {0, 0}}, coarse::min()).error().code, errc::busy);
  EXPECT_EQ(gate.wait_for({0, 0}, std::chrono::hours::min()).error().code, errc::busy);
  EXPECT_EQ(gate.wait_until({0, 0}, std::chrono::steady_clock::time_point::min()).error().code, errc::busy);
  const auto eternity = [&](auto wait) {
    std::thread other{[&] {
      std::this_thread::sleep_for(5ms);
      EXPECT_TRUE(gate.arrive_and_wait_for({.worker = {1, 0}}, 10s));
    }};
    EXPECT_TRUE(wait());
    other.join();
  };
  eternity([&] { return gate.wait_until({0, 0}, coarse::max()).has_value(); });
  eternity([&] { return gate.arrive_and_wait_until({.worker = {0, 0}}, coarse::max()).has_value(); });
  eternity([&] { return gate.arrive_and_wait_for({.worker = {0, 0}}, std::chrono::hours::max()).has_value(); });
}

TEST(Gate, ATimedOutWaiterMayWaitAgain) {
  gate<ssp> gate{{.capacity = 2}, {.staleness = 0}};
  ASSERT_EQ(gate.join({1, 0}), errc::ok);
  ASSERT_TRUE(gate.join_and_wait({0, 0}));
  EXPECT_EQ(gate.arrive_and_wait_for({.worker = {0, 0}}, 1ms).error().code, errc::busy);
  EXPECT_EQ(state_of(gate, 0), worker_state::parked) << "it is still parked";
  EXPECT_EQ(gate.wait_for({0, 0}, 0s).error().code, errc::busy);
  EXPECT_EQ(gate.wait_until({0, 0}, std::chrono::steady_clock::now() - 1h).error().code, errc::busy);
  std::thread other{[&] { EXPECT_TRUE(gate.arrive_and_wait({.worker = {1, 0}})); }};
  EXPECT_TRUE(gate.wait_for({0, 0}, std::chrono::hours::max())) << "as long as it takes";
  other.join();
  EXPECT_EQ(gate.arrive_and_wait_until({.worker = {0, 0}}, std::chrono::steady_clock::now()).error().code, errc::busy);
  ASSERT_TRUE(gate.arrive_and_wait({.worker = {1, 0}}));
  EXPECT_TRUE(gate.wait_for({0, 0}, 0s)) << "it was released while nobody waited";
}

TEST(Gate, ShutdownFreesEverybody) {
  constexpr std::uint32_t workers = 16;
  gate<any_policy, rounds> gate{{.capacity = workers + 1}, bsp{}};
  ASSERT_EQ(gate.join({workers, 0}), errc::ok);  // runs for ever, so nobody gets through
  std::atomic<std::uint32_t> told{0};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      ASSERT_TRUE(gate.join_and_wait({w, 0}));
      const admitted mine = gate.admit({.worker = {w, 0}});
      told += gate.commit_and_wait(mine.work).error().code == errc::departed_worker;
    });
  await([&] { return gate.inspect([](auto& sync) { return sync.workers().parked().size() == workers; }); });
  gate.shutdown();
  threads.gather();
  EXPECT_EQ(told, workers);
  EXPECT_EQ(gate.join_and_wait({0, 1}).error().code, errc::departed_worker);
  EXPECT_EQ(gate.commit_and_wait(gate.admit({.worker = {workers, 0}}).work).error().code, errc::departed_worker);
  EXPECT_EQ(gate.host().flushed, workers) << "no gradient is lost";
}

TEST(Gate, NobodyEntersAfterShutdown) {
  gate<asp> gate{{.capacity = 2, .quorum = 1}, {}};
  ASSERT_TRUE(gate.join_and_wait({0, 0}));
  gate.shutdown();
  EXPECT_EQ(gate.join({0, 1}), errc::departed_worker);
  EXPECT_EQ(gate.join({1, 0}), errc::departed_worker);
  EXPECT_EQ(gate.join_and_wait({0, 1}).error().message, "gate is shut");
  EXPECT_EQ(gate.arrive_and_wait({.worker = {0, 0}}).error().message, "gate is shut");
  EXPECT_EQ(state_of(gate, 0), worker_state::done);
  EXPECT_EQ(state_of(gate, 1), worker_state::absent);
}

TEST(Gate, GradientsThatAreOutAreCommittedAfterShutdown) {
  gate<bsp, rounds> gate{{.capacity = 2}, {}};
  for (std::uint32_t w = 0; w < 2; ++w) ASSERT_EQ(gate.join({w, 0}), errc::ok);
  std::vector<token> out;
  for (std::uint32_t w = 0; w < 2; ++w) out.push_back(gate.admit({.worker = {w, 0}}).work);
  gate.shutdown();
  EXPECT_EQ(gate.commit_and_wait(out[0]).error().code, errc::departed_worker);
  EXPECT_EQ(gate.commit(out[1]), errc::ok);
  EXPECT_EQ(gate.host().flushed, 2u);
}

TEST(Gate, ShutdownFreesThoseWhoWaitForTheQuorum) {
  gate<asp> gate{{.capacity = 2}, {}};
  std::thread early{[&] { EXPECT_EQ(gate.join_and_wait({0, 0}).error().code, errc::departed_worker); }};
  await([&] { return state_of(gate, 0) == worker_state::joining; });
  gate.shutdown();
  early.join();
}

// A policy that lets everybody go some time after the last push, and at no other event.
struct delayed {
  double delay = 0.001;
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::deadline ? decision::all() : decision::hold().with_wake_at(what.now + delay);
  }
};

TEST(Gate, DeadlinesAreServedByWhoeverWaits) {
  constexpr std::uint32_t workers = 6;
  gate<delayed> gate{{.capacity = workers, .guard = {.enabled = false}}, {}};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      auto terms = gate.join_and_wait({w, 0});
      for (int n = 0; n < 20 && terms; ++n) terms = gate.arrive_and_wait({.worker = {w, 0}});
      EXPECT_TRUE(terms);
    });
  threads.gather();
  EXPECT_EQ(gate.inspect([](auto& sync) { return sync.counts().overrides(); }), 0u);
}

// Who watches the deadline may be told before it, or run out of patience: somebody else takes over.
TEST(Gate, TheWatchOverDeadlinesIsHandedOn) {
  gate<delayed> gate{{.capacity = 3, .guard = {.enabled = false}}, {.delay = 0.05}};
  crew threads;
  threads.start([&] { EXPECT_EQ(gate.join_and_wait({0, 0}).error().code, errc::departed_worker); });
  await([&] { return state_of(gate, 0) == worker_state::joining; });
  for (std::uint32_t w = 1; w < 3; ++w) threads.start([&, w] { EXPECT_TRUE(gate.join_and_wait({w, 0})); });
  await([&] { return state_of(gate, 1) != worker_state::absent && state_of(gate, 2) != worker_state::absent; });
  EXPECT_EQ(gate.die({0, 0}), errc::ok);
  threads.gather();
  EXPECT_FALSE(gate.next_deadline().has_value());
}

TEST(Gate, PollServesDeadlinesWhereNobodyWaits) {
  gate<delayed> gate{{.capacity = 1, .guard = {.enabled = false}}, {}};
  ASSERT_EQ(gate.join({0, 0}), errc::ok);
  ASSERT_TRUE(gate.next_deadline().has_value());
  await([&] {
    gate.poll();
    return state_of(gate, 0) == worker_state::running;
  });
  EXPECT_FALSE(gate.next_deadline().has_value());
}

// A clock that tests turn on by hand.
struct hand_clock {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<hand_clock>;
  static constexpr bool is_steady = true;
  static inline std::atomic<std::int64_t> milliseconds{0};
  static time_point now() { return time_point{duration{milliseconds}}; }
};

TEST(Gate, TimesAreThoseOfItsClock) {
  hand_clock::milliseconds = 5000;
  gate<asp, no_effects, scores, hand_clock> gate{{.capacity = 1}, {}, {}, scores{1}};
  ASSERT_TRUE(gate.join_and_wait({0, 0}));
  hand_clock::milliseconds += 250;
  ASSERT_TRUE(gate.arrive_and_wait({.worker = {0, 0}, .now = -7.0}));
  EXPECT_EQ(gate.now(), 0.25);
  gate.inspect([&](auto&, const scores& seen) { EXPECT_FLOAT_EQ(seen.of(0, gate.now()).step_time, 0.25F); });
}

// A clock that counts who looks at it: each thread that wakes does.
struct counting_clock : std::chrono::steady_clock {
  using time_point = std::chrono::time_point<counting_clock, duration>;
  static inline std::atomic<std::uint64_t> looks{0};
  static time_point now() {
    ++looks;
    return time_point{std::chrono::steady_clock::now().time_since_epoch()};
  }
};

TEST(Gate, OnlyTheReleasedAreWoken) {
  constexpr std::uint32_t workers = 48;
  gate<capped, no_effects, no_observer, counting_clock> gate{{.capacity = workers}, {.running = 1}};
  std::atomic<std::uint32_t> through{0};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      EXPECT_TRUE(gate.join_and_wait({w, 0}));
      ++through;
    });
  await([&] { return through == 1; });
  const std::uint64_t before = counting_clock::looks;
  for (std::uint32_t w = 0; w < workers; ++w) {
    EXPECT_EQ(gate.finish({w, 0}), errc::ok);  // one goes, one comes, the others sleep
    if (w + 1 < workers) await([&] { return through == w + 2; });
  }
  threads.gather();
  EXPECT_LT(counting_clock::looks - before, 8 * workers) << "a herd would be " << workers * workers / 2;
}

// Who waits for a worker whose gradient is out has no ticket at the controller by which it would be told.
template <class Change>
errc told_while_admitted(Change&& change) {
  gate<asp, no_effects, no_observer, counting_clock> gate{{.capacity = 1}, {}};
  EXPECT_EQ(gate.join({0, 0}), errc::ok);
  const admitted out = gate.admit({.worker = {0, 0}});
  const std::uint64_t before = counting_clock::looks;
  std::atomic<bool> told{false};
  errc code = errc::ok;
  crew threads;
  threads.start([&] {
    code = gate.wait({0, 0}).error().code;
    told = true;
  });
  await([&] { return counting_clock::looks > before; });  // it has the mutex from then on until it sleeps
  EXPECT_EQ(state_of(gate, 0), worker_state::admitted);
  change(gate);
  const auto patience = std::chrono::steady_clock::now() + 10s;
  await([&] { return told || std::chrono::steady_clock::now() > patience; });
  EXPECT_TRUE(told) << "it sleeps for ever";
  EXPECT_EQ(gate.commit(out.work, outcome::failed), errc::ok);
  gate.shutdown();
  threads.gather();
  return code;
}
TEST(Gate, WhoWaitsForAnAdmittedWorkerIsToldOfItsDeath) {
  EXPECT_EQ(told_while_admitted([](auto& gate) { EXPECT_EQ(gate.die({0, 0}), errc::ok); }), errc::departed_worker);
  EXPECT_EQ(told_while_admitted([](auto& gate) { EXPECT_EQ(gate.join({0, 1}), errc::ok); }), errc::old_incarnation);
  EXPECT_EQ(told_while_admitted([](auto& gate) { gate.shutdown(); }), errc::departed_worker);
}

// Policies that are changed all the time, threads that die in a step and are found later, impatient ones, late ones.
void storm(std::uint32_t workers, std::uint64_t seed, int changes) {
  const auto policies = test::policies_for(workers);
  random_sequence random{seed};
  const auto any = [&] { return policies[random.below(policies.size())]; };
  gate<any_policy, rounds> gate{{.capacity = workers, .quorum = workers / 2, .seed = seed}, any()};
  struct seat {
    std::atomic<std::uint32_t> life{0};
    std::atomic<bool> dead{false};
  };
  std::deque<seat> seats(workers);
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<bool> over{false};
  crew threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.start([&, w] {
      random_sequence chance{seed, w + 1};
      seat& here = seats[w];
      while (!over) {
        const worker_id me{w, here.life};
        auto terms = gate.join_and_wait(me);
        while (terms) {
          ++steps;
          if (chance.uniform() < 0.02) break;  // without a word
          const admitted what = gate.admit({.worker = me, .samples = 1, .loss = 1.0F});
          if (chance.uniform() < 0.3) std::this_thread::yield();
          if (chance.uniform() < 0.1) {
            wrong += gate.commit(what.work, outcome::failed) == errc::invalid_token;
            do terms = gate.wait_for(me, 50us);
            while (!terms && terms.error().code == errc::busy);
          } else {
            terms = gate.commit_and_wait(what.work);
          }
        }
        if (!terms && terms.error().code != errc::departed_worker) ++wrong;
        if (!terms) return;  // shut
        here.dead = true;
        while (here.dead && !over) std::this_thread::yield();  // its supervisor starts the next life
      }
    });
  // The supervisor.
  for (int n = 0; n < changes;) {
    for (std::uint32_t w = 0; w < workers; ++w)
      if (seats[w].dead) {
        wrong += gate.die({w, seats[w].life}) != errc::ok;
        ++seats[w].life;
        seats[w].dead = false;
      }
    const std::uint64_t before = steps;
    wrong += gate.switch_to(any(), n % 2 == 0 ? pending_gradients::flush : pending_gradients::discard) != errc::ok;
    for (int spin = 0; spin < 50 && steps < before + workers; ++spin) std::this_thread::yield();
    n += steps > before;  // every change is followed by steps: or this hangs
  }
  over = true;
  gate.shutdown();
  threads.gather();
  EXPECT_EQ(wrong, 0u);
  gate.inspect([](auto& sync) {
    EXPECT_EQ(sync.workers().busy(), 0u);
    EXPECT_EQ(sync.workers().parked().size(), 0u);
  });
}

TEST(Gate, SixtyFourThreadsWithDeathsAndSwitches) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) storm(64, seed, static_cast<int>(test::scaled(40)));
}
TEST(Gate, FewThreadsWithDeathsAndSwitches) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) storm(3, seed, static_cast<int>(test::scaled(60)));
}

}  // namespace
}  // namespace rubato
