#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <rubato/io/chrome_trace.hpp>
#include <set>

#include "host.hpp"

namespace {

using namespace rubato;
using test::host;

static_assert(Observer<chrome_trace>);

std::string text_of(const chrome_trace& trace) {
  std::string text;
  test::text_sink sink{&text};
  trace.write(sink);
  return text;
}
nlohmann::json read(const chrome_trace& trace) { return nlohmann::json::parse(text_of(trace)); }

std::vector<nlohmann::json> events_of(const chrome_trace& trace, std::string_view phase) {
  std::vector<nlohmann::json> chosen;
  const nlohmann::json all = read(trace);
  for (const nlohmann::json& e : all.at("traceEvents"))
    if (e.at("ph") == phase) chosen.push_back(e);
  return chosen;
}

TEST(ChromeTrace, GoldenBytes) {
  host<chrome_trace> h{
      bsp{}, 2, chrome_trace{{.workers = 2, .microseconds_per_unit = 1e3, .process = "a \"run\"", .policy = "bsp"}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.5), errc::ok);
  h.step(0, 1.5, 1.625, 2.25F);
  h.step(1, 3.0, 3.125, std::numeric_limits<float>::infinity());
  EXPECT_EQ(h.depart(1, 4.0, cause::death), errc::ok);
  EXPECT_EQ(text_of(h.sync.watcher()), R"({"traceEvents":[
{"ph":"M","pid":1,"tid":3,"name":"process_name","args":{"name":"a \"run\""}},
{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"policy"}},
{"ph":"M","pid":1,"tid":3,"name":"thread_sort_index","args":{"sort_index":0}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"worker 1"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":2}},
{"ph":"i","pid":1,"tid":1,"ts":0,"s":"t","name":"join","args":{}},
{"ph":"i","pid":1,"tid":2,"ts":500,"s":"t","name":"join","args":{}},
{"ph":"X","pid":1,"tid":1,"ts":0,"dur":500,"name":"wait","args":{"clock":0}},
{"ph":"C","pid":1,"ts":0,"name":"parked","args":{"parked":0}},
{"ph":"X","pid":1,"tid":1,"ts":500,"dur":1000,"name":"step","args":{"version":0,"clock":0,"step":1,"staleness":0,"loss":2.25}},
{"ph":"X","pid":1,"tid":1,"ts":1500,"dur":125,"name":"server","args":{"verdict":"accumulate"}},
{"ph":"C","pid":1,"ts":500,"name":"parked","args":{"parked":0}},
{"ph":"X","pid":1,"tid":2,"ts":500,"dur":2500,"name":"step","args":{"version":0,"clock":0,"step":1,"staleness":0,"loss":null}},
{"ph":"i","pid":1,"tid":2,"ts":3000,"s":"t","name":"drop","args":{"because":"non_finite"}},
{"ph":"X","pid":1,"tid":2,"ts":3000,"dur":125,"name":"server","args":{"verdict":"drop"}},
{"ph":"C","pid":1,"ts":1625,"name":"parked","args":{"parked":1}},
{"ph":"i","pid":1,"tid":3,"ts":3125,"s":"t","name":"flush","args":{"round":0,"gradients":1,"scale":1}},
{"ph":"C","pid":1,"ts":0,"name":"version","args":{"version":0}},
{"ph":"X","pid":1,"tid":1,"ts":1625,"dur":1500,"name":"wait","args":{"clock":1}},
{"ph":"X","pid":1,"tid":2,"ts":3125,"dur":875,"name":"step","args":{"version":1,"clock":1}},
{"ph":"i","pid":1,"tid":2,"ts":4000,"s":"t","name":"death","args":{}},
{"ph":"X","pid":1,"tid":1,"ts":3125,"dur":875,"name":"step","args":{"version":1,"clock":1,"open":true}},
{"ph":"C","pid":1,"ts":3125,"name":"parked","args":{"parked":0}},
{"ph":"C","pid":1,"ts":3125,"name":"version","args":{"version":1}},
{"ph":"C","pid":1,"ts":1500,"name":"staleness","args":{"staleness":0}}
],"displayTimeUnit":"ms","otherData":{"generator":"rubato","policy":"bsp","microseconds_per_unit":1000,"events_dropped":0,"records_left_out":0}}
)");
}

TEST(ChromeTrace, SpansOfAWorkerNeverOverlap) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    host<chrome_trace> h{asp{}, 6, chrome_trace{{.workers = 6, .microseconds_per_unit = seed == 1 ? 3.0 : 1e6}}};
    test::random_run(h, seed, 6'000);
    std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;
    std::set<std::string> phases;
    std::set<std::string> names;
    const nlohmann::json all = read(h.sync.watcher());
    for (const nlohmann::json& e : all.at("traceEvents")) {
      phases.insert(e.at("ph"));
      names.insert(e.at("name"));
      ASSERT_EQ(e.at("pid"), 1);
      if (e.contains("tid")) {
        ASSERT_GE(e.at("tid"), 1);
        ASSERT_LE(e.at("tid"), 7);
      }
      if (e.at("ph") != "X") continue;
      ASSERT_TRUE(e.at("ts").is_number_integer() && e.at("dur").is_number_integer());
      ASSERT_GE(e.at("dur"), 0);
      spans[e.at("tid")].emplace_back(e.at("ts"), e.at("dur"));
    }
    EXPECT_EQ(phases, (std::set<std::string>{"C", "M", "X", "i"})) << "B and E would have to match";
    EXPECT_TRUE(names.contains("failed") && names.contains("drop") && names.contains("policy change"));
    EXPECT_EQ(spans.size(), 6U);
    for (auto& [thread, list] : spans) {
      std::sort(list.begin(), list.end());
      for (std::size_t i = 1; i < list.size(); ++i)
        ASSERT_LE(list[i - 1].first + list[i - 1].second, list[i].first) << "thread " << thread;
    }
  }
}

