#ifndef RUBATO_EXAMPLES_LAB_TRAINING_CURVES_HPP
#define RUBATO_EXAMPLES_LAB_TRAINING_CURVES_HPP

#include <cstdint>
#include <fstream>
#include <optional>
#include <rubato/io/tensorboard.hpp>
#include <rubato/rl/training.hpp>
#include <string>
#include <string_view>

namespace rubato::lab {

/// The curves of a training as TensorBoard shows them, while it goes on: a file in a folder, one more each time that it
/// is resumed, which TensorBoard reads in the order of their names. Without a folder it does nothing.
/// Tests   tests/examples/training_curves_test.cpp: EpisodesAndEvaluations, AFileForEachResume,
///         RefusesTheCurvesOfAnotherTraining
class training_curves {
 public:
  /// Makes the folder. Errors: user_error, also where it has curves and this training is not resumed
  training_curves(std::string folder, bool resume);
  /// Begins a file, of a training that is so far. Errors: user_error
  void begin(std::uint64_t episodes);
  void note(const rl::episode_report&);
  void note(const rl::evaluation&);

 private:
  struct file {
    std::ofstream stream;
    void operator()(std::string_view bytes) noexcept;
  };
  void point(std::string_view tag, std::uint64_t episode, double value);

  std::string folder_;
  std::optional<tensorboard_events<file>> events_{};
};

}  // namespace rubato::lab

#endif
