#include "growth_tasks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <rubato/core/number_text.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "growth_json.hpp"
#include "growth_models.hpp"
#include "support/name_parts.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

constexpr std::size_t longest_table_row = 4096;
constexpr std::array scenario_names{"early", "early_middle", "middle", "middle_late", "late"};
constexpr std::array published_names{"convnet2", "convnet3"};

// Lines may end as on Windows.
[[nodiscard]] bool next_row(support::text_lines& lines, std::string& row) {
  if (!lines.next(row)) return false;
  if (row.ends_with('\r')) row.pop_back();
  return true;
}

// The fields of a row as numbers.
[[nodiscard]] std::vector<double> numbers_in(const std::string& row, std::size_t fields, const std::string& place) {
  const std::vector<std::string_view> parts = support::split(row, ',');
  if (parts.size() != fields)
    throw user_error{place + ": found " + std::to_string(parts.size()) + " fields, expected " + std::to_string(fields)};
  std::vector<double> numbers;
  for (const std::string_view part : parts) {
    const auto number = support::number_in<double>(part);
    if (!number || !std::isfinite(*number))
      throw user_error{place + ": found " + support::excerpt(std::string{part}) + ", expected a number"};
    numbers.push_back(*number);
  }
  return numbers;
}

// How many steps the sequences of a table have, by its first line.
[[nodiscard]] std::size_t steps_in(const std::string& header, const std::string& place) {
  for (std::size_t steps = 1; steps <= 8; ++steps) {
    std::string columns, times;
    for (std::size_t s = 1; s <= steps; ++s) {
      columns += "a" + std::to_string(s) + ",";
      times += ",timeleft" + std::to_string(s) + "_s";
    }
    if (header == columns + "final_test_acc,rank,totaltime_s" + times) return steps;
  }
  throw user_error{place + ": found columns " + support::excerpt(header) +
                   ", expected a1,...,aN,final_test_acc,rank,totaltime_s,timeleft1_s,...,timeleftN_s"};
}

}  // namespace

adapt::growth_table read_growth_table(const std::filesystem::path& file) {
  support::text_lines lines{file, longest_table_row};
  std::string row;
  if (!next_row(lines, row)) throw user_error{file.string() + ": found nothing, expected a table of sequences"};
  const std::size_t steps = steps_in(row, lines.place()), fields = 2 * steps + 3;

  struct line {
    std::vector<std::uint32_t> actions;
    adapt::growth_outcome outcome;
    double rank, total;
    std::string place;
  };
  std::vector<line> all;
  std::uint32_t actions = 0;
  double budget = 0;
  while (next_row(lines, row)) {
    if (row.empty()) continue;
    const std::vector<double> numbers = numbers_in(row, fields, lines.place());
    line read{.actions = {},
              .outcome = {.accuracy = numbers[steps]},
              .rank = numbers[steps + 1],
              .total = numbers[steps + 2],
              .place = lines.place()};
    for (std::size_t s = 0; s < steps; ++s) {
      const double action = numbers[s];
      if (!(action >= 0 && action < 64) || action != std::floor(action))
        throw user_error{lines.place() + ": found action " + rubato::detail::text_of(action) +
                         ", expected whole numbers from 0 to 63"};
      read.actions.push_back(static_cast<std::uint32_t>(action));
      actions = std::max(actions, read.actions.back() + 1);
      read.outcome.time_left.push_back(numbers[steps + 3 + s]);
    }
    budget = std::max(budget, read.total);
    all.push_back(std::move(read));
    if (all.size() > most_sequences)
      throw user_error{lines.place() + ": found more than " + std::to_string(most_sequences) +
                       " sequences, expected fewer"};
  }

  // By their numbers.
  std::ranges::stable_sort(all, {}, &line::actions);
  const auto twice = std::ranges::adjacent_find(all, {}, &line::actions);
  if (twice != all.end())
    throw user_error{std::next(twice)->place + ": found a sequence that " + twice->place + " has, expected it once"};
  std::size_t expected = all.empty() ? 0 : 1;
  for (std::size_t s = 0; s < steps && expected <= all.size(); ++s) expected *= actions;
  if (all.empty() || all.size() != expected)
    throw user_error{file.string() + ": found " + std::to_string(all.size()) + " sequences of " +
                     std::to_string(steps) + " actions from 0 to " + std::to_string(actions == 0 ? 0 : actions - 1) +
                     ", expected all that there are"};
  std::vector<adapt::growth_outcome> outcomes;
  for (line& each : all) outcomes.push_back(std::move(each.outcome));
  auto table = adapt::growth_table::make(actions, budget, std::move(outcomes));
  if (!table) throw user_error{file.string() + ": " + table.error().message};
  for (std::size_t n = 0; n < all.size(); ++n)
    if (all[n].rank != table->rank(n))
      throw user_error{all[n].place + ": found rank " + rubato::detail::text_of(all[n].rank) +
                       ", expected that of its accuracy, " + std::to_string(table->rank(n))};
  return std::move(*table);
}

std::vector<growth_file> growth_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::set<std::string> names{published_names.begin(), published_names.end()};
  for (const auto& each : std::filesystem::directory_iterator{folder, ignored})
    if (each.path().extension() == ".json") names.insert(each.path().stem().string());
  std::vector<growth_file> files;
  for (const std::string& model : names)
    for (const std::string scenario : scenario_names) {
      growth_file file{model, scenario, folder / (model + "_" + scenario + ".csv"), folder / (model + ".json")};
      if (!std::filesystem::exists(file.table)) continue;
      if (!std::filesystem::exists(file.described)) file.described.clear();
      files.push_back(std::move(file));
    }
  return files;
}

std::vector<growth_task> read_growth_tasks(const std::filesystem::path& folder) {
  std::vector<growth_task> tasks;
  for (const auto& [model, scenario, table, described] : growth_files(folder)) {
    growth_task task{model, scenario, described.empty() ? published_model(model) : read_growable_model(described),
                     read_growth_table(table)};
    if (task.table.actions() != task.start.actions())
      throw user_error{table.string() + ": found " + std::to_string(task.table.actions()) + " actions, expected " +
                       std::to_string(task.start.actions())};
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) throw user_error{folder.string() + ": found no table, expected files such as convnet2_early.csv"};
  return tasks;
}

std::string as_csv(const adapt::growth_table& table) {
  using rubato::detail::text_of;
  std::string text, times;
  for (std::uint32_t s = 1; s <= table.steps(); ++s) {
    text += "a" + std::to_string(s) + ",";
    times += ",timeleft" + std::to_string(s) + "_s";
  }
  text += "final_test_acc,rank,totaltime_s" + times + "\n";
  for (std::size_t n = 0; n < table.sequences(); ++n) {
    const std::vector<std::uint32_t> actions = table.actions_of(n);
    for (const std::uint32_t action : actions) text += std::to_string(action) + ",";
    text += text_of(table.accuracy(n)) + "," + std::to_string(table.rank(n)) + "," + text_of(table.budget());
    for (const double left : table.outcome(n).time_left) text += "," + text_of(left);
    text += "\n";
  }
  return text;
}

}  // namespace rubato::lab
