#include "switch_logs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <rubato/io/utf8.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "number_text.hpp"
#include "policy_arguments.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

constexpr std::size_t longest_row = 1 << 16, longest_path = 4096;

// What a name says.
struct named_share {
  double share = 0;
  bool asynchronous_first = false;
};

// A row, with its numbers where it has them.
struct summary_row {
  std::string name;
  std::optional<named_share> named;
  std::optional<double> last_step, accuracy, time;

  // Training that breaks down may end at any step, and time.
  [[nodiscard]] bool diverged() const { return accuracy && !std::isfinite(*accuracy); }
};

// Takes a number of one or two digits off the front.
[[nodiscard]] std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 2), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

[[nodiscard]] char take_letter(std::string_view& text) {
  if (text.empty() || (text[0] != 'a' && text[0] != 'b')) return 0;
  const char letter = text[0];
  text.remove_prefix(1);
  return letter;
}

[[nodiscard]] bool is_separator(char c) { return c == '-' || c == '_'; }

// See read_switch_logs.
[[nodiscard]] std::optional<named_share> share_in(std::string_view name) {
  const auto ends = [](std::string_view rest) { return rest.empty() || is_separator(rest[0]); };
  if (name.starts_with("bsp") && ends(name.substr(3))) return named_share{1};
  if (name.starts_with("asp") && ends(name.substr(3))) return named_share{0};
  const char first = take_letter(name);
  const std::optional<int> before = take_number(name);
  if (!name.empty() && is_separator(name[0])) name.remove_prefix(1);
  const char second = take_letter(name);
  const std::optional<int> after = take_number(name);
  const bool ordered =
      (first == 0 && second == 0) || (first == 'b' && second == 'a') || (first == 'a' && second == 'b');
  if (!ordered || !before || !after || *before + *after != 100 || !ends(name)) return std::nullopt;
  return named_share{(first == 'a' ? *after : *before) / 100.0, first == 'a'};
}

[[nodiscard]] double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// A table with a line of names above it.
class csv_reader {
 public:
  csv_reader(const std::filesystem::path& file, std::vector<std::string> columns)
      : lines_{file, longest_row}, columns_{std::move(columns)} {
    std::string line;
    if (!lines_.next(line)) throw user_error{file.string() + ": found an empty file, expected a line of column names"};
    const auto names = cells_of(line);
    width_ = names.size();
    for (const std::string& column : columns_) {
      const auto found = std::ranges::find(names, column);
      if (found == names.end())
        throw user_error{lines_.place() + ": found no column \"" + column + "\", expected it in the first line"};
      places_.push_back(static_cast<std::size_t>(found - names.begin()));
    }
  }

  // The cells of these columns in the next line; false after the last one.
  [[nodiscard]] bool next(std::vector<std::string>& cells) {
    std::string line;
    if (!lines_.next(line)) return false;
    const auto all = cells_of(line);
    if (all.size() != width_)
      throw user_error{lines_.place() + ": found " + std::to_string(all.size()) + " cells, expected " +
                       std::to_string(width_) + " as in the first line"};
    cells.clear();
    for (const std::size_t place : places_) cells.push_back(all[place]);
    return true;
  }

  [[nodiscard]] std::string place() const { return lines_.place(); }

  // A cell as a number; none if it is empty.
  [[nodiscard]] std::optional<double> number(const std::string& cell, std::size_t column) const {
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const char* const end = cell.data() + cell.size();
    const auto [rest, error] = std::from_chars(cell.data(), end, value);
    if (error != std::errc{} || rest != end)
      throw user_error{lines_.place() + ": " + columns_[column] + ": found \"" + cell +
                       "\", expected a number or nothing"};
    return value;
  }
  // The same for one that is finite and not negative.
  [[nodiscard]] std::optional<double> count(const std::string& cell, std::size_t column) const {
    const std::optional<double> value = number(cell, column);
    if (value && !(std::isfinite(*value) && *value >= 0))
      throw user_error{lines_.place() + ": " + columns_[column] + ": found \"" + cell +
                       "\", expected a finite number of 0 or more, or nothing"};
    return value;
  }

