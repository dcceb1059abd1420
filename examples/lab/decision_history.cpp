#include "decision_history.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/sim/options.hpp>
#include <string_view>
#include <utility>

#include "support/json_nesting.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using support::user_error;

// Builds a history from one line after another.
class historian {
 public:
  historian(decision_history& history, const support::text_lines& lines) : history_{history}, lines_{lines} {}

  void header(const json& line) {
    if (text(line, "format") != "rubato.decisions")
      refuse("format \"" + text(line, "format") + "\"", "\"rubato.decisions\"");
    if (const auto version = whole(line, "version"); version != 1)
      refuse("version " + std::to_string(version), "1, which is what this program reads");
    describe(line);
  }

  void operator()(const json& line) {
    const std::string what = text(line, "what");
    const json& now = member(line, "now");
    if (now.is_null()) {  // before the host's clock was first read
      if (started_) refuse("now = null", "a time");
    } else {
      pass_time(number(line, "now"));
    }
    if (what == "policy") return ++history_.policies, describe(line);
    if (what == "release") return release(line);
    if (what == "admit") return admit(line);
    if (what == "commit") return commit(line);
    if (what == "flush") return round_ends(line, logged_effect::kind::flush, factor(line, "scale"));
    if (what == "discard") return round_ends(line, logged_effect::kind::discard, 1);
    if (what == "join") return join(line);
    if (what == "depart") return depart(line);
    if (what == "cancel" || what == "exclude") return spoil(line);
    static constexpr std::array<std::string_view, 5> no_matter{"readmit", "abandon", "refuse", "adjust",
                                                               "change_policy"};
    if (std::ranges::find(no_matter, what) == no_matter.end())
      refuse("what = \"" + what + "\"", "a kind that a decision log of version 1 has");
  }

