#ifndef RUBATO_TESTS_SUPPORT_CORRIDOR_HPP
#define RUBATO_TESTS_SUPPORT_CORRIDOR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/rl/environment.hpp>
#include <span>

namespace rubato::test {

/// Six places in a row, from the first to the last: 0 goes back, 1 goes on, 2 stays. Steps take between 0.5 and 1.5
/// time units, and cost what they take; staying is illegal at the first place, where asking for it goes on. Small
/// enough for tests of bits, with everything in it that the concept has.
class corridor {
 public:
  static constexpr std::size_t observation_size() { return 2; }
  static constexpr std::size_t actions() { return 3; }
  [[nodiscard]] std::uint32_t legal() const { return place_ == 0 ? 0b011 : 0b111; }

  std::span<const float> reset(std::uint64_t seed) {
    random_ = random_sequence{seed};
    place_ = 0;
    steps_ = 0;
    return observe();
  }
  rl::step_outcome step(std::uint32_t action) {
    if (place_ == 0 && action == 2) action = 1;
    const double time = 0.5 + random_.uniform();
    if (action == 1) ++place_;
    if (action == 0 && place_ > 0) --place_;
    ++steps_;
    return {.observation = observe(),
            .reward = -static_cast<float>(time),
            .elapsed = time,
            .executed = action,
            .terminated = place_ == 5,
            .truncated = place_ < 5 && steps_ == 30};
  }

 private:
  std::span<const float> observe() {
    seen_ = {static_cast<float>(place_) / 5, place_ % 2 == 0 ? 1.0F : -1.0F};
    return seen_;
  }

  random_sequence random_{0};
  std::array<float, 2> seen_{};
  int place_ = 0;
  int steps_ = 0;
};
static_assert(rl::Environment<corridor>);

}  // namespace rubato::test

#endif
