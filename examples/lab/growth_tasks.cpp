#include "growth_tasks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <rubato/core/number_text.hpp>
#include <string_view>
#include <utility>

#include "support/name_parts.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using adapt::growable_block;
using support::user_error;

constexpr std::size_t longest_row = 4096;
constexpr std::array scenario_names{"early", "early_middle", "middle", "middle_late", "late"};
constexpr std::array model_names{"convnet2", "convnet3"};

// Layers as PyTorch prints them.
[[nodiscard]] std::string convolution(int in, int out, bool padded = false) {
  return "Conv2d(" + std::to_string(in) + ", " + std::to_string(out) + ", kernel_size=(3, 3), stride=(1, 1)" +
         (padded ? ", padding=(1, 1))" : ")");
}
[[nodiscard]] std::string normalisation(int channels) {
  return "BatchNorm2d(" + std::to_string(channels) +
         ", eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)";
}
[[nodiscard]] std::string linear(int in, int out) {
  return "Linear(in_features=" + std::to_string(in) + ", out_features=" + std::to_string(out) + ", bias=True)";
}
const std::string relu = "ReLU()", flat_pool = "AdaptiveAvgPool2d(output_size=(1, 1))",
                  halving_pool = "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)";

[[nodiscard]] growable_block convolutional_block(std::uint32_t first, int channels) {
  return {first, 3, {convolution(channels, channels, true), normalisation(channels), relu}};
}

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
      throw user_error{place + ": found \"" + std::string{part} + "\", expected a number"};
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
  throw user_error{place + ": found columns \"" + header +
                   "\", expected a1,...,aN,final_test_acc,rank,totaltime_s,timeleft1_s,...,timeleftN_s"};
}

}  // namespace

adapt::growable_model published_model(const std::string& name) {
  const growable_block last{.first = 0, .layers = 2, .insertion = {linear(10, 10), relu}};
  std::vector<std::string> layers;
  std::vector<growable_block> blocks;
  if (name == "convnet2") {
    layers = {convolution(3, 32), normalisation(32), relu, halving_pool, convolution(32, 32), normalisation(32), relu,
              flat_pool,          linear(32, 10),    relu};
    blocks = {convolutional_block(0, 32), convolutional_block(4, 32), last};
  } else if (name == "convnet3") {
    layers = {convolution(3, 64), normalisation(64), relu, convolution(64, 32), normalisation(32), relu,
              flat_pool,          linear(32, 10),    relu};
    blocks = {convolutional_block(0, 64), convolutional_block(3, 32), last};
  } else {
    throw user_error{"model \"" + name + "\": expected convnet2 or convnet3"};
  }
  blocks.back().first = static_cast<std::uint32_t>(layers.size() - 2);
  return *adapt::growable_model::make(std::move(layers), std::move(blocks));
}

adapt::growth_table read_growth_table(const std::filesystem::path& file) {
  support::text_lines lines{file, longest_row};
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
    if (all.size() > 100'000) throw user_error{lines.place() + ": found more than 100,000 sequences, expected fewer"};
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

std::vector<growth_task> read_growth_tasks(const std::filesystem::path& folder) {
  std::vector<growth_task> tasks;
  for (const std::string model : model_names)
    for (const std::string scenario : scenario_names) {
      const std::filesystem::path file = folder / (model + "_" + scenario + ".csv");
      if (!std::filesystem::exists(file)) continue;
      growth_task task{model, scenario, published_model(model), read_growth_table(file)};
      if (task.table.actions() != task.start.blocks().size() + 1)
        throw user_error{file.string() + ": found " + std::to_string(task.table.actions()) + " actions, expected " +
                         std::to_string(task.start.blocks().size() + 1)};
      tasks.push_back(std::move(task));
    }
  if (tasks.empty()) throw user_error{folder.string() + ": found no table, expected files such as convnet2_early.csv"};
  return tasks;
}

}  // namespace rubato::lab
