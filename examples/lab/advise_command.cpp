// `advise`: which policy to take, from the decision log of one run.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "advise.hpp"
#include "aligned_text.hpp"
#include "cluster_fit.hpp"
#include "commands.hpp"
#include "decision_history.hpp"
#include "fit_report.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "log_policy.hpp"
#include "model_guess.hpp"
#include "output_file.hpp"
#include "support/user_error.hpp"
#include "switching_policy.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using support::estimate;

[[nodiscard]] std::string in_digits(const char* format, double x) {
  char text[48];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

[[nodiscard]] std::string interval(const estimate& of, const char* format, double factor) {
  return "[" + in_digits(format, factor * of.low) + ", " + in_digits(format, factor * of.high) + "]";
}

// In one place, for text and JSON.
struct findings {
  const decision_history& history;
  const cluster_fit& fit;
  const std::vector<model_guess>& guesses;
  const advice& given;
  const advise_options& asked;
  std::optional<double> distance;  // of the fit's steps from the log's
};

[[nodiscard]] std::string verdict_of(const findings& all) {
  const advice& given = all.given;
  if (nothing_alike(all.guesses))
    return "no advice: none of the models that were tried has losses like the log's, so what the rules do to them says "
           "nothing of yours; what is trained is said by --scenario and --set objective.KEY=VALUE";
  if (!given.best) return "no advice: no rule reached the target in nine tenths of its runs";
  const rule_outlook& best = given.rules[*given.best];
  if (!given.current)
    return "take " + best.name + ": the quickest; what the log's policy would take is not known, so no gain is stated";
  if (!given.current->reliable())
    return "take " + best.name + ": the log's policy, " + given.current->name + ", does not reach the target reliably";
  if (best.name == given.current->name)
    return "no gain: keep what you have, " + best.name + "; no rule is expected to be quicker";
  if (given.keep)
    return "no gain: keep what you have, " + given.current->name + "; " + best.name + " may gain " +
           in_digits("%.0f %%", 100 * best.gain->value) + ", but its interval " + interval(*best.gain, "%.0f", 100) +
           " % reaches below " + in_digits("%.0f %%", 100 * all.asked.threshold) +
           (all.fit.cores_known ? "" : ". The log does not tell how many cores are shared: --cores may decide it");
  return "take " + best.name + ": expected to be " + in_digits("%.0f", 100 * best.gain->value) + " " +
         interval(*best.gain, "%.0f", 100) + " % quicker than " + given.current->name;
}

void print_models(std::ostream& out, const std::vector<model_guess>& guesses) {
  std::vector<model_guess> likely;
  std::ranges::copy_if(guesses, std::back_inserter(likely),
                       [](const model_guess& each) { return each.weight >= 0.05; });
  const std::optional<double> least = least_off(guesses);
  std::ranges::stable_sort(likely, std::ranges::greater{}, &model_guess::weight);
  std::vector<std::vector<std::string>> rows{{"learns like", "rate x", "weight", "losses off by"}};
  for (const model_guess& each : likely)
    rows.push_back({std::to_string(each.hidden_layers) + " hidden layers", in_digits("%g", each.rate_factor),
                    in_digits("%.2f", each.weight),
                    each.off ? in_digits("%.0f %%", 100 * std::expm1(*each.off)) : "diverges"});
  out << aligned_text(rows);
  constexpr double too_much = 0.5;  // two seeds of one model are half of that apart
  if (!least || *least > too_much)
    out << "note: no model of the family learns like the log's ("
        << (least ? "losses are off by " + in_digits("%.0f %%", 100 * std::expm1(*least)) : "all of them diverge")
        << "): times mean little, ratios " << (nothing_alike(guesses) ? "as little" : "more") << '\n';
}

void print_rules(std::ostream& out, const findings& all) {
  const double unit = all.fit.unit;
  std::vector<std::vector<std::string>> rows{{"policy", "time", "90 % of a run", "gain", "90 %"}};
  const auto add = [&](const rule_outlook& each, const std::string& name) {
    std::vector<std::string> row{
        name, each.reliable() ? in_digits("%.4g", unit * each.time.value)
                              : "reached in " + std::to_string(each.reached) + " of " + std::to_string(each.runs)};
    row.push_back(each.reliable() ? interval(each.time, "%.4g", unit) : "-");
    row.push_back(each.gain ? in_digits("%.0f %%", 100 * each.gain->value) : "-");
    row.push_back(each.gain ? interval(*each.gain, "%.0f", 100) : "-");
    rows.push_back(std::move(row));
  };
  if (all.given.current) add(*all.given.current, all.given.current->name + " (the log's)");
  for (const rule_outlook& each : all.given.rules)
    if (!all.given.current || each.name != all.given.current->name) add(each, each.name);
  out << aligned_text(rows);
  const bool missed = std::ranges::any_of(all.given.rules, [](const rule_outlook& each) { return !each.reliable(); });
  if (missed && all.given.current)
    out << "reached: within " << in_digits("%g", patience)
        << " times the time of the log's policy on the same machines\n";
}

[[nodiscard]] json to_json(const estimate& of, double factor) {
  return {{"value", factor * of.value}, {"low", factor * of.low}, {"high", factor * of.high}};
}

[[nodiscard]] json to_json(const rule_outlook& of, double unit) {
  json made{{"policy", of.name},
            {"reached", of.reached},
            {"runs", of.runs},
            {"reliable", of.reliable()},
            {"time", to_json(of.time, unit)}};
  made["gain"] = of.gain ? to_json(*of.gain, 1) : json(nullptr);
  return made;
}

[[nodiscard]] json to_json(const findings& all) {
  json made{{"log",
             {{"file", all.history.source},
              {"policy", all.history.policy},
              {"workers", all.history.workers},
              {"steps", all.history.steps.size()}}},
            {"unit", all.fit.unit},
            {"scenario", support::to_json(fitted_scenario(all.fit.best, all.asked.base, "fitted"))},
            {"doubts", doubts_about(all.fit, all.history, all.distance)},
            {"distance", all.distance ? json(*all.distance) : json(nullptr)},
            {"threshold", all.asked.threshold}};
  for (const fitted_value& each : values_of(all.fit))
    made["fit"].push_back({{"name", each.name}, {"value", each.value}, {"interval", each.interval}});
  for (const model_guess& each : all.guesses)
    made["models"].push_back({{"hidden_layers", each.hidden_layers},
                              {"rate_factor", each.rate_factor},
                              {"weight", each.weight},
                              {"off", each.off ? json(*each.off) : json(nullptr)}});
  for (const rule_outlook& each : all.given.rules) made["rules"].push_back(to_json(each, all.fit.unit));
  made["current"] = all.given.current ? to_json(*all.given.current, all.fit.unit) : json(nullptr);
  made["best"] = all.given.best ? json(all.given.rules[*all.given.best].name) : json(nullptr);
  made["keep"] = all.given.keep;
  made["advice"] = verdict_of(all);
  return made;
}

[[nodiscard]] std::vector<named_policy> rules_for(std::uint32_t workers, const std::string& given) {
  std::vector<named_policy> rules;
  if (!given.empty()) {
    std::vector<policy_request> requests = parse_policies(given, false);
    fit_policies(requests, workers);
    for (policy_request& each : requests) rules.push_back(std::move(each.candidates.front()));
    return rules;
  }
  for (const std::string_view name : advised_rules)
    if (named_policy rule = parse_policy(name); rule.policy.problem(workers).empty()) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace

int run_advise(const advise_arguments& given) {
  const support::scenario base = given_scenario(given.fit.scenario, given.fit.settings);
  if (base.run.stop != sim::stop_rule::target)
    throw support::user_error{"--scenario " + given.fit.scenario + ": found another stop rule, expected stop = target"};
  std::vector<named_file> inputs = given_files(given.fit.scenario, given.data);
  inputs.push_back({"LOG", given.fit.log});
  for (const std::string& file : given.policies.empty() ? std::vector<std::string>{} : files_in(given.policies))
    inputs.push_back({"--policies", file});
  const bool json_to_screen = given.json == "-";
  check_outputs(inputs, {{"--json", json_to_screen ? "" : given.json}});
  output_file document{json_to_screen ? "" : given.json, "--json"};

  const decision_history history = read_decision_history(given.fit.log);
  advise_options asked{.base = base,
                       .rules = rules_for(history.workers, given.policies),
                       .current = policy_of_log(history, given.fit.policy),
                       .seed = given.fit.seed,
                       .members = given.members,
                       .threshold = given.threshold / 100};
  const cluster_fit fit = fit_cluster(
      history, {.steps = {.nominal_batch = base.run.batch, .cores = given.fit.cores}, .seed = given.fit.seed});
  const training_data data = given_data(base, given.data);
  const run_context how = given_context(data, given.threads, given.quiet);
  const auto guesses = guess_models(history, base, given.fit.seed, how);
  const auto made = guesses ? advise(fit, *guesses, asked, how) : std::nullopt;
  if (!made) {
    std::cerr << "rubato-lab: interrupted; nothing is kept\n";
    return interrupted_status();
  }
  for (const rule_outlook& each : made->rules)
    if (const std::string note = steps_beyond_runs(each.name, each.pushes); !note.empty())
      std::cerr << "rubato-lab: note: " << note << '\n';
  std::optional<double> distance;
  if (asked.current) distance = distance_of_steps(fit, history, asked.current->policy);
  const findings all{history, fit, *guesses, *made, asked, distance};
  const std::string text = to_json(all).dump(2) + "\n";
  document.write(text);
  if (json_to_screen) {
    std::cout << text;
    return 0;
  }
  print_fit(std::cout, fit, history, asked.current, distance);
  std::cout << '\n';
  print_models(std::cout, *guesses);
  std::cout << "\ntime to accuracy " << in_digits("%.1f %%", 100 * base.run.target_accuracy)
            << ", in the log's unit of time\n";
  print_rules(std::cout, all);
  std::cout << '\n' << verdict_of(all) << '\n';
  return 0;
}

}  // namespace rubato::lab
