#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <utility>
#include <vector>

#include "../support/all_policies.hpp"
#include "../support/scaled.hpp"

namespace rubato {
namespace {

struct deaf {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

// A controller that is watched, and whose workers all joined at time 0.
template <class Policy>
struct watched {
  controller<Policy, int, scores> sync;
  deaf sink{};

  watched(Policy policy, std::uint32_t workers) : sync{{.capacity = workers}, std::move(policy), scores{workers}} {
    for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(sync.join({w, 0}, 0.0, 1, sink), errc::ok);
  }
  void push(std::uint32_t w, double now) {
    EXPECT_EQ(sync.push({.worker = sync.workers().id(w), .now = now}, 1, sink), errc::ok);
  }
  void depart(std::uint32_t w, double now) {
    EXPECT_EQ(sync.depart(sync.workers().id(w), now, cause::death, sink), errc::ok);
  }
  scores& seen() { return sync.watcher(); }
};

TEST(Scores, NothingIsKnownOfNobody) {
  const worker_score nobody;
  EXPECT_EQ(nobody.relative, 0.0F);
  EXPECT_EQ(nobody.individual, 0.0F);
  EXPECT_EQ(nobody.step_time, 0.0F);
  EXPECT_EQ(nobody.lateness, 0.0);
  EXPECT_EQ(nobody.waiting, 0.0);
  EXPECT_EQ(nobody.waited, 0.0);
}

TEST(Scores, RelativeToTheBestWorker) {
  watched<asp> b{asp{}, 3};
  EXPECT_EQ(b.seen().relative(0), 0.0F) << "no step is over";
  b.push(0, 1.0), b.push(1, 2.0), b.push(2, 4.0);
  EXPECT_FLOAT_EQ(b.seen().relative(0), 1.0F);
  EXPECT_FLOAT_EQ(b.seen().relative(1), 0.5F);
  EXPECT_FLOAT_EQ(b.seen().relative(2), 0.25F);
  ASSERT_EQ(b.sync.depart({1, 0}, 5.0, cause::done, b.sink), errc::ok);
  b.depart(0, 5.0);
  EXPECT_FLOAT_EQ(b.seen().relative(1), 1.0F) << "the best has died";
  EXPECT_FLOAT_EQ(b.seen().relative(2), 0.5F) << "who has done its work is still a measure";
}

TEST(Scores, RelativeWhenTheBestSlowsDown) {
  watched<asp> b{asp{}, 2};
  b.push(0, 1.0), b.push(1, 2.0);
  EXPECT_FLOAT_EQ(b.seen().relative(1), 0.5F);
  b.push(0, 12.0);  // a step of 11: recent is 1 + 0.2 x 10
  EXPECT_FLOAT_EQ(b.seen().relative(0), 2.0F / 3.0F);
  EXPECT_FLOAT_EQ(b.seen().relative(1), 1.0F);
}

TEST(Scores, RelativeToTheBestOfThoseThatAreLeft) {
  watched<asp> b{asp{}, 4};
  b.push(0, 0.125), b.push(1, 0.25), b.push(2, 0.5);
  b.depart(0, 0.5);
  EXPECT_FLOAT_EQ(b.seen().relative(1), 1.0F);
  EXPECT_FLOAT_EQ(b.seen().relative(2), 0.5F);
  EXPECT_DOUBLE_EQ(b.seen().lateness(3, 1.0), 0.5) << "whose own time is not known is measured by the slowest";
}

TEST(Scores, IndividualToItsOwnBest) {
  watched<asp> b{asp{}, 1};
  b.push(0, 2.0);
  EXPECT_FLOAT_EQ(b.seen().individual(0), 1.0F);
  b.push(0, 9.0);  // 7: recent is 3
  EXPECT_FLOAT_EQ(b.seen().individual(0), 2.0F / 3.0F);
  EXPECT_FLOAT_EQ(b.seen().of(0, 9.0).step_time, 3.0F);
  b.depart(0, 10.0);
  ASSERT_EQ(b.sync.join({0, 1}, 10.0, 1, b.sink), errc::ok);
  EXPECT_EQ(b.seen().individual(0), 0.0F) << "another machine, perhaps";
}

TEST(Scores, CancelledStepsHaveNoStepTime) {
  scores all{1};
  all({.what = record::kind::release, .worker = {0, 0}, .now = 0.0});
  all({.what = record::kind::admit,
       .decided = verdict::drop,
       .because = reason::cancelled,
       .worker = {0, 0},
       .now = 1});
  EXPECT_EQ(all.of(0, 1.0).step_time, 0.0F);
  EXPECT_EQ(all.of(0, 1.0).gradients.lost(reason::cancelled), 1u);
}

TEST(Scores, Lateness) {
  watched<ssp> b{ssp{.staleness = 0}, 2};
  EXPECT_EQ(b.seen().lateness(0, 100.0), 0.0) << "nobody has finished a step: nothing is expected";
  b.push(0, 1.0);
  EXPECT_EQ(b.seen().lateness(0, 100.0), 0.0) << "it waits";
  EXPECT_DOUBLE_EQ(b.seen().lateness(1, 4.0), 3.0) << "its first step: expected is that of the slowest";
  b.push(1, 5.0);
  EXPECT_DOUBLE_EQ(b.seen().lateness(0, 7.0), 1.0) << "started at 5, expected to take 1";
  EXPECT_EQ(b.seen().lateness(1, 7.0), 0.0) << "expected to take 5";
  b.depart(1, 8.0);
  EXPECT_EQ(b.seen().lateness(1, 100.0), 0.0) << "it has gone";
}

TEST(Scores, MissingAreOrderedWorstFirst) {
  watched<asp> b{asp{}, 4};
  b.push(0, 1.0), b.push(1, 1.0), b.push(2, 4.0), b.push(3, 1.0);
  b.push(3, 15.0);  // 14 after 1: recent is 3.6
  EXPECT_TRUE(b.seen().missing(4.0).empty());
  const auto late = b.seen().missing(21.0);  // 0 and 1 since 1, 2 since 4, 3 since 15
  ASSERT_EQ(late.size(), 3u);
  EXPECT_EQ(late[0].worker, 0u);
  EXPECT_DOUBLE_EQ(late[0].times, 20.0);
  EXPECT_DOUBLE_EQ(late[0].running, 20.0);
  EXPECT_EQ(late[1].worker, 1u);
  EXPECT_EQ(late[2].worker, 2u);
  EXPECT_DOUBLE_EQ(late[2].times, 17.0 / 4.0);
  EXPECT_EQ(b.seen().missing(21.0, 5.0).size(), 2u);
  b.depart(0, 22.0);
  EXPECT_EQ(b.seen().missing(22.0).front().worker, 1u) << "who has gone is not missing";
}

TEST(Scores, WaitsAddUp) {
  watched<bsp> b{bsp{}, 2};
  b.push(0, 1.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 3.0).waiting, 2.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 3.0).waited, 2.0);
  b.push(1, 4.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 9.0).waiting, 0.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 9.0).waited, 3.0);
  b.push(0, 10.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 12.0).waited, 5.0);
  b.depart(0, 13.0);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 99.0).waited, 6.0) << "who has gone waits no longer";
  EXPECT_EQ(b.seen().of(1, 99.0).waited, 0.0);
}

