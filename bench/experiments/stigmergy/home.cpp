// Trains workers that decide for themselves (learned/stigmergic_rule.hpp), and writes what came out as a header.
// docs/stigmergy.md, "At a parameter server", says what it is for and what came out.
//
//   stigmergic_home [--seed 1] [--generations 48] [--threads 2] --out stigmergic_weights.hpp
//
// What is there of an interrupted training (OUT.training) is gone on with.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <rubato/io/atomic_file.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/learned/stigmergic_rule.hpp>
#include <rubato/rl/cma_es.hpp>
#include <rubato/rl/search_training.hpp>
#include <set>
#include <string>
#include <vector>

#include "home_tasks.hpp"
#include "lab/given.hpp"
#include "lab/paired_trials.hpp"
#include "support/user_error.hpp"

namespace {

namespace lab = rubato::lab;
namespace rl = rubato::rl;
using rubato::detail::builtin::network;
using policy = rubato::residual_policy<rubato::progress_state, network, rubato::stigmergic_rule>;

// What is searched for besides weights: options of the rule, as binary logarithms.
struct rule_option {
  const char* name;
  float rubato::stigmergic_rule::*member;
};
constexpr std::array rule_options{rule_option{"first_level", &rubato::stigmergic_rule::first_level},
                                  rule_option{"stretch", &rubato::stigmergic_rule::stretch},
                                  rule_option{"gain", &rubato::stigmergic_rule::gain},
                                  rule_option{"patience", &rubato::stigmergic_rule::patience},
                                  rule_option{"yielding", &rubato::stigmergic_rule::yielding},
                                  rule_option{"insistence", &rubato::stigmergic_rule::insistence},
                                  rule_option{"breath", &rubato::stigmergic_rule::breath}};
constexpr std::size_t weights = rubato::detail::builtin::parameters.size();

std::vector<float> beginning() {
  std::vector<float> parameters{rubato::detail::builtin::parameters.begin(), rubato::detail::builtin::parameters.end()};
  for (const rule_option& each : rule_options) parameters.push_back(std::log2(rubato::stigmergic_rule{}.*each.member));
  return parameters;
}

rubato::stigmergic_rule rule_of(std::span<const float> parameters) {
  rubato::stigmergic_rule rule;
  for (std::size_t i = 0; i < rule_options.size(); ++i)
    rule.*rule_options[i].member = std::exp2(std::clamp(parameters[weights + i], -6.0F, 6.0F));
  rule.first_level = std::max(rule.first_level, 1.0F);
  rule.stretch = std::min(rule.stretch, 2.0F);
  for (float* const one : {&rule.gain, &rule.yielding, &rule.insistence}) *one = std::min(*one, 8.0F);
  rule.breath = std::max(rule.breath, 8.0F);
  return rule;
}

policy policy_of(std::span<const float> parameters) {
  network of;
  std::copy_n(parameters.begin(), weights, of.parameters().begin());
  return policy{of, {rubato::detail::builtin::least, rubato::detail::builtin::most}, rule_of(parameters)};
}

// A scenario, a number of workers out of those that are known so far, and a number of hidden layers.
class clusters {
 public:
  clusters() {
    for (const std::string_view name : stigmergy::home_scenarios)
      scenarios_.push_back(lab::given_scenario(std::string{name}, {}));
  }
  [[nodiscard]] lab::setting operator()(std::uint64_t seed, std::size_t stages) const {
    rubato::support::scenario one = scenarios_[seed % scenarios_.size()];
    one.cluster.workers = stigmergy::home_workers[seed / scenarios_.size() % stages];
    const std::uint32_t layers = lab::hidden_layers_of(one, seed / (scenarios_.size() * stages));
    return {std::move(one), layers};
  }
  [[nodiscard]] const rubato::support::scenario& any() const { return scenarios_.front(); }

