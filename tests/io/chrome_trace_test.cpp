#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "../support/trace_check.hpp"
#include "host.hpp"

namespace {

using namespace rubato;
using test::host;
using test::trace_arrow;
using test::trace_mark;
using test::trace_span;

static_assert(Observer<chrome_trace> && AnswerObserver<chrome_trace>);
static_assert(AnswerObserver<chrome_trace_stream<test::text_sink>>);

std::string text_of(const chrome_trace& trace) {
  std::string text;
  test::text_sink sink{&text};
  trace.write(sink);
  return text;
}
test::read_trace read(const chrome_trace& trace, int workers) { return test::check_trace(text_of(trace), workers); }

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
{"ph":"i","pid":1,"tid":3,"ts":500,"s":"t","name":"all","args":{"asked":"join","worker":1}},
{"ph":"B","pid":1,"tid":1,"ts":0,"name":"wait","args":{"clock":0}},
{"ph":"E","pid":1,"tid":1,"ts":500},
{"ph":"C","pid":1,"ts":0,"name":"waiting","args":{"waiting":0}},
{"ph":"B","pid":1,"tid":1,"ts":500,"name":"compute","args":{"version":0,"clock":0}},
{"ph":"s","pid":1,"tid":1,"ts":1500,"cat":"gradient","name":"gradient","id":1},
{"ph":"E","pid":1,"tid":1,"ts":1500,"args":{"step":1,"staleness":0,"loss":2.25}},
{"ph":"B","pid":1,"tid":1,"ts":1500,"name":"apply","args":{"verdict":"accumulate"}},
{"ph":"t","pid":1,"tid":1,"ts":1500,"cat":"gradient","name":"gradient","id":1},
{"ph":"E","pid":1,"tid":1,"ts":1625},
{"ph":"C","pid":1,"ts":500,"name":"waiting","args":{"waiting":0}},
{"ph":"i","pid":1,"tid":3,"ts":1625,"s":"t","name":"hold","args":{"asked":"push","worker":0}},
{"ph":"B","pid":1,"tid":2,"ts":500,"name":"compute","args":{"version":0,"clock":0}},
{"ph":"E","pid":1,"tid":2,"ts":3000,"args":{"step":1,"staleness":0,"loss":null}},
{"ph":"i","pid":1,"tid":2,"ts":3000,"s":"t","name":"drop","args":{"because":"non_finite"}},
{"ph":"B","pid":1,"tid":2,"ts":3000,"name":"apply","args":{"verdict":"drop"}},
{"ph":"E","pid":1,"tid":2,"ts":3125},
{"ph":"C","pid":1,"ts":1625,"name":"waiting","args":{"waiting":1}},
{"ph":"i","pid":1,"tid":3,"ts":3125,"s":"t","name":"all","args":{"asked":"push","worker":1}},
{"ph":"B","pid":1,"tid":3,"ts":3125,"name":"flush","args":{"round":0,"gradients":1,"scale":1}},
{"ph":"f","pid":1,"tid":3,"ts":3125,"cat":"gradient","name":"gradient","id":1,"bp":"e"},
{"ph":"E","pid":1,"tid":3,"ts":3125},
{"ph":"C","pid":1,"ts":0,"name":"version","args":{"version":0}},
{"ph":"B","pid":1,"tid":1,"ts":1625,"name":"wait","args":{"clock":1}},
{"ph":"E","pid":1,"tid":1,"ts":3125},
{"ph":"B","pid":1,"tid":2,"ts":3125,"name":"compute","args":{"version":1,"clock":1}},
{"ph":"E","pid":1,"tid":2,"ts":4000},
{"ph":"i","pid":1,"tid":2,"ts":4000,"s":"t","name":"death","args":{}},
{"ph":"i","pid":1,"tid":3,"ts":4000,"s":"t","name":"hold","args":{"asked":"death","worker":1}},
{"ph":"B","pid":1,"tid":1,"ts":3125,"name":"compute","args":{"version":1,"clock":1}},
{"ph":"E","pid":1,"tid":1,"ts":4000,"args":{"open":true}},
{"ph":"C","pid":1,"ts":3125,"name":"waiting","args":{"waiting":0}},
{"ph":"C","pid":1,"ts":3125,"name":"version","args":{"version":1}},
{"ph":"C","pid":1,"ts":1500,"name":"staleness","args":{"staleness":0}}
],"displayTimeUnit":"ms","otherData":{"generator":"rubato","policy":"bsp","microseconds_per_unit":1000,"events_dropped":0,"records_left_out":0}}
)");
}

