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
  std::uint64_t seed = 1;     ///< of candidates, and of who goes first in a pair
  double step = 0.5;          ///< how far the first candidate is from what is in use, in each parameter
  std::uint32_t pairs = 8;    ///< of jobs that decide about a candidate at the latest: a multiple of 4, from 8 on
  double level = 0.05;        ///< how likely a candidate is taken that is no better, at most: of each candidate
  double hopeless = 0.7;      ///< a candidate is given up where it costs so much more in a pair; 0.7: twice the time
  std::uint32_t recheck = 5;  ///< of so many candidates one is what the search began with: from 2 on; 0: none
};

/// What is wrong with these options, as a sentence that names field, value and expectation; empty if nothing is.
[[nodiscard]] inline std::string problem(const online_options& o) {
  const auto number = [](double x) { return rubato::detail::text_of(x); };
  const auto wrong = [](const char* field, const std::string& found, const std::string& expected) {
    return std::string{field}.append(" is ").append(found).append(", expected ").append(expected);
  };
  if (!(pinned::within(o.step, 0, 1e6) && o.step > 0))
    return wrong("step", number(o.step), "a number above 0, at most 1e6");
  if (o.pairs < 8 || o.pairs > 1'000 || o.pairs % 4 != 0)
    return wrong("pairs", std::to_string(o.pairs), "a multiple of 4 from 8 to 1,000");
  if (!(pinned::within(o.level, 0, 0.5) && o.level > 0))
    return wrong("level", number(o.level), "a probability above 0, at most 0.5");
  if (!(pinned::within(o.hopeless, 0, most_job_cost) && o.hopeless > 0))
    return wrong("hopeless", number(o.hopeless), "a number above 0, at most " + number(most_job_cost));
  if (o.recheck == 1) return wrong("recheck", "1", "0, or 2 or more");
  return {};
}

/// Two jobs, one with the candidate and one with what is in use.
struct online_pair {
  double difference = 0;         ///< what the candidate's cost more; below 0 it was better
  bool candidate_first = false;  ///< in time
};

/// A candidate, and what became of it.
struct online_trial {
  std::vector<float> parameters{};   ///< what it was
  std::vector<online_pair> pairs{};  ///< that say something, in their order
  bool is_recheck = false;           ///< it is what the search began with
  bool failed = false;               ///< a job of it failed, and not what was in use beside it
  bool accepted = false;             ///< it was taken
};

/// Learns on the job: looks for better parameters of whatever recurs, one job after another, and uses a candidate only
/// once it was measurably better. Until then half of the jobs try it.
///
///     auto made = adapt::online_search::make({0, 0}, {.step = 0.5});  // logarithms of a rate's and a batch's factor
///     if (!made) return made.error();
///     for (each job) {
///       const double seconds = run(policy_of(made->next()));
///       if (error refused = made->report(std::log(seconds)); refused.code != errc::ok) return refused;
///     }
///
/// Jobs come in pairs: one with what is in use, one with the candidate. As many pairs begin with either, in random
/// order, and what a job differs by for being the second is estimated and taken out: a cluster that becomes slower from
/// job to job makes nobody better. A pair in which a job of what is in use failed counts as one in which it cost
/// `hopeless` more; one in which both failed says nothing. A candidate is given up
///
/// - as soon as it fails or costs `hopeless` more in a pair;
/// - after the third pair, or a later one, if it was no better on average;
/// - after `pairs` pairs if it has not been taken.
///
/// It is taken after half of the pairs, or all of them, if Student's t refutes, at half of `level` each, that it is no
/// better. If the differences of pairs are independent and normal with one variance, one that is no better is taken
/// with a probability of at most `level`; one that is worse by more than the noise, hardly ever. That is of each
/// candidate: a search of n that finds nothing but equals takes one of them with up to n x `level`.
///
/// A candidate is `step` away in every parameter, up or down by chance. One that was taken is followed by another in
/// the same direction with a step twice as long; one that was better on average, but not provably, by one in the same
/// direction with a step 2^1/4 times as long; any other by one in the opposite direction, then by one drawn anew, with
/// a step 2^-1/4 times as long. A step is from an eighth of the first to eight times that. One of `recheck` candidates
/// is what the search began with, if that is not in use: the cluster may have changed.
///
/// Values of a parameter that mean the same to the host, because it cuts them off say, are compared as others are: the
/// search does not know limits. It is a function of its parameters, its options and the costs that are reported, in
/// order, as far as the platform's logarithm is: to resume one, make it anew and report costs() again.
/// Errors  make(), report(): invalid_option, and nothing has changed. Where memory runs out it is to be made anew
/// Thread  not thread-safe; copies are independent. Spans are valid until the next report
/// Cost    O(parameters + pairs) per report; allocates. Tens of jobs teach one to three parameters
/// Tests   tests/adapt/online_test.cpp
/// Source  steps of simultaneous perturbation: Spall, IEEE Trans. Automatic Control 37, 1992; that they grow by four
///         times what they shrink: the one-fifth rule of Rechenberg, "Evolutionsstrategie", 1973
class online_search {
 public:
  /// Begins with these parameters. Errors: invalid_option, with problem(options), or a parameter that is not finite, or
  /// so large that the shortest step does not change it.
  [[nodiscard]] static result<online_search> make(std::vector<float> parameters, const online_options& options = {}) {
    const auto refused = [](std::string why) {
      return error{errc::invalid_option, "online_search: " + std::move(why)};
    };
    if (std::string wrong = problem(options); !wrong.empty()) return refused(std::move(wrong));
    if (parameters.empty()) return refused("found no parameters, expected some");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const float shortest = static_cast<float>(options.step * least_step);
      const bool moves = parameters[i] + shortest != parameters[i] && parameters[i] - shortest != parameters[i];
      if (!pinned::is_finite(parameters[i]) || !moves)
        return refused("parameter " + std::to_string(i) + " is " + rubato::detail::text_of(parameters[i]) +
                       ", expected a finite number that steps change");
    }
    return online_search{std::move(parameters), options};
  }

  /// What the next job is to run with.
  [[nodiscard]] std::span<const float> next() const noexcept {
    return tries_candidate() ? trials_.back().parameters : incumbent_;
  }
  [[nodiscard]] bool tries_candidate() const noexcept { return candidate_first_ != has_first_; }  ///< the next job

  /// What the job with next() cost: less is better; infinity if it failed.
  [[nodiscard]] error report(double cost) {
    const bool failed = !pinned::is_nan(cost) && !pinned::is_finite(cost) && cost > 0;
    if (const std::string most = rubato::detail::text_of(most_job_cost);
        !failed && !pinned::within(cost, -most_job_cost, most_job_cost))
      return {errc::invalid_option, "online_search: found the cost " + rubato::detail::text_of(cost) +
                                        ", expected a number from -" + most + " to " + most +
                                        ", or infinity for a job that failed"};
    costs_.push_back(cost);
    if (!std::exchange(has_first_, true)) {
      first_ = cost, first_failed_ = failed;
      return {};
    }
    const bool candidate_failed = candidate_first_ ? first_failed_ : failed;
    const bool incumbent_failed = candidate_first_ ? failed : first_failed_;
    if (candidate_failed && incumbent_failed) return begin_pair(), error{};
    trials_.back().failed = candidate_failed;
    if (candidate_failed) return reject(), error{};
    judge(incumbent_failed ? -options_.hopeless : candidate_first_ ? first_ - cost : cost - first_);
    return {};
  }

  [[nodiscard]] std::span<const float> incumbent() const noexcept { return incumbent_; }   ///< what is in use
  [[nodiscard]] std::span<const double> costs() const noexcept { return costs_; }          ///< all, in their order
  [[nodiscard]] std::span<const online_trial> trials() const noexcept { return trials_; }  ///< the last one is open
  [[nodiscard]] const online_options& options() const noexcept { return options_; }        ///< as they were given
  [[nodiscard]] double step() const noexcept { return step_; }                             ///< of the latest candidate

 private:
  online_search(std::vector<float> parameters, const online_options& options)
      : options_{options}, origin_{std::move(parameters)}, incumbent_{origin_}, step_{options.step},
        direction_(origin_.size()) {
    turn();
    propose();
  }

  void turn() {
    random_sequence random{options_.seed, direction_stream, turns_++ << 32};  // far from those of other turns
    for (float& each : direction_) each = random.below(2) == 0 ? -1.0F : 1.0F;
  }

  void propose() {
    online_trial trial;
    const std::size_t number = trials_.size() + 1;
    trial.is_recheck = options_.recheck != 0 && number % options_.recheck == 0 && incumbent_ != origin_;
    trial.parameters = trial.is_recheck ? origin_ : incumbent_;
    if (!trial.is_recheck)
      for (std::size_t i = 0; i < direction_.size(); ++i)
        trial.parameters[i] += static_cast<float>(step_) * direction_[i];
    trials_.push_back(std::move(trial));
    begin_pair();
  }
  // Of two pairs in a row that count, one begins with the candidate.
  void begin_pair() {
    const std::vector<online_pair>& made = trials_.back().pairs;
    has_first_ = false;
    candidate_first_ = made.size() % 2 != 0 ? !made.back().candidate_first
                                            : philox(options_.seed, order_stream, pairs_)[0] % 2 == 0;
    ++pairs_;
  }

  void judge(double difference) {
    std::vector<online_pair>& made = trials_.back().pairs;
    made.push_back({difference, candidate_first_});
    if (difference > options_.hopeless) return reject();
    const sample_summary sum = without_order(made);
    const bool is_last = made.size() == options_.pairs;
    if ((is_last || made.size() == options_.pairs / 2) && p_no_better(sum) <= options_.level / 2) return accept();
    if (sum.mean < 0 && is_last) return go_on();
    if (sum.mean >= 0 && (is_last || made.size() >= least_pairs)) return reject();
    begin_pair();
  }
  // Of the differences, each order by itself: the mean of both means, and the variance within them. Pairs of either
  // order are equally many, or one more.
  [[nodiscard]] static sample_summary without_order(std::span<const online_pair> pairs) noexcept {
    double mean_of[2] = {0, 0}, count_of[2] = {0, 0}, squares = 0;
    for (const online_pair& each : pairs) {
      const double apart = each.difference - mean_of[each.candidate_first];
      mean_of[each.candidate_first] += apart / ++count_of[each.candidate_first];
      squares += apart * (each.difference - mean_of[each.candidate_first]);
    }
    const double mean = count_of[0] == 0 ? mean_of[1] : count_of[1] == 0 ? mean_of[0] : (mean_of[0] + mean_of[1]) / 2;
    return {pairs.size(), mean, pairs.size() > 2 ? squares / static_cast<double>(pairs.size() - 2) : 0};
  }
  // How likely it would be to have been so much better, or more, if it were no better. As many pairs of either order.
  [[nodiscard]] static double p_no_better(const sample_summary& sum) noexcept {
    if (sum.mean >= 0) return 1;
    const double of_mean = std::sqrt(sum.variance / static_cast<double>(sum.size));
    return of_mean > 0 ? student_t_cdf(sum.mean / of_mean, static_cast<double>(sum.size - 2)) : 0;
  }

  void accept() {
    trials_.back().accepted = true;
    incumbent_ = trials_.back().parameters;
    if (!trials_.back().is_recheck) {
      step_ = (std::min)(2 * step_, most_step * options_.step);
      other_way_ = false;
    }
    propose();
  }
  // Better on average, which may be chance: a longer step would show.
  void go_on() {
    if (!trials_.back().is_recheck) step_ = (std::min)(a_little * step_, most_step * options_.step);
    propose();
  }
  void reject() {
    if (!trials_.back().is_recheck) {
      step_ = (std::max)(step_ / a_little, least_step * options_.step);
      if (other_way_)
        for (float& each : direction_) each = -each;
      else
        turn();
      other_way_ = !other_way_;
    }
    propose();
  }

  static constexpr std::size_t least_pairs = 3;
  static constexpr double a_little = 1.189207115002721;  // 2^1/4
  static constexpr double least_step = 0.125, most_step = 8;  // times the first
  static constexpr std::uint64_t direction_stream = 0, order_stream = 1;
  online_options options_;
  std::vector<float> origin_, incumbent_;
  std::vector<double> costs_;
  std::vector<online_trial> trials_;
  double step_;
  std::vector<float> direction_;
  bool other_way_ = true;  // is to be tried next, should this candidate be given up
  std::uint64_t turns_ = 0, pairs_ = 0;
  bool candidate_first_ = false, has_first_ = false, first_failed_ = false;
  double first_ = 0;  // cost of the first job of the pair
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
