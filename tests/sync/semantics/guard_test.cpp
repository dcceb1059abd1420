// Semantics of docs/design.md: 11. The guard.
#include "../recorder.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics11Guard, SomebodyRunsAfterEveryCall) {
  script s;
  s.always(decision::hold());
  bench<scripted> b{s, 2};
  EXPECT_EQ(b.sync.workers().busy(), 1u) << "even at the start";
  b.push(b.state(0) == worker_state::running ? 0 : 1);
  EXPECT_EQ(b.sync.workers().busy(), 1u);
  EXPECT_EQ(b.count(reason::liveness), 2u);
}

TEST(Semantics11Guard, ReleasesAtTheMinimumClock) {
  script s;
  bench<scripted> b{s, 2};
  b.push(0), b.push(0), b.push(1);
  s.always(decision::hold());
  b.push(0);
  EXPECT_EQ(b.push(1), words{"release 1@5"}) << "clock 2 against 3";
}

TEST(Semantics11Guard, AForcedReleaseHasTheTermsOfTheLatestAnswer) {
  script s;
  bench<scripted> b{s, 2};
  b.push(0);
  s.always(decision::hold().with_batch(8).with_lr_scale(0.25F));
  b.push(0);
  s.always(decision::hold().with_batch(16).with_lr_scale(0.5F));
  EXPECT_EQ(b.push(1), words{"release 1@3"});
  EXPECT_EQ(b.count(reason::liveness), 1u);
  EXPECT_EQ(b.sink.grants.back(), (grant{.version = 3, .batch = 16, .lr_scale = 0.5F}));
}

// What shape() made of the terms of the step before is no term of the next one.
TEST(Semantics11Guard, ForcedReleasesDoNotMultiplyWhatShapeMultiplies) {
  struct doubling : scripted {
    using scripted::scripted;
    void shape(const cluster_view&, std::uint32_t, grant& terms) const noexcept { terms.lr_scale *= 2.0F; }
  };
  script s;
  s.always(decision::hold().with_lr_scale(0.25F));
  bench<doubling> b{s, 1};
  for (int n = 0; n < 3; ++n) {
    b.push(0);
    EXPECT_EQ(b.sink.grants.back().lr_scale, 0.5F);
  }
}

TEST(Semantics11Guard, WithholdsReleasesBeyondTheBound) {
  script s;
  s.bound = 1;
  bench<scripted> b{s, 2};
  b.push(0);
  EXPECT_EQ(b.push(0), words{}) << "a lead of 2";
  EXPECT_EQ(b.count(reason::bound), 1u);
  EXPECT_EQ(b.push(1), (words{"release 0@3", "release 1@3"}));
}

TEST(Semantics11Guard, AWithheldReleaseFollowsAsSoonAsTheBoundAllowsIt) {
  bench<asp> b{{}, 2, {.guard = {.bound = 1}}};
  b.push(0);
  EXPECT_EQ(b.push(0), words{}) << "two ahead";
  EXPECT_EQ(b.push(1), (words{"release 1@3", "release 0@3"}));
  EXPECT_EQ(b.count(reason::bound), 1u);
  EXPECT_EQ(b.count(reason::liveness), 0u);
}

TEST(Semantics11Guard, AWithheldReleaseFollowsWhenThePolicysBoundGrows) {
  script s;
  s.bound = 0;
  s.answer = [](const cluster_view&, const event& what) {
    return what.why == cause::push ? decision::submitter() : decision::all();
  };
  bench<scripted> b{s, 3};
  EXPECT_EQ(b.push(0), words{});
  s.bound = 5;
  EXPECT_EQ(b.push(1), (words{"release 1@2", "release 0@2"}));
}

TEST(Semantics11Guard, AgeReordersWithinTheCountOfThePolicy) {
  script s;
  bench<scripted> b{s, 3, {.guard = {.max_wait = 5.0}}};
  s.always(decision::hold());
  b.push(0);
  s.always(decision::submitter());
  EXPECT_EQ(b.push(1), words{"release 1@2"});
  b.now += 10.0;
  EXPECT_EQ(b.push(1), words{"release 0@3"}) << "worker 0 has waited too long";
  EXPECT_EQ(b.count(reason::overdue), 1u);
}

