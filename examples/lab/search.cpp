#include "search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <rubato/core/fnv1a.hpp>
#include <rubato/learned/distilled.hpp>
#include <rubato/learned/fingerprint.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/learned/residual_file.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/cma_es.hpp>
#include <rubato/sim/kernels/kernels.hpp>
#include <type_traits>
#include <utility>

#include "correction_trials.hpp"
#include "library_version.hpp"
#include "policy_trials.hpp"
#include "states.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using support::value_or_refuse;

constexpr std::array agents{
    search_agent{
        .name = "cma-es",
        .meaning = "separable CMA-ES on the weights of a correction of knee+decay or, with --state, of a policy",
        .population = 16,
        .step_size = 0.1},
    search_agent{.name = "es",
                 .meaning = "evolution strategy with antithetic pairs, on the same weights",
                 .population = 32,
                 .step_size = 0.1,
                 .learning_rate = 0.03,
                 .averaging = 0.8},
};

// In commands.
[[nodiscard]] std::string_view name_of(correction which) { return which == correction::rate ? "rate" : "batch"; }

// The rule as a network: it is linear, so it is what it says of each input alone.
[[nodiscard]] nn::dynamic_mlp distilled_network() {
  nn::dynamic_mlp network = value_or_refuse(nn::dynamic_mlp::make({progress_state::dim, corrections}));
  for (std::size_t i = 0; i < progress_state::dim; ++i) {
    std::array<float, progress_state::dim> inputs{};
    std::array<float, corrections> outputs{};
    inputs[i] = 1;
    distilled_correction{}.evaluate(inputs, outputs);
    for (std::size_t o = 0; o < corrections; ++o) network.weight(0)(i, o) = outputs[o];
  }
  return network;
}

// Hidden units are drawn, the outputs are 0.
[[nodiscard]] nn::dynamic_mlp network_of(const search_request& asked, std::size_t inputs, std::size_t outputs) {
  std::vector<std::size_t> widths{inputs, outputs};
  if (asked.hidden > 0) widths.insert(widths.begin() + 1, asked.hidden);
  nn::dynamic_mlp network =
      value_or_refuse(nn::dynamic_mlp::make(widths, {.hidden = nn::activation{nn::activation_kind::tanh}}));
  if (asked.hidden == 0) return network;
  random_sequence draws = rl::sequence_for(asked.seed, rl::purpose::weights);
  nn::initialise(network, {}, draws);
  std::ranges::fill(network.parameters().subspan(network.layers().back().first), 0.0F);
  return network;
}

// What a search begins with.
struct starting_point {
  nn::dynamic_mlp network;
  std::string origin;  // for cards and checkpoints; empty: the rule alone
};

[[nodiscard]] starting_point start_of(const search_request& asked) {
  if (asked.initial.empty()) return {network_of(asked, progress_state::dim, corrections), ""};
  if (asked.hidden > 0)
    throw user_error{"--initial: found it beside --hidden " + std::to_string(asked.hidden) +
                     ", expected one of them: the network is the one that it begins with"};
  if (asked.only) throw user_error{"--initial: found it beside --corrections, expected one of them"};
  const std::string file = file_of_initial(asked.initial);
  if (file.empty()) return {distilled_network(), asked.initial};
  const auto loaded = load_residual_policy<progress_state>(file);
  if (!loaded) throw user_error{"--initial: " + loaded.error().message};
  const nn::dynamic_mlp& network = loaded->network();
  const bool hidden = network.layers().size() > 1;
  return {network, fingerprint_of(network.parameters()) + (hidden ? " " + nn::to_text(network.options().hidden) : "")};
}

[[nodiscard]] std::string task_text(const search_request& asked, const std::string& origin, const run_context& how) {
  return (asked.scenario ? hexadecimal(support::hash(*asked.scenario)) : "random") + " " +
         hexadecimal(how.data.fingerprint) + " by " + library_version() + " " +
         std::string{sim::kernels::native().arithmetic} + (asked.state.empty() ? "" : " state " + asked.state) +
         (asked.only ? " corrections " + std::string{name_of(*asked.only)} : "") +
         (origin.empty() ? "" : " after " + origin);
}

[[nodiscard]] std::string as_csv(std::span<const rl::selection_report> selections) {
  std::string text = "generation,mean_log_ratio,standard_error,best\n";
  for (const rl::selection_report& s : selections)
    text += std::to_string(s.generation) + ',' + std::to_string(s.mean) + ',' + std::to_string(s.standard_error) + ',' +
            (s.best ? "1" : "0") + '\n';
  return text;
}

[[nodiscard]] policy_card card_of_search(const search_request& asked, const std::string& origin,
                                         const run_context& how) {
  const bool probes = asked.scenario && asked.scenario->run.loss == sim::loss_source::probe;
  policy_card about;
  about.loss_source = probes ? "probe" : "worker_ema";
  about.reward = asked.state.empty() ? "-log(time / time of loss_decayed{knee{}})" : "-log(time / time of asp)";
  about.trained_on = (asked.scenario ? asked.scenario->name + " " + hexadecimal(support::hash(*asked.scenario))
                                     : std::string{"clusters drawn at random, see random_scenario"}) +
                     "; " + text_of(how.data) + (origin.empty() ? "" : "; after " + origin);
  about.command = command_of(asked);
  about.seed = asked.seed;
  about.licence = asked.licence;
  return about;
}

