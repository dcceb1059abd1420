#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "../support/counted_allocations.hpp"
#include "host.hpp"

namespace flight_recorder_test {
namespace {

using rubato::asp;
using rubato::flight_recorder;
using rubato::ssp;
using rubato::test::text_sink;

struct both {
  rubato::decision_log<text_sink> log;
  flight_recorder recorder;
  void operator()(const rubato::record& r) noexcept { log(r), recorder(r); }
};

std::string written(const flight_recorder& from) {
  std::string text;
  text_sink sink{&text};
  from.write(sink);
  return text;
}
std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

TEST(FlightRecorder, WritesWhatALogHas) {
  std::string log;
  rubato::test::host<both> h{asp{}, 4, {{text_sink{&log}, asp{}}, {4000, asp{}}}};
  rubato::test::random_run(h, 7, 800);
  const flight_recorder& recorder = h.sync.watcher().recorder;
  ASSERT_LT(recorder.made(), 4000U);
  const std::string first = log.substr(0, log.find('\n'));
  EXPECT_EQ(written(recorder), first.substr(0, first.size() - 1) + ",\"earlier\":0}\n" + without_first_line(log));
}

TEST(FlightRecorder, KeepsTheLatest) {
  std::string log;
  rubato::test::host<both> h{asp{}, 4, {{text_sink{&log}, asp{}}, {10, asp{}}}};
  rubato::test::random_run(h, 8, 500);
  flight_recorder& recorder = h.sync.watcher().recorder;
  const std::string text = written(recorder), kept = without_first_line(text);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 10);
  EXPECT_TRUE(log.ends_with(kept));
  EXPECT_NE(text.find(",\"earlier\":" + std::to_string(recorder.made() - 10) + "}\n"), std::string::npos) << text;
}

rubato::record numbered(std::uint64_t i) {
  return {
      .what = rubato::record::kind::cancel, .worker = {1, 0}, .now = static_cast<double>(i), .clock = i, .version = i};
}

// As in a log that was written from that record on.
TEST(FlightRecorder, EachPolicyStandsWhereItTookOver) {
  for (const std::uint64_t kept : {100U, 12U, 9U, 8U, 7U, 3U, 2U}) {
    flight_recorder recorder{kept, asp{}};
    std::string text;
    const std::uint64_t first = 12 - std::min<std::uint64_t>(kept, 12);
    const auto log_from = [&](const auto& policy) {
      text.clear();
      rubato::decision_log log{text_sink{&text}, policy};
      text.replace(text.size() - 2, 1, ",\"earlier\":" + std::to_string(first) + "}");
      return log;
    };
    auto log = log_from(asp{});
    const auto takes_over = [&](const auto& policy, std::uint64_t from) {
      recorder.describe(policy);
      if (from <= first)
        log_from(policy);
      else
        log.policy(policy, static_cast<double>(from) - 1);
    };
    for (std::uint64_t i = 0; i < 12; ++i) {
      if (i == 3) takes_over(ssp{.staleness = 7}, i);
      if (i == 4) takes_over(ssp{.staleness = 8}, i), takes_over(ssp{.staleness = 9}, i);
      recorder(numbered(i));
      if (i >= first) log(numbered(i));
    }
    takes_over(asp{}, 12);
    EXPECT_EQ(written(recorder), text) << kept;
  }
}

TEST(FlightRecorder, OfManyPoliciesTheLatestHaveTheirRecords) {
  flight_recorder recorder{1000, asp{}};
  for (std::uint64_t i = 0; i < 200; ++i) {
    if (i % 10 == 0) recorder.describe(ssp{.staleness = static_cast<std::uint32_t>(i)});
    recorder(numbered(i));
  }
  const std::string text = written(recorder);  // under those from the records 120, 130, ..., 190 on
  EXPECT_NE(text.find("\"staleness\":120},\"earlier\":120}\n{\"now\":120,"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 80 + 7);
  EXPECT_NE(text.find("\n{\"now\":129,\"what\":\"policy\",\"policy\":"), std::string::npos) << text;
}

// Each call of the sink records more than are kept in the end.
TEST(FlightRecorder, WhatIsReplacedMeanwhileIsLeftOut) {
  flight_recorder recorder{10, asp{}};
  for (std::uint64_t i = 0; i < 100; ++i) recorder(numbered(i));
  std::string text;
  const auto sink = [&](std::string_view bytes) noexcept {
    text += bytes;
    if (bytes.ends_with("}\n"))
      for (int more = 0; more < 3; ++more) recorder(numbered(recorder.made()));
  };
  recorder.write(sink);
  std::string expected;
  text_sink to{&expected};
  // After the first line 3 are gone; after the line of 93 those up to 95, after that of 96 up to 98.
  for (const std::uint64_t i : {93U, 96U, 99U}) rubato::write_decision(to, numbered(i));
  EXPECT_EQ(without_first_line(text), expected);
}

TEST(FlightRecorder, LinesAreWholeWhileOthersRecord) {
  flight_recorder recorder{50, asp{}};
  std::atomic<bool> over = false;
  std::thread other{[&] {
    while (!over) recorder(numbered(recorder.made()));
  }};
  while (recorder.made() < 50) std::this_thread::yield();
  for (int times = 0; times < 300; ++times) {
    std::istringstream lines{without_first_line(written(recorder))};
    double before = -1;
    for (std::string line; std::getline(lines, line);) {
      const auto number = std::stoull(line.substr(line.find(':') + 1));
      std::string expected;
      text_sink to{&expected};
      rubato::write_decision(to, numbered(number));
      ASSERT_EQ(line + '\n', expected);
      ASSERT_GT(static_cast<double>(number), before);
      before = static_cast<double>(number);
    }
  }
  over = true;
  other.join();
}

TEST(FlightRecorder, AllocatesNothingLater) {
  flight_recorder recorder{8, asp{}};
  char room[8192];
  std::size_t used = 0;
  const auto sink = [&](std::string_view bytes) noexcept { used += bytes.copy(room + used, sizeof room - used); };
  rubato::test::allocations = 0;
  rubato::test::counting = true;
  for (int i = 0; i < 100; ++i) recorder({.what = rubato::record::kind::join, .worker = {1, 0}, .now = 1.0 * i});
  recorder.write(sink);
  rubato::test::counting = false;
  EXPECT_EQ(rubato::test::allocations, 0U);
  EXPECT_GT(used, 8U * 50);
}

}  // namespace
}  // namespace flight_recorder_test
