// admit, commit, pull, poll and the releases that follow them allocate nothing, under any policy.
#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/sync/extras/groups.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <rubato/sync/outbox.hpp>
#include <span>

#include "../support/all_policies.hpp"
#include "../support/counted_allocations.hpp"
#include "../support/metronome.hpp"

namespace rubato {
namespace {

using rubato::test::allocations;
using rubato::test::counting;

class NoAllocation : public ::testing::TestWithParam<test::named_policy> {};

INSTANTIATE_TEST_SUITE_P(Properties, NoAllocation, ::testing::ValuesIn(test::all_policies()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(NoAllocation, AfterConstruction) {
  const std::vector<double> durations{1.0, 1.3, 1.7, 2.0, 2.0, 2.9, 4.1, 7.7, 9.0, 20.0};
  for (const park_on park : {park_on::push, park_on::pull})
    for (const std::uint32_t at_once : {2u, no_worker}) {
      test::metronome cluster{GetParam().policy,
                              durations,
                              {.park = park, .guard = {.bound = 6, .max_wait = 3.0}, .max_release_per_call = at_once},
                              20'000};
      allocations = 0;
      counting = true;
      cluster.run(3000);
      counting = false;
      EXPECT_TRUE(cluster.ok());
      EXPECT_EQ(allocations, 0u);
      EXPECT_LT(cluster.trace().size(), 20'000u);
    }
}

// The counter counts. (A direct call: a new-expression may be optimised away.)
TEST(AllocationCount, IsMeasured) {
  counting = true;
  allocations = 0;
  void* const memory = ::operator new(100);
  counting = false;
  EXPECT_EQ(allocations, 1u);
  ::operator delete(memory);
}

struct deaf {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id) {}
  void abandon(int, worker_id, reason) {}
};

TEST(AllocationCount, StaysThroughMembershipChanges) {
  controller<any_policy, int> sync{{.capacity = 64, .quorum = 1}, ssp{.staleness = 2}};
  deaf sink;
  allocations = 0;
  counting = true;
  errc last = errc::ok;
  for (std::uint32_t n = 0; n < 2000; ++n) {
    const double now = n;
    last = sync.join({n % 64, n / 64}, now, 1, sink);
    last = sync.push({.worker = {n % 7, n / 64}, .now = now}, 2, sink);
    if (n % 3 == 0) last = sync.depart({(n + 30) % 64, n / 64}, now, cause::death, sink);
    sync.poll(now, sink);
  }
  counting = false;
  static_cast<void>(last);
  EXPECT_EQ(allocations, 0u);
}

TEST(Outbox, AllocatesNothingWithinWhatIsReserved) {
  outbox<int> box{10};
  allocations = 0;
  counting = true;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t n = 0; n < 10; ++n) box.release(1, {n, 0}, {});
    box.deliver(deaf{});
  }
  counting = false;
  EXPECT_EQ(allocations, 0u);
}

struct silent {
  void release(int, worker_id, std::span<const grant>) {}
  void flush(std::uint32_t, std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint32_t, std::uint64_t, std::uint32_t) {}
};

TEST(AllocationCount, ScoresAndGroupsAfterConstruction) {
  constexpr std::uint32_t workers = 32;
  groups<any_policy, int, scores> sync{
      {.capacity = workers, .quorum = 4}, {ssp{.staleness = 1}, bsp{}}, scores{workers}};
  silent sink;
  errc last = errc::ok;
  std::size_t late = 0;
  allocations = 0;
  counting = true;
  for (std::uint32_t n = 0; n < 4000; ++n) {
    const std::uint32_t w = n * 7 % workers;
    const worker_id id = sync[0].workers().id(w);
    const double now = n;
    if (n < workers)
      last = sync.join({n, 0}, now, sink);
    else if (n % 97 == 0)
      last = sync.join({w, id.incarnation + 1}, now, sink);
    else if (n % 89 == 0)
      last = sync.depart(id, now, cause::death, sink);
    last = sync.pull(id, now, 1, sink);
    for (std::uint32_t g = 0; g < sync.size(); ++g) last = sync.push(g, {.worker = id, .now = now}, sink);
    sync.poll(now, sink);
    late += sync.watcher(0).missing(now, 1.0).size() + (sync.watcher(1).of(w, now).relative > 0.0F ? 1 : 0);
  }
  counting = false;
  static_cast<void>(last);
  EXPECT_EQ(allocations, 0u);
  EXPECT_GT(late, 0u) << "something was seen";
  EXPECT_GT(sync[1].version(), 10u) << "something was done";
}

TEST(AllocationCount, StragglerDetectorAfterConstruction) {
  constexpr std::uint32_t workers = 8;
  controller<bsp, int, straggler_detector> sync{
      {.capacity = workers}, bsp{}, straggler_detector{workers, {.window = 10, .steps = 2}}};
  errc last = errc::ok;
  std::uint64_t found = 0;
  allocations = 0;
  counting = true;
  for (std::uint32_t w = 0; w < workers; ++w) last = sync.join({w}, 0, 1, deaf{});
  for (std::uint32_t round = 0; round < 400; ++round) {
    const bool all_run = sync.workers().in(worker_state::running) == workers;  // else the last one waits for the others
    for (std::uint32_t w = 0; w < workers - !all_run; ++w)                     // the last one takes four times as long
      last = sync.push({.worker = sync.workers().id(w), .now = 4.0 * round + (w + 1 == workers ? 4 : 1)}, 1, deaf{});
    if (const auto slow = sync.watcher().to_evict(); slow && round % 50 == 49) {
      ++found;
      last = sync.depart(slow->who, 4.0 * round + 4, cause::leave, deaf{});
      last = sync.join({slow->who.index, slow->who.incarnation + 1}, 4.0 * round + 4, 1, deaf{});
    }
  }
  counting = false;
  static_cast<void>(last);
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(found, 8u) << "it was found each time";
}

}  // namespace
}  // namespace rubato
