#ifndef RUBATO_ADAPT_ONLINE_HPP
#define RUBATO_ADAPT_ONLINE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/number_text.hpp"
#include "../core/result.hpp"
#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "welch.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The largest cost of a job, down to its negative.
inline constexpr double most_job_cost = 1e100;

/// How an online_search looks for better parameters. Costs are meant to be logarithms of times.
struct online_options {
  std::uint64_t seed = 1;   ///< of candidates, and of who goes first in a pair
  double step = 0.5;        ///< how far the first candidate is from what is in use, in each parameter
  std::uint32_t pairs = 8;  ///< of jobs that decide about a candidate at the latest: an even number from 6 on
  double level = 0.05;      ///< how likely a candidate is taken that is no better, at most
  double hopeless = 0.7;    ///< a candidate is given up as soon as it costs so much more in a pair; 0.7: twice the time
  std::uint32_t recheck = 5;  ///< in so many candidates one is what the search began with; 0: none
};

/// What is wrong with these options, as a sentence that names field, value and expectation; empty if nothing is.
[[nodiscard]] inline std::string problem(const online_options& o) {
  const auto wrong = [](const char* field, const std::string& found, const char* expected) {
    return std::string{field}.append(" is ").append(found).append(", expected ").append(expected);
  };
  const auto number = [](double x) { return rubato::detail::text_of(x); };
  if (!(pinned::within(o.step, 0, 1e6) && o.step > 0))
    return wrong("step", number(o.step), "a number above 0, at most 1e6");
  if (o.pairs < 6 || o.pairs > 1'000 || o.pairs % 2 != 0)
    return wrong("pairs", std::to_string(o.pairs), "an even number from 6 to 1,000");
  if (!(pinned::within(o.level, 0, 0.5) && o.level > 0))
    return wrong("level", number(o.level), "a probability above 0, at most 0.5");
  if (!(pinned::within(o.hopeless, 0, most_job_cost) && o.hopeless > 0))
    return wrong("hopeless", number(o.hopeless), "a number above 0, at most 1e100");
  return {};
}

/// A candidate, and what became of it.
struct online_trial {
  std::vector<float> parameters{};  ///< what it was
  std::vector<double> worse{};      ///< by pair, what it cost more than what was in use; below 0 it was better
  bool failed = false;              ///< a job of it failed
  bool accepted = false;            ///< it is in use since
};

/// Learns on the job: looks for better parameters of whatever recurs, one job after another, and uses a candidate only
/// once it was measurably better. Until then at most every other job tries it.
///
///     auto made = adapt::online_search::make({0, 0}, {.step = 0.5});  // logarithms of a rate's and a batch's factor
///     if (!made) return made.error();
///     for (each job) {
///       const double seconds = run(policy_of(made->next()));
///       if (error refused = made->report(std::log(seconds)); refused.code != errc::ok) return refused;
///     }
///
/// Jobs come in pairs: one with the parameters in use, one with the candidate, in random order. So what changes slowly
/// in the cluster changes both alike. A candidate is given up
///
/// - as soon as a job of it fails, or costs `hopeless` more than the other one of its pair;
/// - after the third pair, or a later one, if it was no better on average;
/// - after `pairs` pairs if it has not been taken.
///
/// It is taken after half of the pairs, or all of them, if Student's t refutes, at half of `level` each, that it is no
/// better. If the differences of pairs are independent and normal, one that is no better is taken with a probability
/// of at most `level`; one that is worse by more than the noise, hardly ever.
///
/// A candidate is `step` away in every parameter, up or down by chance. One that was taken is followed by another in
/// the same direction and with a step twice as long, up to eight times the first; one that was not, by one in the
/// opposite direction, then by one in another, and with a step 2^-1/4 times as long, down to an eighth of the first.
/// One in `recheck` candidates is what the search began with, if that is not in use: the cluster may have changed.
///
/// A search is a function of its parameters, its options and the costs that are reported to it, in order. To resume
/// one, make it anew and report costs() again.
/// Errors  make(), report(): invalid_option, and nothing has changed
/// Thread  not thread-safe; copies are independent
/// Cost    O(parameters + pairs) per report; allocates. Few parameters can be learned in tens of jobs: one to three
/// Tests   tests/adapt/online_test.cpp
/// Source  the search is a (1+1) evolution strategy with the one-fifth rule, Rechenberg, "Evolutionsstrategie", 1973,
///         with steps of simultaneous perturbation, Spall, IEEE Trans. Automatic Control 37, 1992
class online_search {
 public:
  /// Begins with these parameters. Errors: invalid_option, with problem(options), or for the parameters.
  [[nodiscard]] static result<online_search> make(std::vector<float> parameters, const online_options& options = {}) {
    if (std::string wrong = problem(options); !wrong.empty())
      return error{errc::invalid_option, "online_search: " + std::move(wrong)};
    if (parameters.empty()) return error{errc::invalid_option, "online_search: found no parameters, expected some"};
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (!pinned::is_finite(parameters[i]))
        return error{errc::invalid_option, "online_search: parameter " + std::to_string(i) + " is " +
                                               rubato::detail::text_of(parameters[i]) + ", expected a finite number"};
    return online_search{std::move(parameters), options};
  }

  /// What the next job is to run with. Valid until it is reported.
  [[nodiscard]] std::span<const float> next() const noexcept {
    return tries_candidate() ? trials_.back().parameters : incumbent_;
  }
  [[nodiscard]] bool tries_candidate() const noexcept { return candidate_first_ != has_first_; }  ///< the next job

  /// What the job with next() cost: less is better; infinity if it failed.
  [[nodiscard]] error report(double cost) {
    const bool failed = !pinned::is_nan(cost) && !pinned::is_finite(cost) && cost > 0;
    if (!failed && !pinned::within(cost, -most_job_cost, most_job_cost))
      return {errc::invalid_option, "online_search: found the cost " + rubato::detail::text_of(cost) +
                                        ", expected a number from -1e100 to 1e100, or infinity for a job that failed"};
    costs_.push_back(cost);
    if (failed && tries_candidate()) {
      trials_.back().failed = true;
      reject();
    } else if (!has_first_) {
      first_ = cost, first_failed_ = failed, has_first_ = true;
    } else if (failed || first_failed_) {
      begin_pair();  // what is in use has failed: there is nothing to compare with
    } else {
      judge(candidate_first_ ? first_ - cost : cost - first_);
    }
    return {};
  }

  [[nodiscard]] std::span<const float> incumbent() const noexcept { return incumbent_; }    ///< what is in use
  [[nodiscard]] std::span<const double> costs() const noexcept { return costs_; }           ///< all, in their order
  [[nodiscard]] std::span<const online_trial> trials() const noexcept { return trials_; }   ///< the last one is open
  [[nodiscard]] const online_options& options() const noexcept { return options_; }         ///< as they were given
  [[nodiscard]] double step() const noexcept { return step_; }                              ///< of the latest candidate

 private:
  online_search(std::vector<float> parameters, const online_options& options)
      : options_{options}, origin_{std::move(parameters)}, incumbent_{origin_}, step_{options.step},
        direction_(origin_.size()) {
    turn();
    propose();
  }

  void turn() {
    random_sequence random{options_.seed, 0, turns_++};
    for (float& each : direction_) each = random.below(2) == 0 ? -1.0F : 1.0F;
  }

  void propose() {
    online_trial trial;
    const std::size_t number = trials_.size() + 1;
    is_recheck_ = options_.recheck != 0 && number % options_.recheck == 0 && incumbent_ != origin_;
    trial.parameters = is_recheck_ ? origin_ : incumbent_;
    if (!is_recheck_)
      for (std::size_t i = 0; i < direction_.size(); ++i)
        trial.parameters[i] += static_cast<float>(step_) * direction_[i];
    trials_.push_back(std::move(trial));
    begin_pair();
  }
  void begin_pair() {
    has_first_ = false;
    candidate_first_ = philox(options_.seed, 1, pairs_++)[0] % 2 == 0;
  }

  void judge(double worse) {
    std::vector<double>& all = trials_.back().worse;
    all.push_back(worse);
    if (worse > options_.hopeless) return reject();
    const sample_summary sum = summary_of(all);
    if ((all.size() == options_.pairs / 2 || all.size() == options_.pairs) && p_no_better(sum) <= options_.level / 2)
      return accept();
    if (all.size() == options_.pairs || (all.size() >= least_pairs && sum.mean >= 0)) return reject();
    begin_pair();
  }
  // How likely it would be to have been so much better, or more, if it were no better.
  [[nodiscard]] static double p_no_better(const sample_summary& worse) noexcept {
    if (worse.mean >= 0) return 1;
    const double of_mean = std::sqrt(worse.variance / static_cast<double>(worse.size));
    return of_mean > 0 ? student_t_cdf(worse.mean / of_mean, static_cast<double>(worse.size - 1)) : 0;
  }

  void accept() {
    trials_.back().accepted = true;
    incumbent_ = trials_.back().parameters;
    if (!is_recheck_) {
      step_ = (std::min)(2 * step_, 8 * options_.step);
      other_way_ = false;
    }
    propose();
  }
  void reject() {
    if (!is_recheck_) {
      constexpr double shorter = 0.8408964152537145;  // 2^-1/4
      step_ = (std::max)(shorter * step_, options_.step / 8);
      if (other_way_)
        for (float& each : direction_) each = -each;
      else
        turn();
      other_way_ = !other_way_;
    }
    propose();
  }

  static constexpr std::size_t least_pairs = 3;
  online_options options_;
  std::vector<float> origin_, incumbent_;
  std::vector<double> costs_;
  std::vector<online_trial> trials_;
  double step_;
  std::vector<float> direction_;
  bool other_way_ = true;  // is to be tried next, should this candidate be given up
  bool is_recheck_ = false;
  std::uint64_t turns_ = 0, pairs_ = 0;
  bool candidate_first_ = false, has_first_ = false, first_failed_ = false;
  double first_ = 0;  // cost of the first job of the pair
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
