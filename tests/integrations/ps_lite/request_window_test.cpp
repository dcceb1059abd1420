#include <gtest/gtest.h>

#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/ps_lite/request_window.hpp>
#include <set>
#include <vector>

namespace rubato {
namespace {

using ps_lite::request_window;

TEST(RequestWindow, EachNumberIsNewOnce) {
  request_window window;
  for (const int t : {0, 1, 3, 2, 7}) EXPECT_TRUE(window.first_time(t)) << t;
  for (const int t : {0, 1, 3, 2, 7}) EXPECT_FALSE(window.first_time(t)) << t;
  EXPECT_TRUE(window.first_time(5));
}

TEST(RequestWindow, WhatIsOlderThan64CountsAsSeen) {
  request_window window;
  EXPECT_TRUE(window.first_time(100));
  EXPECT_TRUE(window.first_time(37));
  EXPECT_FALSE(window.first_time(36));
  EXPECT_FALSE(window.first_time(0));
  EXPECT_TRUE(window.first_time(1'000));
  EXPECT_FALSE(window.first_time(100));
}

TEST(RequestWindow, LargestNumbersAndNegativeOnes) {
  request_window window;
  EXPECT_TRUE(window.first_time(2'147'483'647));
  EXPECT_FALSE(window.first_time(0));
  EXPECT_FALSE(window.first_time(2'147'483'647));
  EXPECT_TRUE(window.first_time(2'147'483'646));
  EXPECT_TRUE(window.first_time(-1));
  EXPECT_TRUE(window.first_time(-1)) << "no number, so never the same";
}

TEST(RequestWindow, KnowsWhatIsMissing) {
  request_window window;
  EXPECT_TRUE(window.complete(-1, 0));
  EXPECT_FALSE(window.complete(-1, 1));
  for (const int t : {0, 1, 4}) EXPECT_TRUE(window.first_time(t));
  EXPECT_TRUE(window.complete(-1, 2));
  EXPECT_FALSE(window.complete(-1, 4));
  EXPECT_FALSE(window.complete(1, 4));
  EXPECT_TRUE(window.complete(3, 4));
  EXPECT_TRUE(window.first_time(2));
  EXPECT_FALSE(window.complete(1, 5));
  EXPECT_TRUE(window.first_time(3));
  EXPECT_TRUE(window.complete(-1, 5));
  EXPECT_TRUE(window.first_time(1'000));
  EXPECT_TRUE(window.complete(900, 930)) << "too old to tell";
  EXPECT_FALSE(window.complete(900, 1'000));
}

TEST(RequestWindow, AgreesWithASetOnShuffledNumbers) {
  random_sequence random{4};
  request_window window;
  std::set<int> seen;
  for (int step = 0; step < 20'000; ++step) {
    const int t = step / 2 + static_cast<int>(random.below(40));  // never more than 60 below the highest
    EXPECT_EQ(window.first_time(t), seen.insert(t).second) << t;
  }
}

}  // namespace
}  // namespace rubato
