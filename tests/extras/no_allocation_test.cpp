// Scores and groups allocate at construction only.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/extras/groups.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <rubato/sync/ssp.hpp>
#include <span>

namespace {

bool counting = false;
std::size_t allocations = 0;

}  // namespace

// Out of memory ends a test as well as an exception would. Inlining one of a pair would look like a mismatch to g++.
#define RUBATO_TEST_OPERATOR [[gnu::noinline]]
RUBATO_TEST_OPERATOR void* operator new(std::size_t size) {
  allocations += counting;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
RUBATO_TEST_OPERATOR void operator delete(void* memory) noexcept { std::free(memory); }
RUBATO_TEST_OPERATOR void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rubato {
namespace {

struct silent {
  void release(int, worker_id, std::span<const grant>) {}
  void flush(std::uint32_t, std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint32_t, std::uint64_t, std::uint32_t) {}
};

TEST(NoAllocation, ScoresAndGroupsAfterConstruction) {
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

// The counter counts. (A direct call: a new-expression may be optimised away.)
TEST(NoAllocation, IsMeasured) {
  counting = true;
  allocations = 0;
  void* const memory = ::operator new(100);
  counting = false;
  EXPECT_EQ(allocations, 1u);
  ::operator delete(memory);
}

}  // namespace
}  // namespace rubato
