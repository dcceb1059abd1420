#include "model_guess.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "replay.hpp"
#include "support/parallel.hpp"
#include "support/user_error.hpp"
#include "workbench.hpp"

namespace rubato::lab {
namespace {

constexpr std::array<double, 3> rate_factors{0.5, 1, 2};
constexpr std::array<double, 3> prior{0.25, 0.5, 0.25};
constexpr std::size_t stretches = 12;
constexpr std::size_t seeds = 2;
constexpr std::uint64_t unlike_any_run = std::uint64_t{1} << 62;  // seeds near 1 are those of runs that leave logs
constexpr double independent_stretches = 3;  // of the twelve: a run that begins slowly stays behind
constexpr double least_deviation = 0.02;     // between seeds, of a logarithm

using curve = std::array<double, stretches>;  // logarithm of the mean loss of each stretch

// Each stretch is longer than the last, as learning gets slower.
[[nodiscard]] std::size_t end_of(std::size_t stretch, std::size_t pushes) {
  const double share = static_cast<double>(stretch + 1) / stretches;
  return static_cast<std::size_t>(std::lround(static_cast<double>(pushes) * std::pow(share, 1.7)));
}

[[nodiscard]] std::optional<curve> curve_of(std::span<const float> losses, std::size_t pushes) {
  if (losses.size() < pushes) return std::nullopt;  // it diverged
  curve made{};
  std::size_t from = 0;
  for (std::size_t s = 0; s < stretches; ++s) {
    double sum = 0, count = 0;
    for (; from < end_of(s, pushes); ++from)
      if (std::isfinite(losses[from])) sum += losses[from], ++count;
    if (!(count > 0) || !(sum > 0)) return std::nullopt;
    made[s] = std::log(sum / count);
  }
  return made;
}

[[nodiscard]] double roughness(std::span<const float> losses) {
  double sum = 0;
  for (std::size_t i = losses.size() / 4; i + 1 < losses.size(); ++i)
    if (std::isfinite(losses[i]) && std::isfinite(losses[i + 1])) sum += std::abs(losses[i + 1] - losses[i]);
  return sum;
}

// As the simulator's running mean.
void smooth(std::vector<float>& losses) {
  constexpr float newest = 0.1F;
  for (std::size_t i = 1; i < losses.size(); ++i) losses[i] = losses[i - 1] + newest * (losses[i] - losses[i - 1]);
}

struct candidate {
  model_guess guess;
  double before = 1;
  std::array<std::optional<curve>, seeds> curves{};
};

}  // namespace

std::optional<std::vector<model_guess>> guess_models(const decision_history& history, const support::scenario& base,
                                                     std::uint64_t seed, const run_context& how) {
  const std::vector<float> logged = losses_of(history, most_pushes_compared);
  const auto finite = std::ranges::count_if(logged, [](float each) { return std::isfinite(each); });
  if (finite < static_cast<std::ptrdiff_t>(fewest_losses))
    throw support::user_error{history.source + ": found " + std::to_string(finite) + " losses, expected at least " +
                              std::to_string(fewest_losses)};
  const std::optional<curve> target = curve_of(logged, logged.size());
  if (!target) throw support::user_error{history.source + ": found losses that are not above 0, expected such"};

  std::vector<candidate> family;
  const bool quadratic = base.objective == support::objective_kind::quadratic;
  const std::set<std::uint32_t> layers =
      quadratic ? std::set<std::uint32_t>{0} : std::set(base.hidden_layers.begin(), base.hidden_layers.end());
  for (const std::uint32_t h : layers)
    for (std::size_t f = 0; f < rate_factors.size(); ++f)
      family.push_back({.guess = {.hidden_layers = h, .rate_factor = rate_factors[f]}, .before = prior[f]});

  const double rough = roughness(logged);
  support::share_out(
      family.size() * seeds, how.threads, how.stop, [&] { return workbench{how.data}; },
      [&](workbench& bench, std::size_t i) {
        candidate& mine = family[i / seeds];
        setting at{base, mine.guess.hidden_layers};
        at.scenario.run.learning_rate.base *= mine.guess.rate_factor;
        const sim::run_options run = run_options_of(at, unlike_any_run + seed + i % seeds);
        std::vector<float> losses = replay(history, bench.objective(at), run, logged.size());
        if (rough < 0.4 * roughness(losses)) smooth(losses);  // the log's are smooth
        mine.curves[i % seeds] = curve_of(losses, logged.size());
      });
  if (how.stop) return std::nullopt;

  // How much two seeds differ in each stretch, over the whole family: early ones much, late ones little.
  curve variance{};
  double pairs = 0;
  for (const candidate& each : family) {
    if (!each.curves[0] || !each.curves[1]) continue;
    for (std::size_t s = 0; s < stretches; ++s) {
      const double apart = (*each.curves[0])[s] - (*each.curves[1])[s];
      variance[s] += apart * apart / 2;
    }
    ++pairs;
  }
  for (double& each : variance) each = std::max(least_deviation * least_deviation, each / std::max(pairs, 1.0));
  constexpr double unlikely = 1e6;
  std::vector<double> distance(family.size(), unlikely);  // mean square, in units of what chance explains
  for (std::size_t c = 0; c < family.size(); ++c) {
    candidate& each = family[c];
    if (!each.curves[0] || !each.curves[1]) continue;
    double squares = distance[c] = 0;
    for (std::size_t s = 0; s < stretches; ++s) {
      const double apart = (*target)[s] - ((*each.curves[0])[s] + (*each.curves[1])[s]) / 2;
      squares += apart * apart / stretches;
      distance[c] += apart * apart / (1.5 * variance[s]) / stretches;  // of one run, and of the mean of two
    }
    each.guess.off = std::sqrt(squares);
  }
  const double least = std::ranges::min(distance);
  double total = 0;
  for (std::size_t c = 0; c < family.size(); ++c) {
    family[c].guess.weight = family[c].before * std::exp(-0.5 * independent_stretches * (distance[c] - least));
    total += family[c].guess.weight;
  }
  std::vector<model_guess> guesses;
  for (candidate& each : family) {
    each.guess.weight /= total;
    guesses.push_back(each.guess);
  }
  return guesses;
}

std::optional<double> least_off(const std::vector<model_guess>& guesses) {
  std::optional<double> least;
  for (const model_guess& each : guesses)
    if (each.off && (!least || *each.off < *least)) least = each.off;
  return least;
}

bool nothing_alike(const std::vector<model_guess>& guesses) {
  const std::optional<double> least = least_off(guesses);
  return !least || *least > std::log(10.0);
}

}  // namespace rubato::lab
