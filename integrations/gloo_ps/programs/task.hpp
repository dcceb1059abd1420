#ifndef RUBATO_GLOO_PS_PROGRAMS_TASK_HPP
#define RUBATO_GLOO_PS_PROGRAMS_TASK_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/result.hpp>
#include <span>
#include <string>
#include <vector>

/// What the two programs train. Server and workers make the same one from the same options.
class task {
 public:
  struct verdict {
    double loss = 0;       ///< mean, on samples that nobody trains on
    double accuracy = -1;  ///< share of them that is right; -1 where there is no such thing
  };

  virtual ~task() = default;
  [[nodiscard]] virtual std::size_t dimension() const = 0;
  /// The parameters that training begins with.
  [[nodiscard]] virtual std::vector<float> initial() { return std::vector<float>(dimension()); }
  /// The mean gradient of a worker's n-th step, on so many samples; returns the mean loss.
  virtual float gradient(std::span<const float> parameters, std::uint32_t worker, std::uint64_t step,
                         std::uint32_t samples, std::span<float> to) = 0;
  [[nodiscard]] virtual verdict judge(std::span<const float> parameters) = 0;
};

struct task_options {
  std::string name = "regression";
  std::uint64_t dimension = 64;  ///< regression, count
  std::uint64_t seed = 1;
  std::string data{};               ///< images: folder with MNIST's or CIFAR-10's training files
  std::uint32_t hidden_units = 32;  ///< images
};

/// regression  the weights of a linear function, from noisy samples of it that every worker draws for itself
/// images      a perceptron with one hidden layer on real images, as in the library's simulator
/// count       nothing: the gradient of worker w is one in place w, so that with a learning rate of 1 each parameter is
///             minus the number of that worker's updates, exactly
/// Errors      invalid_option: another name; io: no images there, with a sentence
[[nodiscard]] rubato::result<std::unique_ptr<task>> make_task(const task_options& options);

#endif
