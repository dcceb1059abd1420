#include "recorder.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Controller, ReleasesBeyondTheLimitFollowByPoll) {
  bench<bsp> b{{}, 5, {.max_release_per_call = 2}};
  while (b.sync.next_deadline() < 0) b.sync.poll(b.now, b.sink);
  b.sink.take();
  for (std::uint32_t w = 0; w < 4; ++w) b.push(w);
  EXPECT_EQ(b.push(4), (words{"flush 0 x0.2 n5", "release 0@1", "release 1@1"}));
  EXPECT_EQ(b.sync.next_deadline(), -std::numeric_limits<double>::infinity());
  b.sync.poll(b.now, b.sink);
  EXPECT_EQ(b.sink.take(), (words{"release 2@1", "release 3@1"}));
  EXPECT_EQ(b.push(0), words{"release 4@1"}) << "the rest goes before the next decision";
}

TEST(Controller, ALimitOnReleasesLosesNoneOfThem) {
  for (const std::uint32_t at_once : {1u, no_worker}) {
    script s;
    s.always(decision::hold());
    bench<scripted> b{s, 6, {.guard = {.enabled = false}, .max_release_per_call = at_once}};
    s.answer = [](const cluster_view&, const event& what) {
      return what.why == cause::death ? decision::up_to(3) : decision::up_to(2);
    };
    b.join(5, 1);  // its former incarnation dies, and it joins: two answers in one call
    while (b.sync.next_deadline() < 0) b.sync.poll(b.now, b.sink);
    EXPECT_EQ(b.sync.workers().in(worker_state::running), 5u) << at_once;
  }
}

TEST(Controller, WhatIsLeftToBeReleasedIsNotForWhoCommitsBeforeItIs) {
  script s;
  s.always(decision::hold());
  bench<scripted> b{s, 4, {.guard = {.enabled = false}, .max_release_per_call = 1}};
  ASSERT_EQ(b.sync.force_release({0, 0}, b.now, b.sink), errc::ok);
  s.answer = [](const cluster_view&, const event& what) {
    return what.why == cause::death ? decision::all() : decision::hold();
  };
  b.sink.take();
  EXPECT_EQ(b.depart(3), (words{"abandon 3 departed_worker", "release 1@0"})) << "worker 2 is left over";
  EXPECT_EQ(b.push(0), words{"release 2@0"});
  EXPECT_EQ(b.state(0), worker_state::parked);
}

TEST(Controller, WhatADeathReleasedIsNotForWhoComesBackInTheSameCall) {
  for (const std::uint32_t at_once : {1u, no_worker}) {
    script s;
    s.always(decision::hold());
    bench<scripted> b{s, 3, {.guard = {.enabled = false}, .max_release_per_call = at_once}};
    s.answer = [](const cluster_view&, const event& what) {
      return what.why == cause::death ? decision::all().with_batch(7) : decision::hold();
    };
    b.join(0, 1);
    EXPECT_EQ(b.state(0), worker_state::parked) << at_once;
    EXPECT_EQ(b.sync.workers().in(worker_state::running), 2u) << at_once;
  }
}

TEST(Controller, WhatTheLastCommitOfALifeReleasedIsNotForTheNextOne) {
  for (const std::uint32_t at_once : {1u, no_worker}) {
    script s;
    s.always(decision::hold());
    bench<scripted> b{s, 4, {.guard = {.enabled = false}, .max_release_per_call = at_once}};
    ASSERT_EQ(b.sync.force_release({0, 0}, b.now, b.sink), errc::ok);
    const admitted last = b.admit(0);
    b.join(0, 1);  // which waits for that commit
    s.answer = [](const cluster_view&, const event& what) {
      return what.why == cause::death ? decision::all() : decision::hold();
    };
    b.finish(last);
    EXPECT_EQ(b.state(0), worker_state::parked) << at_once;
    EXPECT_EQ(b.sync.workers().in(worker_state::running), 3u) << at_once;
  }
}

