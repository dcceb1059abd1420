// Saved state: what it holds, and what a load refuses. The random schedules (schedule_test.cpp) go on after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/pinned.hpp>
#include <span>
#include <vector>

#include "../support/all_policies.hpp"
#include "../support/cluster.hpp"
#include "../support/scaled.hpp"

namespace rubato {
namespace {

using test::cluster;
using bytes_type = std::vector<std::byte>;

const auto reattach_all = [](worker_id who) { return std::optional{who.index}; };

bytes_type saved(const controller<any_policy, std::uint32_t>& control) {
  archive out;
  EXPECT_EQ(control.save(out), errc::ok);
  return {out.bytes().begin(), out.bytes().end()};
}

// Makes the checksum at the end right again.
void reseal(bytes_type& bytes) {
  bytes.resize(bytes.size() - 8);
  archive out;
  for (const std::byte b : bytes) {
    auto value = static_cast<std::uint8_t>(b);
    out(value);
  }
  out.seal();
  bytes.assign(out.bytes().begin(), out.bytes().end());
}

errc load(controller<any_policy, std::uint32_t>& control, std::span<const std::byte> bytes) {
  archive in{bytes};
  return control.load(in, reattach_all);
}

// A cluster with somebody parked, somebody running, somebody gone, and gradients in the open round.
cluster<any_policy> in_the_middle(const any_policy& policy) {
  cluster<any_policy> c{policy, 5, {.guard = {.enabled = false}}};
  const auto step = [&](std::uint32_t w) {
    if (c.state(w) == worker_state::running) c.push(w);
  };
  for (const std::uint32_t w : {0u, 1u, 2u, 3u, 4u, 0u, 0u, 1u, 2u, 0u, 4u}) step(w);
  c.die(3);
  for (const std::uint32_t w : {0u, 1u, 0u, 4u}) step(w);
  return c;
}

class SaveLoad : public ::testing::TestWithParam<test::named_policy> {};

INSTANTIATE_TEST_SUITE_P(Properties, SaveLoad, ::testing::ValuesIn(test::all_policies()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(SaveLoad, EverythingComesBack) {
  cluster<any_policy> c = in_the_middle(GetParam().policy);
  const bytes_type bytes = saved(c.control());
  EXPECT_EQ(peek_kind(bytes), GetParam().policy.kind());

  cluster<any_policy> other{GetParam().policy, 0, {.capacity = 5, .quorum = 5, .guard = {.enabled = false}}};
  ASSERT_EQ(load(other.control(), bytes), errc::ok);
  EXPECT_EQ(other.parked(), c.parked());
  EXPECT_EQ(other.running(), c.running());
  EXPECT_EQ(other.control().version(), c.control().version());
  EXPECT_EQ(other.control().updates(), c.control().updates());
  EXPECT_EQ(other.control().pending(), c.control().pending());
  for (std::uint32_t w = 0; w < 5; ++w) {
    EXPECT_EQ(other.clock(w), c.clock(w));
    EXPECT_EQ(other.control().workers()[w].granted, c.control().workers()[w].granted);
    EXPECT_EQ(other.control().workers()[w].smoothed_step_time, c.control().workers()[w].smoothed_step_time);
  }
  EXPECT_EQ(other.count(reason::clock_clamped), c.count(reason::clock_clamped));

  // Loading and saving again gives the same bytes, once and twice.
  const bytes_type again = saved(other.control());
  cluster<any_policy> third{GetParam().policy, 0, {.capacity = 5}};
  ASSERT_EQ(load(third.control(), again), errc::ok);
  EXPECT_EQ(saved(third.control()), again);
}

// Cut short anywhere, the bytes are refused, and nothing has changed.
TEST_P(SaveLoad, RefusesTruncatedBytes) {
  const bytes_type bytes = saved(in_the_middle(GetParam().policy).control());
  cluster<any_policy> c{GetParam().policy, 0, {.capacity = 5}};
  const bytes_type before = saved(c.control());
  for (std::size_t n = 0; n < bytes.size(); ++n) ASSERT_NE(load(c.control(), std::span{bytes}.first(n)), errc::ok) << n;
  bytes_type longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(load(c.control(), longer), errc::corrupt);
  EXPECT_EQ(saved(c.control()), before);
}

// Every changed bit is refused; a share of them is tried where the scale is below 1.
TEST_P(SaveLoad, RefusesChangedBytes) {
  const bytes_type bytes = saved(in_the_middle(GetParam().policy).control());
  controller<any_policy, std::uint32_t> control{{.capacity = 5}, GetParam().policy};
  const auto bits = static_cast<std::uint32_t>(8 * bytes.size());
  const std::uint32_t step = std::max(1U, bits / test::scaled(bits));
  for (std::uint32_t bit = 0; bit < bits; bit += step) {
    bytes_type changed = bytes;
    changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_EQ(load(control, changed), errc::corrupt) << bit;
  }
}

// Bytes that were changed with care, so that the checksum is right, are refused or load as something that can go on.
TEST_P(SaveLoad, SurvivesForgedBytes) {
  const bytes_type bytes = saved(in_the_middle(GetParam().policy).control());
  random_sequence random{1};
  for (std::uint32_t n = test::scaled(1500); n > 0; --n) {
    bytes_type changed = bytes;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips)
      changed[random.below(changed.size() - 8)] ^= static_cast<std::byte>(1U << random.below(8));
    reseal(changed);
    controller<any_policy, std::uint32_t> control{{.capacity = 5}, GetParam().policy};
    if (load(control, changed) != errc::ok) continue;
    struct {
      void release(std::uint32_t, worker_id, const grant&) {}
      void flush(std::uint64_t, float, std::uint32_t) {}
      void discard(std::uint64_t, std::uint32_t) {}
    } sink;
    control.poll(1000.0, sink);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const worker_id who = control.workers().id(i % 5);
      if (control.workers()[who.index].state == worker_state::running)
        static_cast<void>(control.push({.worker = who, .now = 1000.0 + i}, 0U, sink));
      else
        static_cast<void>(control.join({who.index, who.incarnation + 1}, 1000.0 + i, 0U, sink));
    }
  }
}

// Who is running may be told its terms again, so those of a state are as good as those of a policy.
TEST_P(SaveLoad, NoForgedStateBringsTermsThatAreNone) {
  const bytes_type bytes = saved(in_the_middle(GetParam().policy).control());
  const std::uint32_t step = std::max(1U, static_cast<std::uint32_t>(bytes.size()) / test::scaled(1000));
  for (const float forged : {std::numeric_limits<float>::quiet_NaN(), -1.0F, 1e30F})
    for (std::size_t at = 0; at + 12 <= bytes.size(); at += step) {
      bytes_type changed = bytes;
      archive four;
      float value = forged;
      four(value);
      std::ranges::copy(four.bytes(), changed.begin() + static_cast<std::ptrdiff_t>(at));
      reseal(changed);
      controller<any_policy, std::uint32_t> control{{.capacity = 5}, GetParam().policy};
      if (load(control, changed) != errc::ok) continue;
      for (std::uint32_t w = 0; w < 5; ++w) {
        const worker_record& r = control.workers()[w];
        if (r.state != worker_state::running) continue;
        const float rate = r.granted.lr_scale;
        ASSERT_TRUE(pinned::within(rate, 0.0F, guard_options{}.max_lr_scale)) << rate << " of byte " << at;
      }
    }
}

TEST(SaveLoad, RefusesAnotherKind) {
  cluster<any_policy> c{ssp{}, 3};
  cluster<any_policy> other{bsp{}, 3};
  EXPECT_EQ(load(other.control(), saved(c.control())), errc::wrong_kind);
  EXPECT_EQ(other.running(), (std::vector{0u, 1u, 2u}));
}

TEST(SaveLoad, RefusesAnotherCapacity) {
  cluster<any_policy> c{ssp{}, 3};
  cluster<any_policy> other{ssp{}, 4};
  EXPECT_EQ(load(other.control(), saved(c.control())), errc::invalid_option);
}

TEST(SaveLoad, RefusesAnotherFormat) {
  cluster<any_policy> c{ssp{}, 3};
  bytes_type bytes = saved(c.control());
  bytes[4] = std::byte{1};  // after the kind: a length and three letters
  reseal(bytes);
  EXPECT_EQ(load(c.control(), bytes), errc::wrong_kind);
}

// Bytes that no controller would have written: members before the quorum has come, whom nobody would ever ask about, and
// times that are none.
TEST(SaveLoad, RefusesWhatCannotBe) {
  cluster<any_policy> c{ssp{}, 3};
  const bytes_type bytes = saved(c.control());
  constexpr std::size_t now = 4 + 12, wake_at = now + 8, started = wake_at + 48;  // kind; format, capacity, quorum
  const auto refused = [&](std::size_t at, std::span<const std::byte> with) {
    bytes_type forged = bytes;
    std::ranges::copy(with, forged.begin() + static_cast<std::ptrdiff_t>(at));
    reseal(forged);
    cluster<any_policy> other{ssp{}, 0, {.capacity = 3}};
    return load(other.control(), forged);
  };
  ASSERT_EQ(bytes[started], std::byte{1});
  EXPECT_EQ(refused(started, std::array{std::byte{1}}), errc::ok);
  EXPECT_EQ(refused(started, std::array{std::byte{0}}), errc::corrupt);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused(now, std::as_bytes(std::span{&nan, 1})), errc::corrupt);
  EXPECT_EQ(refused(now, std::as_bytes(std::span{&infinite, 1})), errc::corrupt);
  EXPECT_EQ(refused(wake_at, std::as_bytes(std::span{&nan, 1})), errc::corrupt);
  EXPECT_EQ(refused(wake_at, std::as_bytes(std::span{&infinite, 1})), errc::ok) << "never";

