#ifndef RUBATO_GLOO_PS_PROGRAMS_TASK_HPP
#define RUBATO_GLOO_PS_PROGRAMS_TASK_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/result.hpp>
#include <rubato/core/step_metrics.hpp>
#include <rubato/threads_ps/any_rule.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// How the server moves the parameters.
struct rule_options {
  std::string name = "sgd";
  rubato::threads_ps::sgd_options sgd{};
};

/// What the two programs train. Server and workers make the same one from the same options.
class task {
 public:
  struct gradient {
    float loss = 0;                   ///< mean
    std::span<const float> mean{};    ///< valid until the next one
    rubato::step_metrics measured{};  ///< of the samples: accuracy, noise; without times
  };
  struct verdict {
    double loss = 0;       ///< mean, on samples that nobody trains on
    double accuracy = -1;  ///< share of them that is right; -1 where there is no such thing
  };

  virtual ~task() = default;
  /// Where they lie: at first those that training begins with, then what was written there.
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  /// Of a worker's n-th step, on so many samples.
  [[nodiscard]] virtual gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t samples) = 0;
  [[nodiscard]] virtual verdict judge() = 0;
  /// The rule of this name; those that a task knows besides sgd are its own. Errors: invalid_option.
  [[nodiscard]] virtual rubato::result<rubato::threads_ps::any_rule> rule(const rule_options& o) const {
    if (o.name != "sgd") return rubato::error{rubato::errc::invalid_option, "--optimizer " + o.name + ": expected sgd"};
    if (std::string wrong = problem(o.sgd); !wrong.empty())
      return rubato::error{rubato::errc::invalid_option, std::move(wrong)};
    return rubato::threads_ps::any_rule{rubato::threads_ps::sgd{o.sgd}};
  }
  /// Whether save() writes the model for other programs.
  [[nodiscard]] virtual bool has_file() const { return false; }
  /// Errors: io; invalid_option, it has none.
  virtual rubato::result<std::uint64_t> save([[maybe_unused]] const std::string& path) {
    return rubato::error{rubato::errc::invalid_option, "this task has no file for its model"};
  }
};

/// The names that make_task() takes, for --task; the first is the default.
extern const std::vector<std::string> task_names;
/// Whether `dimension` and `hidden_units` say anything to them: else there are no such options.
extern const bool tasks_have_sizes;
/// Milliseconds that each step is asleep unless --compute says otherwise: where its own work is next to nothing.
extern const double sleep_of_a_step;

struct task_options {
  std::string name{};
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