// Of these parameters, with what its inputs have been in these clusters. False if it was stopped, and not saved.
[[nodiscard]] bool save(const std::string& file, const correction_trials& trials, std::span<const float> best,
                        std::span<const std::uint64_t> clusters, const policy_card& about) {
  const auto range = trials.range_of(best, clusters);
  if (!range) return false;
  value_or_refuse(save_residual_policy(file, correction_policy{trials.policy_of(best).network(), *range}, about));
  return true;
}

template <StateEncoder Encoder>
[[nodiscard]] bool save(const std::string& file, const policy_trials<Encoder>& trials, std::span<const float> best,
                        std::span<const std::uint64_t>, const policy_card& about) {
  value_or_refuse(save_q_policy(file, trials.policy_of(best), about));
  return true;
}

template <class Search, class Trials>
search_report run(Search start, const Trials& trials, const std::string& origin, const search_request& asked,
                  const training_files& files, bool resume, const run_context& how) {
  rl::search_trainer training{std::move(start), rl::search_training_options{.seed = asked.seed,
                                                                            .task = task_text(asked, origin, how),
                                                                            .runs = asked.clusters,
                                                                            .rounds = asked.rounds,
                                                                            .select_every = asked.select_every,
                                                                            .selection_runs = asked.selection_clusters,
                                                                            .checkpoint = files.training}};
  resume_search(training, files, resume, asked.generations);

  trials.paired().require_arrivals(training.selection_seeds());

  search_report report = conduct_search(training, asked.generations, asked.select_every > 0, trials,
                                        "log(time / time of the rule)", how.stop, how.progress, how.display);
  if (report.interrupted) return report;

  files.write_curve(as_csv(report.selections));  // before the checkpoint goes, which has them too
  report.interrupted =
      !save(files.result, trials, training.best(), training.selection_seeds(), card_of_search(asked, origin, how));
  if (!report.interrupted) files.remove_progress();
  return report;
}

template <class Trials>
search_report search_by(const Trials& trials, const std::string& origin, const search_request& asked,
                        const training_files& files, bool resume, const run_context& how) {
  const std::vector<float> begin = trials.start();
  const policy_card expected = card_of(trials.policy_of(begin), card_of_search(asked, origin, how));
  value_or_refuse(to_json(expected));  // before hours are spent on what cannot be written
  const support::file_lock alone = files.lock_them();
  if (files.are_complete(expected, resume)) return {.complete = true};
  const auto with = [&](auto start) {
    return run(value_or_refuse(std::move(start)), trials, origin, asked, files, resume, how);
  };
  const search_agent& agent = asked.agent;
  if (agent.name == "es")
    return with(rl::antithetic_es::make(begin, {.seed = asked.seed,
                                                .step_size = agent.step_size,
                                                .learning_rate = agent.learning_rate,
                                                .population = agent.population,
                                                .averaging = agent.averaging}));
  return with(
      rl::cma_es::make(begin, {.seed = asked.seed, .step_size = agent.step_size, .population = agent.population}));
}

}  // namespace

std::span<const search_agent> search_agents() { return agents; }

const search_agent* find_search_agent(std::string_view name) {
  const auto found = std::ranges::find(agents, name, &search_agent::name);
  return found == agents.end() ? nullptr : &*found;
}

std::string file_of_initial(const std::string& initial) { return initial == distilled_policy::kind ? "" : initial; }

std::string_view rule_of(const search_request& asked) { return asked.state.empty() ? "knee+decay" : "asp"; }

std::string command_of(const search_request& asked) {
  std::string text = "rubato-lab train --scenario " + support::shell_word(asked.scenario_argument);
  for (const std::string& each : asked.settings) text += " --set " + support::shell_word(each);
  text += " --agent " + std::string{asked.agent.name} + (asked.state.empty() ? "" : " --state " + asked.state) +
          " --generations " + std::to_string(asked.generations) + " --population " +
          std::to_string(asked.agent.population) + " --clusters " + std::to_string(asked.clusters) + " --rounds " +
          std::to_string(asked.rounds) +
          (asked.initial.empty() ? " --hidden " + std::to_string(asked.hidden)
                                 : " --initial " + support::shell_word(asked.initial)) +
          " --select-every " + std::to_string(asked.select_every) + " --selection-clusters " +
          std::to_string(asked.selection_clusters) + " --seed " + std::to_string(asked.seed);
  if (asked.only) text += " --corrections " + std::string{name_of(*asked.only)};
  if (!asked.licence.empty()) text += " --licence " + support::shell_word(asked.licence);
  return text;
}

search_report search(const search_request& asked, const training_files& files, bool resume, const run_context& how) {
  if (asked.state.empty()) {
    const starting_point start = start_of(asked);
    return search_by(correction_trials{asked.scenario, start.network, how, asked.only}, start.origin, asked, files,
                     resume, how);
  }
  if (!asked.initial.empty())
    throw user_error{"--initial: found it beside --state, expected one of them: such a search begins with asp"};
  return with_state(asked.state, [&]<class Encoder>(std::type_identity<Encoder>) {
    return search_by(policy_trials<Encoder>{asked.scenario, network_of(asked, Encoder::dim, group_actions), how}, "",
                     asked, files, resume, how);
  });
}

}  // namespace rubato::lab
