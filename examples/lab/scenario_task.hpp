#ifndef RUBATO_EXAMPLES_LAB_SCENARIO_TASK_HPP
#define RUBATO_EXAMPLES_LAB_SCENARIO_TASK_HPP

#include <array>
#include <cstdint>
#include <map>
#include <rubato/encode/normaliser.hpp>
#include <rubato/rl/environment.hpp>
#include <rubato/sim/environment.hpp>
#include <span>

#include "workbench.hpp"

namespace rubato::lab {

/// A scenario as a task for reinforcement learning. An episode is a run: its seed draws the hidden layers as well, see
/// hidden_layers_of(). Observations are scaled by the statistics that a policy file will carry; rewards are minus the
/// time passed, in units of `time_unit`.
///
/// Tests   tests/examples/scenario_task_test.cpp: AnEpisodeIsARun, SeedsDrawHiddenLayers, RewardsAreInTimeUnits,
///         ObservationsAreScaled, RunsWithoutAPush
template <StateEncoder Encoder>
class scenario_task {
 public:
  /// Both references must outlive the task.
  scenario_task(const support::scenario& scenario, workbench& bench, const normaliser<Encoder::dim>& scale,
                double time_unit)
      : at_{scenario, 0}, bench_{&bench}, scale_{scale}, time_unit_{time_unit} {}

  [[nodiscard]] static constexpr std::size_t observation_size() noexcept { return Encoder::dim; }
  [[nodiscard]] static constexpr std::size_t actions() noexcept { return group_actions; }
  [[nodiscard]] std::uint32_t legal() const noexcept { return now_->legal(); }

  std::span<const float> reset(std::uint64_t seed) {
    at_.hidden_layers = hidden_layers_of(at_.scenario, seed);
    now_ = &runs_.try_emplace(at_.hidden_layers, at_.scenario.cluster, run_options_of(at_, seed),
                              bench_->objective(at_))
                .first->second;
    return scaled(now_->reset(seed));
  }

  rl::step_outcome step(std::uint32_t action) {
    const auto next = now_->step(action);
    return {.observation = scaled(next.observation),
            .reward = reward(next.elapsed),
            .elapsed = next.elapsed,
            .executed = next.executed,
            .terminated = next.terminated};
  }

  /// Of the episode, once it has ended.
  [[nodiscard]] const sim::run_result& result() const noexcept { return now_->result(); }

 private:
  [[nodiscard]] float reward(double elapsed) const noexcept { return static_cast<float>(-elapsed / time_unit_); }
  [[nodiscard]] std::span<const float> scaled(std::span<const float> numbers) noexcept {
    std::copy(numbers.begin(), numbers.end(), seen_.begin());
    scale_.apply(seen_);
    return seen_;
  }

  setting at_;
  workbench* bench_;
  normaliser<Encoder::dim> scale_;
  double time_unit_;
  std::map<std::uint32_t, sim::environment<any_objective, Encoder>> runs_;  // by hidden layers
  sim::environment<any_objective, Encoder>* now_ = nullptr;
  std::array<float, Encoder::dim> seen_{};
};

}  // namespace rubato::lab

#endif
