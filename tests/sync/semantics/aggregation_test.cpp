// Semantics of docs/design.md: 2. Aggregation, 3. the applied step.
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics02Aggregation, FlushWaitsForEveryAdmissionOfItsRound) {
  bench<bsp> b{{}, 2};
  const admitted first = b.admit(0);
  const admitted second = b.admit(1);
  EXPECT_EQ(first.round, second.round);
  EXPECT_EQ(b.commit(second), errc::ok);
  EXPECT_EQ(b.sink.take(), words{});
  EXPECT_EQ(b.commit(first), errc::ok);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 1@1", "release 0@1"}));
}

TEST(Semantics02Aggregation, ScaleIsDividedByTheAddsThatSucceeded) {
  bench<bsp> b{{}, 3};
  b.push(0);
  EXPECT_EQ(b.commit(b.admit(1), 100, outcome::failed), errc::ok);
  b.sink.take();
  EXPECT_EQ(b.push(2).front(), "flush 0 x0.5 n2");
  EXPECT_EQ(b.count(reason::failed), 1u);
}

TEST(Semantics02Aggregation, ARoundWhoseAddsAllFailedIsDiscardedAndItsVersionIsAGap) {
  bench<bsp> b{{}, 1};
  EXPECT_EQ(b.commit(b.admit(0), 100, outcome::failed), errc::ok);
  EXPECT_EQ(b.sink.take(), (words{"discard 0 n0", "release 0@1"}));
}

TEST(Semantics02Aggregation, ADiscardSaysWhetherItsAddsFailedOrAPolicyWasReplaced) {
  std::vector<reason> because;
  const auto watch = [&](const record& r) noexcept {
    if (r.what == record::kind::discard) because.push_back(r.because);
  };
  controller<bsp, int, decltype(watch)> sync{{.capacity = 1}, {}, watch};
  recorder sink;
  EXPECT_EQ(sync.join({0, 0}, 0.0, 1, sink), errc::ok);
  const admitted first = sync.admit({.worker = {0, 0}, .now = 1.0});
  EXPECT_EQ(sync.commit(first.work, 1.0, outcome::failed, 1, sink), errc::ok);
  const admitted second = sync.admit({.worker = {0, 0}, .now = 2.0});
  EXPECT_EQ(sync.switch_to(bsp{}, 2.0, pending_gradients::discard, sink), errc::ok);
  EXPECT_EQ(sync.commit(second.work, 2.0, outcome::done, 1, sink), errc::ok);
  EXPECT_EQ(because, (std::vector{reason::failed, reason::switched}));
}

TEST(Semantics02Aggregation, AccumulateAndFlushClosesTheRoundAtAdmission) {
  script s;
  s.verdict_on = [](const cluster_view& v, const event&) {
    return v.round_admissions() == 1 ? admission::accumulate_and_flush() : admission::accumulate();
  };
  bench<scripted> b{s, 3};
  s.on_push(decision::submitter());
  const admitted a = b.admit(0);
  const admitted c = b.admit(1);
  const admitted d = b.admit(2);
  EXPECT_EQ(a.round, 0u);
  EXPECT_EQ(c.round, 0u);
  EXPECT_EQ(d.round, 1u) << "the next round is open although the first is not flushed yet";
  b.finish(c), b.finish(d);
  EXPECT_EQ(b.sink.take(), (words{"release 1@0", "release 2@0"}));
  b.finish(a);
  EXPECT_EQ(b.sink.take(), (words{"flush 0 x0.5 n2", "release 0@1"}));
}

TEST(Semantics02Aggregation, DeathFlushesWhatTheSurvivorsGave) {
  bench<bsp> b{{}, 3};
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));
}

TEST(Semantics03AppliedStep, IsGrantTimesAdmissionTimesSamples) {
  EXPECT_FLOAT_EQ(applied_weight({.lr_scale = 0.5F}, 0.25F, 32, 16), 0.25F);
}

}  // namespace
