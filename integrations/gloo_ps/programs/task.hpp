#ifndef RUBATO_GLOO_PS_PROGRAMS_TASK_HPP
#define RUBATO_GLOO_PS_PROGRAMS_TASK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <span>
#include <string>
#include <vector>

/// What the two programs train. `regression`: the weights of a linear function, from noisy samples of it that every
/// worker draws for itself, by (seed, worker, step). `count`: nothing; the gradient of worker w is one in place w, so
/// that with a learning rate of 1 each parameter is minus the number of that worker's updates, exactly.
class task {
 public:
  task(const std::string& name, std::size_t dimension, std::uint64_t seed)
      : counts_{name == "count"}, seed_{seed}, truth_(dimension), input_(dimension) {
    rubato::random_sequence random{seed, truth_stream};
    for (float& t : truth_) t = static_cast<float>(random.normal());
  }

  /// The mean gradient on so many samples; returns the mean loss.
  float gradient(std::span<const float> weights, std::uint32_t worker, std::uint64_t step, std::uint32_t samples,
                 std::span<float> to) {
    std::fill(to.begin(), to.end(), 0.0F);
    if (counts_) return to[worker % to.size()] = 1.0F, 0.5F;
    rubato::random_sequence random{seed_, worker, step << 24};
    double loss = 0;
    for (std::uint32_t i = 0; i < samples; ++i) {
      const float error = draw(random, weights);
      loss += 0.5 * double{error} * double{error};
      const float weight = error / static_cast<float>(samples);
      for (std::size_t k = 0; k < to.size(); ++k) to[k] += weight * input_[k];
    }
    return static_cast<float>(loss / samples);
  }

  /// The mean loss on samples that nobody trains on; 0 if nothing is trained.
  double loss(std::span<const float> weights) {
    if (counts_) return 0;
    rubato::random_sequence random{seed_, test_stream};
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
      const double error = draw(random, weights);
      sum += 0.5 * error * error;
    }
    return sum / 1000;
  }

 private:
  static constexpr std::uint64_t truth_stream = ~std::uint64_t{1}, test_stream = ~std::uint64_t{2};

  // One sample into input_; the error of the prediction.
  float draw(rubato::random_sequence& random, std::span<const float> weights) {
    float error = 0.1F * static_cast<float>(random.normal());
    for (std::size_t k = 0; k < truth_.size(); ++k) {
      input_[k] = static_cast<float>(random.normal());
      error += (weights[k] - truth_[k]) * input_[k];
    }
    return error;
  }

  bool counts_;
  std::uint64_t seed_;
  std::vector<float> truth_, input_;
};

#endif
