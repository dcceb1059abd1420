#include <rubato/sync/outbox.hpp>

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

TEST(Outbox, DeliversOnce) {
  outbox<int> box;
  box.release(1, {0, 0}, {});
  recorder sink;
  box.deliver(sink), box.deliver(sink);
  EXPECT_EQ(sink.effects.size(), 1u);
}

}  // namespace
