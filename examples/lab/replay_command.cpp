// `replay`: decides the events of a decision log again, under the policy that wrote it or under another one.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/io/utf8.hpp>

#include "commands.hpp"
#include "log_policy.hpp"
#include "log_replay.hpp"
#include "read_stats.hpp"
#include "result_output.hpp"
#include "stats_report.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using support::user_error;

constexpr const char* recorded = "recorded";
constexpr std::size_t most_switches = 1000;

// What has to be known of a log before its first event can be decided.
struct survey {
  log_stats stats;
  quorum_finder quorum;
  std::vector<log_line> policies;  // in the order of their lines, without their events
  log_reading reading;
};

[[nodiscard]] survey look_through(const std::string& file) {
  survey seen;
  seen.reading = read_stats(file, seen.stats, [&](const log_line& line) -> std::string {
    if (line.is == log_line::kind::record) return seen.quorum(line.event), "";
    if (seen.policies.size() == most_switches)
      return "found too many policies, expected at most " + std::to_string(most_switches);
    seen.policies.push_back(line);
    return "";
  });
  return seen;
}

// Who decides: one policy for all, or those of the log one after another.
struct deciders {
  bool exact = false;
  std::vector<named_policy> policies;
};

[[nodiscard]] deciders given_policies(const replay_arguments& given, const survey& seen) {
  deciders who;
  const bool named = given.policy != recorded && !given.policy.empty();
  if (named) who.policies.push_back(parse_policy(given.policy));
  who.exact = !named || describes(seen.policies.front().description, who.policies.front().policy);
  if (!who.exact) return who;
  for (std::size_t i = who.policies.size(); i < seen.policies.size(); ++i) {
    std::optional<named_policy> found = policy_described(seen.policies[i].description);
    if (!found)
      throw user_error{given.log + ": found the policy " + in_quotes(seen.policies[i].policy) +
                       ", whose description none that this program can name has, expected --policy to name it"};
    who.policies.push_back(std::move(*found));
  }
  return who;
}

[[nodiscard]] std::string text_of(const replay_arguments& given, const survey& seen, const deciders& who,
                                  const replay_result& result) {
  std::string text;
  const auto line = [&](const std::string& words) { text += terminal_text(words, stats_columns) + '\n'; };
  const auto share = [](std::uint64_t part, std::uint64_t of) {
    return std::to_string(part) + " of " + std::to_string(of);
  };
  line(terminal_text(given.log, 36) + ": " + std::to_string(result.pushes) + " pushes of " +
       std::to_string(seen.stats.seen()) + " workers");
  line("logged    " + seen.policies.front().policy);
  line("replayed  " + who.policies.front().policy.describe().line);
  if (seen.policies.size() > 1)
    line("          " + std::to_string(seen.policies.size() - 1) +
         (who.exact ? " switches, replayed as logged" : " switches of the log, left out"));
  line("the same  " + share(result.same_events, result.events) + " events were decided as in the log");
  if (result.forced > 0)
    line("forced    " + share(result.forced, result.pushes) + " pushes came from workers that it would have held");
  for (std::size_t i = 0; i < result.differences.size(); ++i)
    if (result.differences[i] > 0)
      line("differ    " + std::to_string(result.differences[i]) + " " +
           std::string{name(static_cast<difference_kind>(i))});
  for (const decision_difference& each : result.first)
    line("line " + std::to_string(each.line) + ": log: " + each.logged + "; replay: " + each.decided);
  if (result.all() > result.first.size())
    line("... and " + std::to_string(result.all() - result.first.size()) + " more");
  if (who.exact) line(result.all() == 0 ? "The policy repeats itself exactly." : "The policy does NOT repeat itself.");
  return text;
}

[[nodiscard]] json json_of(const replay_arguments& given, const survey& seen, const deciders& who,
                           const replay_result& result) {
  json to = {{"format", "rubato.replay"},
             {"version", 1},
             {"log", given.log},
             {"logged", seen.policies.front().policy},
             {"replayed", who.policies.front().policy.describe().line},
             {"same_policy", who.exact},
             {"lines", seen.reading.lines},
             {"unread", seen.reading.unread},
             {"events", result.events},
             {"same_events", result.same_events},
             {"pushes", result.pushes},
             {"forced", result.forced},
             {"differences", json::object()},
             {"first", json::array()}};
  if (!seen.reading.problem.empty()) to["problem"] = seen.reading.problem;
  for (std::size_t i = 0; i < result.differences.size(); ++i)
    to["differences"][std::string{name(static_cast<difference_kind>(i))}] = result.differences[i];
  for (const decision_difference& each : result.first)
    to["first"].push_back({{"line", each.line},
                           {"now", each.now},
                           {"what", name(each.what)},
                           {"logged", each.logged},
                           {"replayed", each.decided}});
  return to;
}

}  // namespace

int run_replay(const replay_arguments& given) {
  result_output output{given.json, {{"LOG", given.log}}};
  const survey seen = look_through(given.log);
  const deciders who = given_policies(given, seen);
  if (seen.stats.midway())
    throw user_error{given.log +
                     ": found a worker without a join, as in a log that begins in the middle of a run, "
                     "expected all of it: a replay needs what went before"};
  replay_options options = seen.quorum.found();
  if (given.workers != 0 && given.workers < options.workers)
    throw user_error{"--workers: found " + std::to_string(given.workers) + ", expected at least the " +
                     std::to_string(options.workers) + " of " + given.log};
  options.workers = std::max(options.workers, given.workers);
  options.seed = given.seed;
  options.exact = who.exact;
  for (const named_policy& each : who.policies)
    if (const std::string wrong = each.policy.problem(options.workers); !wrong.empty())
      throw user_error{"--policy: found " + each.name + " for " + std::to_string(options.workers) +
                       " workers: " + wrong};

  log_replay replay{options, who.policies.front().policy};
  std::size_t switches = 0;
  read_again(given.log, seen.reading, [&](const log_line& line, std::uint64_t number) {
    if (line.is != log_line::kind::record) return;
    const any_policy* taken_over = nullptr;
    if (line.event.what == record::kind::change_policy && who.exact && ++switches < who.policies.size())
      taken_over = &who.policies[switches].policy;
    replay(line.event, number, taken_over);
  });
  const replay_result& result = replay.finish();

  const std::string document =
      json_of(given, seen, who, result).dump(2, ' ', true, json::error_handler_t::replace) + "\n";
  const int status = output.put(document, text_of(given, seen, who, result));
  if (!seen.reading.problem.empty()) {
    std::cerr << "rubato-lab: " << left_out(seen.reading) << '\n';
    return unsound_log_status;
  }
  if (!who.exact || result.all() == 0) return status;
  std::cerr << "rubato-lab: " << given.log
            << ": the policy does not repeat itself. Either it is not deterministic, or "
               "what a log does not say differs: guard, capacity (--workers), seed (--seed), sample counts\n";
  return replay_differs_status;
}

}  // namespace rubato::lab
