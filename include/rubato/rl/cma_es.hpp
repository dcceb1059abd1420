#ifndef RUBATO_RL_CMA_ES_HPP
#define RUBATO_RL_CMA_ES_HPP

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

/// How a cma_es searches.
struct cma_es_options {
  std::uint64_t seed = 1;        ///< of the candidates
  double step_size = 0.3;        ///< standard deviation of the first candidates, in each parameter
  std::uint32_t population = 0;  ///< candidates of a generation, at least 4; 0: 4 + 3 ln(dimension)
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] inline const char* problem(const cma_es_options& o) noexcept {
  if (!(o.step_size > 0 && pinned::is_finite(o.step_size))) return "step_size: expected a number above 0";
  if (o.population != 0 && o.population < 4) return "population: expected 0 or at least 4";
  return nullptr;
}

/// Covariance matrix adaptation with a diagonal matrix: learns a scale for each parameter, and how far to look.
///
/// The better half of a generation, weighted by rank, becomes the next mean. A step size grows while steps point the
/// same way, and shrinks while they cancel; each parameter's variance follows the steps that were successful. What a
/// cost is worth is only its rank, so it may be of any scale; of equal costs the candidate of lower index comes first,
/// so where all are equal it wanders.
///
/// Cost    ask, tell: O(dimension x population) in all, for a generation. Memory: O(dimension). tell allocates.
/// Tests   tests/rl/search_test.cpp: FindsTheMinimum, LearnsTheScales, SurvivesNoise, SameSeedSameBits,
///         ResumesBitForBit
/// Source  Ros and Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity", PPSN 2008;
///         constants as in Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772, table 1, without
///         negative weights
class cma_es {
 public:
  /// Starts around `mean`. Errors  invalid_option: problem(options), or no parameters, or one that is not finite
  [[nodiscard]] static result<cma_es> make(std::span<const float> mean, const cma_es_options& options) {
    if (const char* wrong = rl::problem(options)) return error{errc::invalid_option, std::string{"cma_es: "} + wrong};
    if (!detail::is_start(mean)) return error{errc::invalid_option, std::string{"cma_es: "} + detail::expected_start};
    return cma_es{mean, options};
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return mean_.size(); }    ///< parameters
  [[nodiscard]] std::size_t population() const noexcept { return population_; }    ///< candidates of a generation
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }  ///< how many have been told
  [[nodiscard]] double step_size() const noexcept { return step_size_; }           ///< what it has become by now
  /// Of one parameter, in steps.
  [[nodiscard]] double variance(std::size_t parameter) const noexcept { return variance_[parameter]; }

  /// See ParameterSearch. Precondition: candidate < population(); out has dimension() numbers.
  void ask(std::size_t candidate, std::span<float> out) const {
    RUBATO_ASSERT(candidate < population_ && out.size() == mean_.size(), "cma_es: no such candidate");
    random_sequence random = sequence_of(candidate);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(mean_[i] + step_size_ * std::sqrt(variance_[i]) * random.normal());
  }

  /// See ParameterSearch. Precondition: costs has population() numbers.
  void tell(std::span<const double> costs) {
    RUBATO_ASSERT(costs.size() == population_, "cma_es: expected one cost for each candidate");
    const auto n = static_cast<double>(mean_.size());
    const std::vector<std::size_t> order = detail::by_cost(costs);
    const std::size_t parents = population_ / 2;
    std::vector<double> weight(parents);
    double sum = 0, squares = 0;
    for (std::size_t r = 0; r < parents; ++r) {
      weight[r] = std::log(static_cast<double>(population_) / 2 + 0.5) - std::log(static_cast<double>(r) + 1);
      sum += weight[r];
    }
    for (double& w : weight) w /= sum, squares += w * w;
    const double effective = 1 / squares;  // as many parents as would be as good with equal weights

    std::vector<double> step(mean_.size()), spread(mean_.size());  // in units of each parameter's deviation
    for (std::size_t r = 0; r < parents; ++r) {
      random_sequence random = sequence_of(order[r]);
      for (std::size_t i = 0; i < mean_.size(); ++i) {
        const double z = random.normal();
        step[i] += weight[r] * z;
        spread[i] += weight[r] * z * z;
      }
    }

    const double memory = (effective + 2) / (n + effective + 5);
    const double damping = 1 + 2 * (std::max)(0.0, std::sqrt((effective - 1) / (n + 1)) - 1) + memory;
    double length = 0;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      path_[i] = (1 - memory) * path_[i] + std::sqrt(memory * (2 - memory) * effective) * step[i];
      length += path_[i] * path_[i];
    }
    length = std::sqrt(length);
    ++generation_;
    const double expected = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));  // of a random path
    // While the step size catches up, the path says nothing of the shape.
    const double begun = std::sqrt(1 - std::pow(1 - memory, 2 * static_cast<double>(generation_)));
    const bool straight = length / begun < (1.4 + 2 / (n + 1)) * expected;

    const double shape_memory = (4 + effective / n) / (n + 4 + 2 * effective / n);
    const double separable = (n + 2) / 3;  // so much faster may a diagonal be learned than a whole matrix
    const double by_path = (std::min)(1.0, separable * 2 / ((n + 1.3) * (n + 1.3) + effective));
    const double by_rank =
        (std::min)(1 - by_path, separable * 2 * (effective - 2 + 1 / effective) / ((n + 2) * (n + 2) + effective));
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const double deviation = std::sqrt(variance_[i]);
      mean_[i] += step_size_ * deviation * step[i];
      shape_path_[i] *= 1 - shape_memory;
      if (straight) shape_path_[i] += std::sqrt(shape_memory * (2 - shape_memory) * effective) * deviation * step[i];
      const double lost = straight ? 0.0 : by_path * shape_memory * (2 - shape_memory);
      variance_[i] = (std::max)(variance_[i] * (1 - by_path - by_rank + lost + by_rank * spread[i]) +
                                    by_path * shape_path_[i] * shape_path_[i],
                                1e-20);
    }
    step_size_ = std::clamp(step_size_ * std::exp(memory / damping * (length / expected - 1)), least_step, most_step);
  }

  /// The mean. Precondition: out has dimension() numbers.
  void best_guess(std::span<float> out) const {
    RUBATO_ASSERT(out.size() == mean_.size(), "cma_es: expected room for all parameters");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(mean_[i]);
  }

  /// See ParameterSearch. The mean at the start is no part of it.
  [[nodiscard]] std::vector<std::string> configuration() const {
    return {"search=cma-es", detail::setting("search_seed", options_.seed),
            detail::setting("step_size", options_.step_size), detail::setting("population", population_),
            detail::setting("dimension", mean_.size())};
  }

  /// See ParameterSearch. Numbers that no search comes to are bad bytes, after which it is of no use.
  void state(archive& bytes) {
    bytes(generation_, step_size_);
    detail::bounded_numbers(bytes, mean_, detail::largest_parameter);
    for (std::vector<double>* all : {&variance_, &path_, &shape_path_}) detail::bounded_numbers(bytes, *all);
    const bool positive = std::ranges::all_of(variance_, [](double v) { return v > 0; });
    if (!positive || !pinned::within(step_size_, least_step, most_step)) bytes.fail();
  }

 private:
  static constexpr double least_step = 1e-12, most_step = 1e12;

  cma_es(std::span<const float> mean, const cma_es_options& options)
      : options_{options},
        step_size_{options.step_size},
        mean_(mean.begin(), mean.end()),
        variance_(mean.size(), 1.0),
        path_(mean.size()),
        shape_path_(mean.size()) {
    population_ = options.population != 0
                      ? options.population
                      : 4 + static_cast<std::size_t>(3 * std::log(static_cast<double>(mean.size())));
  }

  [[nodiscard]] random_sequence sequence_of(std::size_t candidate) const noexcept {
    return sequence_for(options_.seed, purpose::search, generation_ * population_ + candidate);
  }

  cma_es_options options_;
  std::size_t population_ = 0;
  std::uint64_t generation_ = 0;
  double step_size_;
  std::vector<double> mean_;
  std::vector<double> variance_;
  std::vector<double> path_;        // of the step size
  std::vector<double> shape_path_;  // of the variances
};

static_assert(ParameterSearch<cma_es>);

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
