#include "cluster_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <rubato/core/rng.hpp>
#include <span>

#include "straggler_fit.hpp"

namespace rubato::lab {
namespace {

using sim::straggler_kind;

constexpr std::uint64_t resampling_stream = 0xF17;
constexpr std::size_t block = 10;    // steps that are drawn together: neighbours share what happened
constexpr double about_as_good = 3;  // of a score
constexpr double level = 0.9;
constexpr std::size_t enough_steps = 25;  // of a worker, see docs/advise.md

using multiplicities = std::vector<std::uint32_t>;

[[nodiscard]] multiplicities resample(std::size_t steps, random_sequence& draw) {
  multiplicities often(steps);
  const std::size_t blocks = (steps + block - 1) / block;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto from = static_cast<std::size_t>(draw.below(blocks)) * block;
    for (std::size_t i = from; i < std::min(from + block, steps); ++i) ++often[i];
  }
  return often;
}

// Whether the workers' computing times differ by no more than their jitter explains.
[[nodiscard]] bool are_alike(const step_fit& fit) {
  std::vector<double> count(fit.base.size());
  for (const fitted_step& each : fit.steps) count[each.worker] += 1 - each.sleeps;
  double weights = 0, mean = 0;
  for (std::size_t w = 0; w < count.size(); ++w)
    if (fit.sleepers[w] == 0) mean += count[w] * fit.base[w], weights += count[w];
  if (weights <= 0) return true;
  mean /= weights;
  double squares = 0, degrees = -1;  // chi-squared
  for (std::size_t w = 0; w < count.size(); ++w) {
    if (fit.sleepers[w] != 0 || count[w] < 2) continue;
    const double error = fit.jitter * mean / std::sqrt(count[w]);
    squares += (fit.base[w] - mean) * (fit.base[w] - mean) / (error * error);
    ++degrees;
  }
  // A few per cent are of no matter to any rule.
  return degrees < 1 || squares < degrees + 4 * std::sqrt(2 * degrees) ||
         std::ranges::all_of(fit.base, [&](double each) { return std::abs(each / mean - 1) < 0.03; });
}

// The fit's machines in the log's time, each step counted as often as said.
[[nodiscard]] sim::cluster_options machines_of(const step_fit& fit, bool alike, double service,
                                               const multiplicities& often) {
  const std::size_t workers = fit.base.size();
  std::vector<double> weight(workers), sum(workers);
  double all = 0, total = 0, squares = 0, used = 0;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    const fitted_step& step = fit.steps[i];
    if (fit.sleepers[step.worker] != 0) continue;
    const double times = (often.empty() ? 1.0 : often[i]) * (1 - step.sleeps);
    weight[step.worker] += times;
    sum[step.worker] += times * step.computed;
    total += times * step.computed;
    all += times;
    const double off = step.computed / fit.base[step.worker] - 1;
    if (std::abs(off) > 8 * fit.jitter) continue;
    squares += times * off * off;
    used += times;
  }
  sim::cluster_options found;
  found.workers = static_cast<std::uint32_t>(workers);
  found.cores = fit.cores >= workers ? 0 : fit.cores;
  found.jitter = used > 1 ? std::min(0.5, std::sqrt(squares / used)) : fit.jitter;
  found.apply_time = service;
  found.step_time.assign(alike ? 1 : workers, all > 0 ? total / all : fit.base.front());
  if (!alike)
    for (std::size_t w = 0; w < workers; ++w)
      found.step_time[w] = fit.sleepers[w] == 0 && weight[w] > 0 ? sum[w] / weight[w] : fit.base[w];
  found.stragglers = fit_stragglers(fit, kind_of_stragglers(fit, often), often);
  return found;
}

void change_unit(sim::cluster_options& machines, double unit) {
  constexpr double shortest = 1e-6;  // that a scenario takes
  for (double& each : machines.step_time) each = std::max(each / unit, shortest);
  machines.apply_time /= unit;
  sim::straggler_options& stragglers = machines.stragglers;
  if (stragglers.kind == straggler_kind::none) return;
  stragglers.mean /= unit;
  stragglers.sd /= unit;
  if (stragglers.kind != straggler_kind::burst) return;
  stragglers.burst_length = std::max(stragglers.burst_length / unit, shortest);
  stragglers.burst_gap = std::max(stragglers.burst_gap / unit, shortest);
}

[[nodiscard]] double mean_step(const sim::cluster_options& machines) {
  return std::accumulate(machines.step_time.begin(), machines.step_time.end(), 0.0) /
         static_cast<double>(machines.step_time.size());
}

