#ifndef RUBATO_EXAMPLES_LAB_GROWTH_JOB_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_JOB_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/optimiser.hpp>
#include <rubato/sim/dataset.hpp>
#include <vector>

namespace rubato::lab {

/// A job that trains a small perceptron, which can grow.
struct growth_job_options {
  std::vector<std::size_t> hidden{};  ///< widths of its hidden layers at first: each is a block
  double epochs = 20;                 ///< budget: so many of the model that it begins with
  std::size_t batch = 64;             ///< samples of a step
  double learning_rate = 0.01;        ///< of Adam, at first; when the budget ends it is a tenth
  double widening_noise = 1;          ///< on the weights that a copy reads by, in standard deviations of its layer's
};

/// Training by a budget of work, with layers inserted on the way. A copy goes on by itself: what sequences of actions
/// begin with alike need be trained once.
///
/// Time is counted in multiply-adds: an epoch takes as long as the model has weights, by those of the first model. So
/// a deeper or wider one has fewer epochs, and nothing depends on the machine. An epoch that the budget does not cover
/// is not begun. Deepening keeps the outputs, to the bit; it and widening begin with a new Adam.
///
/// Tests   tests/examples/growth_tables_test.cpp: LearnsAndStopsAtTheBudget, DeepeningKeepsTheOutputs,
///         TimeLeftIsNeverBelowZero, WideningKeepsTheOutputsButForNoise, WideningTakesInsertionsAlong,
///         DeeperTakesLonger, ACopyGoesOnByItself, SameSeedSameAccuracy
class growth_job {
 public:
  /// The images stay where they are. Parameters and the order of samples are drawn from `seed`.
  /// Pre  inputs, classes and widths that nn::dynamic_mlp takes; at least one sample of both kinds
  growth_job(const sim::data_split& images, const growth_job_options& options, std::uint64_t seed);

  [[nodiscard]] double budget() const noexcept { return options_.epochs; }  ///< in epochs of the first model
  [[nodiscard]] double time_left() const noexcept { return spent_ < budget() ? budget() - spent_ : 0; }  ///< of it
  [[nodiscard]] const nn::dynamic_mlp& network() const noexcept { return network_; }  ///< as it is now

  /// Inserts an identity with ReLU behind a block, before what was inserted there earlier. Pre: there is such a block.
  void deepen(std::size_t block);
  /// Doubles the units of a block, and of what was inserted behind it: each is there twice, and who reads it divides
  /// its weights among both. Without noise the outputs stay, but then both learn the same; with much they have to be
  /// learned again, and more is. Pre: there is such a block, and its doubled width is one that nn::dynamic_mlp takes.
  void widen(std::size_t block);
  /// One epoch more; false, and nothing happens, where time is up.
  bool train();
  /// The share of held-out samples that it gets right.
  [[nodiscard]] double accuracy() const;

 private:
  [[nodiscard]] std::size_t first_layer_of(std::size_t block) const noexcept;
  void go_on_with(nn::dynamic_mlp grown);
  [[nodiscard]] double time_of_an_epoch() const noexcept;
  [[nodiscard]] double learning_rate() const noexcept;

  sim::data_split images_;
  growth_job_options options_;
  std::uint64_t seed_;
  std::vector<std::size_t> layers_of_;  // of each block: itself and what was inserted behind it
  nn::dynamic_mlp network_;
  nn::adam adam_;
  double first_weights_, spent_ = 0;
  std::uint64_t widenings_ = 0;
  std::uint64_t epochs_ = 0;
};

}  // namespace rubato::lab

#endif