 private:
  std::vector<rubato::support::scenario> scenarios_;
};

std::string header_of(std::span<const float> parameters, const std::string& command) {
  const auto number = [](float x) {
    std::string text = rubato::detail::text_of(x);
    if (text.find_first_of(".e") == text.npos) text += ".0";
    return text + "F";
  };
  const rubato::stigmergic_rule rule = rule_of(parameters);
  std::string text =
      "#ifndef RUBATO_LEARNED_STIGMERGIC_WEIGHTS_HPP\n#define RUBATO_LEARNED_STIGMERGIC_WEIGHTS_HPP\n\n#include "
      "<array>\n\n"
      "// Trained by: " +
      command +
      "\n"
      "namespace rubato::inline RUBATO_ABI::detail::builtin_stigmergic {\n\n"
      "inline constexpr std::array<float, " +
      std::to_string(weights) + "> parameters{";
  for (std::size_t i = 0; i < weights; ++i)
    text += (i == 0 ? "\n    " : i % 6 == 0 ? ",\n    " : ", ") + number(parameters[i]);
  text += "};\n";
  for (const rule_option& each : rule_options)
    text += "inline constexpr float " + std::string{each.name} + " = " + number(rule.*each.member) + ";\n";
  return text + "\n}  // namespace rubato::inline RUBATO_ABI::detail::builtin_stigmergic\n\n#endif\n";
}

struct arguments {
  std::uint64_t seed = 1, generations = 48;
  std::uint32_t population = 16, runs = 36, selection_runs = 180;
  unsigned threads = 2;
  std::string out;
};

int train(const arguments& given) {
  const clusters all;
  const lab::training_data data = lab::given_data(all.any(), "");
  const std::atomic<bool> stop = false;
  const lab::run_context how{.data = data, .threads = given.threads, .stop = stop, .progress = std::cerr};
  constexpr std::size_t every = stigmergy::home_workers.size();
  std::size_t stages = 1;
  std::set<std::uint64_t> of_selections;
  const lab::paired_trials trials{
      [&](std::uint64_t seed) { return all(seed, of_selections.contains(seed) ? every : stages); },
      lab::knee_with_decay(), how};
  const auto searcher =
      rl::cma_es::make(beginning(), {.seed = given.seed, .step_size = 0.1, .population = given.population});
  rl::search_trainer training{*searcher,
                              {.seed = given.seed,
                               .task = "stigmergic",
                               .runs = given.runs,
                               .rounds = 3,
                               .select_every = 8,
                               .selection_runs = given.selection_runs,
                               .checkpoint = given.out + ".training"}};
  const auto seeds = training.selection_seeds();
  of_selections.insert(seeds.begin(), seeds.end());
  if (std::filesystem::exists(given.out + ".training"))
    if (const auto resumed = training.resume(); !resumed) throw rubato::support::user_error{resumed.error().message};
  const auto stage_of = [&](std::uint64_t generation) {
    return std::min(every, static_cast<std::size_t>(1 + generation * every /
                                                            std::max<std::uint64_t>(given.generations * 3 / 4, 1)));
  };
  stages = stage_of(training.generation());
  const rl::run_trials measure = [&](std::span<const rl::trial> asked, std::span<double> costs) {
    return trials.measure([](std::span<const float> p) { return rubato::any_policy{policy_of(p)}; }, asked, costs);
  };
  const rl::search_callbacks say{
      .generation =
          [&](const rl::generation_report& r) {
            std::printf("generation %llu, up to %u workers: best %.3f, median %.3f, step %.4f\n",
                        static_cast<unsigned long long>(r.generation), stigmergy::home_workers[stages - 1],
                        r.least_cost, r.median_cost, r.step_size);
            std::fflush(stdout);
            stages = stage_of(r.generation + 1);
            return true;
          },
      .selected =
          [](const rl::selection_report& r) {
            std::printf("selection after %llu: log(time / time of knee+decay) %.3f +- %.3f%s\n",
                        static_cast<unsigned long long>(r.generation), r.mean, r.standard_error,
                        r.best ? ", the best so far" : "");
            std::fflush(stdout);
            return true;
          }};
  const auto done = training.run(given.generations, measure, say);
  if (!done) throw rubato::support::user_error{done.error().message};
  static_cast<void>(training.select(measure, say));
  const std::string command = "stigmergic_home --seed " + std::to_string(given.seed) + " --generations " +
                              std::to_string(given.generations) + " --out stigmergic_weights.hpp";
  const auto written = rubato::write_file(given.out, header_of(training.best(), command));
  if (!written) throw rubato::support::user_error{written.error().message};
  return 0;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{"Trains workers that decide for themselves by the traces that they find at their server."};
  arguments given;
  app.add_option("--seed", given.seed, "of candidates and runs")->capture_default_str();
  app.add_option("--generations", given.generations, "of the search")->capture_default_str();
  app.add_option("--population", given.population, "candidates of a generation")->capture_default_str();
  app.add_option("--runs", given.runs, "of a candidate in a generation")->capture_default_str();
  app.add_option("--selection-runs", given.selection_runs, "of a guess that is selected from")->capture_default_str();
  app.add_option("--threads", given.threads, "that make runs")->capture_default_str();
  app.add_option("--out", given.out, "the header that is written")->required();
  CLI11_PARSE(app, count, words);
  try {
    return train(given);
  } catch (const rubato::support::user_error& e) {
    std::fprintf(stderr, "stigmergic_home: %s\n", e.what());
    return 2;
  }
}
