#ifndef RUBATO_RL_ANTITHETIC_ES_HPP
#define RUBATO_RL_ANTITHETIC_ES_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../config.hpp"
#include "../core/result.hpp"
#include "../pinned.hpp"
#include "evaluation.hpp"
#include "search.hpp"
#include "setting.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// How an antithetic_es searches.
struct antithetic_es_options {
  std::uint64_t seed = 1;         ///< of the candidates
  double step_size = 0.1;         ///< standard deviation of the candidates around the mean, in each parameter; constant
  double learning_rate = 0.05;    ///< of Adam, with decay rates 0.9 and 0.999: about how far a parameter moves at once
  std::uint32_t population = 16;  ///< candidates of a generation: an even number
  double averaging = 0;           ///< weight of the best guess before in the next one, below 1; 0: it is the mean
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] inline const char* problem(const antithetic_es_options& o) noexcept {
  if (!(o.step_size > 0 && pinned::is_finite(o.step_size))) return "step_size: expected a number above 0";
  if (!(pinned::within(o.learning_rate, 0, 1e30) && o.learning_rate > 0))
    return "learning_rate: expected a number above 0, at most 1e30";
  if (!(pinned::within(o.averaging, 0, 1) && o.averaging < 1))
    return "averaging: expected a number of at least 0 and below 1";
  if (o.population < 2 || o.population % 2 != 0) return "population: expected an even number of at least 2";
  return nullptr;
}

