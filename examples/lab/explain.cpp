#include "explain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/learned/loader.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "batch_policies.hpp"
#include "support/parallel.hpp"
#include "support/user_error.hpp"
#include "tapped_batches.hpp"
#include "tapped_encoder.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

constexpr std::size_t most_decisions = 20'000;  // that answers are compared on
constexpr std::uint32_t columns = 24;

// What a decision is made of. Corrections do not depend on what was legal.
template <std::size_t dim>
struct situation {
  std::array<float, dim> inputs{};
  std::uint32_t legal = 0;  // bit a: action a is
};

// A file's policy without its state: to be asked, and to be run with inputs that are noted or changed on their way.
template <std::size_t dim>
struct subject {
  using tap = std::function<void(std::uint32_t legal, std::span<float, dim>)>;
  using answer = std::vector<double>;

  std::function<any_policy(tap)> make;
  std::function<answer(const situation<dim>&)> ask;
  std::vector<std::string> features;  // of the first inputs; where there are twice as many, whether each is known
  std::vector<std::string> actions;  // what the one answer stands for; empty: answers are outputs
  std::vector<std::string> outputs;
  std::vector<double> limits;  // of the outputs; none for actions
};

[[nodiscard]] std::vector<std::string> names_of(const StateEncoder auto& encoder) {
  std::vector<std::string> names;
  for (const feature& each : encoder.features()) names.push_back(each.name);
  return names;
}

template <StateEncoder Encoder>
[[nodiscard]] subject<Encoder::dim> subject_of(const q_policy<Encoder, nn::dynamic_mlp>& policy) {
  subject<Encoder::dim> of;
  of.make = [policy](auto tap) {
    return any_policy{
        q_policy{policy.network(), policy.options(), tapped_encoder<Encoder>{std::move(tap)}, policy.scale()}};
  };
  of.ask = [policy](situation<Encoder::dim> at) {
    policy.scale().apply(at.inputs);
    std::array<float, group_actions> values{};
    policy.network().evaluate(at.inputs, values);
    return std::vector{static_cast<double>(greedy(values, at.legal))};
  };
  of.features = names_of(policy.encoder());
  of.actions.assign(group_action_names.begin(), group_action_names.end());
  of.outputs = {"action"};
  return of;
}

template <StateEncoder Encoder>
[[nodiscard]] subject<Encoder::dim> subject_of(const residual_policy<Encoder, nn::dynamic_mlp>& policy) {
  subject<Encoder::dim> of;
  of.make = [policy](auto tap) {
    return any_policy{
        residual_policy{policy.network(), policy.range(), knee{}, tapped_encoder<Encoder>{std::move(tap)}}};
  };
  of.ask = [policy](const situation<Encoder::dim>& at) {
    std::vector<double> answers(corrections, 0.0);
    std::array<float, corrections> outputs{};
    if (policy.range().contains(at.inputs)) policy.network().evaluate(at.inputs, outputs);
    for (std::size_t i = 0; i < corrections; ++i)
      answers[i] = static_cast<double>(std::clamp(outputs[i], -largest_corrections[i], largest_corrections[i]));
    return answers;
  };
  of.features = names_of(policy.encoder());
  of.outputs.assign(correction_names.begin(), correction_names.end());
  of.limits.assign(largest_corrections.begin(), largest_corrections.end());
  return of;
}

// With a barrier, as in the lab's comparisons.
[[nodiscard]] subject<adapt::batch_state::size> subject_of(const adapt::learned_batches& policy) {
  subject<adapt::batch_state::size> of;
  of.make = [policy](auto tap) { return batches_by(tapped_batches{policy, std::move(tap)}); };
  of.ask = [policy](const situation<adapt::batch_state::size>& at) {
    std::array<float, adapt::batch_deltas.size()> preferences{};
    policy.network.evaluate(at.inputs, preferences);
    return std::vector{static_cast<double>(adapt::preferred_delta(preferences, at.legal))};
  };
  of.features.assign(adapt::batch_state::names.begin(), adapt::batch_state::names.end());
  for (const int delta : adapt::batch_deltas) of.actions.push_back((delta > 0 ? "+" : "") + std::to_string(delta));
  of.outputs = {"change of the batch"};
  return of;
}

