// Semantics of docs/design.md: 8. Pulls, 9. shards (also tests/sync/gather_test.cpp).
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics08Pull, AReleaseBeforeItsPullIsRememberedAndTheStepStartsAtThePull) {
  recorder sink;
  controller<asp, int> sync{{.capacity = 2, .park = park_on::pull}, {}};
  EXPECT_EQ(sync.join({0, 0}, 0.0, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.join({1, 0}, 0.0, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.workers()[0].state, worker_state::released);
  EXPECT_EQ(sync.pull({1, 0}, 1.0, 5, sink), errc::ok);
  EXPECT_EQ(sync.push({.worker = {1, 0}, .now = 2.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.pull({0, 0}, 3.0, 6, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"release 1@0", "release 0@1"}));
  EXPECT_EQ(sync.workers()[0].granted_at, 3.0);
}

TEST(Semantics08Pull, APullThatComesFirstWaits) {
  recorder sink;
  controller<bsp, int> sync{{.capacity = 2, .park = park_on::pull}, {}};
  for (std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.join({w, 0}, 0.0, std::nullopt, sink), errc::ok);
  for (std::uint32_t w : {0u, 1u}) EXPECT_EQ(sync.pull({w, 0}, 0.0, 1, sink), errc::ok);
  sink.take();
  EXPECT_EQ(sync.push({.worker = {0, 0}, .now = 1.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sync.pull({0, 0}, 1.0, 3, sink), errc::ok);
  EXPECT_EQ(sink.take(), words{});
  EXPECT_EQ(sync.push({.worker = {1, 0}, .now = 2.0}, std::nullopt, sink), errc::ok);
  EXPECT_EQ(sink.take(), (words{"flush 0 x0.5 n2", "release 0@1"}));
}

TEST(Semantics08Pull, IsRefusedWhereThePushWaits) {
  bench<asp> b{{}, 1};
  EXPECT_EQ(b.sync.pull({0, 0}, 1.0, 3, b.sink), errc::no_pulls);
  EXPECT_EQ(b.sink.take(), words{"abandon 3 no_pulls"});
}

TEST(Semantics09Shards, StalenessCountsFromTheLowestVersionThatWasRead) {
  bench<asp> b{{}, 2};
  for (int i = 0; i < 3; ++i) b.push(0);
  b.push(1);
  const std::uint64_t now = b.sync.version();
  EXPECT_EQ(b.admit(1, {.read = {.lowest = now - 3, .highest = now}}).staleness, 3u);
}

}  // namespace
