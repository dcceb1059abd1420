// Semantics of docs/design.md: 10. Groups: the seams that a combinator of controllers needs
// (tests/extras/groups_test.cpp has the rest).
#include "../recorder.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rubato;
using namespace rubato::test;

TEST(Semantics10Groups, AForcedReleaseIsExemptFromPolicyAndBound) {
  bench<ssp> b{{.staleness = 0}, 2};
  b.push(0);
  EXPECT_EQ(b.state(0), worker_state::parked);
  EXPECT_EQ(b.sync.force_release({1, 0}, 1.0, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), words{}) << "one that runs";
  EXPECT_EQ(b.count(reason::liveness), 0u);
  EXPECT_EQ(b.sync.force_release({0, 0}, 100.0, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), words{"release 0@1"});
  EXPECT_EQ(b.sync.counts().of(0, reason::liveness), 1u);
  EXPECT_EQ(b.sync.workers()[0].granted_at, 100.0);
}

// Treatments are on the policy's every answer, also on those that hold; their terms outlive a load.
TEST(Semantics10Groups, AForcedReleaseHasTheTermsOfTheLatestAnswer) {
  const loss_decayed policy{ssp{.staleness = 0}, {.first = 1}};
  using decayed = std::remove_const_t<decltype(policy)>;
  bench<decayed> b{policy, 2};
  for (int n = 0; n < 50; ++n)
    for (const std::uint32_t w : {1u, 0u}) b.push(w, 100, {.loss = n == 0 ? 10.0F : 0.1F});
  b.push(0);
  ASSERT_EQ(b.state(0), worker_state::parked);
  archive bytes;
  ASSERT_EQ(b.sync.save(bytes), errc::ok);
  EXPECT_EQ(b.sync.force_release({0, 0}, b.now, b.sink), errc::ok);
  EXPECT_EQ(b.sink.grants.back().lr_scale, 0.35F);
  bench<decayed> c{policy, 2};
  archive reader{bytes.bytes()};
  ASSERT_EQ(c.sync.load(reader, [](worker_id) { return std::optional{7}; }), errc::ok);
  EXPECT_EQ(c.sync.force_release({0, 0}, b.now, c.sink), errc::ok);
  EXPECT_EQ(c.sink.grants.back(), b.sink.grants.back());
}

TEST(Semantics10Groups, AForcedReleaseOfAStrangerIsRefusedAndCounted) {
  bench<ssp> b{{.staleness = 0}, 2};
  b.push(0);
  EXPECT_NE(b.sync.force_release({0, 1}, 1.0, b.sink), errc::ok) << "another incarnation";
  EXPECT_EQ(b.sync.force_release({7, 0}, 1.0, b.sink), errc::unknown_worker);
  EXPECT_EQ(b.sync.force_release({0, 0}, test::nan_time, b.sink), errc::invalid_time);
  EXPECT_EQ(b.sink.take(), words{});
  EXPECT_EQ(b.count(reason::unknown_worker) + b.count(reason::invalid_time), 2u);
}

TEST(Semantics10Groups, AForcedReleaseReadmits) {
  script s;
  bench<scripted> b{s, 2};
  s.answer = [](const cluster_view& v, const event&) {
    return v.is_excluded(0) ? decision::hold() : decision::hold().with_exclude(0);
  };
  b.push(0);
  EXPECT_TRUE(b.sync.workers()[0].excluded);
  EXPECT_EQ(b.sync.force_release({0, 0}, 1.0, b.sink), errc::ok);
  EXPECT_EQ(b.sink.take(), words{"release 0@1"});
  EXPECT_FALSE(b.sync.workers()[0].excluded);
}

TEST(Semantics10Groups, AReleaseWithoutATicketIsToldAsReady) {
  struct listener {
    words said;
    void release(int, worker_id who, const grant&) { said.push_back("release " + std::to_string(who.index)); }
    void ready(worker_id who) { said.push_back("ready " + std::to_string(who.index)); }
  } host;
  controller<asp, int> sync{{.capacity = 1, .park = park_on::pull}, asp{}};
  ASSERT_EQ(sync.join({0, 0}, 0.0, {}, host), errc::ok);
  ASSERT_EQ(sync.pull({0, 0}, 1.0, 1, host), errc::ok);
  EXPECT_EQ(host.said, (words{"ready 0", "release 0"}));
}

}  // namespace
