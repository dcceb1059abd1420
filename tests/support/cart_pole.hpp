#ifndef RUBATO_TESTS_SUPPORT_CART_POLE_HPP
#define RUBATO_TESTS_SUPPORT_CART_POLE_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <rubato/core/rng.hpp>
#include <rubato/rl/environment.hpp>
#include <span>

namespace rubato::test {

/// A pole on a cart that is pushed left (0) or right (1), 50 times a second, so that the pole stays up: CartPole-v1.
///
/// Equations and constants are those of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve
/// difficult learning control problems", 1983 (without friction), integrated by Euler's method; start, bounds and the
/// 500 steps are those of CartPole-v1 of OpenAI Gym. Reward 1 for every step.
class cart_pole {
 public:
  static constexpr std::size_t observation_size() { return 4; }
  static constexpr std::size_t actions() { return 2; }
  static constexpr std::uint32_t legal() { return rl::all_legal; }

  std::span<const float> reset(std::uint64_t seed) {
    random_sequence random{seed};
    for (double& x : state_) x = 0.1 * random.uniform() - 0.05;
    steps_ = 0;
    return observe();
  }

  rl::step_outcome step(std::uint32_t action) {
    constexpr double gravity = 9.8, cart = 1, pole = 0.1, half_length = 0.5, force = 10, interval = 0.02;
    constexpr double total = cart + pole;
    auto& [x, speed, angle, turning] = state_;
    const double push = action == 1 ? force : -force;
    const double sine = std::sin(angle), cosine = std::cos(angle);
    const double common = (push + pole * half_length * turning * turning * sine) / total;
    const double angular =
        (gravity * sine - cosine * common) / (half_length * (4.0 / 3.0 - pole * cosine * cosine / total));
    const double linear = common - pole * half_length * angular * cosine / total;
    x += interval * speed;
    speed += interval * linear;
    angle += interval * turning;
    turning += interval * angular;
    ++steps_;

    const bool fell = std::abs(x) > 2.4 || std::abs(angle) > 12 * 2 * std::numbers::pi / 360;
    return {.observation = observe(),
            .reward = 1,
            .elapsed = 1,
            .executed = action,
            .terminated = fell,
            .truncated = !fell && steps_ >= 500};
  }

 private:
  std::span<const float> observe() {
    for (std::size_t i = 0; i < state_.size(); ++i) seen_[i] = static_cast<float>(state_[i]);
    return seen_;
  }

  std::array<double, 4> state_{};  // position, speed, angle, angular speed
  std::array<float, 4> seen_{};
  int steps_ = 0;
};
static_assert(rl::Environment<cart_pole>);

}  // namespace rubato::test

#endif
