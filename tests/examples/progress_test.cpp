#include "../../examples/support/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using rubato::support::clock_text;
using rubato::support::progress;

TEST(Progress, ClockText) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(6.2), "0:07");
  EXPECT_EQ(clock_text(750), "12:30");
  EXPECT_EQ(clock_text(11'100), "3:05:00");
}

TEST(Progress, PlainLinesComeAtMostEveryInterval) {
  std::ostringstream out;
  double now = 0;
  progress shown{out, "runs", 10, {.terminal = false, .line_interval = 5, .now = [&] { return now; }}};
  for (int i = 0; i < 9; ++i) {
    now += 2;
    shown.advance();
  }
  now = 20;
  shown.advance();
  shown.finish();
  EXPECT_EQ(out.str(),
            "runs 3/10, 0:14 left\n"
            "runs 6/10, 0:08 left\n"
            "runs 9/10, 0:02 left\n"
            "runs 10/10 in 0:20\n");
}

TEST(Progress, TerminalRedrawsOneLine) {
  std::ostringstream out;
  double now = 0;
  progress shown{out, "runs", 2, {.terminal = true, .now = [&] { return now; }}};
  now = 3;
  shown.advance();
  EXPECT_EQ(out.str(), "\r\x1b[Kruns [##############..............] 1/2, 0:03 left");
  shown.print("note");
  EXPECT_NE(out.str().find("\r\x1b[Knote\nruns ["), std::string::npos);
  shown.finish();
  EXPECT_EQ(out.str().back(), '\n');
}

TEST(Progress, SkippedJobsDoNotCountAsSpeed) {
  std::ostringstream out;
  double now = 0;
  progress shown{out, "runs", 10, {.terminal = false, .now = [&] { return now; }}};
  shown.skip(6);
  now = 10;
  shown.advance();
  EXPECT_EQ(out.str(), "runs 7/10, 0:30 left\n");
}

TEST(Progress, QuietShowsNothing) {
  std::ostringstream out;
  {
    progress shown{out, "runs", 2, {.quiet = true}};
    shown.advance(2);
    shown.print("note");
  }
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, DestructorLeavesACleanLine) {
  std::ostringstream out;
  {
    progress shown{out, "runs", 2, {.terminal = false, .now = [] { return 0.0; }}};
  }
  EXPECT_EQ(out.str(), "runs 0/2 in 0:00\n");
}

TEST(Progress, ThreadsCountEveryJobOnce) {
  std::ostringstream out;
  {
    progress shown{out, "runs", 4'000, {.terminal = false}};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) shown.advance();
      });
    threads.clear();
  }
  EXPECT_TRUE(out.str().starts_with("runs 4000/4000 in")) << out.str();
}

}  // namespace
