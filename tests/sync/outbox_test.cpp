#include <rubato/sync/outbox.hpp>

#include <algorithm>
#include <rubato/sync/rivals/k_sync.hpp>
#include <stdexcept>
#include <string>

#include "recorder.hpp"

namespace {

using namespace rubato;
using test::recorder;

TEST(Outbox, DeliversInOrder) {
  const auto play = [](auto& sink) {
    controller<bsp, int> sync{{.capacity = 2}, {}};
    for (const std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.join({w, 0}, 0.0, 1, sink), errc::ok);
    for (const std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.push({.worker = {w, 0}, .now = 1.0}, 2, sink), errc::ok);
    EXPECT_EQ(sync.depart({0, 0}, 2.0, cause::leave, sink), errc::ok);
    EXPECT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 3, sink), errc::departed_worker);
  };
  recorder direct, delivered;
  outbox<int> box;
  play(direct);
  play(box);
  EXPECT_EQ(box.size(), direct.effects.size());
  box.deliver(delivered);
  EXPECT_EQ(delivered.effects, direct.effects);
}

TEST(Outbox, DeliversReady) {
  controller<asp, int> sync{{.capacity = 1, .park = park_on::pull}, asp{}};
  outbox<int> box;
  ASSERT_EQ(sync.join({0, 0}, 0.0, {}, box), errc::ok);
  ASSERT_EQ(sync.pull({0, 0}, 1.0, 1, box), errc::ok);
  struct listener {
    std::string said;
    void release(int, worker_id, const grant&) { said += "release "; }
    void flush(std::uint64_t, float, std::uint32_t) {}
    void discard(std::uint64_t, std::uint32_t) {}
    void cancel(worker_id) {}
    void abandon(int, worker_id, reason) {}
    void ready(worker_id) { said += "ready "; }
  } host;
  box.deliver(host);
  EXPECT_EQ(host.said, "ready release ");
}

TEST(Outbox, DeliversEveryEffectOfASwitch) {
  const auto play = [](auto& sink) {
    controller<any_policy, int> sync{{.capacity = 3}, bsp{}};
    for (const std::uint32_t w : {0u, 1u, 2u}) EXPECT_EQ(sync.join({w, 0}, 0.0, 1, sink), errc::ok);
    EXPECT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, 2, sink), errc::ok);
    EXPECT_EQ(sync.switch_to(k_sync{.k = 1}, 2.0, pending_gradients::discard, sink), errc::ok);
    EXPECT_EQ(sync.push({.worker = {1, 0}, .now = 3.0}, 3, sink), errc::ok);
  };
  recorder direct, delivered;
  outbox<int> box;
  play(direct);
  play(box);
  box.deliver(delivered);
  EXPECT_EQ(delivered.effects, direct.effects);
  const auto said = [&](const std::string& what) { return std::ranges::count(delivered.effects, what); };
  EXPECT_EQ(said("discard 0 n1"), 1);
  EXPECT_EQ(said("cancel 2"), 1);
}

TEST(Outbox, DeliversOnce) {
  outbox<int> box;
  box.release(1, {0, 0}, {});
  recorder sink;
  box.deliver(sink), box.deliver(sink);
  EXPECT_EQ(sink.effects.size(), 1u);
}

struct deaf_but_to_releases {
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id) {}
  void abandon(int, worker_id, reason) {}
};

TEST(Outbox, DeliversWhatACallbackCauses) {
  outbox<int> box;
  struct : deaf_but_to_releases {
    outbox<int>& box;
    std::vector<int> answered;
    void release(int ticket, worker_id, const grant&) {
      answered.push_back(ticket);
      if (ticket < 3)
        for (const int further : {10 * ticket, 10 * ticket + 1}) box.release(int{further}, {0, 0}, {});
      box.deliver(*this);  // has nothing to do: the call that runs goes on
    }
  } host{{}, box, {}};
  box.release(1, {0, 0}, {}), box.release(2, {0, 0}, {});
  box.deliver(host);
  EXPECT_EQ(host.answered, (std::vector{1, 2, 10, 11, 20, 21}));
  EXPECT_EQ(box.size(), 0u);
}

#if defined(__cpp_exceptions)
TEST(Outbox, KeepsWhatACallbackThatThrowsLeft) {
  outbox<int> box;
  struct : deaf_but_to_releases {
    outbox<int>& box;
    std::vector<int> answered;
    void release(int ticket, worker_id, const grant&) {
      answered.push_back(ticket);
      if (ticket != 2) return;
      box.release(20, {0, 0}, {});
      throw std::runtime_error{"the connection is gone"};
    }
  } host{{}, box, {}};
  for (const int ticket : {1, 2, 3, 4}) box.release(int{ticket}, {0, 0}, {});
  EXPECT_THROW(box.deliver(host), std::runtime_error);
  EXPECT_EQ(host.answered, (std::vector{1, 2}));
  EXPECT_EQ(box.size(), 3u);
  box.deliver(host);
  EXPECT_EQ(host.answered, (std::vector{1, 2, 3, 4, 20}));
  EXPECT_EQ(box.size(), 0u);
}
#endif

}  // namespace
