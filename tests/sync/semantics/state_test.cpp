// Semantics of docs/design.md: 12. State.
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics12State, SaveIsBusyWithAdmissionsOut) {
  bench<asp> b{{}, 2};
  const admitted a = b.admit(0);
  archive bytes;
  EXPECT_EQ(b.sync.save(bytes), errc::busy);
  b.finish(a);
  EXPECT_EQ(b.sync.save(bytes), errc::ok);
}

// A policy whose state has become one that it would not load.
struct broken : asp {
  void state(archive& bytes) { bytes.fail(); }
};

TEST(Semantics12State, SaveSaysThatNothingCanBeLoaded) {
  const bench<broken> b{{}, 2};
  archive bytes;
  EXPECT_EQ(b.sync.save(bytes), errc::corrupt);
}

TEST(Semantics12State, ContinuesWhereItWasSaved) {
  bench<ssp> b{{.staleness = 1}, 3};
  b.push(0), b.push(1), b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 3};
  archive reader{bytes.bytes()};
  std::vector<std::uint32_t> asked;
  ASSERT_EQ(c.sync.load(reader,
                        [&](worker_id w) {
                          asked.push_back(w.index);
                          return std::optional{40};
                        }),
            errc::ok);
  EXPECT_EQ(asked, std::vector{0u}) << "only the parked one had a ticket";
  c.now = b.now;
  for (const std::uint32_t w : {2u, 1u, 2u, 0u}) EXPECT_EQ(b.push(w), c.push(w));
}

TEST(Semantics12State, WhoHasTakenNoStepMayBeReleasedAfterALoad) {
  script s;
  s.always(decision::hold());
  const controller_options unguarded{.capacity = 2, .quorum = 2, .guard = {.enabled = false}};
  bench<scripted> b{s, 2, unguarded};
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<scripted> c{s, 0, unguarded};
  archive reader{bytes.bytes()};
  ASSERT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
  s.always(decision::up_to_clock(0));
  c.sync.poll(1.0, c.sink);
  EXPECT_EQ(c.sink.take(), (words{"release 0@0", "release 1@0"}));
}

TEST(Semantics12State, AWorkerWithoutTicketIsDeadAndRejoinsKeepingItsClock) {
  bench<ssp> b{{.staleness = 1}, 2};
  b.push(1), b.push(0), b.push(0), b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 2};
  archive reader{bytes.bytes()};
  ASSERT_EQ(c.sync.load(reader, [](worker_id) { return std::optional<int>{}; }), errc::ok);
  EXPECT_EQ(c.state(0), worker_state::dead);
  c.now = b.now;
  c.sync.poll(c.now, c.sink);
  c.join(0, 1);
  EXPECT_EQ(c.clock(0), 2u) << "3, clamped into the bound above the minimum of 1";
}

TEST(Semantics12State, TheQuorumIsSaved) {
  recorder sink;
  controller<asp, int> first{{.capacity = 4}, {}};
  EXPECT_EQ(first.join({0, 0}, 0.0, 1, sink), errc::ok);
  EXPECT_EQ(first.set_quorum(2, 0.0, sink), errc::ok);
  archive bytes;
  ASSERT_EQ(first.save(bytes), errc::ok);
  controller<asp, int> second{{.capacity = 4}, {}};
  archive reader{bytes.bytes()};
  ASSERT_EQ(second.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
  second.poll(1.0, sink);
  EXPECT_EQ(second.join({1, 0}, 1.0, 2, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 0@0", "release 1@0"}));
}

TEST(Semantics12State, WhatTheHostSavedBeforeItStaysItsOwn) {
  bench<asp> b{{}, 1};
  archive bytes;
  std::uint64_t epoch = 7;
  bytes(epoch);
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  archive reader{bytes.bytes()};
  epoch = 0;
  reader(epoch);
  EXPECT_EQ(epoch, 7u);
  bench<asp> c{{}, 1};
  EXPECT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
}

TEST(Semantics12State, AnotherKindIsRefused) {
  bench<ssp> b{{}, 2};
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  EXPECT_EQ(peek_kind(bytes.bytes()), "ssp");
  bench<asp> c{{}, 2};
  archive reader{bytes.bytes()};
  EXPECT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{1}; }), errc::wrong_kind);
}

TEST(Semantics12State, DamagedBytesChangeNothing) {
  bench<ssp> b{{.staleness = 1}, 3};
  b.push(0), b.push(0), b.push(1);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  bench<ssp> c{{.staleness = 1}, 3};
  const auto attempt = [&](std::span<const std::byte> damaged) {
    archive reader{damaged};
    return c.sync.load(reader, [](worker_id) { return std::optional{1}; });
  };
  std::vector<std::byte> all{bytes.bytes().begin(), bytes.bytes().end()};
  for (std::size_t length = 0; length < all.size(); ++length)
    EXPECT_EQ(attempt(std::span{all}.first(length)), errc::corrupt) << length;
  for (std::byte& b_changed : all) {
    b_changed ^= std::byte{16};
    EXPECT_EQ(attempt(all), errc::corrupt);
    b_changed ^= std::byte{16};
  }
  EXPECT_EQ(c.push(2), words{"release 2@1"}) << "as if nothing had been loaded";
}

