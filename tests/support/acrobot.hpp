#ifndef RUBATO_TESTS_SUPPORT_ACROBOT_HPP
#define RUBATO_TESTS_SUPPORT_ACROBOT_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <rubato/core/rng.hpp>
#include <rubato/rl/environment.hpp>
#include <span>

namespace rubato::test {

/// Two links that hang from a fixed joint; a torque of -1, 0 or 1 (actions 0, 1, 2) on the joint between them has to
/// swing the free end up to one link's length above the fixed joint: Acrobot-v1.
///
/// Equations and constants of Sutton and Barto, "Reinforcement Learning", 2nd edition, example 11.3 of the 1st edition
/// ("book" dynamics), one Runge-Kutta step of order 4 for each 0.2 s; start, observation and the 500 steps are those of
/// Acrobot-v1 of OpenAI Gym. Reward -1 for every step, 0 for the last.
class acrobot {
 public:
  static constexpr std::size_t observation_size() { return 6; }
  static constexpr std::size_t actions() { return 3; }
  static constexpr std::uint32_t legal() { return rl::all_legal; }

  std::span<const float> reset(std::uint64_t seed) {
    random_sequence random{seed};
    for (double& x : state_) x = 0.2 * random.uniform() - 0.1;
    steps_ = 0;
    return observe();
  }

  rl::step_outcome step(std::uint32_t action) {
    constexpr double interval = 0.2;
    const double torque = static_cast<double>(action) - 1;
    const point k1 = slope(state_, torque);
    const point k2 = slope(along(state_, k1, interval / 2), torque);
    const point k3 = slope(along(state_, k2, interval / 2), torque);
    const point k4 = slope(along(state_, k3, interval), torque);
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += interval / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    state_[0] = wrapped(state_[0]);
    state_[1] = wrapped(state_[1]);
    state_[2] = std::clamp(state_[2], -4 * std::numbers::pi, 4 * std::numbers::pi);
    state_[3] = std::clamp(state_[3], -9 * std::numbers::pi, 9 * std::numbers::pi);
    ++steps_;

    const bool up = -std::cos(state_[0]) - std::cos(state_[1] + state_[0]) > 1;
    return {.observation = observe(),
            .reward = up ? 0.0F : -1.0F,
            .elapsed = 1,
            .executed = action,
            .terminated = up,
            .truncated = !up && steps_ >= 500};
  }

 private:
  using point = std::array<double, 4>;  // two angles, two angular speeds

  static point along(const point& from, const point& slope, double time) {
    point to = from;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += time * slope[i];
    return to;
  }
  // Both links: length 1, mass 1, centre of mass at 1/2, moment of inertia 1.
  static point slope(const point& at, double torque) {
    constexpr double gravity = 9.8, half_pi = std::numbers::pi / 2;
    const auto [first, second, first_speed, second_speed] = at;
    const double d1 = 0.25 + (1 + 0.25 + std::cos(second)) + 2;
    const double d2 = 0.25 + 0.5 * std::cos(second) + 1;
    const double phi2 = 0.5 * gravity * std::cos(first + second - half_pi);
    const double phi1 = -0.5 * second_speed * second_speed * std::sin(second) -
                        second_speed * first_speed * std::sin(second) + 1.5 * gravity * std::cos(first - half_pi) +
                        phi2;
    const double second_push = (torque + d2 / d1 * phi1 - 0.5 * first_speed * first_speed * std::sin(second) - phi2) /
                               (0.25 + 1 - d2 * d2 / d1);
    const double first_push = -(d2 * second_push + phi1) / d1;
    return {first_speed, second_speed, first_push, second_push};
  }
  static double wrapped(double angle) {
    while (angle > std::numbers::pi) angle -= 2 * std::numbers::pi;
    while (angle < -std::numbers::pi) angle += 2 * std::numbers::pi;
    return angle;
  }
  std::span<const float> observe() {
    const std::array<double, 6> seen{std::cos(state_[0]), std::sin(state_[0]), std::cos(state_[1]),
                                     std::sin(state_[1]), state_[2],           state_[3]};
    for (std::size_t i = 0; i < seen.size(); ++i) seen_[i] = static_cast<float>(seen[i]);
    return seen_;
  }

  point state_{};
  std::array<float, 6> seen_{};
  int steps_ = 0;
};
static_assert(rl::Environment<acrobot>);

}  // namespace rubato::test

#endif
