#ifndef RUBATO_EXAMPLES_LAB_EXPERT_RUNS_HPP
#define RUBATO_EXAMPLES_LAB_EXPERT_RUNS_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/encode/encoder.hpp>
#include <rubato/rl/evaluation.hpp>
#include <rubato/rl/trace.hpp>
#include <rubato/sim/expert_trace.hpp>
#include <span>
#include <string>
#include <vector>

#include "policies.hpp"
#include "run_context.hpp"
#include "support/parallel.hpp"

namespace rubato::lab {

/// What experts did, as far as the actions of a learned policy can say it.
struct expert_log {
  rl::trace steps;
  std::uint64_t approximated = 0;  ///< steps whose action is only near, see expert_trace
};

/// What experts did in a scenario, `runs` runs of each; all meet the same ones. The steps of a run that missed its
/// target count the time that was left of max_time. Rewards are in units of `time_unit`. The same for any number of
/// threads; incomplete if `stop` was raised.
/// Tests   tests/examples/train_test.cpp: ExpertsMeetTheSameRuns
template <StateEncoder Encoder>
[[nodiscard]] expert_log watch_experts(std::span<const policy_request> experts, const support::scenario& scenario,
                                      std::uint64_t seed, std::uint32_t runs, double time_unit,
                                      const run_context& how) {
  std::vector<sim::expert_trace> watched(experts.size() * runs);
  support::progress shown{how.progress, "watching experts", watched.size(), how.display};
  support::share_out(
      watched.size(), how.threads, how.stop, [&] { return workbench{how.data}; },
      [&](workbench& bench, std::size_t i) {
        const std::uint64_t episode = rl::episode_seed(seed, rl::purpose::pretraining, i % runs);
        const setting at{scenario, hidden_layers_of(scenario, episode)};
        static_cast<void>(sim::record_expert<Encoder>(scenario.cluster, run_options_of(at, episode),
                                                      experts[i / runs].candidates.front().policy,
                                                      bench.objective(at), watched[i]));
        shown.advance();
      });
  shown.finish();

  expert_log log{rl::trace{Encoder::dim}};
  for (sim::expert_trace& run : watched) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      const double elapsed = i + 1 < run.size() ? run.times[i + 1] - run.times[i] : run.time_left[i];
      log.steps.add(run.observation(i), static_cast<std::uint32_t>(run.actions[i]),
                    static_cast<float>(-elapsed / time_unit), elapsed);
    }
    log.steps.end_episode();
    log.approximated += run.approximated;
    run = {};
  }
  return log;
}

}  // namespace rubato::lab

#endif
