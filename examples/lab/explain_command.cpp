// `explain`: which features drive the decisions of a policy.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <vector>

#include "commands.hpp"
#include "explain.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[nodiscard]] std::string in_digits(const char* format, double x) {
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

}  // namespace

int run_explain(const explain_arguments& given) {
  const auto file = read_policy_file(given.file);
  if (!file) throw user_error{file.error().message};
  explain_options asked{
      .scenario = given_scenario(given.scenario, given.settings), .seed = given.seed, .seeds = given.seeds};
  const training_data data = given_data(asked.scenario, given.data);
  std::vector<named_file> inputs = given_files(given.scenario, given.data);
  inputs.push_back({"FILE", given.file});
  check_outputs(inputs, {{"--map", given.map}});
  output_file map{given.map, "--map"};
  const run_context how = given_context(data, given.threads, false);
  const std::optional<explanation> told = explain(*file, asked, how);
  if (!told) {
    std::cerr << "rubato-lab: interrupted; nothing is kept\n";
    return interrupted_status();
  }

  const bool acts = !told->maps.front().actions.empty();
  std::vector<std::vector<std::string>> rows{
      {"without", acts ? "other actions" : "other by", "time x", "95 % interval", "mean", "deviation"}};
  for (const feature_effect& each : told->features)
    rows.push_back({each.name, acts ? in_digits("%.1f %%", 100 * each.change) : in_digits("%.3f", each.change),
                    in_digits("%.3f", each.slowdown.value),
                    "[" + in_digits("%.3f", each.slowdown.low) + ", " + in_digits("%.3f", each.slowdown.high) + "]",
                    in_digits("%.3g", each.mean), in_digits("%.3g", each.deviation)});
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::cout << told->decisions << " decisions in " << asked.seeds << " runs of " << asked.scenario.name << '\n';
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      std::cout << (i == 0 ? row[i] + padding : "  " + padding + row[i]);
    }
    std::cout << '\n';
  }
  if (!given.map.empty()) {
    map.write(as_svg(told->maps));
    std::cout << "written: " << given.map << '\n';
  }
  return 0;
}

}  // namespace rubato::lab
