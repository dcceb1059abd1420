#ifndef RUBATO_TESTS_SUPPORT_PENDULUM_HPP
#define RUBATO_TESTS_SUPPORT_PENDULUM_HPP

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

/// A rod on a fixed joint that is to be swung up and held upright by a torque too weak to lift it at once: Pendulum-v1.
///
/// Equation of motion of a uniform rod, of length 1 and mass 1, integrated by Euler's method 20 times a second; start,
/// bounds, observation, reward and the 200 steps are those of Pendulum-v1 of Gymnasium. There the torque is any number
/// from -2 to 2. Policies of this library choose among actions, so here it is one of five, from -2 (action 0) over none
/// (action 2) to 2 (action 4). Reward for every step: -(angle^2 + 0.1 speed^2 + 0.001 torque^2), of the angle from
/// upright and the angular speed before it. No episode ends before it is cut short.
class pendulum {
 public:
  static constexpr std::size_t observation_size() { return 3; }
  static constexpr std::size_t actions() { return 5; }
  static constexpr std::uint32_t legal() { return rl::all_legal; }

  std::span<const float> reset(std::uint64_t seed) {
    random_sequence random{seed};
    angle_ = std::numbers::pi * (2 * random.uniform() - 1);
    turning_ = 2 * random.uniform() - 1;
    steps_ = 0;
    return observe();
  }

  rl::step_outcome step(std::uint32_t action) {
    constexpr double gravity = 10, mass = 1, length = 1, strongest = 2, fastest = 8, interval = 0.05;
    const double torque = strongest * (2 * static_cast<double>(action) / (actions() - 1) - 1);
    const double from_upright = std::remainder(angle_, 2 * std::numbers::pi);
    const double cost = from_upright * from_upright + 0.1 * turning_ * turning_ + 0.001 * torque * torque;
    const double angular = 3 * gravity / (2 * length) * std::sin(angle_) + 3 / (mass * length * length) * torque;
    turning_ = std::clamp(turning_ + interval * angular, -fastest, fastest);
    angle_ += interval * turning_;
    ++steps_;
    return {.observation = observe(),
            .reward = static_cast<float>(-cost),
            .elapsed = 1,
            .executed = action,
            .terminated = false,
            .truncated = steps_ >= 200};
  }

 private:
  std::span<const float> observe() {
    seen_ = {static_cast<float>(std::cos(angle_)), static_cast<float>(std::sin(angle_)), static_cast<float>(turning_)};
    return seen_;
  }

  double angle_ = 0, turning_ = 0;  // from upright, without bounds; angular speed
  std::array<float, 3> seen_{};
  int steps_ = 0;
};
static_assert(rl::Environment<pendulum>);

}  // namespace rubato::test

#endif
