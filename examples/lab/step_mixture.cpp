#include "step_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "shared_service.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {
namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();
constexpr int iterations = 12;
constexpr double clear_excess = 4;     // standard deviations: a step that is so late has slept, to begin with
constexpr double outliers = 1e-3;      // share of steps that neither jitter nor sleep explains
constexpr double least_jitter = 2e-3;  // clocks have a resolution, and machines a breath
constexpr double most_jitter = 0.5;    // what a scenario can have
constexpr double least_scatter_of_sleepers = 1.6;  // times that of others
constexpr double clearly_less = 0.8;
constexpr double least_deviation = 0.1;  // of the logarithm of a sleep

[[nodiscard]] double normal_density(double u) { return std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi); }

// A sleep, or a step of somebody who always sleeps: positive, of any skew.
struct sleep_law {
  double mean_log = 0;
  double deviation = 0.5;
  [[nodiscard]] double density(double x) const {
    return x > 0 ? normal_density((std::log(x) - mean_log) / deviation) / (x * deviation) : 0;
  }
};

// What is left of the steps of somebody who always sleeps: sleep and jitter, of either sign.
struct rest_law {
  double mean = 0;
  double deviation = 1;
  [[nodiscard]] double density(double x) const { return normal_density((x - mean) / deviation) / deviation; }
};

// Weighted sums of logarithms.
struct log_moments {
  double weight = 0, sum = 0, squares = 0;
  void add(double x, double w) {
    const double y = std::log(x);
    weight += w;
    sum += w * y;
    squares += w * y * y;
  }
  void set(sleep_law& law) const {
    if (weight < 1) return;
    law.mean_log = sum / weight;
    law.deviation = std::max(least_deviation, std::sqrt(std::max(0.0, squares / weight - law.mean_log * law.mean_log)));
  }
};

// Weighted sums.
struct moments {
  double weight = 0, sum = 0, squares = 0;
  void add(double x) {
    ++weight;
    sum += x;
    squares += x * x;
  }
  void set(rest_law& law, double least) const {
    if (weight < 2) return;
    law.mean = sum / weight;
    law.deviation = std::max(least, std::sqrt(std::max(0.0, squares / weight - law.mean * law.mean)));
  }
};

class mixture {
 public:
  mixture(std::span<const usable_step> steps, std::span<const unfinished_step> unfinished, std::uint32_t workers,
          std::uint32_t cores)
      : steps_{steps}, unfinished_{unfinished}, cores_{cores} {
    fit_.cores = cores;
    fit_.base.resize(workers);
    fit_.sleepers.resize(workers);
    fit_.steps.resize(steps.size());
    often_.resize(workers);
    as_others_.resize(workers);
    for (std::size_t i = 0; i < steps.size(); ++i)
      fit_.steps[i] = {.worker = steps[i].worker, .start = steps[i].start, .end = steps[i].end};
    longest_ = 0;
    for (const usable_step& each : steps) longest_ = std::max(longest_, each.end - each.start);
  }

  /// Unless some_sleep, nobody sleeps at some steps and not at others.
  [[nodiscard]] step_fit solve(std::span<const habit> habits, bool some_sleep) {
    measure();
    begin(habits, some_sleep);
    for (int i = 0; i < iterations; ++i) {
      measure();
      expect();
      maximise();
    }
    measure();
    expect();
    count_parameters();
    return std::move(fit_);
  }

 private:
  // Who computes when, as far as is known by now; and so what everybody has had.
  void measure() {
    std::vector<computation> all;
    all.reserve(steps_.size() + unfinished_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const bool slept = fit_.sleepers[steps_[i].worker] != 0 || fit_.steps[i].sleeps > 0.5;
      all.push_back({steps_[i].start, steps_[i].end, slept ? work_of(i) : no_end});
    }
    for (const unfinished_step& each : unfinished_) all.push_back({each.start, each.end, no_end});
    const shared_service service{all, cores_ >= fit_.base.size() ? no_end : static_cast<double>(cores_)};
    rates_.resize(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double had = service.until(steps_[i].start);
      fit_.steps[i].computed = (service.until(steps_[i].end) - had) / steps_[i].share;
      rates_[i] = service.rate_before(steps_[i].end);
      if (work_of(i) > 0) fit_.steps[i].rest = steps_[i].end - service.when(had + work_of(i));
    }
  }