 private:
  [[nodiscard]] static std::vector<std::string> cells_of(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::vector<std::string> cells;
    for (const std::string_view each : split(line, ',')) cells.emplace_back(each);
    return cells;
  }

  support::text_lines lines_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> places_;
  std::size_t width_ = 0;
};

constexpr std::size_t most_rows = 100'000, most_listed = 10;

[[nodiscard]] std::vector<summary_row> rows_of(const std::filesystem::path& file, const std::string& workload) {
  csv_reader table{file, {"dir", "acc_laststep", "acc_final", "loss_T"}};
  std::vector<summary_row> rows;
  std::set<std::string> workloads;
  std::size_t read = 0;
  for (std::vector<std::string> cells; table.next(cells);) {
    const std::string& path = cells[0];
    const std::string first = path.substr(0, path.find('/'));
    if (++read > most_rows)
      throw user_error{file.string() + ": found more than " + std::to_string(most_rows) +
                       " trainings, expected at most that"};
    if (path.size() > longest_path)
      throw user_error{table.place() + ": dir: found a path of " + std::to_string(path.size()) +
                       " bytes, expected at most " + std::to_string(longest_path)};
    workloads.insert(first);
    summary_row one{.name = path,
                    .named = share_in(std::string_view{path}.substr(path.rfind('/') + 1)),
                    .last_step = table.count(cells[1], 1),
                    .accuracy = table.number(cells[2], 2),
                    .time = table.count(cells[3], 3)};
    if (first == workload) rows.push_back(std::move(one));
  }
  if (!rows.empty()) return rows;
  std::string known;
  std::size_t count = 0;
  for (const std::string& each : workloads) {
    known += (known.empty() ? "" : ", ") + (++count > most_listed ? "..." : in_quotes(each));
    if (count > most_listed) break;
  }
  throw user_error{"--workload: found " + in_quotes(workload) + ", expected one of those in " + file.string() + ": " +
                   known};
}

// Its last step, if it was synchronous for this share of the workload.
[[nodiscard]] double last_step(const switch_logs& logs, double share) {
  return static_cast<double>(logs.rounds) * (logs.workers - share * (logs.workers - 1));
}

// Rounds and workers.
void count_steps(switch_logs& logs, const std::vector<summary_row>& rows, const std::string& file) {
  double rounds = 0;
  for (const summary_row& each : rows)
    if (each.named && each.named->share == 1 && each.last_step) rounds = std::max(rounds, *each.last_step);
  if (!(rounds >= 1))
    throw user_error{file + ": found no synchronous training of " + logs.workload +
                     ", expected one named such as bsp_1"};
  std::vector<double> workers;
  for (const summary_row& each : rows)
    if (each.named && !each.named->asynchronous_first && each.named->share < 1 && each.last_step && !each.diverged())
      workers.push_back((*each.last_step / rounds - each.named->share) / (1 - each.named->share));
  if (workers.empty())
    throw user_error{file + ": found no training of " + logs.workload +
                     " that switches and does not diverge, expected one named such as b50-a50-run1"};
  const double middle = std::round(median(std::move(workers)));
  if (!(middle >= 2 && middle <= 1e6 && rounds <= 1e12))
    throw user_error{file + ": found last steps of " + logs.workload + " that fit " + short_text(middle) +
                     " workers, expected at least 2"};
  logs.rounds = static_cast<std::uint64_t>(rounds);
  logs.workers = static_cast<std::uint32_t>(middle);
}

