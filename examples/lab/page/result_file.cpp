#include "result_file.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "../report.hpp"
#include "../summary.hpp"
#include "support/json_schema.hpp"

namespace rubato::lab::page {
namespace {

using nlohmann::json;
using support::excerpt;
using support::user_error;

constexpr std::size_t largest_scenario = std::size_t{1} << 20;  // that of a file, before it is indented

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// An object of the document, and where it stands in there.
class reader {
 public:
  reader(const json& object, std::string where) : object_{object}, where_{std::move(where)} {
    if (!object.is_object()) refuse("", object, "an object");
  }

  [[nodiscard]] reader object(const char* name) const { return {member(name), where_ + name + "."}; }

  [[nodiscard]] std::string text(const char* name) const {
    const json& value = member(name);
    if (!value.is_string()) refuse(name, value, "a string");
    return value.get<std::string>();
  }
  [[nodiscard]] bool flag(const char* name) const {
    const json& value = member(name);
    if (!value.is_boolean()) refuse(name, value, "true or false");
    return value.get<bool>();
  }
  // Null is no number.
  [[nodiscard]] double number(const char* name) const { return number_in(member(name), name); }
  [[nodiscard]] estimate estimated(const char* value, const char* low, const char* high) const {
    return {number(value), number(low), number(high)};
  }
  // The interval of a mean, which files of before lack.
  [[nodiscard]] estimate mean(const char* name) const {
    estimate of{number(name), none, none};
    const auto all = object_.find("intervals");
    if (all == object_.end()) return of;
    const json& bounds = reader{*all, where_ + "intervals."}.member(name);
    if (!bounds.is_array() || bounds.size() != 2) refuse(std::string{"intervals."} + name, bounds, "two numbers");
    of.low = number_in(bounds[0], name);
    of.high = number_in(bounds[1], name);
    return of;
  }
  [[nodiscard]] std::vector<reader> objects(const char* name) const {
    const json& list = member(name);
    if (!list.is_array()) refuse(name, list, "a list");
    std::vector<reader> all;
    for (const json& each : list) all.emplace_back(each, where_ + name + "[" + std::to_string(all.size()) + "].");
    return all;
  }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] const json& member(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw user_error{where_ + name + ": found none, expected what `compare --json` writes"};
    return *found;
  }
  [[noreturn]] void refuse(const std::string& name, const json& found, const std::string& expected) const {
    std::string place = where_ + name;
    if (place.ends_with('.')) place.pop_back();
    if (place.ends_with(": ")) place.resize(place.size() - 2);
    throw user_error{place + ": found " + excerpt(found) + ", expected " + expected};
  }

 private:
  [[nodiscard]] double number_in(const json& value, const char* name) const {
    if (value.is_null()) return none;
    if (!value.is_number()) refuse(name, value, "a number or null");
    return value.get<double>();
  }

  const json& object_;
  std::string where_;
};

[[nodiscard]] result_row row_of(const reader& from) {
  result_row row{.policy = from.text("policy"),
                 .used = from.text("used"),
                 .description = from.text("description"),
                 .learning_rate = from.number("learning_rate"),
                 .reached = from.number("reached"),
                 .seeds = from.number("seeds"),
                 .time = from.estimated("time_iqm", "time_lo", "time_hi"),
                 .speedup = from.estimated("speedup", "speedup_lo", "speedup_hi"),
                 .regret = from.estimated("regret", "regret_lo", "regret_hi")};
  for (const char* const name : result_means) row.means[name] = from.mean(name);
  if (!from.has("curve")) return row;
  for (const reader& each : from.objects("curve"))
    row.curve.push_back({each.number("share"), each.estimated("time_iqm", "time_lo", "time_hi")});
  return row;
}

void read_setting(result_file& file, const reader& setting) {
  file.version = setting.text("version");
  file.host = setting.text("host");
  file.data = setting.object("data").text("description");
  file.seed = setting.number("seed");
  file.seeds = setting.number("seeds");
  file.unit_seconds = setting.number("unit_seconds");
  file.tuned = setting.flag("tuned");
  file.interrupted = setting.flag("interrupted");
  if (!setting.member("baseline").is_null()) file.baseline = setting.text("baseline");
  for (const reader& each : setting.objects("targets")) file.targets.push_back(each.number("accuracy"));
  file.scenario = setting.member("scenario");
  const reader scenario = setting.object("scenario");
  file.scenario_name = scenario.text("name");
  if (scenario.has("description")) file.scenario_description = scenario.text("description");
  if (const std::size_t size = file.scenario.dump().size(); size > largest_scenario)
    throw user_error{file.name + ": setting.scenario: found " + std::to_string(size) + " bytes, expected at most " +
                     std::to_string(largest_scenario)};
  file.scenario_text = file.scenario.dump(2);
}

}  // namespace

bool result_row::reliable() const noexcept { return seeds > 0 && reached >= least_reached * seeds; }

result_file read_result(const std::string& text, const std::string& name) {
  const json document = support::parse_json(text, name);
  const std::string expected = "a result that `rubato-lab compare --json` wrote";
  if (!document.is_object() || !document.contains("setting") || !document.contains("rows"))
    throw user_error{name + ": found JSON without setting and rows, expected " + expected + ", or a decision log"};
  const reader all{document, name + ": "};
  if (all.has("format")) {
    if (all.member("format") != comparison_format) all.refuse("format", all.member("format"), comparison_format);
    const json& version = all.member("format_version");
    if (!version.is_number_unsigned() || version > comparison_format_version)
      all.refuse("format_version", version,
                 "at most " + std::to_string(comparison_format_version) + ": the file is of a newer rubato-lab");
  }
  result_file file{.name = name};
  read_setting(file, all.object("setting"));
  std::set<std::string> policies;
  for (const reader& each : all.objects("rows")) {
    file.rows.push_back(row_of(each));
    if (!policies.insert(file.rows.back().policy).second)
      throw user_error{each.where() + "policy: found " + excerpt(file.rows.back().policy) +
                       " twice, expected each once"};
  }
  if (file.rows.empty()) throw user_error{name + ": rows: found none, expected one for each policy"};
  // One that was interrupted before its targets were found has no curves either.
  if (file.targets.empty() && std::ranges::any_of(file.rows, [](const result_row& row) { return !row.curve.empty(); }))
    throw user_error{name + ": setting.targets: found none, expected the accuracies that the curves lead to"};
  return file;
}

}  // namespace rubato::lab::page
