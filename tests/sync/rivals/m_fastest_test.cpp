#include <rubato/sync/rivals/m_fastest.hpp>

#include "../../support/metronome.hpp"
#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::metronome;

// How often each of the workers starts in these many steps.
template <class Policy>
std::vector<std::uint32_t> starts_in(metronome<Policy>& cluster, std::uint32_t steps) {
  const std::size_t before = cluster.trace().size();
  EXPECT_TRUE(cluster.run(steps).ok());
  std::vector<std::uint32_t> starts(cluster.control().workers().capacity());
  for (std::size_t i = before; i < cluster.trace().size(); ++i) ++starts[cluster.trace()[i].worker];
  return starts;
}

TEST(MFastest, EverybodyIsTriedOnceThenTheFastestRun) {
  metronome cluster{m_fastest{.m = 2}, {4.0, 1.0, 8.0, 2.0}};
  starts_in(cluster, 10);
  for (const test::beat& start : cluster.trace()) EXPECT_LE(start.time, 8.0 + 4.0 + 2.0);
  EXPECT_EQ(starts_in(cluster, 300), (std::vector{0u, 200u, 0u, 100u}));
}

TEST(MFastest, WhoSlowsDownGivesWay) {
  metronome cluster{m_fastest{.m = 1}, {1.0, 1.5, 2.0}};
  starts_in(cluster, 10);
  EXPECT_EQ(starts_in(cluster, 50), (std::vector{50u, 0u, 0u}));
  cluster.set_step_time(0, 10.0);
  starts_in(cluster, 3);
  EXPECT_EQ(starts_in(cluster, 50), (std::vector{0u, 50u, 0u}));
}

TEST(MFastest, WithoutProbesItIsNeverFound) {
  metronome cluster{m_fastest{.m = 1}, {1.0, 4.0}};
  starts_in(cluster, 10);
  cluster.set_step_time(1, 0.25);
  EXPECT_EQ(starts_in(cluster, 500), (std::vector{500u, 0u}));
}

TEST(MFastest, ProbesFindAWorkerThatBecameFast) {
  metronome cluster{m_fastest{.m = 1, .probe = 5}, {1.0, 4.0}};
  starts_in(cluster, 10);
  EXPECT_EQ(starts_in(cluster, 50), (std::vector{40u, 10u}));
  cluster.set_step_time(1, 0.25);
  starts_in(cluster, 100);
  EXPECT_EQ(starts_in(cluster, 50), (std::vector{10u, 40u}));
}

TEST(MFastest, TheCountOfPushesIsSaved) {
  m_fastest saved{.m = 1, .probe = 5, .pushes_since_probe = 3};
  archive out;
  saved.state(out);
  m_fastest loaded{.m = 1, .probe = 5};
  archive in{out.bytes()};
  loaded.state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(loaded.pushes_since_probe, 3u);
}

}  // namespace
