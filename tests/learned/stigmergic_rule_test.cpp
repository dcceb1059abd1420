#include <rubato/learned/stigmergic_rule.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../support/shared_machine.hpp"

namespace stigmergic_rule_test {
namespace {

using namespace rubato;
using machine = test::shared_machine<stigmergic_rule>;

// Its level stays 4, and nobody insists.
const stigmergic_rule fixed{.gain = 0.0F, .insistence = 0.0F, .breath = 0.0F};

std::function<double(double)> saturating_at(double cores) {
  return [cores](double n) { return (std::min)(n, cores); };
}
double alone(double n) { return n; }

TEST(StigmergicRule, AllStartTogether) {
  machine m{fixed, 12, alone, {.quorum = 12}};
  EXPECT_EQ(m.running(), 12u);
}

TEST(StigmergicRule, AsManyAsTheLevelAreUnderWay) {
  machine m{fixed, 12, saturating_at(4)};
  m.jitter = 20;
  const double running = m.run(200).mean_running(1000);
  EXPECT_GE(running, 3.9);
  EXPECT_LE(running, 5.1) << "marks evaporate a little while a step is under way";
  EXPECT_TRUE(m.ok());
}

TEST(StigmergicRule, WhoWaitsLooksAgain) {
  machine m{{.gain = 0.0F, .breath = 0.0F}, 8, alone};
  m.jitter = 20;
  m.run(100);
  EXPECT_LT(m.running(), 8u);
  EXPECT_LT(m.control().next_deadline(), m.now() + 10) << "somebody waits, and has said until when";
  for (std::uint32_t w = 0; w < 8; ++w) {
    const std::uint32_t starts = m.starts(w);
    m.run(200);
    EXPECT_GT(m.starts(w), starts) << w;
  }
}

TEST(StigmergicRule, WhoInsistsHasItsTurn) {
  const auto least_starts = [](float insistence) {
    machine m{{.gain = 0.0F, .insistence = insistence, .breath = 0.0F}, 12, alone};
    m.run(3000);
    std::uint32_t least = m.starts(0);
    for (std::uint32_t w = 1; w < 12; ++w) least = (std::min)(least, m.starts(w));
    return least;
  };
  EXPECT_LT(least_starts(0.0F), 50u) << "who has a place keeps it";
  EXPECT_GT(least_starts(0.1F), 50u);
}

TEST(StigmergicRule, NowAndThenAllBreathe) {
  machine m{{.gain = 0.0F, .insistence = 0.0F, .breath = 20.0F}, 12, alone};
  m.run(200);
  std::uint32_t least = 12, low = 0;
  for (int n = 0; n < 1000; ++n) {
    const std::uint32_t running = m.run(1).running();
    least = (std::min)(least, running);
    low += running <= 3 ? 1 : 0;
  }
  EXPECT_LE(least, 3u) << "half of the level is 2";
  EXPECT_GT(low, 20u);
  EXPECT_LT(low, 200u);
}

TEST(StigmergicRule, TheQuickTakeTheFreePlace) {
  machine m{{.gain = 0.0F, .breath = 0.0F}, 8, saturating_at(4)};
  m.jitter = 10;
  for (std::uint32_t w = 0; w < 3; ++w) m.sleep[w] = 2;
  m.run(300);
  std::vector<std::uint32_t> before;
  for (std::uint32_t w = 0; w < 8; ++w) before.push_back(m.starts(w));
  m.run(1000);
  double slow = 0, quick = 0;
  for (std::uint32_t w = 0; w < 8; ++w) (w < 3 ? slow : quick) += m.starts(w) - before[w];
  EXPECT_GT(quick / 5, 4 * slow / 3) << "more than the three times that they are quicker";
  EXPECT_GT(slow, 0);
}

TEST(StigmergicRule, TheLevelFallsWhereMachinesAreShared) {
  machine m{{.first_level = 16.0F, .gain = 0.3F}, 16, saturating_at(2)};
  m.jitter = 20;
  m.run(3000);
  EXPECT_LT(m.mean_running(1000), 6);
  EXPECT_GT(m.mean_running(1000), 1.5);
}

TEST(StigmergicRule, TheLevelRisesWhereNothingIsShared) {
  machine m{{.gain = 0.3F}, 32, alone};
  m.jitter = 20;
  m.run(5000);
  EXPECT_GT(m.mean_running(1000), 29) << "but for breaths";
}

TEST(StigmergicRule, TheDeadAreForgotten) {
  machine m{fixed, 12, saturating_at(4), {.quorum = 12}};
  m.run(100);
  for (std::uint32_t w = 0; w < 9; ++w) m.die(w).run(5);
  EXPECT_GT(m.run(100).mean_running(100), 2.5) << "their marks keep nobody from starting";
  for (std::uint32_t w = 0; w < 9; ++w) m.join(w).run(5);
  EXPECT_NEAR(m.run(200).mean_running(500), 4.5, 0.7);
  EXPECT_TRUE(m.ok());
}

// Every other step is so many times as long, for its batch.
struct with_batches : stigmergic_rule {
  float longer = 1.0F;
  int steps = 0;
  decision release(const cluster_view& view, const event& what) noexcept {
    if (what.why == cause::push) allow_for_batch(steps++ % 2 == 0 ? longer : 1.0F);
    return stigmergic_rule::release(view, what);
  }
};

TEST(StigmergicRule, BatchesDoNotMoveTheLevel) {
  const auto level_where = [](float longer) {
    controller<with_batches, int> control{{.capacity = 1, .guard = {.enabled = false}}, {{.gain = 1.0F}, longer}};
    struct {
      void release(int, worker_id, const grant&) {}
      void flush(std::uint64_t, float, std::uint32_t) {}
      void discard(std::uint64_t, std::uint32_t) {}
    } sink;
    EXPECT_EQ(control.join({0, 0}, 0.0, 0, sink), errc::ok);
    double now = 0;
    for (int step = 0; step < 50; ++step) {
      now += step % 2 == 0 ? static_cast<double>(longer) : 1.0;
      EXPECT_EQ(control.push({.worker = {0, 0}, .now = now}, 0, sink), errc::ok);
    }
    return control.policy().trace().level();
  };
  EXPECT_NEAR(level_where(4.0F), level_where(1.0F), 1e-5);
}

TEST(StigmergicRule, SurvivesNaN) {
  machine m{{}, 6, saturating_at(3)};
  m.run(50);
  m.diverged = 2;
  m.speed[1] = 1e30;
  m.run(200);
  EXPECT_TRUE(m.ok());
  EXPECT_TRUE(std::isfinite(m.control().policy().trace().level()));
}

TEST(StigmergicRule, ProblemsAreNamed) {
  EXPECT_EQ(stigmergic_rule{}.problem(1), "");
  const auto problem = [](const stigmergic_rule& of) { return of.problem(8); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(problem({.first_level = 0.5F}), "first_level is 0.5, expected a number from 1 to 2^20");
  EXPECT_EQ(problem({.stretch = -1.0F}), "stretch is -1, expected a number from 0 to 2");
  EXPECT_EQ(problem({.gain = 11.0F}), "gain is 11, expected a number from 0 to 10");
  EXPECT_EQ(problem({.patience = 0.0F}), "patience is 0, expected a number above 0, to 100");
  EXPECT_EQ(problem({.yielding = 9.0F}), "yielding is 9, expected a number from 0 to 8");
  EXPECT_EQ(problem({.insistence = -1.0F}), "insistence is -1, expected a number from 0 to 10");
  EXPECT_EQ(problem({.breath = nan}), "breath is nan, expected a number from 0 to 1000");
  EXPECT_NE(problem({.first_level = nan}), "");
  EXPECT_NE(problem({.patience = nan}), "");
}

TEST(StigmergicRule, Describes) {
  EXPECT_EQ(stigmergic_rule{}.describe().json,
            R"({"kind":"stigmergic_rule","first_level":4,"stretch":0.5,"gain":0.1,"patience":1,"yielding":3,)"
            R"("insistence":0.1,"breath":32})");
}

TEST(StigmergicRule, SavesItsState) {
  machine m{{}, 8, saturating_at(3)};
  m.jitter = 20;
  m.run(211);
  archive saved;
  stigmergic_rule original = m.control().policy();
  original.state(saved);
  stigmergic_rule loaded;
  loaded.resize(8);
  archive reader{saved.bytes()};
  loaded.state(reader);
  ASSERT_TRUE(reader.finished());
  EXPECT_EQ(loaded.waiting_.size(), original.waiting_.size());
  EXPECT_GT(loaded.waiting_.size(), 0u);
  EXPECT_EQ(loaded.waiting_.front(), original.waiting_.front());
  archive again;
  loaded.state(again);
  ASSERT_EQ(again.bytes().size(), saved.bytes().size());
  EXPECT_TRUE(std::equal(again.bytes().begin(), again.bytes().end(), saved.bytes().begin()));
}

TEST(StigmergicRule, BadBytesAreRefused) {
  stigmergic_rule policy;
  policy.resize(2);
  archive saved;
  policy.state(saved);
  std::vector<std::byte> bytes(saved.bytes().begin(), saved.bytes().end());
  for (std::size_t i = 60; i < 68; ++i) bytes[i] = std::byte{0xFF};  // the first worker's steps
  archive reader{bytes};
  policy.state(reader);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace stigmergic_rule_test