TEST(Semantics12State, TimesGoOnWhenTheClockOfTheHostHasStartedAnew) {
  script s;
  s.answer = [](const cluster_view& view, const event& e) {
    return e.why == cause::push ? decision::hold().with_wake_at(view.now() + 5.0) : decision::all();
  };
  bench<scripted> b{s, 2, {.guard = {.enabled = false}}};
  b.now = 1e6;
  b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  controller<scripted, int> sync{{.capacity = 2, .guard = {.enabled = false}}, scripted{s}};
  recorder sink;
  archive reader{bytes.bytes()};
  ASSERT_EQ(sync.load(reader, [](worker_id) { return std::optional{7}; }), errc::ok);
  sync.poll(3.0, sink);
  EXPECT_EQ(sync.counts().total(reason::time_clamped), 0u);
  EXPECT_LE(sync.next_deadline(), 3.0 + 5.0);
  EXPECT_GT(sync.next_deadline(), 3.0);
  sync.poll(3.0, sink);
  EXPECT_EQ(sync.counts().total(reason::time_clamped), 0u);
}

// Policies keep times: what they see goes on.
TEST(Semantics12State, PoliciesSeeTimesThatGoOn) {
  script s;
  std::vector<double> seen;
  s.answer = [&](const cluster_view& view, const event&) {
    seen.push_back(view.now());
    return decision::all();
  };
  bench<scripted> b{s, 2};
  b.now = 1000.25;
  b.push(0);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  controller<scripted, int> sync{{.capacity = 2}, scripted{s}};
  recorder sink;
  archive reader{bytes.bytes()};
  ASSERT_EQ(sync.load(reader, [](worker_id) { return std::optional{7}; }), errc::ok);
  seen.clear();
  sync.poll(0.1, sink);
  ASSERT_EQ(sync.push({.worker = {1, 0}, .now = 2.1}, 8, sink), errc::ok);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NEAR(seen[0], b.now, 1e-9);
  EXPECT_NEAR(seen[1], b.now + 2.0, 1e-9);
}

// The offset between the two clocks rounds, and a host in virtual time polls at the very deadline.
TEST(Semantics12State, APollAtTheDeadlineIsNotTooEarly) {
  struct metronome {
    double period = 0.0, next = 0.0;
    decision release(const cluster_view& view, const event& what) noexcept {
      if (what.why == cause::deadline || next == 0.0) next = view.now() + period;
      return decision::hold().with_wake_at(next);
    }
    void state(archive& bytes) { bytes(next); }
  };
  for (int i = 1; i <= 1000; ++i) {
    const metronome policy{.period = 0.1 * i / 7.0};
    const controller_options options{.capacity = 1, .guard = {.enabled = false}};
    controller<metronome, int> before{options, policy}, after{options, policy};
    recorder sink;
    ASSERT_EQ(before.join({0, 0}, 3.3 + 0.37 * i, 1, sink), errc::ok);
    archive bytes;
    ASSERT_EQ(before.save(bytes), errc::ok);
    archive reader{bytes.bytes()};
    ASSERT_EQ(after.load(reader, [](worker_id) { return std::optional{1}; }), errc::ok);
    after.poll(0.123, sink);
    for (int k = 0; k < 50; ++k) {
      const double due = after.next_deadline();
      after.poll(due, sink);
      ASSERT_GT(after.next_deadline(), due) << "it would be polled for ever, with period " << policy.period;
    }
  }
}

// By an offset of the first load's, the step below would have taken 100 more.
TEST(Semantics12State, ASecondLoadForgetsTheClockOfTheFirst) {
  bench<asp> b{{}, 1};
  archive early;
  ASSERT_EQ(b.sync.save(early), errc::ok);
  b.now = 100.0;
  b.push(0);
  archive late;
  ASSERT_EQ(b.sync.save(late), errc::ok);
  bench<asp> c{{}, 1};
  const auto load = [&](const archive& saved) {
    archive reader{saved.bytes()};
    return c.sync.load(reader, [](worker_id) { return std::optional{7}; });
  };
  ASSERT_EQ(load(late), errc::ok);
  c.sync.poll(2.0, c.sink);
  ASSERT_EQ(load(early), errc::ok);
  ASSERT_EQ(c.sync.push({.worker = {0, 0}, .now = 6.0}, 8, c.sink), errc::ok);
  EXPECT_EQ(c.sync.workers()[0].step_time, 6.0F) << "granted at 0";
}

}  // namespace
