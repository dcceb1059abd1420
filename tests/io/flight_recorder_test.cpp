#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <string>
#include <string_view>

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
  recorder.describe(ssp{.staleness = 2});
  EXPECT_NE(written(recorder).find("\"kind\":\"ssp\""), std::string::npos);
  EXPECT_EQ(without_first_line(written(recorder)), kept);
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
