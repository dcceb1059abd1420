#include "../../examples/lab/log_replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../../examples/lab/log_lines.hpp"
#include "../../examples/lab/policies.hpp"
#include "logged_run.hpp"

namespace {

using namespace rubato;
using lab::difference_kind;
using lab::replay_result;

std::vector<record> records_in(const std::string& text) {
  std::vector<record> records;
  lab::log_line line;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    EXPECT_EQ(lab::read_log_line(std::string_view{text}.substr(from, end - from), line), "");
    from = end + 1;
    if (line.is == lab::log_line::kind::record) records.push_back(line.event);
  }
  return records;
}

replay_result replayed(const std::vector<record>& records, const any_policy& policy, bool exact) {
  lab::quorum_finder quorum;
  for (const record& r : records) quorum(r);
  lab::replay_options options = quorum.found();
  options.exact = exact;
  lab::log_replay replay{options, policy};
  std::uint64_t line = 1;
  for (const record& r : records) replay(r, ++line);
  return replay.finish();
}

std::uint64_t count(const replay_result& of, difference_kind what) {
  return of.differences[static_cast<std::size_t>(what)];
}

sim::cluster_options machines() {
  sim::cluster_options m{.workers = 6, .cores = 3};
  m.stragglers.kind = sim::straggler_kind::transient;
  m.failures = {{.time = 20, .worker = 1, .kind = sim::failure_kind::death},
                {.time = 30, .worker = 2, .kind = sim::failure_kind::leave},
                {.time = 40, .worker = 1, .kind = sim::failure_kind::join}};
  return m;
}

// Every rule that the lab can name, but those that go by sample counts, which a log does not have.
TEST(LogReplay, ThePolicyOfALogRepeatsItselfExactly) {
  for (const lab::rule& each : lab::rules()) {
    if (each.of_file || each.variants.empty()) continue;
    const std::string name{each.variants.front()};
    const any_policy policy = lab::parse_policy(name).policy;
    if (!policy.problem(6).empty()) continue;
    const std::vector<record> log = records_in(test::log_text(machines(), name, 300));
    // A log does not have the samples of a push, which whoever asks for batches goes by.
    const auto asks = [](const record& r) { return r.what == record::kind::release && r.count != 0; };
    if (std::ranges::any_of(log, asks)) continue;
    const replay_result result = replayed(log, policy, true);
    EXPECT_EQ(result.all(), 0u) << name << ", line " << result.first.front().line << ": " << result.first.front().logged
                                << " / " << result.first.front().decided;
    EXPECT_EQ(result.same_events, result.events) << name;
    EXPECT_GT(result.events, 600u) << name;
    EXPECT_EQ(result.forced, 0u) << name;
  }
}

TEST(LogReplay, AnotherDecisionIsFoundWhereItIs) {
  const std::vector<record> sound = records_in(test::log_text(machines(), "ssp:1", 100));
  const any_policy policy = lab::parse_policy("ssp:1").policy;
  for (const record::kind what : {record::kind::release, record::kind::admit, record::kind::commit}) {
    std::vector<record> changed = sound;
    std::size_t at = 40;
    while (changed[at].what != what) ++at;
    changed[at].clock += 1;
    const replay_result result = replayed(changed, policy, true);
    ASSERT_GT(result.all(), 0u) << name(what);
    EXPECT_EQ(result.first.front().line, at + 2) << name(what);
  }
}

TEST(LogReplay, AsynchronousLogsUnderABarrier) {
  const std::vector<record> log = records_in(test::log_text(machines(), "asp", 200));
  const replay_result result = replayed(log, lab::parse_policy("bsp:mean").policy, false);
  EXPECT_EQ(result.pushes, 200u);
  EXPECT_GT(count(result, difference_kind::verdict), 150u);  // to a round, not at once
  EXPECT_GT(count(result, difference_kind::held), 100u);
  EXPECT_GT(count(result, difference_kind::round), 10u);
  EXPECT_GT(result.forced, 20u);
  EXPECT_EQ(result.first.size(), replay_result::most_listed);
  EXPECT_EQ(result.first.front().what, difference_kind::verdict);
  EXPECT_EQ(result.first.front().logged.substr(0, 5), "apply");
  EXPECT_EQ(result.first.front().decided.substr(0, 10), "accumulate");
}

TEST(LogReplay, ABarriersLogUnderAnAsynchronousPolicy) {
  const std::vector<record> log = records_in(test::log_text(machines(), "bsp:mean", 200));
  const replay_result result = replayed(log, lab::parse_policy("asp").policy, false);
  EXPECT_GT(count(result, difference_kind::let_go), 100u);
  EXPECT_EQ(count(result, difference_kind::held), 0u);
  EXPECT_EQ(result.forced, 0u);
}

// A worker that is let go later is one difference, not one at each end of its wait.
TEST(LogReplay, AWiderBoundHoldsFewer) {
  const std::vector<record> log = records_in(test::log_text(machines(), "ssp:1", 300));
  EXPECT_EQ(replayed(log, lab::parse_policy("ssp:1").policy, false).all(), 0u);
  const replay_result wider = replayed(log, lab::parse_policy("ssp:3").policy, false);
  EXPECT_GT(count(wider, difference_kind::let_go), 0u);
  EXPECT_EQ(count(wider, difference_kind::held), 0u);
  EXPECT_EQ(count(wider, difference_kind::verdict), 0u);
}

}  // namespace