// Which of the fits explains the steps best, each counted as often as said. Of those that do about as well one is
// drawn: a core each, the last one, as often as all others together.
[[nodiscard]] std::size_t choose(const std::vector<step_fit>& fits, const multiplicities& often,
                                 random_sequence& draw) {
  std::vector<double> likelihood(fits.size());
  for (std::size_t f = 0; f < fits.size(); ++f) {
    likelihood[f] = fits[f].score() - fits[f].log_likelihood;
    for (std::size_t i = 0; i < often.size(); ++i) likelihood[f] += often[i] * fits[f].steps[i].log_density;
  }
  const double best = std::ranges::max(likelihood);
  std::vector<std::size_t> good;
  for (std::size_t f = 0; f < fits.size(); ++f)
    if (likelihood[f] >= best - about_as_good) good.push_back(f);
  const bool may_be_own = good.back() + 1 == fits.size();
  if (good.size() == 1 || (may_be_own && draw.below(2) == 0)) return good.back();
  return good[static_cast<std::size_t>(draw.below(good.size() - (may_be_own ? 1 : 0)))];
}

[[nodiscard]] std::string in_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// The kind of stragglers, and how many of the resamples have it or another one.
[[nodiscard]] fitted_value kind_line(const cluster_fit& fit) {
  static constexpr std::array names{"none", "static", "transient", "burst", "heavy_tailed"};
  std::array<std::size_t, names.size()> times{};
  for (const sim::cluster_options& each : fit.draws) ++times[static_cast<std::size_t>(each.stragglers.kind)];
  const auto share = [&](std::size_t kind) { return std::to_string(100 * times[kind] / fit.draws.size()) + " %"; };
  const auto taken = static_cast<std::size_t>(fit.best.stragglers.kind);
  std::string remark = "of the resamples";
  for (std::size_t k = 0; k < names.size(); ++k)
    if (k != taken && times[k] > 0) remark += std::string{"; "} + names[k] + " " + share(k);
  return {"stragglers", names[taken], fit.draws.empty() ? "-" : share(taken), remark};
}

}  // namespace

cluster_fit fit_cluster(const decision_history& history, const cluster_fit_options& options) {
  const std::vector<step_fit> fits = fit_steps(history, options.steps);
  const double service = service_time(history);
  const auto best = std::ranges::max_element(fits, {}, &step_fit::score);
  std::vector<char> alike;
  for (const step_fit& each : fits) alike.push_back(are_alike(each) ? 1 : 0);

  // Of those that are as good as the best, a core each, else the middle one.
  std::vector<std::size_t> good;
  for (std::size_t f = 0; f < fits.size(); ++f)
    if (fits[f].score() >= best->score() - about_as_good) good.push_back(f);
  const std::size_t taken = good.back() + 1 == fits.size() ? good.back() : good[good.size() / 2];

  cluster_fit found;
  found.steps = fits.front().steps.size();
  found.candidates = static_cast<std::uint32_t>(fits.size());
  found.alike = alike[taken] != 0;
  found.best = machines_of(fits[taken], found.alike, service, {});
  found.unit = mean_step(found.best);
  change_unit(found.best, found.unit);
  for (std::uint32_t w = 0; w < history.workers; ++w)
    if (fits[taken].sleepers[w] != 0) found.sleepers.push_back(w);
  random_sequence draw{options.seed, resampling_stream};
  for (std::uint32_t r = 0; r < options.resamples; ++r) {
    const multiplicities often = resample(found.steps, draw);
    const std::size_t f = choose(fits, often, draw);
    found.draws.push_back(machines_of(fits[f], alike[f] != 0, service, often));
    change_unit(found.draws.back(), found.unit);
  }
  std::vector<double> cores;
  for (const auto& each : found.draws) cores.push_back(each.cores == 0 ? history.workers : each.cores);
  found.cores_known =
      !cores.empty() && support::quantile(cores, (1 + level) / 2) < 2 * support::quantile(cores, (1 - level) / 2);
  return found;
}

support::scenario fitted_scenario(const sim::cluster_options& machines, const support::scenario& base,
                                  const std::string& name) {
  support::scenario made = base;
  made.name = name;
  made.description = "Machines fitted to a decision log; what is trained is that of " + base.name + ".";
  made.cluster = machines;
  return made;
}