TEST(Scores, TheWaitForTheQuorumCounts) {
  controller<asp, int, scores> sync{{.capacity = 2}, asp{}, scores{2}};
  deaf sink;
  ASSERT_EQ(sync.join({0, 0}, 1.0, 1, sink), errc::ok);
  EXPECT_DOUBLE_EQ(sync.watcher().of(0, 3.0).waiting, 2.0);
  ASSERT_EQ(sync.join({1, 0}, 6.0, 1, sink), errc::ok);
  EXPECT_DOUBLE_EQ(sync.watcher().of(0, 9.0).waited, 5.0);
}

TEST(Scores, StalenessInPowersOfTwo) {
  EXPECT_EQ(staleness_histogram::bucket_of(0), 0u);
  EXPECT_EQ(staleness_histogram::bucket_of(1), 1u);
  EXPECT_EQ(staleness_histogram::bucket_of(3), 2u);
  EXPECT_EQ(staleness_histogram::bucket_of(4), 3u);
  EXPECT_EQ(staleness_histogram::bucket_of(~std::uint64_t{0}), staleness_histogram::buckets - 1);
  for (std::size_t b = 0; b < staleness_histogram::buckets; ++b)
    EXPECT_EQ(staleness_histogram::bucket_of(staleness_histogram::lower_edge(b)), b);
  watched<asp> b{asp{}, 2};
  for (int n = 1; n <= 5; ++n) b.push(0, n);
  b.push(1, 6.0);  // 5 updates after its grant
  b.push(1, 7.0);
  const worker_score seen = b.seen().of(1, 7.0);
  EXPECT_EQ(seen.staleness.counts[staleness_histogram::bucket_of(5)], 1u);
  EXPECT_EQ(seen.staleness.counts[0], 1u);
  EXPECT_EQ(b.seen().of(0, 7.0).staleness.counts[0], 5u);
}