/// Evolution strategy that estimates a gradient: candidates in pairs, as far from the mean on one side as on the other.
///
/// Costs become ranks, from 1/2 for the cheapest to -1/2 for the dearest (equal costs share the mean of theirs), so one
/// outlier moves nothing by much. The sum of the candidates' directions, weighted with that, is what Adam climbs.
///
/// In noisy trials the mean goes on wandering around the minimum. With `averaging` the best guess is a running average
/// of the means, the first one included: nearer to the minimum once the mean wanders, behind it before.
///
/// Cost    ask, tell: O(dimension x population) in all, for a generation. Memory: O(dimension). tell allocates.
/// Tests   tests/rl/search_test.cpp: FindsTheMinimum, SurvivesNoise, PairsAreAntithetic, EqualCostsMoveNothing,
///         TheGuessIsAnAverage, SameSeedSameBits, ResumesBitForBit
/// Source  Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning",
///         arXiv:1703.03864, section 2; Wierstra et al., "Natural Evolution Strategies", JMLR 15, 2014, section 3.1
///         (rank shaping);
///         Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", SIAM J. Control Optim. 30,
///         1992 (averages)
class antithetic_es {
 public:
  /// Starts around `mean`. Errors  invalid_option: problem(options), or no parameters, or one that is not finite
  [[nodiscard]] static result<antithetic_es> make(std::span<const float> mean, const antithetic_es_options& options) {
    if (const char* wrong = rl::problem(options))
      return error{errc::invalid_option, std::string{"antithetic_es: "} + wrong};
    if (!detail::is_start(mean))
      return error{errc::invalid_option, std::string{"antithetic_es: "} + detail::expected_start};
    return antithetic_es{mean, options};
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return mean_.size(); }          ///< parameters
  [[nodiscard]] std::size_t population() const noexcept { return options_.population; }  ///< candidates of a generation
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }        ///< how many have been told
  [[nodiscard]] double step_size() const noexcept { return options_.step_size; }         ///< that of the options

  /// See ParameterSearch. Candidates 2n and 2n + 1 are a pair. Precondition: candidate < population(); out has
  /// dimension() numbers.
  void ask(std::size_t candidate, std::span<float> out) const {
    RUBATO_ASSERT(candidate < population() && out.size() == mean_.size(), "antithetic_es: no such candidate");
    random_sequence random = sequence_of(candidate / 2);
    const double sign = candidate % 2 == 0 ? options_.step_size : -options_.step_size;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(mean_[i] + sign * random.normal());
  }

  /// See ParameterSearch. Precondition: costs has population() numbers.
  void tell(std::span<const double> costs) {
    RUBATO_ASSERT(costs.size() == population(), "antithetic_es: expected one cost for each candidate");
    const std::vector<double> utility = utilities(costs);
    std::vector<double> direction(mean_.size());
    for (std::size_t pair = 0; pair < costs.size() / 2; ++pair) {
      random_sequence random = sequence_of(pair);
      const double worth = utility[2 * pair] - utility[2 * pair + 1];
      for (double& d : direction) d += worth * random.normal();
    }
    ++generation_;
    const double steps = static_cast<double>(generation_);
    const double first = 1 - std::pow(first_decay, steps), second = 1 - std::pow(second_decay, steps);
    const double scale = 1 / static_cast<double>(costs.size());
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const double g = scale * direction[i];
      first_[i] = first_decay * first_[i] + (1 - first_decay) * g;
      second_[i] = second_decay * second_[i] + (1 - second_decay) * g * g;
      mean_[i] += options_.learning_rate * (first_[i] / first) / (std::sqrt(second_[i] / second) + 1e-8);
      guess_[i] = mean_[i] + options_.averaging * (guess_[i] - mean_[i]);
    }
  }

  /// The average of the means, see `averaging`. Precondition: out has dimension() numbers.
  void best_guess(std::span<float> out) const {
    RUBATO_ASSERT(out.size() == mean_.size(), "antithetic_es: expected room for all parameters");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(guess_[i]);
  }

  /// See ParameterSearch. The mean at the start is no part of it.
  [[nodiscard]] std::vector<std::string> configuration() const {
    return {"search=es",
            detail::setting("search_seed", options_.seed),
            detail::setting("step_size", options_.step_size),
            detail::setting("learning_rate", options_.learning_rate),
            detail::setting("population", options_.population),
            detail::setting("averaging", options_.averaging),
            detail::setting("dimension", mean_.size())};
  }

  /// See ParameterSearch. Numbers that are not finite are bad bytes, after which it is of no use.
  void state(archive& bytes) {
    bytes(generation_);
    for (std::vector<double>* all : {&mean_, &guess_}) detail::bounded_numbers(bytes, *all, detail::largest_parameter);
    for (std::vector<double>* all : {&first_, &second_}) detail::bounded_numbers(bytes, *all);
    if (!std::ranges::all_of(second_, [](double v) { return !pinned::is_nan(v) && v >= 0; })) bytes.fail();
  }

 private:
  static constexpr double first_decay = 0.9, second_decay = 0.999;

  antithetic_es(std::span<const float> mean, const antithetic_es_options& options)
      : options_{options}, mean_(mean.begin(), mean.end()), guess_{mean_}, first_(mean.size()), second_(mean.size()) {}

  // Centred ranks.
  [[nodiscard]] static std::vector<double> utilities(std::span<const double> costs) {
    const std::vector<std::size_t> order = detail::by_cost(costs);
    const auto same = [](double a, double b) { return a == b || (pinned::is_nan(a) && pinned::is_nan(b)); };
    std::vector<double> utility(costs.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
      while (to < order.size() && same(costs[order[to]], costs[order[from]])) ++to;
      const double rank = static_cast<double>(from + to - 1) / 2;
      for (std::size_t r = from; r < to; ++r) utility[order[r]] = 0.5 - rank / static_cast<double>(costs.size() - 1);
    }
    return utility;
  }

  [[nodiscard]] random_sequence sequence_of(std::size_t pair) const noexcept {
    return sequence_for(options_.seed, purpose::search, generation_ * (options_.population / 2) + pair);
  }

  antithetic_es_options options_;
  std::uint64_t generation_ = 0;
  std::vector<double> mean_;
  std::vector<double> guess_;
  std::vector<double> first_;  // moments of the gradient
  std::vector<double> second_;
};

static_assert(ParameterSearch<antithetic_es>);

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