TEST(ChromeTrace, IsWhatPerfettoReads) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    host<chrome_trace> h{asp{}, 6, chrome_trace{{.workers = 6, .microseconds_per_unit = seed == 1 ? 3.0 : 1e6}}};
    test::random_run(h, seed, 6'000);
    const test::read_trace seen = read(h.sync.watcher(), 6);
    EXPECT_EQ(h.sync.watcher().dropped(), 0U);
    EXPECT_EQ(seen.names.size(), 7U);
    EXPECT_EQ(seen.names.at(7), "policy");
    std::set<std::string> names, phases;
    for (const auto& [thread, list] : seen.marks)
      for (const trace_mark& each : list) names.insert(each.name);
    for (const auto& [thread, list] : seen.spans)
      for (const trace_span& each : list) names.insert(each.name);
    for (const auto& [id, arrow] : seen.arrows) phases.insert(arrow.phases);
    for (const char* name : {"compute", "apply", "wait", "flush", "discard", "failed", "drop", "policy change", "all"})
      EXPECT_TRUE(names.contains(name)) << name;
    EXPECT_TRUE(phases.contains("sf") && phases.contains("stf"));
    EXPECT_EQ(seen.curves.size(), 4U);
  }
}

// Of a worker that stays they fill its whole time.
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
  const test::read_trace seen = read(h.sync.watcher(), 3);
  std::set<std::int64_t> ends;
  for (int thread = 1; thread <= 3; ++thread) {
    std::int64_t end = 0;
    for (const trace_span& each : seen.spans.at(thread)) {
      EXPECT_EQ(each.begin, end) << each.name << " of thread " << thread;
      end = each.end;
    }
    ends.insert(end);
  }
  EXPECT_EQ(ends.size(), 1U);
}

TEST(ChromeTrace, EveryGradientIsAnArrow) {
  host<chrome_trace> h{bsp{}, 3, chrome_trace{{.workers = 3}}};
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_EQ(h.join(w, 0.0), errc::ok);
  h.step(0, 1.0, 1.5);
  h.step(1, 2.0, 2.0, std::numeric_limits<float>::quiet_NaN());  // dropped: no arrow
  h.step(2, 3.0, 3.0);                                           // ends the round
  EXPECT_EQ(h.sync.switch_to(asp{}, 3.5, pending_gradients::flush, test::deaf{}), errc::ok);
  h.step(1, 4.0, 4.25);
  const test::read_trace seen = read(h.sync.watcher(), 3);
  ASSERT_EQ(seen.arrows.size(), 3U);
  for (const std::uint64_t id : {1U, 2U}) {
    const trace_arrow& arrow = seen.arrows.at(id);
    EXPECT_EQ(arrow.phases, "stf");
    EXPECT_EQ(arrow.spans, (std::vector<std::string>{"compute", "apply", "flush"}));
    const int worker = id == 1 ? 1 : 3;
    EXPECT_EQ(arrow.threads, (std::vector<int>{worker, worker, 4}));
  }
  EXPECT_EQ(seen.arrows.at(3).spans, (std::vector<std::string>{"compute", "apply"}));
  EXPECT_EQ(seen.of(4, "flush").at(0).args, (nlohmann::json{{"round", 0}, {"gradients", 2}, {"scale", 0.5}}));
}