  // The number of the next admission would be 0, which stands for none: its commit would be refused for ever.
  constexpr std::size_t serial = wake_at + 32;
  EXPECT_EQ(refused(serial, std::as_bytes(std::span{&unbounded, 1})), errc::corrupt);

  const std::uint64_t more = 1;  // versions than updates: nothing has been pushed
  const std::size_t version = started + 13 + 8;
  EXPECT_EQ(refused(version, std::as_bytes(std::span{&more, 1})), errc::corrupt);

  // A clock that no count of steps comes to: the one that stands for `unbounded` would be looked for without end.
  const std::size_t clock = bytes.size() - 8 - 3 - 4 - 8;  // the last worker's; nobody is parked, three have no ticket
  EXPECT_EQ(refused(clock, std::as_bytes(std::span{&unbounded, 1})), errc::corrupt);
}

// Loading would strand whoever waits here.
TEST(SaveLoad, IsBusyWhileSomebodyWaits) {
  cluster<any_policy> c{bsp{}, 2};
  const bytes_type bytes = saved(c.control());
  c.push(0);
  EXPECT_EQ(load(c.control(), bytes), errc::busy);
  EXPECT_EQ(c.parked(), std::vector{0u});
}

TEST(SaveLoad, IsBusyWhileAdmissionsAreOut) {
  cluster<any_policy> c{asp{}, 2};
  const bytes_type bytes = saved(c.control());
  const admitted out = c.admit(0);
  archive archive_of_it;
  EXPECT_EQ(c.control().save(archive_of_it), errc::busy);
  EXPECT_EQ(load(c.control(), bytes), errc::busy);
  c.commit(out);
  EXPECT_EQ(c.control().save(archive_of_it), errc::ok);
}

// Whoever's ticket is lost is dead, keeps its clock, and may come back.
TEST(SaveLoad, WhoHasNoTicketRejoins) {
  cluster<any_policy> c{ssp{.staleness = 1}, 3};
  c.push(0).push(0).push(1).push(1).push(2);
  ASSERT_EQ(c.running(), (std::vector{0u, 1u, 2u}));
  c.push(0).push(1);
  ASSERT_EQ(c.parked(), (std::vector{0u, 1u}));
  const bytes_type bytes = saved(c.control());

  cluster<any_policy> other{ssp{.staleness = 1}, 3};
  archive in{bytes};
  ASSERT_EQ(
      other.control().load(in, [](worker_id who) { return who.index == 0 ? std::nullopt : std::optional{who.index}; }),
      errc::ok);
  EXPECT_EQ(other.state(0), worker_state::dead);
  EXPECT_EQ(other.clock(0), 3u);
  EXPECT_EQ(other.count(reason::departed_worker), 1u);
  EXPECT_EQ(other.control().next_deadline(), -test::never) << "it wants to be polled at once";
  other.join(0);
  EXPECT_EQ(other.clock(0), 2u) << "moved into the bound: the slowest is at 1";
}

// Saved at the last time that there is, and loaded by a host whose clock begins anew: the distance is no infinity.
TEST(SaveLoadTimes, TheLatestTimeThereIsStaysOne) {
  constexpr double latest = (std::numeric_limits<double>::max)();
  struct {
    void release(std::uint32_t, worker_id, const grant&) {}
    void flush(std::uint64_t, float, std::uint32_t) {}
    void discard(std::uint64_t, std::uint32_t) {}
  } nobody;
  cluster<any_policy> c{asp{}, 2};
  c.control().poll(latest, nobody);
  const bytes_type bytes = saved(c.control());
  for (const double now : {0.0, -latest, latest}) {
    cluster<any_policy> other{asp{}, 2};
    ASSERT_EQ(load(other.control(), bytes), errc::ok);
    other.control().poll(now, nobody);
    EXPECT_FALSE(pinned::is_nan(other.control().next_deadline())) << now;
  }
}

}  // namespace
}  // namespace rubato