  [[nodiscard]] double work_of(std::size_t i) const { return fit_.base[steps_[i].worker] * steps_[i].share; }

  // A first guess: what takes long has slept.
  void begin(std::span<const habit> habits, bool some_sleep) {
    const std::size_t workers = fit_.base.size();
    std::vector<std::vector<double>> had(workers);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].counts) had[steps_[i].worker].push_back(fit_.steps[i].computed);
    std::vector<double> scatter(workers, -1), known;
    double mean = 0, count = 0;
    for (std::size_t w = 0; w < workers; ++w) {
      if (had[w].empty()) continue;
      fit_.base[w] = std::max(support::quantile(had[w], 0.4), std::numeric_limits<double>::min());
      mean += fit_.base[w];
      ++count;
      if (had[w].size() < 8) continue;
      scatter[w] = (support::quantile(had[w], 0.5) - support::quantile(had[w], 0.1)) / 1.2816 / fit_.base[w];
      known.push_back(scatter[w]);
    }
    for (std::size_t w = 0; w < workers; ++w)  // nothing is known of it
      if (had[w].empty()) fit_.base[w] = mean / count;
    std::ranges::sort(known);
    const double usual = known.empty() ? 0.1 : std::max(known[(known.size() - 1) / 4], least_jitter);
    fit_.jitter = std::min(usual, most_jitter);
    for (std::size_t w = 0; w < workers; ++w) {
      const double chance = 3 / std::sqrt(static_cast<double>(had[w].size()) + 1);
      const double most = usual * std::max(least_scatter_of_sleepers, 1 + chance);
      const bool scatters = habits[w] == habit::if_steps_scatter && scatter[w] > most;
      fit_.sleepers[w] = habits[w] == habit::yes || scatters ? 1 : 0;
    }
    shared_base(had);
    double late = 0;
    log_moments sleeps;
    moments always;
    measure();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].counts) continue;
      fitted_step& step = fit_.steps[i];
      if (fit_.sleepers[step.worker] != 0) {
        always.add(step.rest);
        continue;
      }
      const double base = fit_.base[step.worker];
      if (!some_sleep || step.computed < base * (1 + clear_excess * fit_.jitter)) continue;
      step.sleeps = 1;
      ++late;
      sleeps.add(std::max(step.rest, shortest_sleep(i)), 1);
    }
    none_sleeps_ = !some_sleep || late < std::max(3.0, 0.005 * static_cast<double>(steps_.size()));
    sleeps.set(sleep_);
    always.set(always_, fit_.jitter * support::quantile(fit_.base, 0.5));
    const double share = late / static_cast<double>(steps_.size());
    std::ranges::fill(often_, none_sleeps_ ? 0 : share);
  }

  // What those who always sleep compute: as much as others, unless their steps are too short for that.
  void shared_base(const std::vector<std::vector<double>>& had) {
    std::vector<double> others;
    for (std::size_t w = 0; w < fit_.base.size(); ++w)
      if (fit_.sleepers[w] == 0 && !had[w].empty()) others.push_back(fit_.base[w]);
    if (others.empty()) {
      std::ranges::fill(fit_.sleepers, 0);
      return;
    }
    const double usual = support::quantile(others, 0.5);
    for (std::size_t w = 0; w < fit_.base.size(); ++w) {
      if (fit_.sleepers[w] == 0) continue;
      const double least = had[w].empty() ? usual : support::quantile(had[w], 0.05);
      as_others_[w] = least > clearly_less * usual ? 1 : 0;
      fit_.base[w] = as_others_[w] != 0 ? usual : std::max(least, 0.1 * usual);
    }
  }

  [[nodiscard]] double shortest_sleep(std::size_t i) const { return 0.05 * fit_.base[steps_[i].worker]; }

  void expect() {
    fit_.log_likelihood = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].counts) continue;
      fitted_step& step = fit_.steps[i];
      const double odd = outliers / longest_;
      double density = 0;
      if (fit_.sleepers[step.worker] != 0) {
        density = always_.density(step.rest);
        step.sleeps = 1;
      } else {
        const double base = fit_.base[step.worker], deviation = base * fit_.jitter;
        const double per_time = rates_[i] / steps_[i].share;
        const double often = none_sleeps_ ? 0 : often_[step.worker];
        const double computes = (1 - often) * normal_density((step.computed - base) / deviation) / deviation * per_time;
        const double sleeps = often * sleep_.density(step.rest);
        step.sleeps = sleeps > 0 ? sleeps / (computes + sleeps) : 0;
        if (often > 0 && step.computed > base * (1 + 2 * clear_excess * fit_.jitter)) step.sleeps = 1;
        density = computes + sleeps;
      }
      step.log_density = std::log((1 - outliers) * density + odd);
      fit_.log_likelihood += step.log_density;
    }
  }

  void maximise() {
    const std::size_t workers = fit_.base.size();
    std::vector<double> weight(workers), sum(workers), slept(workers), count(workers);
    double all_slept = 0, all = 0;
    log_moments sleeps;
    moments always;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].counts) continue;
      const fitted_step& step = fit_.steps[i];
      const std::uint32_t w = step.worker;
      if (fit_.sleepers[w] != 0) {
        always.add(step.rest);
        continue;
      }
      weight[w] += 1 - step.sleeps;
      sum[w] += (1 - step.sleeps) * step.computed;
      slept[w] += step.sleeps;
      count[w] += 1;
      all_slept += step.sleeps;
      all += 1;
      if (step.rest > 0) sleeps.add(std::max(step.rest, shortest_sleep(i)), step.sleeps);
    }
    constexpr double others = 2;  // steps that the share of all counts as
    std::vector<double> bases;
    for (std::size_t w = 0; w < workers; ++w) {
      if (fit_.sleepers[w] != 0) continue;
      if (weight[w] >= 2) fit_.base[w] = sum[w] / weight[w];
      if (count[w] > 0) bases.push_back(fit_.base[w]);
      often_[w] = (slept[w] + others * all_slept / std::max(all, 1.0)) / (count[w] + others);
    }
    if (!bases.empty()) {
      const double usual = support::quantile(bases, 0.5);
      for (std::size_t w = 0; w < workers; ++w)
        if (as_others_[w] != 0) fit_.base[w] = usual;
    }
    double squares = 0, degrees = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const fitted_step& step = fit_.steps[i];
      if (!steps_[i].counts || fit_.sleepers[step.worker] != 0) continue;
      const double off = step.computed / fit_.base[step.worker] - 1;
      if (std::abs(off) > 2 * clear_excess * fit_.jitter) continue;
      squares += (1 - step.sleeps) * off * off;
      degrees += 1 - step.sleeps;
    }
    for (std::size_t w = 0; w < workers; ++w) degrees -= weight[w] > 0 ? 1 : 0;
    if (degrees >= 1) fit_.jitter = std::clamp(std::sqrt(squares / degrees), least_jitter, most_jitter);
    sleeps.set(sleep_);
    always.set(always_, fit_.jitter * support::quantile(fit_.base, 0.5));
  }

  // A computing time and, where some sleep, a share of each worker; two of each law of sleeps.
  void count_parameters() {
    std::vector<double> slept(fit_.base.size());
    for (const fitted_step& each : fit_.steps) slept[each.worker] += each.sleeps;
    bool always = false, sometimes = false;
    for (std::size_t w = 0; w < slept.size(); ++w) {
      always |= fit_.sleepers[w] != 0;
      if (fit_.sleepers[w] != 0) continue;
      sometimes |= slept[w] >= 1;
      fit_.parameters += slept[w] >= 1 ? 2 : 1;
    }
    fit_.parameters += (always ? 2 : 0) + (sometimes ? 2 : 0);
  }

  std::span<const usable_step> steps_;
  std::span<const unfinished_step> unfinished_;
  std::uint32_t cores_;
  step_fit fit_;
  std::vector<double> often_;    // of each worker: probability that a step sleeps
  std::vector<double> rates_;    // of service, at the ends of steps
  std::vector<char> as_others_;  // sleepers that are taken to compute as much as the median of the others
  sleep_law sleep_;
  rest_law always_;
  double longest_ = 0;
  bool none_sleeps_ = true;
};

}  // namespace

step_fit fit_mixture(std::span<const usable_step> steps, std::span<const unfinished_step> unfinished,
                     std::uint32_t cores, std::span<const habit> habits, bool some_sleep) {
  const auto workers = static_cast<std::uint32_t>(habits.size());
  return mixture{steps, unfinished, workers, cores}.solve(habits, some_sleep);
}

}  // namespace rubato::lab
