#ifndef RUBATO_TESTS_CUDA_DQN_ON_HOST_HPP
#define RUBATO_TESTS_CUDA_DQN_ON_HOST_HPP

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <rubato/cuda/dqn_update.cuh>
#include <span>
#include <vector>

#include "random_network.hpp"

namespace rubato::test {

/// Runs what one thread can.
inline constexpr auto one_thread = [](const auto& body) { body(cuda::one_lane{}); };

/// A learner in memory of the host, driven by the bodies that the device runs.
template <class Learner>
class dqn_on_host {
 public:
  using shape = typename Learner::shape;

  dqn_on_host(unsigned agents, const rl::dqn_options& options, const nn::mlp_options& endings, std::uint64_t seed)
      : bytes_(Learner::memory_needed(agents, options)),
        memory_{static_cast<unsigned char*>(::operator new (bytes_, std::align_val_t{Learner::alignment}))} {
    auto made = Learner::over(memory_.get(), bytes_, agents, options, endings, seed);
    EXPECT_TRUE(made) << made.error().message;
    view_ = *made;
  }
  [[nodiscard]] const Learner& view() const noexcept { return view_; }
  [[nodiscard]] std::span<unsigned char> bytes() const noexcept { return {memory_.get(), bytes_}; }

  void start(const float* initial) {
    for (unsigned a = 0; a < view_.agents; ++a) cuda::start_agent(view_, a, cuda::one_lane{}, initial);
  }
  void record(unsigned agent, const cuda::dqn_experience& what) { cuda::record(view_, agent, cuda::one_lane{}, what); }
  /// What the two kernels of an update do, run(body) calling body(lanes) on each lane.
  template <class Arithmetic, class Run>
  void update(const Run& run) {
    const auto tile = std::make_unique<cuda::dqn_tile<shape, Learner::rows>>();
    const auto step = std::make_unique<cuda::dqn_step_memory>();
    for (unsigned a = 0; a < view_.agents; ++a) {
      for (unsigned t = 0; t < view_.tiles(); ++t)
        run([&](const auto& lanes) { cuda::learn_from_tile<Arithmetic>(view_, a, t, lanes, *tile); });
      run([&](const auto& lanes) { cuda::update_parameters(view_, a, lanes, *step); });
    }
  }

  [[nodiscard]] std::vector<float> online(unsigned agent) const { return copy(view_.online_of(agent).parameters); }
  [[nodiscard]] std::vector<float> target(unsigned agent) const { return copy(view_.target_of(agent).parameters); }

 private:
  struct release {
    void operator()(unsigned char* memory) const { ::operator delete (memory, std::align_val_t{Learner::alignment}); }
  };
  [[nodiscard]] static std::vector<float> copy(const float* from) { return {from, from + shape::parameters}; }

  std::size_t bytes_;
  std::unique_ptr<unsigned char, release> memory_;
  Learner view_;
};

/// Experiences of nothing in particular: most legal actions, some ends.
class random_experiences {
 public:
  random_experiences(std::size_t inputs, std::uint32_t actions, std::size_t count, std::uint64_t seed)
      : numbers_{numbers(count * (2 * inputs + 4), seed)}, inputs_{inputs}, actions_{actions} {}
  [[nodiscard]] cuda::dqn_experience operator[](std::size_t i) const noexcept {
    const float* const at = numbers_.data() + i * (2 * inputs_ + 4);
    const float* const rest = at + 2 * inputs_;
    const auto below = [](float x, std::uint32_t n) {
      return static_cast<std::uint32_t>((static_cast<double>(x) + 1) / 2 * n);
    };
    return {.observation = at,
            .next = at + inputs_,
            .action = below(rest[0], actions_),
            .reward = 3 * rest[1],
            .discount = rest[2] < -0.8F ? 0 : 0.9F,
            .next_legal = below(rest[3], (1U << actions_) - 1) + 1};
  }

 private:
  std::vector<float> numbers_;
  std::size_t inputs_;
  std::uint32_t actions_;
};

}  // namespace rubato::test

#endif
