#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/extras/switch_pauses.hpp>
#include <utility>

namespace rubato {
namespace {

struct host {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};
struct job {
  controller<any_policy, int, switch_pauses> sync{{.capacity = 2}, bsp{}};
  host sink;

  job() {
    for (std::uint32_t w = 0; w < 2; ++w) EXPECT_EQ(sync.join({w}, 0, 0, sink), errc::ok);
  }
  void push(std::uint32_t w, double now) { EXPECT_EQ(sync.push({.worker = {w}, .now = now}, 0, sink), errc::ok); }
  void change(any_policy to, double now) {
    EXPECT_EQ(sync.switch_to(std::move(to), now, pending_gradients::flush, sink), errc::ok);
  }
  const switch_pauses& pauses() { return sync.watcher(); }
};

TEST(SwitchPauses, FromTheLastPushToTheFirstRelease) {
  job all;
  all.push(0, 1);  // waits at the barrier
  all.change(asp{}, 3);
  ASSERT_EQ(all.pauses().count(), 1u);
  EXPECT_EQ(all.pauses().latest().length(), 2);
  EXPECT_EQ(all.pauses().latest().after_change(), 0) << "released by the change itself";

  all.push(0, 4);
  all.change(bsp{}, 5);  // nobody waits
  all.push(1, 6);
  all.push(0, 7);
  ASSERT_EQ(all.pauses().count(), 2u);
  EXPECT_EQ(all.pauses().latest().last_push, 4);
  EXPECT_EQ(all.pauses().latest().changed, 5);
  EXPECT_EQ(all.pauses().latest().first_release, 7);
  EXPECT_EQ(all.pauses().longest().length(), 3);
}

TEST(SwitchPauses, NobodyReleasedIsNoPauseYet) {
  job all;
  all.change(bsp{}, 1);  // both are in a step
  all.push(0, 2);
  EXPECT_EQ(all.pauses().count(), 0u);
  EXPECT_EQ(all.pauses().latest().length(), 0);
  all.push(1, 5);
  ASSERT_EQ(all.pauses().count(), 1u);
  EXPECT_EQ(all.pauses().latest().last_push, 1) << "there was no push before";
  EXPECT_EQ(all.pauses().latest().length(), 4);
}

TEST(SwitchPauses, ChangesWithoutAReleaseBetweenAreOne) {
  using kind = record::kind;
  switch_pauses seen;
  for (const auto& [what, now] : {std::pair{kind::commit, 1.0},
                                  {kind::change_policy, 2.0},
                                  {kind::commit, 2.5},
                                  {kind::change_policy, 3.0},
                                  {kind::release, 6.0},
                                  {kind::release, 7.0}})
    seen({.what = what, .now = now});
  EXPECT_EQ(seen.count(), 1u);
  EXPECT_EQ(seen.latest().changed, 2);
  EXPECT_EQ(seen.latest().length(), 5);
}

TEST(SwitchPauses, OfEqualPausesTheFirstIsTheLongest) {
  using kind = record::kind;
  switch_pauses seen;
  for (const double begin : {0.0, 10.0}) {
    seen({.what = kind::commit, .now = begin + 1.0});
    seen({.what = kind::change_policy, .now = begin + 2.0});
    seen({.what = kind::release, .now = begin + 4.0});
  }
  EXPECT_EQ(seen.count(), 2u);
  EXPECT_EQ(seen.latest().changed, 12);
  EXPECT_EQ(seen.longest().changed, 2);
}

}  // namespace
}  // namespace rubato