TEST(ChromeTrace, AFailedGradientIsNotInItsRound) {
  host<chrome_trace> h{bsp{}, 2, chrome_trace{{.workers = 2}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  EXPECT_EQ(h.commit(h.admit(0, 1.0), 1.0, outcome::failed), errc::ok);
  h.step(1, 2.0, 2.0);
  const test::read_trace seen = read(h.sync.watcher(), 2);
  EXPECT_EQ(seen.arrows.at(1).phases, "st");
  EXPECT_EQ(seen.arrows.at(2).phases, "stf");
}

TEST(ChromeTrace, DecisionsShowWhatTheyWentBy) {
  using network = nn::mlp<40, 3>;
  network net;  // all zero, so that the biases are the values
  net.bias(0)[0] = 0.5F, net.bias(0)[1] = 2.0F, net.bias(0)[2] = 1.0F;
  host<chrome_trace> h{q_policy<rlp_state, network>{net}, 2, chrome_trace{{.workers = 2}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  h.step(1, 1.0, 1.0);
  EXPECT_EQ(h.sync.switch_to(knee{}, 2.0, pending_gradients::flush, test::deaf{}), errc::ok);
  h.step(0, 3.0, 3.0);
  std::vector<trace_mark> pushes;
  const test::read_trace seen = read(h.sync.watcher(), 2);
  for (const trace_mark& each : seen.marks.at(3))
    if (each.args.contains("asked") && each.args.at("asked") == "push") pushes.push_back(each);
  ASSERT_EQ(pushes.size(), 2U);
  EXPECT_EQ(pushes[0].name, "submitter");
  EXPECT_EQ(pushes[0].args, (nlohmann::json{
                                {"asked", "push"}, {"worker", 1}, {"hold", 0.5}, {"submitter", 2}, {"all", 1}}));
  EXPECT_EQ(pushes[1].at, 3'000'000);
  EXPECT_EQ(pushes[1].args, (nlohmann::json{{"asked", "push"}, {"worker", 0}, {"level", 2}, {"barrier", 0}}));
}

TEST(ChromeTrace, RingKeepsTheLatest) {
  chrome_trace trace{{.workers = 1, .events = 3, .counters = false}};
  for (int i = 0; i < 10; ++i)
    trace(record{.what = record::kind::cancel, .worker = {0, 0}, .now = static_cast<double>(i)});
  EXPECT_EQ(trace.dropped(), 7U);
  const test::read_trace seen = read(trace, 1);
  ASSERT_EQ(seen.marks.at(1).size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seen.marks.at(1)[i].at, static_cast<std::int64_t>(7 + i) * 1'000'000);
  EXPECT_EQ(seen.other.at("events_dropped"), 7);
}

TEST(ChromeTrace, ARingThatWasCutStaysBalanced) {
  for (std::size_t events = 1; events < 60; ++events) {
    SCOPED_TRACE(events);
    host<chrome_trace> h{bsp{}, 3, chrome_trace{{.workers = 3, .events = events}}};
    test::random_run(h, events, 200);
    EXPECT_GT(h.sync.watcher().dropped(), 0U);
    static_cast<void>(read(h.sync.watcher(), 3));
  }
}

TEST(ChromeTrace, AStreamIsTheSameTrace) {
  const chrome_trace_options options{.workers = 5, .policy = "all of them"};
  std::string text;
  host<chrome_trace_stream<test::text_sink>> streamed{asp{}, 5, {test::text_sink{&text}, options}};
  host<chrome_trace> kept{asp{}, 5, chrome_trace{options}};
  test::random_run(streamed, 5, 3'000);
  test::random_run(kept, 5, 3'000);
  streamed.sync.watcher().finish();
  static_cast<void>(test::check_trace(text, 5));
  const auto lines_of = [](const std::string& all) {  // names of threads come earlier in one of them
    std::multiset<std::string> lines;
    std::istringstream stream{all};
    for (std::string line; std::getline(stream, line);) {
      if (line.ends_with(',')) line.pop_back();
      lines.insert(line);
    }
    return lines;
  };
  EXPECT_EQ(lines_of(text), lines_of(text_of(kept.sync.watcher())));
}

TEST(ChromeTrace, OpenSpansEnd) {
  host<chrome_trace> h{asp{}, 2, chrome_trace{{.workers = 2, .counters = false}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  static_cast<void>(h.admit(0, 2.0));
  const std::string once = text_of(h.sync.watcher());
  EXPECT_EQ(once, text_of(h.sync.watcher())) << "writing changes nothing";
  const test::read_trace seen = read(h.sync.watcher(), 2);
  EXPECT_EQ(seen.of(1, "apply").at(0).args, (nlohmann::json{{"verdict", "apply"}, {"open", true}}));
  EXPECT_EQ(seen.of(2, "compute").at(0).end, 2'000'000);
}

TEST(ChromeTrace, CommitOfADeadWorkerOpensNothing) {
  host<chrome_trace> h{asp{}, 2, chrome_trace{{.workers = 2}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  const admitted last = h.admit(0, 1.0);
  EXPECT_EQ(h.depart(0, 2.0, cause::death), errc::ok);
  EXPECT_EQ(h.commit(last, 3.0), errc::ok);
  h.step(1, 4.0, 5.0);
  const test::read_trace drawn = read(h.sync.watcher(), 2);
  for (const trace_span& each : drawn.spans.at(1)) EXPECT_LE(each.end, 2'000'000) << each.name;
}

TEST(ChromeTrace, UnknownWorkersAreLeftOutAndCounted) {
  chrome_trace trace{{.workers = 2}};
  trace(record{.what = record::kind::refuse, .because = reason::unknown_worker, .worker = {2, 0}, .now = 1.0});
  trace(record{.what = record::kind::refuse, .now = -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(trace.left_out(), 1U);
  EXPECT_TRUE(read(trace, 2).marks.empty());
}

TEST(ChromeTrace, ExtremeTimesStayIntegers) {
  chrome_trace trace{{.workers = 1}};
  trace(record{.what = record::kind::join, .worker = {0, 0}, .now = -1e300});
  trace(record{.what = record::kind::release, .worker = {0, 0}, .now = 1e300});
  EXPECT_EQ(read(trace, 1).spans.at(1).size(), 2U);
}

TEST(ChromeTrace, CountersShowTheLastValueOfAnInstant) {
  host<chrome_trace> h{bsp{}, 3, chrome_trace{{.workers = 3}}};
  for (std::uint32_t w = 0; w < 3; ++w) EXPECT_EQ(h.join(w, 0.0), errc::ok);
  for (std::uint32_t w = 0; w < 3; ++w) h.step(w, w + 1.0, w + 1.0);
  using curve = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(read(h.sync.watcher(), 3).curves.at("waiting"),
            (curve{{0, 0}, {1'000'000, 1}, {2'000'000, 2}, {3'000'000, 0}}));
}

// Over twice as many pushes as there are workers, from the first record on.
TEST(ChromeTrace, PushesASecond) {
  host<chrome_trace> h{asp{}, 2, chrome_trace{{.workers = 2, .microseconds_per_unit = 1e3}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.0), errc::ok);
  for (int n = 1; n <= 4; ++n) h.step(static_cast<std::uint32_t>(n % 2), n * 2.0, n * 2.0);
  for (int n = 1; n <= 4; ++n) h.step(static_cast<std::uint32_t>(n % 2), 8.0 + n, 8.0 + n);
  using curve = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(read(h.sync.watcher(), 2).curves.at("pushes/s"), (curve{{8'000, 500}, {12'000, 1'000}}));
}

}  // namespace
