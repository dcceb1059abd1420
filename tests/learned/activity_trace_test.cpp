#include <rubato/learned/activity_trace.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace activity_trace_test {
namespace {

using rubato::activity_trace;
using rubato::archive;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// One whose steps take 2: of a mark e^(-1/16) is left after each unit of time.
activity_trace used() {
  activity_trace trace{4};
  trace.start(0);
  trace.push(2, 0, 2);
  return trace;
}

TEST(ActivityTrace, MarksAddUpAndEvaporate) {
  activity_trace trace = used();
  EXPECT_EQ(trace.presence(2), 0);
  trace.start(2);
  trace.start(2);
  EXPECT_EQ(trace.presence(2), 2);
  EXPECT_DOUBLE_EQ(trace.presence(18), 2 * std::exp(-1.0));
  trace.start(18);
  EXPECT_DOUBLE_EQ(trace.presence(34), 2 * std::exp(-2.0) + std::exp(-1.0));
}

TEST(ActivityTrace, WhoPushesTakesItsMarkBack) {
  activity_trace trace = used();
  trace.start(2);
  trace.start(3);
  trace.push(10, 2, 2);
  EXPECT_NEAR(trace.presence(10), std::exp(-7.0 / 16), 1e-12) << "the mark of the other one";
  trace.push(12, 3, 2);
  EXPECT_NEAR(trace.presence(12), 0, 1e-12);
  trace.push(13, 3, 2);
  EXPECT_EQ(trace.presence(13), 0) << "never below nothing";
}

TEST(ActivityTrace, WhoNeverComesBackIsForgotten) {
  activity_trace trace = used();
  for (int i = 0; i < 100; ++i) trace.start(2);
  EXPECT_LT(trace.presence(2 + 16 * 12), 1e-3);
}

TEST(ActivityTrace, AveragesByHand) {
  activity_trace trace = used();
  EXPECT_EQ(trace.step(), 2);
  EXPECT_EQ(trace.interval(), 0) << "between one push and none there is none";
  trace.push(5, 4, 4);
  EXPECT_DOUBLE_EQ(trace.step(), 2.1);
  EXPECT_DOUBLE_EQ(trace.interval(), 3);
  trace.push(6, 5, 1.1);
  EXPECT_DOUBLE_EQ(trace.step(), 2.05);
  EXPECT_DOUBLE_EQ(trace.interval(), 2.9);
}

TEST(ActivityTrace, CountsSteps) {
  activity_trace trace{4};
  for (int i = 0; i < 40; ++i) trace.push(i, i - 4.0, 4);
  EXPECT_DOUBLE_EQ(trace.steps(), 10) << "of four at a time";
}

TEST(ActivityTrace, TheLevelIsJoint) {
  activity_trace trace{4};
  EXPECT_EQ(trace.level(), 4);
  trace.raise(0.5);
  trace.raise(0.5);
  EXPECT_DOUBLE_EQ(trace.level(), 8);
  trace.raise(-5);
  EXPECT_DOUBLE_EQ(trace.level(), 4) << "an octave at most at once";
  for (int i = 0; i < 100; ++i) trace.raise(-1);
  EXPECT_EQ(trace.level(), 1);
  for (int i = 0; i < 100; ++i) trace.raise(1);
  EXPECT_EQ(trace.level(), 1 << 20);
}

TEST(ActivityTrace, StrangeTimesDoNoHarm) {
  activity_trace trace = used();
  trace.start(1);
  EXPECT_EQ(trace.presence(1), 1) << "time that runs back is none";
  for (const double strange : {0.0, -1.0, infinity, nan}) trace.push(1, 1, strange);
  for (const double strange : {infinity, -infinity, nan}) trace.raise(strange);
  EXPECT_EQ(trace.step(), 2);
  EXPECT_TRUE(std::isfinite(trace.level()) && std::isfinite(trace.presence(3)) && std::isfinite(trace.interval()));
}

TEST(ActivityTrace, SavesItsState) {
  activity_trace trace = used(), loaded;
  trace.start(2);
  trace.raise(0.25);
  trace.push(3, 2, 1);
  trace.start(3);
  archive saved;
  trace.state(saved);
  archive reader{saved.bytes()};
  loaded.state(reader);
  ASSERT_TRUE(reader.finished());
  for (activity_trace* each : {&trace, &loaded}) each->push(9, 3, 5);
  EXPECT_EQ(loaded.presence(11), trace.presence(11));
  EXPECT_EQ(loaded.level(), trace.level());
  EXPECT_EQ(loaded.step(), trace.step());
  EXPECT_EQ(loaded.interval(), trace.interval());
}

TEST(ActivityTrace, BadBytesAreRefused) {
  archive saved;
  used().state(saved);
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 8 <= saved.bytes().size(); at += 8) {
    archive bad;
    double number = nan;
    bad(number);
    std::vector<std::byte> bytes(saved.bytes().begin(), saved.bytes().end());
    std::copy(bad.bytes().begin(), bad.bytes().end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    archive reader{bytes};
    activity_trace loaded;
    loaded.state(reader);
    refused += reader.ok() ? 0 : 1;
  }
  EXPECT_EQ(refused, 7u);
}

}  // namespace
}  // namespace activity_trace_test