// How different two answers are.
[[nodiscard]] double difference(std::span<const double> a, std::span<const double> b, bool actions) {
  if (actions) return a[0] == b[0] ? 0 : 1;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

template <std::size_t dim>
class explaining {
 public:
  explaining(subject<dim> what, const explain_options& asked, const run_context& how)
      : what_{std::move(what)}, asked_{asked}, how_{how} {}

  [[nodiscard]] std::optional<explanation> run() {
    std::vector<std::vector<situation<dim>>> seen(asked_.seeds);
    const std::vector<double> whole = times([&](std::size_t run) {
      return [&into = seen[run]](std::uint32_t legal, std::span<float, dim> inputs) {
        std::ranges::copy(inputs, into.emplace_back().inputs.begin());
        into.back().legal = legal;
      };
    });
    if (how_.stop) return std::nullopt;
    for (const auto& each : seen) seen_.insert(seen_.end(), each.begin(), each.end());
    if (seen_.empty())
      throw user_error{"--scenario: found runs without a decision, expected some: is max_time too short?"};
    note_means();
    explanation told{.decisions = seen_.size(), .features = {}, .maps = {}};
    for (std::size_t i = 0; i < what_.features.size() && !how_.stop; ++i) {
      const std::vector<double> without = times(
          [&](std::size_t) { return [&, i](std::uint32_t, std::span<float, dim> inputs) { take_away(i, inputs); }; });
      told.features.push_back({.name = what_.features[i],
                               .mean = static_cast<double>(mean_[i]),
                               .deviation = deviation_[i],
                               .change = change_without(i),
                               .slowdown = support::bootstrap_ratio(without, whole)});
    }
    if (how_.stop) return std::nullopt;
    std::vector<std::size_t> order(what_.features.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return told.features[i].change; });
    std::vector<feature_effect> sorted;
    for (const std::size_t i : order) sorted.push_back(std::move(told.features[i]));
    told.features = std::move(sorted);
    for (std::size_t o = 0; o < what_.outputs.size(); ++o) told.maps.push_back(map_of(o, order[0], order[1]));
    return told;
  }

 private:
  // Of each run; what is tapped is its own.
  template <class TapOf>
  [[nodiscard]] std::vector<double> times(TapOf tap_of) const {
    std::vector<double> all(asked_.seeds);
    support::share_out(
        all.size(), how_.threads, how_.stop, [&] { return workbench{how_.data}; },
        [&](workbench& bench, std::size_t i) {
          const std::uint64_t seed = asked_.seed + i;
          const setting at{asked_.scenario, hidden_layers_of(asked_.scenario, seed)};
          const auto run = bench.run(at, what_.make(tap_of(i)), seed, how_.stop);
          all[i] = run ? run->time : 0;
        });
    return all;
  }

  void note_means() {
    for (std::size_t i = 0; i < dim; ++i) {
      std::vector<double> column;
      for (const auto& each : seen_) column.push_back(static_cast<double>(each.inputs[i]));
      const auto n = static_cast<double>(column.size());
      const double mean = std::accumulate(column.begin(), column.end(), 0.0) / n;
      double squares = 0;
      for (const double x : column) squares += (x - mean) * (x - mean);
      mean_[i] = static_cast<float>(mean);
      deviation_[i] = std::sqrt(squares / n);
      least_[i] = support::quantile(column, 0.05);
      most_[i] = support::quantile(column, 0.95);
    }
  }

  // As if it always were as on average, and known as often.
  void take_away(std::size_t feature, std::span<float, dim> inputs) const {
    for (std::size_t i = feature; i < dim; i += what_.features.size()) inputs[i] = mean_[i];
  }

  [[nodiscard]] double change_without(std::size_t feature) const {
    const std::size_t step = seen_.size() / most_decisions + 1;
    double sum = 0, count = 0;
    for (std::size_t n = 0; n < seen_.size(); n += step) {
      situation<dim> changed = seen_[n];
      const auto before = what_.ask(changed);
      take_away(feature, changed.inputs);
      sum += difference(before, what_.ask(changed), !what_.actions.empty());
      ++count;
    }
    return sum / count;
  }

  [[nodiscard]] action_map map_of(std::size_t output, std::size_t x, std::size_t y) const {
    action_map map{.title = what_.outputs[output],
                   .x = what_.features[x],
                   .y = what_.features[y],
                   .x_least = least_[x],
                   .x_most = most_[x],
                   .y_least = least_[y],
                   .y_most = most_[y],
                   .actions = what_.actions,
                   .limit = what_.limits.empty() ? 1 : what_.limits[output],
                   .columns = columns};
    const auto place = [](double least, double most, std::uint32_t i) {
      return static_cast<float>(least + (most - least) * (i + 0.5) / columns);
    };
    for (std::uint32_t j = 0; j < columns; ++j)
      for (std::uint32_t i = 0; i < columns; ++i) {
        situation<dim> at{.inputs = mean_, .legal = (1U << what_.actions.size()) - 1};
        at.inputs[x] = place(least_[x], most_[x], i);
        at.inputs[y] = place(least_[y], most_[y], j);
        map.answers.push_back(what_.ask(at)[output]);
      }
    return map;
  }

  subject<dim> what_;
  const explain_options& asked_;
  const run_context& how_;
  std::vector<situation<dim>> seen_;
  std::array<float, dim> mean_{};
  std::array<double, dim> deviation_{}, least_{}, most_{};
};

}  // namespace

std::optional<explanation> explain(const policy_file& file, const explain_options& asked, const run_context& how) {
  if (file.card.kind == "dynamix") {
    auto policy = adapt::read_batch_policy(file.card, file.tensors);
    if (!policy) throw user_error{policy.error().message};
    return explaining{subject_of(*policy), asked, how}.run();
  }
  return with_policy_of(file.card, file.tensors, {}, [&](const auto& policy) {
    if (!policy) throw user_error{policy.error().message};
    return explaining{subject_of(*policy), asked, how}.run();
  });
}

}  // namespace rubato::lab