  void finish() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) stop(w);
    history_.workers = static_cast<std::uint32_t>(workers_.size());
    history_.last = now_;
    if (history_.steps.empty())
      throw user_error{history_.source + ": found no step, expected at least one release and the admission after it"};
    find_overlaps();
  }

 private:
  struct worker_record {
    std::optional<logged_step> step;       // under way
    std::optional<std::size_t> at_server;  // index of a step that is admitted and not committed
    logged_effect admitted;                // of that step, unless it is added to a round:
    std::size_t added = 0;                 // then its index among the effects
  };

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw user_error{lines_.place() + ": found " + found + ", expected " + expected};
  }
  [[nodiscard]] const json& member(const json& line, const char* name) const {
    const auto found = line.find(name);
    if (found == line.end()) refuse("no member \"" + std::string{name} + "\"", "one");
    return *found;
  }
  [[nodiscard]] std::string text(const json& line, const char* name) const {
    const json& value = member(line, name);
    if (!value.is_string()) refuse(std::string{name} + " = " + value.dump(), "a string");
    return value.get<std::string>();
  }
  [[nodiscard]] double number(const json& line, const char* name) const {
    const json& value = member(line, name);
    if (!value.is_number()) refuse(std::string{name} + " = " + value.dump(), "a number");
    return value.get<double>();
  }
  [[nodiscard]] std::uint64_t whole(const json& line, const char* name) const {
    const json& value = member(line, name);
    if (!value.is_number_unsigned()) refuse(std::string{name} + " = " + value.dump(), "a whole number");
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] float factor(const json& line, const char* name) const {
    return static_cast<float>(number(line, name));
  }

  void describe(const json& line) {
    history_.policy = text(line, "policy");
    history_.description = member(line, "describe").dump();
  }

  void pass_time(double to) {
    if (!std::isfinite(to)) refuse("now that is not finite", "a time");
    if (started_ && to < now_)
      refuse("now = " + json(to).dump() + " after " + json(now_).dump(), "times that do not run back");
    now_ = to;
    started_ = true;
  }

  worker_record& worker(const json& line) {
    const std::uint64_t index = whole(line, "worker");
    if (index > largest_worker) refuse("worker " + std::to_string(index), "0 to " + std::to_string(largest_worker));
    if (index >= workers_.size()) workers_.resize(static_cast<std::size_t>(index) + 1);
    return workers_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::uint32_t index_of(const worker_record& of) const {
    return static_cast<std::uint32_t>(&of - workers_.data());
  }

  void find_overlaps() {
    constexpr double share = 0.01;
    double busy_until = -std::numeric_limits<double>::infinity();
    for (const logged_step& each : history_.steps) {
      if (each.end < busy_until) ++history_.overlaps;
      busy_until = std::max(busy_until, each.served);
    }
    history_.serves_at_once =
        static_cast<double>(history_.overlaps) > share * static_cast<double>(history_.steps.size());
    if (!history_.serves_at_once) return;
    for (logged_step& each : history_.steps) each.end = each.served;
    std::ranges::stable_sort(history_.steps, {}, &logged_step::end);
  }

  void join(const json& line) {
    static_cast<void>(worker(line));
    if (released_) ++history_.late_joins;
  }

  // A step that will not be admitted.
  void stop(std::uint32_t w) {
    worker_record& me = workers_[w];
    if (!me.step) return;
    history_.unfinished.push_back({w, me.step->start, now_});
    history_.effects.push_back({.what = logged_effect::kind::lose, .worker = w});
    me.step.reset();
  }

  void depart(const json& line) {
    worker_record& me = worker(line);
    if (line.value("why", "") != "done") ++gone_;
    stop(index_of(me));
  }

  void spoil(const json& line) {
    worker_record& me = worker(line);
    if (me.step) me.step->whole = false;
  }

  void release(const json& line) {
    worker_record& me = worker(line);
    history_.departures += std::exchange(gone_, 0);  // work goes on, so it was not the end
    if (me.step) refuse("a release of a worker that is in a step", "its admission first");
    const std::uint64_t batch = whole(line, "batch");
    if (batch > (std::numeric_limits<std::uint32_t>::max)()) refuse("batch " + std::to_string(batch), "fewer samples");
    if (!std::exchange(released_, true)) history_.first = now_;
    if (batch > sim::largest_batch) ++history_.too_large;
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, sim::largest_batch));
    me.step = logged_step{.worker = index_of(me), .start = now_, .batch = taken};
    history_.effects.push_back({.what = logged_effect::kind::release,
                                .worker = index_of(me),
                                .batch = me.step->batch,
                                .factor = factor(line, "lr_scale")});
  }

  void admit(const json& line) {
    worker_record& me = worker(line);
    const json& loss = member(line, "loss");
    if (!loss.is_number() && !loss.is_null()) refuse("loss = " + loss.dump(), "a number or null");
    me.admitted = {.worker = index_of(me),
                   .loss = loss.is_number() ? loss.get<float>() : std::numeric_limits<float>::quiet_NaN()};
    const std::string verdict = text(line, "verdict");
    if (verdict == "apply") {
      me.admitted.what = logged_effect::kind::apply;
      me.admitted.factor = factor(line, "weight");
    } else if (verdict == "accumulate") {
      me.admitted.what = logged_effect::kind::accumulate;
      me.admitted.factor = factor(line, "weight");
      me.admitted.round = whole(line, "round");
    } else if (verdict == "drop") {
      me.admitted.what = logged_effect::kind::drop;
    } else {
      refuse("verdict \"" + verdict + "\"", "apply, accumulate or drop");
    }
    if (!me.step) return;  // pushed without a release, say twice
    logged_step& step = *me.step;
    step.end = step.served = now_;
    if (!step.whole) ++history_.not_whole;
    me.at_server = history_.steps.size();
    if (me.admitted.what == logged_effect::kind::accumulate) {  // a flush that includes it may come before its commit
      me.added = history_.effects.size();
      history_.effects.push_back(me.admitted);
    }
    history_.steps.push_back(step);
    me.step.reset();
  }

  void commit(const json& line) {
    worker_record& me = worker(line);
    if (!me.at_server) return;
    history_.steps[*me.at_server].served = now_;
    me.at_server.reset();
    const bool added = me.admitted.what == logged_effect::kind::accumulate;
    logged_effect& done = added ? history_.effects[me.added] : history_.effects.emplace_back(me.admitted);
    if (text(line, "verdict") == "drop" || line.contains("because")) done.what = logged_effect::kind::drop;
  }

  void round_ends(const json& line, logged_effect::kind how, float scale) {
    history_.effects.push_back({.what = how, .factor = scale, .round = whole(line, "round")});
  }

  decision_history& history_;
  const support::text_lines& lines_;
  std::vector<worker_record> workers_;
  double now_ = 0;
  bool started_ = false;
  bool released_ = false;
  std::uint64_t gone_ = 0;  // since the last release
};

}  // namespace

decision_history read_decision_history(const std::filesystem::path& file) {
  decision_history history;
  history.source = file.string();
  support::text_lines lines{file, longest_line};
  historian reader{history, lines};
  std::string line;
  while (lines.next(line)) {
    if (support::nesting_of(line) > support::deepest_nesting)
      throw user_error{lines.place() + ": found nesting deeper than " + std::to_string(support::deepest_nesting) +
                       " levels, expected an object of few"};
    const json read = json::parse(line, nullptr, false);
    if (!read.is_object()) {
      if (lines.number() > 1 && !lines.ended()) {  // whoever wrote it was killed
        history.cut_off = "line " + std::to_string(lines.number()) + " is cut off and left out";
        break;
      }
      throw user_error{lines.place() + ": found what is no JSON object, expected one in each line"};
    }
    if (lines.number() == 1)
      reader.header(read);
    else
      reader(read);
  }
  if (lines.number() == 0) throw user_error{history.source + ": found an empty file, expected a decision log"};
  if (lines.cut_off() && history.cut_off.empty()) history.cut_off = "the gzip file ends early";
  reader.finish();
  return history;
}

}  // namespace rubato::lab
