#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/encode/next_arrival.hpp>
#include <vector>

namespace {

using rubato::archive;
using rubato::next_arrival;

TEST(NextArrival, AgreesWithAScan) {
  constexpr std::uint32_t workers = 20;
  next_arrival all;
  all.resize(workers);
  std::vector<std::optional<double>> due(workers);
  rubato::random_sequence random{3};
  double now = 0;
  for (int n = 0; n < 5000; ++n) {
    const auto w = static_cast<std::uint32_t>(random.below(workers));
    if (random.below(3) > 0) {
      const double duration = random.below(9) == 0 ? next_arrival::never : 5 + static_cast<double>(random.below(4));
      all.start(w, now, duration);
      due[w] = now + duration;
    } else {
      all.remove(w);
      due[w].reset();
    }
    double earliest = next_arrival::never;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < workers; ++i) {
      if (!due[i]) continue;
      ++count;
      earliest = std::min(earliest, *due[i]);
      EXPECT_TRUE(all.contains(i));
    }
    ASSERT_EQ(all.size(), count);
    if (earliest < now) {  // nobody is to be overdue here
      for (std::uint32_t i = 0; i < workers; ++i)
        if (due[i] && *due[i] < now + 1) all.remove(i), due[i].reset();
      continue;
    }
    ASSERT_EQ(all.next(now), earliest);
    now += 0.1;
  }
}

TEST(NextArrival, OverdueStepsAreExpectedToDouble) {
  next_arrival all;
  all.resize(3);
  EXPECT_EQ(all.next(1.0), next_arrival::never);
  all.start(0, 0.0, 1.0);
  all.start(1, 0.0, 5.0);
  EXPECT_EQ(all.next(1.0), 1.0);
  EXPECT_EQ(all.next(2.0), 4.0) << "it has taken 2, and will need 2 more";
  EXPECT_EQ(all.next(2.0), 4.0);
  EXPECT_EQ(all.next(4.5), 5.0) << "the other comes first now";
  all.remove(1);
  EXPECT_EQ(all.next(4.5), 9.0);
  all.shift(-4.5);
  EXPECT_EQ(all.next(0.0), 4.5);
  all.start(7, 0.0, 1.0);  // there is no such worker
  EXPECT_EQ(all.size(), 1U);
}

TEST(NextArrival, StateRoundTrip) {
  next_arrival all, other;
  all.resize(5);
  other.resize(5);
  for (const std::uint32_t w : {3U, 1U, 4U}) all.start(w, 1.0, 2.0 * w);
  all.start(0, 1.0, next_arrival::never);
  archive out;
  all.state(out);
  archive in{out.bytes()};
  other.start(2, 0.0, 1.0);
  other.state(in);
  ASSERT_TRUE(in.finished());
  EXPECT_EQ(other.size(), 4U);
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(other.next(0.0), all.next(0.0));
    const std::uint32_t gone = n == 0 ? 1 : n == 1 ? 3 : 4;
    all.remove(gone);
    other.remove(gone);
  }
}

TEST(NextArrival, BadStateIsNoticed) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3.0}) {
    archive out;
    bool active = true;
    double since = bad, due = 2.0;
    out(active, since, due);
    next_arrival all;
    all.resize(1);
    archive in{out.bytes()};
    all.state(in);
    EXPECT_FALSE(in.ok());
  }
}

// The state of a worker after those that were read must not be that of before.
TEST(NextArrival, BadStateChangesNothing) {
  next_arrival all, other;
  all.resize(3);
  other.resize(3);
  for (const std::uint32_t w : {0U, 1U, 2U}) all.start(w, 0.0, 1.0 + w), other.start(w, 0.0, 7.0 - w);
  archive out;
  other.state(out);
  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    archive in{out.bytes().first(size)};
    all.state(in);
    ASSERT_FALSE(in.ok());
    ASSERT_EQ(all.size(), 3U);
    ASSERT_EQ(all.next(0.0), 1.0);
  }
  all.remove(1);
  EXPECT_EQ(all.size(), 2U);
  all.start(2, 1.0, 1.0);
  all.remove(0);
  EXPECT_EQ(all.next(0.0), 2.0);
}

TEST(NextArrival, CopiesHaveRoomToo) {
  next_arrival all;
  all.resize(50);
  next_arrival copy = all;
  for (std::uint32_t w = 0; w < 50; ++w) copy.start(w, 0.0, 50.0 - w);
  EXPECT_EQ(copy.next(0.0), 1.0);
  EXPECT_EQ(copy.size(), 50U);
  EXPECT_EQ(all.size(), 0U);
}

}  // namespace
