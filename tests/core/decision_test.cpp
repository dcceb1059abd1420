#include <gtest/gtest.h>

#include <rubato/core/admission.hpp>
#include <rubato/core/decision.hpp>

namespace rubato {
namespace {

TEST(Decision, VerbsCarryTheirArguments) {
  static_assert(decision::hold().verb == release_verb::hold);
  static_assert(decision::submitter().verb == release_verb::submitter);
  static_assert(decision::all().verb == release_verb::all);
  static_assert(decision::contributors().verb == release_verb::contributors);
  static_assert(decision::only(3).verb == release_verb::only && decision::only(3).worker == 3);
  static_assert(decision::up_to_clock(9).verb == release_verb::up_to_clock && decision::up_to_clock(9).clock == 9);
  constexpr decision d = decision::up_to(4, release_order::fastest);
  static_assert(d.verb == release_verb::up_to && d.count == 4 && d.order == release_order::fastest);
  static_assert(decision::up_to(4).order == release_order::fifo);
  EXPECT_EQ(decision{}.verb, release_verb::hold);
}

TEST(Decision, PartsThatWereNotSetHaveNoEffect) {
  constexpr decision d = decision::all();
  EXPECT_FALSE(d.flushes || d.cancels || d.wakes || d.rebases);
  EXPECT_EQ(d.exclude, no_worker);
  EXPECT_EQ(d.readmit, no_worker);
  EXPECT_EQ(d.batch, 0u);
  EXPECT_EQ(d.lr_scale, 1.0F);
}

TEST(Decision, PartsCombineAndKeepTheVerb) {
  const decision d = decision::only(5)
                         .with_flush(0.5F)
                         .with_cancel_below(7)
                         .with_exclude(1)
                         .with_readmit(2)
                         .with_wake_at(3.5)
                         .with_batch(64)
                         .with_lr_scale(0.25F)
                         .with_rebase(4);
  EXPECT_EQ(d.verb, release_verb::only);
  EXPECT_EQ(d.worker, 5u);
  EXPECT_TRUE(d.flushes && d.cancels && d.wakes && d.rebases);
  EXPECT_EQ(d.flush_scale, 0.5F);
  EXPECT_EQ(d.cancel_below, 7u);
  EXPECT_EQ(d.exclude, 1u);
  EXPECT_EQ(d.readmit, 2u);
  EXPECT_EQ(d.wake_at, 3.5);
  EXPECT_EQ(d.batch, 64u);
  EXPECT_EQ(d.lr_scale, 0.25F);
  EXPECT_EQ(d.rebase_bound, 4u);
}

TEST(Admission, SaysWhatIsToBeDone) {
  static_assert(admission::apply(0.5F).what == verdict::apply && admission::apply(0.5F).weight == 0.5F);
  static_assert(admission::accumulate().what == verdict::accumulate && !admission::accumulate().completes);
  constexpr admission last = admission::accumulate_and_flush(0.5F, 2.0F);
  static_assert(last.what == verdict::accumulate && last.completes && last.weight == 0.5F && last.scale == 2.0F);
  static_assert(admission::drop(reason::stale).what == verdict::drop &&
                admission::drop(reason::stale).why == reason::stale);
  EXPECT_EQ(admission{}.what, verdict::apply);
  EXPECT_EQ(admission{}.weight, 1.0F);
}

}  // namespace
}  // namespace rubato