TEST(Scores, FatesOfEveryGradient) {
  watched<any_policy> b{bsp{}, 3};
  const auto fates = [&](std::uint32_t w) { return b.seen().of(w, 0.0).gradients; };
  const auto admit = [&](std::uint32_t w, float loss = 1.0F) {
    return b.sync.admit({.worker = {w, 0}, .now = 1.0, .loss = loss});
  };
  const auto commit = [&](const admitted& a, outcome how = outcome::done) {
    ASSERT_EQ(b.sync.commit(a.work, 1.0, how, 1, b.sink), errc::ok);
  };
  commit(admit(0));
  const admitted late = admit(1);
  EXPECT_EQ(fates(1).in_flight, 1u);
  commit(admit(2, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(fates(0).contributed, 1u);
  EXPECT_EQ(fates(2).lost(reason::non_finite), 1u);
  EXPECT_EQ(fates(2).contributed, 0u);
  // The round is thrown away while a gradient for it is under way: all of it is lost, once that is in.
  ASSERT_EQ(b.sync.switch_to(asp{}, 1.0, pending_gradients::discard, b.sink), errc::ok);
  commit(admit(0));
  EXPECT_EQ(fates(0).contributed, 2u);
  commit(late);
  EXPECT_EQ(fates(0).contributed, 1u);
  EXPECT_EQ(fates(0).lost(reason::switched), 1u);
  EXPECT_EQ(fates(1).lost(reason::switched), 1u);
  EXPECT_EQ(fates(1).in_flight, 0u);
  EXPECT_EQ(fates(1).contributed, 0u);
  commit(admit(0), outcome::failed);
  EXPECT_EQ(fates(0).lost(reason::failed), 1u);
  EXPECT_EQ(fates(0).lost(reason::liveness), 0u) << "not the end of any gradient";
  EXPECT_EQ(fates(0).pushed, 3u);
  EXPECT_EQ(fates(0).lost(), 2u);
}

TEST(Scores, AGradientOfADeadIncarnationIsNoArrivalOfTheNext) {
  watched<asp> b{asp{}, 2};
  const admitted out = b.sync.admit({.worker = {0, 0}, .now = 1.0});
  b.depart(0, 2.0);
  ASSERT_EQ(b.sync.join({0, 1}, 3.0, 1, b.sink), errc::ok);  // waits for the commit
  ASSERT_EQ(b.sync.commit(out.work, 5.0, outcome::done, 1, b.sink), errc::ok);
  EXPECT_DOUBLE_EQ(b.seen().of(0, 9.0).waited, 2.0) << "from its join to its start";
  EXPECT_EQ(b.seen().of(0, 9.0).gradients.contributed, 1u);
}

TEST(Scores, WatchesAControllerThatRanBefore) {
  scores all{1};
  all({.what = record::kind::admit, .worker = {0, 3}, .now = 5.0});
  all({.what = record::kind::commit, .worker = {0, 3}, .now = 6.0});
  EXPECT_EQ(all.of(0, 9.0).step_time, 0.0F) << "nobody saw its step begin";
  EXPECT_DOUBLE_EQ(all.of(0, 9.0).waiting, 3.0);
  EXPECT_EQ(all.of(0, 9.0).gradients.pushed, 1u);
}

// A cluster at random: admissions out in any order, failures, deaths, returns, switches.
TEST(Scores, AgreesWithTheCountersUnderRandomSchedules) {
  std::uint64_t lost = 0;
  std::uint64_t switched = 0;
  for (std::uint32_t seed = 0; seed < test::scaled(150); ++seed) {
    random_sequence random{seed};
    const std::uint32_t k = 2 + static_cast<std::uint32_t>(random.below(5));
    const auto policies = test::policies_for(k);
    const auto any = [&] { return policies[random.below(policies.size())]; };
    watched<any_policy> b{any(), k};
    std::vector<admitted> out;
    std::vector<std::uint64_t> pushed(k, 0);
    double now = 0.0;
    std::uint64_t serial = 0;
    std::uint64_t serial_of_switch = 0;
    for (int n = 0; n < 300; ++n) {
      const auto w = static_cast<std::uint32_t>(random.below(k));
      const worker_id id = b.sync.workers().id(w);
      now += random.uniform();
      const double what = random.uniform();
      const bool of_the_last_switch =
          std::any_of(out.begin(), out.end(), [&](const admitted& a) { return a.work.serial <= serial_of_switch; });
      if (what < 0.02 && !of_the_last_switch) {
        serial_of_switch = serial;
        ASSERT_EQ(b.sync.switch_to(any(), now, pending_gradients::discard, b.sink), errc::ok);
      } else if (what < 0.04) {
        static_cast<void>(b.sync.depart(id, now, cause::death, b.sink));
      } else if (what < 0.10) {
        static_cast<void>(b.sync.join({w, id.incarnation + 1}, now, 1, b.sink));
      } else if (what < 0.5 && !out.empty()) {
        std::swap(out[random.below(out.size())], out.back());
        static_cast<void>(
            b.sync.commit(out.back().work, now, random.uniform() < 0.1 ? outcome::failed : outcome::done, 1, b.sink));
        out.pop_back();
      } else if (b.sync.workers()[w].state == worker_state::running) {
        const float loss = random.uniform() < 0.05 ? std::numeric_limits<float>::infinity() : 1.0F;
        out.push_back(b.sync.admit({.worker = id, .now = now, .samples = 1, .loss = loss}));
        serial = out.back().work.serial;
        ++pushed[w];
      } else if (b.sync.next_deadline() <= now) {
        b.sync.poll(now, b.sink);
      }
      std::uint64_t lost_by_switches = 0;
      for (std::uint32_t v = 0; v < k; ++v) {
        const gradient_fates f = b.seen().of(v, now).gradients;
        ASSERT_EQ(f.pushed, pushed[v]);
        ASSERT_EQ(f.pushed, f.contributed + f.lost() + f.in_flight) << "seed " << seed << ", event " << n;
        for (auto why = gradient_fates::first; why < reason::switched;
             why = static_cast<reason>(static_cast<int>(why) + 1))
          ASSERT_EQ(f.lost(why), b.sync.counts().of(v, why)) << name(why) << ", seed " << seed << ", event " << n;
        lost_by_switches += f.lost(reason::switched);
        lost += f.lost();
      }
      ASSERT_EQ(lost_by_switches, b.sync.counts().total(reason::switched)) << "seed " << seed << ", event " << n;
      switched += lost_by_switches;
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_GT(switched, 0u);
}

}  // namespace
}  // namespace rubato