std::vector<fitted_value> values_of(const cluster_fit& fit) {
  std::vector<fitted_value> lines;
  const auto add = [&](const std::string& name, auto&& get, const std::string& remark = {}) {
    std::vector<double> values;
    for (const sim::cluster_options& each : fit.draws)
      if (const std::optional<double> value = get(each)) values.push_back(*value);
    const std::string interval = values.empty() ? "-"
                                                : "[" + in_digits(support::quantile(values, (1 - level) / 2)) + ", " +
                                                      in_digits(support::quantile(values, (1 + level) / 2)) + "]";
    lines.push_back({name, in_digits(*get(fit.best)), interval, remark});
  };
  const auto if_same_kind = [&](double sim::straggler_options::*member) {
    return [&fit, member](const sim::cluster_options& of) -> std::optional<double> {
      if (of.stragglers.kind != fit.best.stragglers.kind) return std::nullopt;
      return of.stragglers.*member;
    };
  };
  using machines = sim::cluster_options;
  add(
      "step time, mean", [&](const machines& of) -> std::optional<double> { return mean_step(of) * fit.unit; },
      "computing, uncontended, in the log's unit: the scenario's unit");
  if (!fit.alike) {
    add("step time, quickest",
        [](const machines& of) -> std::optional<double> { return std::ranges::min(of.step_time); });
    add("step time, slowest",
        [](const machines& of) -> std::optional<double> { return std::ranges::max(of.step_time); });
  }
  add("jitter", [](const machines& of) -> std::optional<double> { return of.jitter; });
  add(
      "cores", [](const machines& of) -> std::optional<double> { return of.cores == 0 ? of.workers : of.cores; },
      fit.best.cores == 0 ? "a core each" : "shared");
  constexpr const char* in_units = "in the scenario's unit";
  lines.push_back(
      {"server time", in_digits(fit.best.apply_time), "-", "of a push, in the scenario's unit: the median"});
  const sim::straggler_options& stragglers = fit.best.stragglers;
  lines.push_back(kind_line(fit));
  if (stragglers.kind == straggler_kind::none) return lines;
  if (stragglers.count)
    lines.push_back({"workers that straggle", std::to_string(*stragglers.count), "-", {}});
  else
    add("steps that straggle", if_same_kind(&sim::straggler_options::probability), "share");
  add("sleep, mean", if_same_kind(&sim::straggler_options::mean), in_units);
  if (stragglers.kind == straggler_kind::heavy_tailed)
    add("tail index", if_same_kind(&sim::straggler_options::tail_index));
  else
    add("sleep, deviation", if_same_kind(&sim::straggler_options::sd), in_units);
  if (stragglers.kind == straggler_kind::burst) {
    add("burst, mean length", if_same_kind(&sim::straggler_options::burst_length), in_units);
    add("burst, mean gap", if_same_kind(&sim::straggler_options::burst_gap), in_units);
  }
  return lines;
}

double too_far(const decision_history& history) {
  return std::max(0.2, 2 / std::sqrt(static_cast<double>(history.steps.size())));
}

std::vector<std::string> doubts_about(const cluster_fit& fit, const decision_history& history,
                                      std::optional<double> distance) {
  std::vector<std::string> said;
  if (distance && *distance > too_far(history))
    said.push_back("steps: the fit's are not those of the log (distance " + in_digits(*distance) + ", expected below " +
                   in_digits(too_far(history)) +
                   "): the log's cluster is none that the simulator can be; do not rely on times or advice");
  if (const std::size_t each = history.workers == 0 ? 0 : fit.steps / history.workers; each < enough_steps)
    said.push_back("intervals: only " + std::to_string(each) + " steps of a worker; below " +
                   std::to_string(enough_steps) +
                   " they are narrower than they should be, and the kind of stragglers is "
                   "often another one");
  if (!fit.cores_known)
    said.push_back(
        "cores: not identifiable. About as many workers ran all the time, so a core each for slow workers and "
        "few shared ones for quick workers explain the steps alike; a run with some workers held back "
        "(--policies cap:2, or ssp:1) would tell");
  if (fit.best.stragglers.kind == straggler_kind::fixed)
    said.push_back(
        "what stragglers compute: not identifiable, since they always sleep; taken to be what the median of "
        "the others computes");
  said.push_back(
      "link: not identifiable from releases and admissions; its time is part of steps, its contention of cores");
  if (history.serves_at_once)
    said.push_back("server: works on several pushes at a time (" + std::to_string(history.overlaps) +
                   " admissions before an earlier commit), so its time is taken for a part of the steps");
  if (history.departures + history.late_joins > 0)
    said.push_back("workers came or went (" + std::to_string(history.late_joins) + " joined late, " +
                   std::to_string(history.departures) + " left): the scenario has all of them throughout");
  if (history.policies > 1) said.push_back("the policy changed on the way; where one is needed, the last is taken");
  if (history.not_whole > 0)
    said.push_back(std::to_string(history.not_whole) + " steps were cancelled or excluded and are left out");
  if (history.too_large > 0)
    said.push_back(std::to_string(history.too_large) + " releases ask for more than " +
                   std::to_string(sim::largest_batch) + " samples; taken to be that many");
  if (!history.cut_off.empty()) said.push_back(history.cut_off);
  return said;
}

double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double distance = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return distance;
}

}  // namespace rubato::lab
