#include "straggler_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "support/statistics.hpp"

namespace rubato::lab {
namespace {

using sim::straggler_kind;

constexpr double least_sleeps = 3;     // that make a straggler
constexpr double least_share = 0.005;  // of steps
constexpr double others_share = 0.02;  // of steps, by workers that do not sleep at every step
constexpr double heavy_ratio = 1.9;    // of the quantiles 0.9 and 0.5 of sleeps: 1.43 for normal ones with sd = mean/3
constexpr double lightest_tail = 20, heaviest_tail = 1.15;

[[nodiscard]] bool sleeps(const fitted_step& step) { return step.sleeps > 0.5; }

// How steps follow each other, over all workers that ever sleep.
struct succession {
  double after_sleep = 0, sleep_after_sleep = 0;  // steps
  double after_work = 0, sleep_after_work = 0;
  double time_asleep = 0, time_awake = 0;  // between the ends of steps
};

[[nodiscard]] std::vector<char> who_sleeps(const step_fit& fit) {
  std::vector<double> slept(fit.base.size()), count(fit.base.size());
  for (const fitted_step& each : fit.steps) {
    slept[each.worker] += sleeps(each) ? 1 : 0;
    count[each.worker] += 1;
  }
  std::vector<char> who(fit.base.size());
  for (std::size_t w = 0; w < who.size(); ++w) who[w] = slept[w] >= 2 && slept[w] > 0.03 * count[w] ? 1 : 0;
  return who;
}

[[nodiscard]] succession succession_of(const step_fit& fit, std::span<const std::uint32_t> weights) {
  const std::vector<char> who = who_sleeps(fit);
  std::vector<const fitted_step*> last(fit.base.size(), nullptr);
  succession found;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    const fitted_step& step = fit.steps[i];
    if (who[step.worker] == 0) continue;
    if (const fitted_step* const before = std::exchange(last[step.worker], &step); before != nullptr) {
      const double times = weights.empty() ? 1 : weights[i];
      const double now = sleeps(step) ? times : 0;
      (sleeps(*before) ? found.after_sleep : found.after_work) += times;
      (sleeps(*before) ? found.sleep_after_sleep : found.sleep_after_work) += now;
      (sleeps(*before) ? found.time_asleep : found.time_awake) += times * (step.end - before->end);
    }
  }
  return found;
}

[[nodiscard]] bool comes_in_bursts(const succession& of) {
  if (of.after_sleep < 5 || of.after_work < 5) return false;
  const double stays = of.sleep_after_sleep / of.after_sleep, begins = of.sleep_after_work / of.after_work;
  const double pooled = (of.sleep_after_sleep + of.sleep_after_work) / (of.after_sleep + of.after_work);
  const double error = std::sqrt(pooled * (1 - pooled) * (1 / of.after_sleep + 1 / of.after_work));
  return stays > 1.5 * begins && stays - begins > 3.5 * error;
}

enum class whose : std::uint8_t { all, of_sleepers, of_others };

// Sleeps, each as often as its weight says.
[[nodiscard]] std::vector<double> lengths(const step_fit& fit, whose which, std::span<const std::uint32_t> weights) {
  std::vector<double> all;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    const fitted_step& step = fit.steps[i];
    if (which != whose::all && (fit.sleepers[step.worker] != 0) != (which == whose::of_sleepers)) continue;
    if (!sleeps(step) || step.rest <= 0) continue;
    all.insert(all.end(), weights.empty() ? 1 : weights[i], step.rest);
  }
  return all;
}

void set_normal(sim::straggler_options& to, const std::vector<double>& sleeps_of, double noise) {
  if (sleeps_of.empty()) return;
  double sum = 0, squares = 0;
  for (const double x : sleeps_of) sum += x, squares += x * x;
  const auto n = static_cast<double>(sleeps_of.size());
  to.mean = sum / n;
  to.sd = std::sqrt(std::max(0.0, squares / n - to.mean * to.mean - noise * noise));
}

}  // namespace

straggler_kind kind_of_stragglers(const step_fit& fit, std::span<const std::uint32_t> weights) {
  const auto steps = static_cast<double>(fit.steps.size());
  if (std::ranges::any_of(fit.sleepers, [](char each) { return each != 0; })) {
    const auto others = static_cast<double>(lengths(fit, whose::of_others, weights).size());
    const bool none_but_they = others < std::max(least_sleeps, others_share * steps);
    return !none_but_they && comes_in_bursts(succession_of(fit, weights)) ? straggler_kind::burst
                                                                          : straggler_kind::fixed;
  }
  const std::vector<double> all = lengths(fit, whose::all, weights);
  if (static_cast<double>(all.size()) < std::max(least_sleeps, least_share * steps)) return straggler_kind::none;
  if (comes_in_bursts(succession_of(fit, weights))) return straggler_kind::burst;
  return support::quantile(all, 0.9) > heavy_ratio * support::quantile(all, 0.5) ? straggler_kind::heavy_tailed
                                                                                 : straggler_kind::transient;
}

sim::straggler_options fit_stragglers(const step_fit& fit, straggler_kind kind,
                                      std::span<const std::uint32_t> weights) {
  sim::straggler_options found{.kind = kind};
  if (kind == straggler_kind::none) return found;
  const bool fixed = kind == straggler_kind::fixed;
  const std::vector<double> all = lengths(fit, fixed ? whose::of_sleepers : whose::all, weights);
  double noise = 0, base = 0, counted = 0;
  for (const fitted_step& each : fit.steps) base += fit.base[each.worker], ++counted;
  noise = fit.jitter * base / counted;
  set_normal(found, all, noise);
  if (fixed) {
    found.count = static_cast<std::uint32_t>(std::ranges::count_if(fit.sleepers, [](char each) { return each != 0; }));
    return found;
  }
  double slept = 0, steps = 0;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    const double times = weights.empty() ? 1 : weights[i];
    slept += times * (sleeps(fit.steps[i]) ? 1 : 0);
    steps += times;
  }
  found.probability = std::clamp(slept / std::max(steps, 1.0), 0.0, 1.0);
  if (kind == straggler_kind::burst) {
    const std::vector<char> who = who_sleeps(fit);
    found.count = static_cast<std::uint32_t>(std::ranges::count_if(who, [](char each) { return each != 0; }));
    const succession seen = succession_of(fit, weights);
    const double stops = std::max(1.0, seen.after_sleep - seen.sleep_after_sleep);
    found.burst_length = std::max(seen.time_asleep, found.mean) / stops;
    found.burst_gap = std::max(seen.time_awake, found.mean) / std::max(1.0, seen.sleep_after_work);
  }
  if (kind == straggler_kind::heavy_tailed && !all.empty()) {
    const double middle = support::quantile(all, 0.5), late = support::quantile(all, 0.9);
    found.tail_index =
        std::clamp(std::log(5.0) / std::log(std::max(late / middle, 1.01)), heaviest_tail, lightest_tail);
    const double least = middle / std::pow(2.0, 1 / found.tail_index);
    found.mean = least * found.tail_index / (found.tail_index - 1);
  }
  return found;
}

}  // namespace rubato::lab