// Steps, server time and waits of a worker that stays fill its whole time.
TEST(ChromeTrace, SpansFillTheTimeOfAMember) {
  host<chrome_trace> h{ssp{.staleness = 1}, 3, chrome_trace{{.workers = 3}}};
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_EQ(h.join(w, 0.0), errc::ok);
  random_sequence random{4};
  double now = 0.0;
  for (int i = 0; i < 500; ++i) {
    const auto w = static_cast<std::uint32_t>(random.below(3));
    now += random.uniform();
    if (h.sync.workers()[w].state != worker_state::running) continue;
    const double pushed = now;
    h.step(w, pushed, now += random.uniform());
  }
  std::map<int, std::int64_t> sums;
  std::map<int, std::int64_t> ends;
  for (const nlohmann::json& e : events_of(h.sync.watcher(), "X")) {
    sums[e.at("tid")] += e.at("dur").get<std::int64_t>();
    ends[e.at("tid")] = std::max(ends[e.at("tid")], e.at("ts").get<std::int64_t>() + e.at("dur").get<std::int64_t>());
  }
  EXPECT_EQ(sums, ends);
  EXPECT_EQ(ends.at(1), ends.at(2));
}

TEST(ChromeTrace, RingKeepsTheLatest) {
  chrome_trace trace{{.workers = 1, .events = 3, .counters = false}};
  for (int i = 0; i < 10; ++i)
    trace(record{.what = record::kind::cancel, .worker = {0, 0}, .now = static_cast<double>(i)});
  EXPECT_EQ(trace.dropped(), 7U);
  const auto marks = events_of(trace, "i");
  ASSERT_EQ(marks.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(marks[static_cast<std::size_t>(i)].at("ts"), (7 + i) * 1'000'000);
  EXPECT_EQ(read(trace).at("otherData").at("events_dropped"), 7);
}

TEST(ChromeTrace, OpenSpansEnd) {
  host<chrome_trace> h{asp{}, 2, chrome_trace{{.workers = 2, .counters = false}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  static_cast<void>(h.admit(0, 2.0));
  const std::string once = text_of(h.sync.watcher());
  EXPECT_EQ(once, text_of(h.sync.watcher())) << "writing changes nothing";
  const auto spans = events_of(h.sync.watcher(), "X");
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].at("args"), (nlohmann::json{{"verdict", "apply"}, {"open", true}}));
  EXPECT_EQ(spans[2].at("dur"), 2'000'000);
}

TEST(ChromeTrace, CommitOfADeadWorkerOpensNothing) {
  host<chrome_trace> h{asp{}, 2, chrome_trace{{.workers = 2}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  const admitted last = h.admit(0, 1.0);
  EXPECT_EQ(h.depart(0, 2.0, cause::death), errc::ok);
  EXPECT_EQ(h.commit(last, 3.0), errc::ok);
  h.step(1, 4.0, 5.0);
  for (const nlohmann::json& e : events_of(h.sync.watcher(), "X"))
    if (e.at("tid") == 1) {
      EXPECT_LE(e.at("ts").get<int>() + e.at("dur").get<int>(), 2'000'000) << e;
    }
}

TEST(ChromeTrace, UnknownWorkersAreLeftOutAndCounted) {
  chrome_trace trace{{.workers = 2}};
  trace(record{.what = record::kind::refuse, .because = reason::unknown_worker, .worker = {2, 0}, .now = 1.0});
  trace(record{.what = record::kind::refuse, .now = -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(trace.left_out(), 1U);
  EXPECT_EQ(events_of(trace, "i").size(), 0U);
}

TEST(ChromeTrace, ExtremeTimesStayIntegers) {
  chrome_trace trace{{.workers = 1}};
  trace(record{.what = record::kind::join, .worker = {0, 0}, .now = -1e300});
  trace(record{.what = record::kind::release, .worker = {0, 0}, .now = 1e300});
  const auto spans = events_of(trace, "X");
  ASSERT_GE(spans.size(), 1U);
  EXPECT_TRUE(spans[0].at("ts").is_number_integer());
}

TEST(ChromeTrace, CountersShowTheLastValueOfAnInstant) {
  host<chrome_trace> h{bsp{}, 3, chrome_trace{{.workers = 3}}};
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_EQ(h.join(w, 0.0), errc::ok);
  for (std::uint32_t w = 0; w < 3; ++w) h.step(w, w + 1.0, w + 1.0);
  std::vector<std::pair<int, int>> parked;
  for (const nlohmann::json& e : events_of(h.sync.watcher(), "C"))
    if (e.at("name") == "parked") parked.emplace_back(e.at("ts").get<int>() / 1'000'000, e.at("args").at("parked"));
  EXPECT_EQ(parked, (std::vector<std::pair<int, int>>{{0, 0}, {1, 1}, {2, 2}, {3, 0}}));
}

}  // namespace
