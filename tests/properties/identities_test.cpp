// Rules that coincide, on release traces: fixed membership, fixed step times, quorum = all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <utility>
#include <vector>

#include "../support/all_policies.hpp"
#include "../support/metronome.hpp"
#include "../support/scaled.hpp"

namespace rubato {
namespace {

using test::metronome;

// Step times of k workers; every other cluster has ties.
std::vector<double> random_step_times(std::uint64_t seed, std::uint32_t k) {
  random_sequence random{seed};
  std::vector<double> times(k);
  for (double& t : times) t = seed % 2 == 0 ? 1.0 + random.uniform() * 3.0 : 1.0 + static_cast<double>(random.below(3));
  return times;
}

// one(k) and other(k) make the policies for k workers.
template <class One, class Other>
void expect_same_trace(One&& one, Other&& other, bool same_updates = true) {
  constexpr std::uint32_t steps = 300;
  for (std::uint64_t seed = 0; seed < test::scaled(20); ++seed)
    for (const std::uint32_t k : {1u, 2u, 5u, 12u})
      for (const park_on park : {park_on::push, park_on::pull}) {
        const controller_options o{.park = park, .guard = {.enabled = false}};
        metronome a{one(k), random_step_times(seed, k), o};
        metronome b{other(k), random_step_times(seed, k), o};
        ASSERT_TRUE(a.run(steps).ok() && b.run(steps).ok());
        ASSERT_GE(a.trace().size(), steps - k);
        ASSERT_EQ(a.trace(), b.trace()) << "seed " << seed << ", " << k << " workers";
        if (same_updates) {
          ASSERT_EQ(a.control().updates(), b.control().updates()) << "seed " << seed;
        }
      }
}

constexpr auto bsp_mean = [](std::uint32_t) { return bsp{}; };
constexpr auto bsp_sum = [](std::uint32_t) { return bsp{bsp::sum}; };
constexpr auto plain_asp = [](std::uint32_t) { return asp{}; };

TEST(Identities, SspOfZeroIsBsp) {
  expect_same_trace([](std::uint32_t) { return ssp{.staleness = 0}; }, bsp_mean, false);
}

TEST(Identities, BspOfSumIsBspOfMean) {
  expect_same_trace([](std::uint32_t) { return bsp{bsp::sum}; }, bsp_mean, false);
}

TEST(Identities, UnboundedSspIsAsp) {
  expect_same_trace([](std::uint32_t) { return ssp{.staleness = unbounded}; }, plain_asp);
}

TEST(Identities, KSyncOfAllIsBsp) {
  expect_same_trace([](std::uint32_t k) { return k_sync{.k = k}; }, bsp_mean);
}

TEST(Identities, BackupOfNoneIsBsp) {
  expect_same_trace([](std::uint32_t) { return backup_workers{.backups = 0}; }, bsp_mean);
}

TEST(Identities, KAsyncIsBspOrAspAtItsEnds) {
  expect_same_trace([](std::uint32_t k) { return k_async{.k = k}; }, bsp_mean);
  expect_same_trace([](std::uint32_t) { return k_async{.k = 1}; }, plain_asp);
}

TEST(Identities, KBatchAsyncOfOneIsAsp) {
  expect_same_trace([](std::uint32_t) { return k_batch_async{.k = 1}; }, plain_asp);
}

TEST(Identities, BufferedIsBspOrKBatchAsyncAtItsEnds) {
  expect_same_trace([](std::uint32_t k) { return buffered{.active = k, .buffer = k, .open = k}; }, bsp_mean);
  for (const std::uint32_t size : {1u, 2u, 7u})
    expect_same_trace([&](std::uint32_t k) { return buffered{.active = k, .buffer = size, .open = 1}; },
                      [&](std::uint32_t) { return k_batch_async{.k = size}; });
}

TEST(Identities, RingmasterOfADelayThatIsNeverReachedIsAsp) {
  for (const bool stops : {false, true})
    expect_same_trace([&](std::uint32_t) { return ringmaster{.delay = 1'000'000, .stops = stops}; }, plain_asp);
}

TEST(Identities, CapOfAllIsAsp) {
  for (const auto order : {release_order::fifo, release_order::fastest})
    expect_same_trace([&](std::uint32_t k) { return capped{.running = k, .order = order}; }, plain_asp);
  expect_same_trace([](std::uint32_t k) { return m_fastest{.m = k, .probe = 3}; }, plain_asp);
}

TEST(Identities, MFastestIsACapOnTheFastest) {
  expect_same_trace([](std::uint32_t k) { return m_fastest{.m = (k + 1) / 2}; },
                    [](std::uint32_t k) { return capped{.running = (k + 1) / 2, .order = release_order::fastest}; });
}

// What K-batch-sync computes more than Rennala by stopping what is too old; of one worker there is nothing to stop.
TEST(Identities, KBatchSyncOfOneWorkerIsRennala) {
  metronome a{k_batch_sync{.k = 3}, {1.5}};
  metronome b{rennala{.batch = 3}, {1.5}};
  ASSERT_TRUE(a.run(100).ok() && b.run(100).ok());
  EXPECT_EQ(a.trace(), b.trace());
  EXPECT_EQ(a.flushes(), 33u);
  EXPECT_EQ(b.flushes(), 33u);
}

TEST(Identities, DsspOfEqualBoundsIsSsp) {
  for (const clock_type s : {0u, 1u, 4u})
    expect_same_trace([s](std::uint32_t) { return dssp{.lower = s, .upper = s}; },
                      [s](std::uint32_t) { return ssp{.staleness = s}; });
}

TEST(Identities, ZiplineOfOneStepIsBsp) {
  expect_same_trace([](std::uint32_t) { return zipline{.lookahead = 1}; }, bsp_sum);
}

TEST(Identities, AdaSyncOfASteadyLossIsItsRule) {
  using rule = ada_sync::rule;
  const auto fixed = [](rule by) {
    return [by](std::uint32_t k) { return ada_sync{.by = by, .initial = std::min(k, 2U), .interval = 0.0}; };
  };
  expect_same_trace(fixed(rule::k_sync), [](std::uint32_t k) { return k_sync{.k = std::min(k, 2U)}; });
  expect_same_trace(fixed(rule::k_async), [](std::uint32_t k) { return k_async{.k = std::min(k, 2U)}; });
  expect_same_trace(fixed(rule::k_batch_sync), [](std::uint32_t k) { return k_batch_sync{.k = std::min(k, 2U)}; });
  expect_same_trace(fixed(rule::k_batch_async), [](std::uint32_t k) { return k_batch_async{.k = std::min(k, 2U)}; });
}

TEST(Identities, SyncSwitchIsItsFirstOrItsSecondAtItsEnds) {
  const auto with = [](double share) {
    return [share](std::uint32_t) { return sync_switch<>{{.share = share, .workload = 50}}; };
  };
  expect_same_trace(with(0.0), plain_asp);
  expect_same_trace(with(1.0), bsp_mean);
  const auto pair = [](double share) {
    return [share](std::uint32_t k) {
      return sync_switch{k_async{.k = std::min(k, 2U)}, ssp{.staleness = 1}, {.share = share, .workload = 50}};
    };
  };
  expect_same_trace(pair(0.0), [](std::uint32_t) { return ssp{.staleness = 1}; });
  expect_same_trace(pair(1.0), [](std::uint32_t k) { return k_async{.k = std::min(k, 2U)}; });
}

TEST(Identities, AapIsAspSspOrBspAtItsEnds) {
  expect_same_trace([](std::uint32_t) { return aap{.floor = 0}; }, plain_asp);
  for (const clock_type s : {0u, 1u, 4u})
    expect_same_trace([s](std::uint32_t) { return aap{.floor = 0, .staleness = s}; },
                      [s](std::uint32_t) { return ssp{.staleness = s}; });
  expect_same_trace([](std::uint32_t) { return aap{.floor = unbounded}; }, bsp_sum);
}

// In the order of their starts but for those at the same time.
TEST(Identities, AspUnderABoundOfTheGuardIsSsp) {
  for (std::uint64_t seed = 0; seed < test::scaled(20); ++seed)
    for (const clock_type bound : {0u, 1u, 4u}) {
      const auto trace = [&](auto policy, guard_options guard) {
        metronome<decltype(policy)> run{policy, random_step_times(seed, 7), {.guard = guard}};
        EXPECT_TRUE(run.run(300).ok());
        EXPECT_EQ(run.control().counts().total(reason::liveness), 0u);
        std::vector<std::pair<double, std::uint32_t>> starts;
        for (const auto& start : run.trace()) starts.emplace_back(start.time, start.worker);
        std::sort(starts.begin(), starts.end());
        return starts;
      };
      EXPECT_EQ(trace(asp{}, {.bound = bound}), trace(ssp{.staleness = bound}, {.enabled = false})) << seed;
    }
}

TEST(Identities, AnyPolicyIsThePolicyThatItHolds) {
  expect_same_trace([](std::uint32_t) { return any_policy{ssp{.staleness = 2}}; },
                    [](std::uint32_t) { return ssp{.staleness = 2}; });
  expect_same_trace([](std::uint32_t k) { return any_policy{k_sync{.k = std::min(k, 2U)}}; },
                    [](std::uint32_t k) { return k_sync{.k = std::min(k, 2U)}; });
}

}  // namespace
}  // namespace rubato
