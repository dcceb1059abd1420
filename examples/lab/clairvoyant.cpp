#include "clairvoyant.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "support/statistics.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using results = std::vector<std::optional<measurement>>;

constexpr float constant_scales[] = {0.5F, 1, 2, 4};
constexpr double stage_starts[] = {0, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2};  // of the time of the best constant plan
constexpr int most_sweeps = 8;
constexpr float least_scale = 1.0F / 8, largest_scale = 16;

// The plans for one number of hidden layers, on the seeds that drew it.
class search {
 public:
  search(const comparison& made, const runner& run, std::uint32_t hidden_layers) : made_{made}, run_{run} {
    for (std::uint32_t i = 0; i < made.asked.seeds; ++i)
      if (made.hidden_layers[i] == hidden_layers) seeds_.push_back(made.asked.seed + i);
  }

  struct found {
    plan stages;
    results runs;  // by seed
    double time = std::numeric_limits<double>::infinity();
  };

  // Nothing has run where the search was stopped.
  [[nodiscard]] found best() {
    take_best_of(constant_plans());
    if (run_.stop || best_.stages.empty()) return std::move(best_);
    plan stages;
    for (const double start : stage_starts) {
      stages.push_back(best_.stages[0]);
      stages.back().from = start * best_.time;
    }
    best_.stages = std::move(stages);
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      bool better = false;
      for (std::size_t s = 0; s < best_.stages.size() && !run_.stop; ++s) better |= take_best_of(changes_of(s));
      if (!better || run_.stop) break;
    }
    return std::move(best_);
  }

  [[nodiscard]] const std::vector<std::uint64_t>& seeds() const { return seeds_; }

 private:
  [[nodiscard]] std::uint32_t workers() const { return made_.asked.scenario.cluster.workers; }

  // About a quarter up or down, at least one.
  [[nodiscard]] std::uint32_t step(std::uint32_t running, bool up) const {
    const std::uint32_t by = std::max(running / 4, 1U);
    return up ? std::min(running + by, workers()) : std::max(running, by + 1) - by;
  }

  [[nodiscard]] std::vector<plan> constant_plans() const {
    std::vector<plan> all;
    for (std::uint32_t running = 1;; running = step(running, true)) {
      for (const float scale : constant_scales) all.push_back({{.running = running, .lr_scale = scale}});
      if (running == workers()) return all;
    }
  }

  [[nodiscard]] std::vector<plan> changes_of(std::size_t stage) const {
    const plan_stage& is = best_.stages[stage];
    std::vector<plan> all;
    const auto add = [&](std::uint32_t running, float scale) {
      if (scale < least_scale || scale > largest_scale) return;
      if (running == is.running && scale == is.lr_scale) return;
      all.push_back(best_.stages);
      all.back()[stage].running = running;
      all.back()[stage].lr_scale = scale;
    };
    constexpr auto root = 1.41421356F;
    for (const bool up : {false, true}) {
      add(step(is.running, up), is.lr_scale);
      add(is.running, up ? is.lr_scale * root : is.lr_scale / root);
    }
    return all;
  }

  // Whether one of these is better than the best so far.
  bool take_best_of(const std::vector<plan>& plans) {
    std::vector<any_policy> policies;
    for (const plan& each : plans)
      for (const std::uint64_t seed : seeds_) policies.emplace_back(planned{each, made_.asked.scenario.cluster, seed});
    std::vector<job> jobs;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const std::uint64_t seed = seeds_[i % seeds_.size()];
      jobs.push_back({setting_of(made_, seed, made_.asked.scenario.run.learning_rate.base), &policies[i], seed});
    }
    results measured = run_.run(jobs, std::string{clairvoyant_name});
    if (run_.stop) return false;
    bool better = false;
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const auto first = measured.begin() + static_cast<std::ptrdiff_t>(p * seeds_.size());
      results runs{first, first + static_cast<std::ptrdiff_t>(seeds_.size())};
      std::vector<double> times;
      for (const auto& each : runs) times.push_back(each->time);
      const double time = support::interquartile_mean(times);
      if (!(time < best_.time)) continue;
      best_ = {plans[p], std::move(runs), time};
      better = true;
    }
    return better;
  }

  const comparison& made_;
  const runner& run_;
  std::vector<std::uint64_t> seeds_;
  found best_;
};

}  // namespace

void add_clairvoyant(comparison& made, const runner& run) {
  const support::scenario& scenario = made.asked.scenario;
  if (!scenario.cluster.failures.empty())
    throw support::user_error{"--clairvoyant: found workers that leave or join in the scenario, expected none"};
  if (scenario.cluster.stragglers.slowdown != 1)
    throw support::user_error{"--clairvoyant: found stragglers.slowdown in the scenario, expected 1: it foresees sleeps "
                              "alone"};
  comparison_row row{std::string{clairvoyant_name},
                     {std::string{clairvoyant_name}, planned{{{}}, scenario.cluster, made.asked.seed}},
                     scenario.run.learning_rate.base,
                     results(made.asked.seeds)};
  const runner quietly{run.data, run.cache, run.threads, run.stop, run.progress, {.quiet = true}};
  support::progress shown{run.progress, std::string{clairvoyant_name}, made.targets.size(), run.display};
  for (const auto& [layers, accuracy] : made.targets) {
    search here{made, quietly, layers};
    if (here.seeds().empty()) {
      shown.skip(1);
      continue;
    }
    search::found found = here.best();
    if (run.stop) break;
    for (std::size_t i = 0; i < here.seeds().size(); ++i)
      row.runs[here.seeds()[i] - made.asked.seed] = std::move(found.runs[i]);
    made.plans.emplace(layers, std::move(found.stages));
    shown.advance();
  }
  shown.finish();
  made.rows.push_back(std::move(row));
}

}  // namespace rubato::lab
