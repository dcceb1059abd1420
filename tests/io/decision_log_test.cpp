#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/decision_log.hpp>
#include <set>
#include <sstream>

#include "host.hpp"

namespace {

using namespace rubato;
using test::host;
using test::text_sink;
using log_type = decision_log<text_sink>;
using kind = record::kind;

static_assert(Observer<log_type>);
static_assert(Observer<decision_log<atomic_file>>);

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream all{text};
  for (std::string line; std::getline(all, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string line_of(const record& r) {
  std::string text;
  log_type log{text_sink{&text}, asp{}};
  text.clear();
  log(r);
  return text;
}

TEST(DecisionLog, GoldenLines) {
  std::string text;
  host<log_type> h{bsp{}, 2, log_type{text_sink{&text}, bsp{}}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.5), errc::ok);
  h.step(0, 1.5, 1.625, 2.25F);
  h.step(1, 3.0, 3.125, std::numeric_limits<float>::infinity());
  EXPECT_EQ(h.sync.switch_to(asp{}, 4.0, pending_gradients::flush, test::deaf{}), errc::ok);
  h.sync.watcher().policy(h.sync.policy(), 4.0);
  EXPECT_EQ(h.depart(1, 5.0, cause::done), errc::ok);

  EXPECT_EQ(
      text,
      R"({"format":"rubato.decisions","version":1,"policy":"bsp: a barrier after each step, one update by the mean of the round","describe":{"kind":"bsp","aggregate":"mean"}}
{"now":0,"what":"join","worker":0,"incarnation":0,"version":0,"parked":0}
{"now":0.5,"what":"join","worker":1,"incarnation":0,"version":0,"parked":0}
{"now":0.5,"what":"release","worker":0,"incarnation":0,"clock":0,"batch":0,"lr_scale":1,"version":0,"parked":1}
{"now":0.5,"what":"release","worker":1,"incarnation":0,"clock":0,"batch":0,"lr_scale":1,"version":0,"parked":0}
{"now":1.5,"what":"admit","worker":0,"incarnation":0,"step":1,"clock":0,"verdict":"accumulate","round":0,"weight":1,"staleness":0,"loss":2.25,"version":0,"parked":0}
{"now":1.625,"what":"commit","worker":0,"incarnation":0,"step":1,"clock":1,"verdict":"accumulate","version":0,"parked":1}
{"now":3,"what":"admit","worker":1,"incarnation":0,"step":1,"clock":0,"verdict":"drop","because":"non_finite","staleness":0,"loss":null,"version":0,"parked":1}
{"now":3.125,"what":"commit","worker":1,"incarnation":0,"step":1,"clock":1,"verdict":"drop","because":"non_finite","version":0,"parked":2}
{"now":3.125,"what":"flush","round":0,"count":1,"scale":1,"version":1,"parked":2}
{"now":3.125,"what":"release","worker":0,"incarnation":0,"clock":1,"batch":0,"lr_scale":1,"version":1,"parked":1}
{"now":3.125,"what":"release","worker":1,"incarnation":0,"clock":1,"batch":0,"lr_scale":1,"version":1,"parked":0}
{"now":4,"what":"change_policy","version":1,"parked":0}
{"now":4,"what":"policy","policy":"asp: every gradient is applied on arrival, nobody waits","describe":{"kind":"asp"}}
{"now":5,"what":"depart","worker":1,"incarnation":0,"why":"done","clock":0,"version":1,"parked":0}
)");
}

TEST(DecisionLog, OnlyMeaningfulFields) {
  const auto members = [](const record& r) {
    std::set<std::string> names;
    const auto line = nlohmann::json::parse(line_of(r));
    for (auto member = line.begin(); member != line.end(); ++member) names.insert(member.key());
    for (const char* always : {"now", "what", "version", "parked"}) EXPECT_EQ(names.erase(always), 1U);
    return names;
  };
  using names = std::set<std::string>;
  EXPECT_EQ(members({.what = kind::join, .worker = {1, 0}}), (names{"worker", "incarnation"}));
  EXPECT_EQ(members({.what = kind::depart, .worker = {1, 0}}), (names{"worker", "incarnation", "why", "clock"}));
  EXPECT_EQ(members({.what = kind::admit, .worker = {1, 0}}),
            (names{"worker", "incarnation", "step", "clock", "verdict", "weight", "staleness", "loss"}));
  EXPECT_EQ(members({.what = kind::release, .worker = {1, 0}}),
            (names{"worker", "incarnation", "clock", "batch", "lr_scale"}));
  EXPECT_EQ(members({.what = kind::flush}), (names{"round", "count", "scale"}));
  EXPECT_EQ(members({.what = kind::discard}), (names{"round", "count", "because"}));
  EXPECT_EQ(members({.what = kind::cancel, .worker = {1, 0}}), (names{"worker", "incarnation", "clock"}));
  EXPECT_EQ(members({.what = kind::refuse, .worker = {9, 2}}), (names{"worker", "incarnation", "because"}));
  EXPECT_EQ(members({.what = kind::adjust}), (names{"because"}));
  EXPECT_EQ(members({.what = kind::adjust, .worker = {1, 0}}), (names{"worker", "incarnation", "clock", "because"}));
  EXPECT_EQ(members({.what = kind::change_policy}), names{});
}

TEST(DecisionLog, TimeBeforeTheFirstIsNull) {
  const auto line =
      nlohmann::json::parse(line_of({.what = kind::refuse, .now = -std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(line.at("now").is_null());
}

// The longest line there can be still ends with its bracket and a line end.
TEST(DecisionLog, LongestLineFits) {
  constexpr auto big = std::numeric_limits<std::uint64_t>::max();
  const std::string line = line_of({.what = kind::admit,
                                    .decided = verdict::accumulate,
                                    .because = reason::invalid_decision,
                                    .worker = {no_worker - 1, no_worker},
                                    .now = -1.2345678901234567e-300,
                                    .clock = big,
                                    .version = big,
                                    .staleness = big,
                                    .round = big,
                                    .step = big,
                                    .value = -1.17549435e-38F,
                                    .loss = -1.17549435e-38F,
                                    .parked = no_worker});
  EXPECT_EQ(line.substr(line.size() - 2), "}\n");
  EXPECT_EQ(nlohmann::json::parse(line).at("clock"), big);
}

TEST(DecisionLog, EveryLineIsJson) {
  std::string text;
  host<log_type> h{asp{}, 5, log_type{text_sink{&text}, asp{}}};
  test::random_run(h, 1, 5'000);
  const auto lines = lines_of(text);
  ASSERT_GT(lines.size(), 2'000U);
  EXPECT_EQ(lines.front().at("format"), "rubato.decisions");
  std::set<std::string> kinds;
  double now = 0.0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    kinds.insert(lines[i].at("what"));
    ASSERT_GE(lines[i].at("now"), now) << "lines come in the order of time";
    now = lines[i].at("now");
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"join", "depart", "admit", "commit", "release", "flush", "discard", "abandon",
                                          "adjust", "refuse", "change_policy"}));
}

TEST(DecisionLog, SameRunSameBytes) {
  std::array<std::string, 2> texts;
  for (std::string& text : texts) {
    host<log_type> h{ssp{.staleness = 2}, 4, log_type{text_sink{&text}, ssp{.staleness = 2}}};
    test::random_run(h, 5, 2'000);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
