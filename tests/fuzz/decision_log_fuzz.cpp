// Decision logs, plain and gzip. Of what is accepted, times and indices are within what the log has. Statistics add up
// as far as the log is sound, fit on a screen and are fit for a terminal; and any policy can decide what it has again.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <rubato/io/utf8.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <vector>

#include "fuzz_target.hpp"
#include "gzip_file.hpp"
#include "lab/decision_history.hpp"
#include "lab/log_replay.hpp"
#include "lab/log_stats.hpp"
#include "lab/read_stats.hpp"
#include "lab/stats_report.hpp"
#include "scratch_folder.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_decision_log {

void require_sound(const lab::decision_history& h) {
  require(h.workers > 0 && h.workers <= lab::largest_worker + 1, "there are workers");
  require(!h.steps.empty() && h.policies > 0, "there are steps, and a policy");
  require(h.first <= h.last && std::isfinite(h.first) && std::isfinite(h.last), "time runs forward");
  const auto within = [&](double time) { return h.first <= time && time <= h.last; };
  for (const lab::logged_step& s : h.steps)
    require(s.worker < h.workers && s.start <= s.end && s.end <= s.served && within(s.start) && within(s.served),
            "a step is within the log");
  require(std::ranges::is_sorted(h.steps, {}, &lab::logged_step::end), "steps are in the order of their ends");
  for (const lab::unfinished_step& s : h.unfinished)
    require(s.worker < h.workers && s.start <= s.end && within(s.start) && within(s.end),
            "what was cut off is within the log");
  for (const lab::logged_effect& e : h.effects) require(e.worker < h.workers, "an effect is somebody's");
  require(h.not_whole <= h.steps.size() && h.overlaps <= h.steps.size(), "counts are of steps");
}

void require_refusal(const std::string& file, std::string_view what) {
  require(what.starts_with(file + ":") && what.size() < 2000 && what.find("expected") != what.npos,
          "a refusal says where and what was expected:", what);
}

void require_screen(std::string_view text) {
  std::size_t lines = 0;
  for (; !text.empty(); ++lines) {
    const std::size_t end = text.find('\n');
    require(end != text.npos, "each line ends");
    require(is_plain(text.substr(0, end)), "text is fit for a terminal:", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  require(lines <= lab::stats_lines, "statistics are one screen");
}

// What is sound of a log, in numbers, and decided again.
void take_stock(const std::string& file) {
  lab::log_stats stats;
  lab::quorum_finder quorum;
  std::vector<record> records;
  const lab::log_reading reading = lab::read_stats(file, stats, [&](const lab::log_line& line) {
    if (line.is == lab::log_line::kind::record) quorum(line.event), records.push_back(line.event);
    return std::string{};
  });
  if (!reading.problem.empty()) require_refusal(file, reading.problem);
  lab::gradient_counts sum;
  for (const lab::worker_stats& each : stats.workers()) {
    require(each.gradients.adds_up(), "a worker's gradients are accounted for");
    sum.pushed += each.gradients.pushed;
    sum.in_round += each.gradients.in_round;
  }
  require(stats.gradients().adds_up() && sum.pushed == stats.gradients().pushed, "all gradients are accounted for");
  require(sum.in_round == stats.gradients().in_round, "so are those in open rounds");
  require_screen(lab::stats_text("log", stats, reading));
  static_cast<void>(
      lab::stats_json("log", stats, reading).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));

  lab::replay_options options = quorum.found();
  for (const bool exact : {false, true}) {
    options.exact = exact;
    for (const any_policy& policy : {any_policy{ssp{.staleness = 1}}, any_policy{bsp{}}}) {
      lab::log_replay replay{options, policy};
      std::uint64_t line = 1;
      for (const record& r : records) replay(r, ++line, r.loss > 1 ? &policy : nullptr);
      const lab::replay_result& result = replay.finish();
      require(result.same_events <= result.events && result.first.size() <= result.all(), "differences are counted");
    }
  }
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const std::string_view text = text_of(in.rest());
  const bool compressed = !text.starts_with('{') && in.byte() % 2 == 1;
  const std::string file = compressed ? write_gzip(folder.at("log"), text_of(in.rest())) : folder.write("log", text);
  try {
    require_sound(lab::read_decision_history(file));
  } catch (const support::user_error& e) {
    require_refusal(file, e.what());
  }
  try {
    take_stock(file);
  } catch (const support::user_error& e) {
    require_refusal(file, e.what());
  }
}

const registered here{"decision_log", run};

}  // namespace of_decision_log
}  // namespace rubato::fuzz