TEST(Controller, PreparesAfterTheReleases) {
  struct ahead {
    std::vector<std::string>* said;
    decision release(const cluster_view&, const event&) noexcept { return decision::all(); }
    void prepare() noexcept { said->push_back("prepare"); }
  };
  for (const bool erased : {false, true}) {
    recorder sink;
    const auto run = [&](auto sync) {
      for (const std::uint32_t w : {0u, 1u}) ASSERT_EQ(sync.join({w, 0}, 0.0, 1, sink), errc::ok);
      sink.take();
      ASSERT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 1, sink), errc::ok);
      EXPECT_EQ(sink.take(), (words{"release 0@1", "prepare"})) << erased;
      ASSERT_EQ(sync.depart({1, 0}, 2.0, cause::leave, sink), errc::ok);
      EXPECT_EQ(sink.take(), words{}) << "for pushes only";
    };
    if (erased)
      run(controller<any_policy, int>{{.capacity = 2}, ahead{&sink.effects}});
    else
      run(controller<ahead, int>{{.capacity = 2}, {&sink.effects}});
  }
}

TEST(Controller, NothingIsSilent) {
  script s;
  s.verdict_on = [](const cluster_view&, const event& e) {
    return e.staleness > 0 ? admission::drop(reason::stale) : admission::apply(0.5F);
  };
  bench<scripted> b{s, 2};
  b.push(0), b.push(1);
  EXPECT_EQ(b.sync.counts().of(0, reason::scaled), 1u);
  EXPECT_EQ(b.sync.counts().of(1, reason::stale), 1u);
}

TEST(Controller, ProblemNamesTheOption) {
  EXPECT_EQ(problem(controller_options{.capacity = 4}), "");
  EXPECT_NE(problem(controller_options{}).find("capacity"), std::string::npos);
  EXPECT_EQ(problem(controller_options{.capacity = 2, .quorum = 3}), "quorum is 3, expected at most the capacity, 2");
}

// Runs two workers at a time, no fewer.
struct of_two {
  decision release(const cluster_view& view, const event&) const noexcept {
    return decision::all().with_degraded(view.alive() < 2);
  }
  std::string problem(std::uint32_t capacity) const { return capacity < 2 ? "of_two needs two workers" : ""; }
};

TEST(Controller, AsksThePolicyForItsProblem) {
  EXPECT_EQ(problem({.capacity = 2}, of_two{}), "");
  EXPECT_EQ(problem({.capacity = 1}, of_two{}), "of_two needs two workers");
  EXPECT_EQ(problem(controller_options{}, of_two{}), problem(controller_options{}));
  EXPECT_EQ(problem({.capacity = 1}, any_policy{of_two{}}), "of_two needs two workers");
  const auto refused = controller<of_two, int>::make({.capacity = 1}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::invalid_option);
  EXPECT_EQ(refused.error().message, "of_two needs two workers");
  EXPECT_TRUE((controller<of_two, int>::make({.capacity = 2}, {}).has_value()));
}

TEST(Controller, ASwitchToAPolicyThatDoesNotFitIsRefused) {
  bench<any_policy> b{asp{}, 1};
  EXPECT_EQ(b.sync.switch_to(of_two{}, 1.0, pending_gradients::flush, b.sink), errc::invalid_option);
  EXPECT_EQ(b.sync.policy().kind(), "asp");
}

TEST(Controller, CountsDegradedDecisions) {
  bench<of_two> b{{}, 2};
  b.push(0);
  EXPECT_EQ(b.count(reason::degraded), 0u);
  b.depart(1, cause::death);
  EXPECT_EQ(b.count(reason::degraded), 1u);
  b.push(0);
  EXPECT_EQ(b.count(reason::degraded), 2u);
}

TEST(Controller, IsCopyableWherePolicyAndTicketAre) {
  bench<bsp> b{{}, 2};
  b.push(0);
  auto copy = b.sync;
  recorder other;
  EXPECT_EQ(copy.push({.worker = {1, 0}, .now = 9.0}, 1, other), errc::ok);
  EXPECT_EQ(other.take().size(), 3u);
  EXPECT_EQ(b.clock(1), 0u);
}

}  // namespace