// Why a row is of no use; empty if it is of use.
[[nodiscard]] std::string objection(const switch_logs& logs, const summary_row& one) {
  if (!one.named) return "its name says no share";
  if (one.named->asynchronous_first) return "it begins asynchronously";
  if (one.diverged()) return {};
  if (!one.accuracy || !one.last_step || !one.time || !(*one.time > 0)) return "it has no accuracy, last step or time";
  constexpr double agreement = 0.01;  // of the workload: names are rounded to per cents
  const double expected = last_step(logs, one.named->share);
  if (std::abs(*one.last_step - expected) > agreement * static_cast<double>(logs.rounds) * (logs.workers - 1))
    return "its last step is " + decimals(*one.last_step, 0) + ", by its name it would be about " +
           decimals(expected, 0);
  return {};
}

[[nodiscard]] double decoded_share(const switch_logs& logs, double last) {
  constexpr double parts = 800;  // eighths of a per cent
  const double share =
      (static_cast<double>(logs.steps()) - last) / (static_cast<double>(logs.rounds) * (logs.workers - 1));
  return std::abs(std::clamp(std::round(share * parts), 0.0, parts)) / parts;  // not -0
}

// For diverged trainings, whose own last step tells nothing: the share of those that have the same in their names.
[[nodiscard]] std::map<double, double> shares_by_name(const switch_logs& logs, const std::vector<summary_row>& rows) {
  std::map<double, double> nearest;
  for (const summary_row& each : rows) {
    if (!objection(logs, each).empty() || each.diverged()) continue;
    const double named = each.named->share, share = decoded_share(logs, *each.last_step);
    const auto off = [&](double x) { return std::pair{std::abs(x - named), x}; };
    const auto [at, is_first] = nearest.try_emplace(named, share);
    if (!is_first && off(share) < off(at->second)) at->second = share;
  }
  return nearest;
}

// Other machines: all else takes about the same time at one share, but for what has diverged.
void drop_slow_ones(switch_logs& logs) {
  constexpr double too_long = 1.5;
  std::map<double, std::vector<double>> times;
  for (const logged_training& each : logs.used)
    if (!each.outcome.diverged) times[each.share].push_back(each.outcome.time);
  std::map<double, double> medians;
  for (auto& [share, of_share] : times) medians[share] = median(std::move(of_share));
  std::erase_if(logs.used, [&](const logged_training& each) {
    if (each.outcome.diverged) return false;
    const double middle = medians.at(each.share);
    if (each.outcome.time <= too_long * middle) return false;
    logs.unused.push_back({each.name,
                           "it took " + decimals(each.outcome.time, 0) + " s, more than " + short_text(too_long) +
                               " times the median of its share, " + decimals(middle, 0) + " s",
                           true});
    return true;
  });
}

}  // namespace

switch_logs read_switch_logs(const std::string& folder, const std::string& workload) {
  const std::filesystem::path file = std::filesystem::path{folder} / "summary.csv";
  const std::vector<summary_row> rows = rows_of(file, workload);
  switch_logs logs{.workload = workload};
  count_steps(logs, rows, file.string());
  const std::map<double, double> by_name = shares_by_name(logs, rows);
  for (const summary_row& each : rows) {
    if (std::string why = objection(logs, each); !why.empty()) {
      logs.unused.push_back({each.name, std::move(why), each.named.has_value()});
      continue;
    }
    if (!each.diverged()) {
      logs.used.push_back(
          {each.name, decoded_share(logs, *each.last_step), {.accuracy = *each.accuracy, .time = *each.time}});
      continue;
    }
    const auto at = by_name.find(each.named->share);
    const double share = at != by_name.end() ? at->second : each.named->share;
    logs.used.push_back({each.name, share, {.time = each.time.value_or(0), .diverged = true}});
  }
  drop_slow_ones(logs);
  return logs;
}

std::vector<adapt::logged_share> shares_of(const switch_logs& logs) {
  std::map<double, std::vector<adapt::switch_outcome>, std::greater<>> by_share;
  for (const logged_training& each : logs.used) by_share[each.share].push_back(each.outcome);
  std::vector<adapt::logged_share> shares;
  for (auto& [share, runs] : by_share) shares.push_back({share, std::move(runs)});
  return shares;
}

}  // namespace rubato::lab