TEST(Semantics11Guard, NeverCancelsEverybodyWhoIsBusy) {
  script s;
  bench<scripted> b{s, 3};
  s.always(decision::hold().with_cancel_below(1000));
  EXPECT_EQ(b.push(0), words{"cancel 1"});
  EXPECT_EQ(b.count(reason::cancel_limit), 1u);
}

TEST(Semantics11Guard, CancelsAtMostOncePerUsefulPush) {
  script s;
  bench<scripted> b{s, 2};
  s.always(decision::all().with_cancel_below(1000));
  EXPECT_EQ(b.push(0), (words{"cancel 1", "release 0@1"}));
  EXPECT_EQ(b.push(1), (words{"release 1@1"})) << "1 was cancelled: its push is no progress, so 0 may go on";
  EXPECT_EQ(b.count(reason::cancel_limit), 1u);
}

TEST(Semantics11Guard, ClipsTheRate) {
  script s;
  bench<scripted> b{s, 1, {.guard = {.max_lr_scale = 4.0F}}};
  for (const auto& [wanted, granted] : {std::pair{-1.0F, 0.0F}, {0.0F, 0.0F}, {4.0F, 4.0F}, {5.0F, 4.0F}}) {
    s.always(decision::all().with_lr_scale(wanted));
    b.push(0);
    EXPECT_EQ(b.sink.grants.back().lr_scale, granted) << wanted;
  }
  EXPECT_EQ(b.count(reason::rate_limit), 2u);
  EXPECT_EQ(b.sync.counts().overrides(), 2u);
  EXPECT_EQ(problem(controller_options{.capacity = 1, .guard = {.max_lr_scale = 0}}),
            "guard.max_lr_scale is 0, expected a factor above 0");
}

TEST(Semantics11Guard, ClipsWhatShapeMakesOfTheRate) {
  struct tripling : scripted {
    using scripted::scripted;
    void shape(const cluster_view&, std::uint32_t, grant& terms) const noexcept { terms.lr_scale *= 3.0F; }
  };
  script s;
  bench<tripling> b{s, 1};
  for (const auto& [wanted, granted] : {std::pair{2.0F, 6.0F}, {20.0F, 16.0F}}) {
    s.always(decision::all().with_lr_scale(wanted));
    b.push(0);
    EXPECT_EQ(b.sink.grants.back().lr_scale, granted);
  }
  EXPECT_EQ(b.count(reason::rate_limit), 1u);
}

TEST(Semantics11Guard, CanBeSwitchedOff) {
  script s;
  s.always(decision::hold());
  bench<scripted> b{s, 2, {.guard = {.enabled = false}}};
  EXPECT_EQ(b.sync.workers().busy(), 0u);
  EXPECT_EQ(b.sync.counts().overrides(), 0u);

  s.always(decision::all().with_lr_scale(-1.0F));
  bench<scripted> uphill{s, 1, {.guard = {.enabled = false}}};
  uphill.push(0);
  EXPECT_EQ(uphill.sink.grants.back().lr_scale, -1.0F);
  EXPECT_EQ(uphill.sync.counts().overrides(), 0u);
}

// A watcher of what the controller does of its own accord.
struct interventions {
  std::vector<reason>* seen = nullptr;
  void operator()(const record& r) const noexcept {
    if (r.what == record::kind::adjust) seen->push_back(r.because);
  }
};

TEST(Semantics11Guard, AWatcherIsToldOfInterventions) {
  std::vector<reason> seen;
  script s;
  s.on_push(decision::hold());
  recorder sink;
  controller<scripted, int, interventions> sync{{.capacity = 1}, s, {&seen}};
  ASSERT_EQ(sync.join({0, 0}, 0.0, 1, sink), errc::ok);
  ASSERT_TRUE(seen.empty());
  ASSERT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 1, sink), errc::ok);
  EXPECT_EQ(seen, std::vector{reason::liveness});
}

}  // namespace
