#ifndef RUBATO_CUDA_SIMULATED_GOALS_CUH
#define RUBATO_CUDA_SIMULATED_GOALS_CUH

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>

#include "../core/result.hpp"
#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "../sim/options.hpp"
#include "../sim/quadratic.hpp"
#include "draws.cuh"
#include "lanes.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// How good parameters are; as sim::evaluation.
struct simulated_evaluation {
  double loss = 0;      ///< what training lowers
  double accuracy = 0;  ///< share in [0, 1]
};

// What a simulated cluster trains: plain data, an argument of kernels, with
//
//   dimension, scratch_size              numbers of parameters; of scratch, in doubles
//   begin(lanes, seed, x)                the first parameters
//   look(x)                              what all gradients at x have in common
//   compute(lanes, seed, worker, step, common, x, out, scratch)  the gradient of a batch into out; its mean loss
//   evaluate(lanes, x, scratch)          loss and accuracy
//
// All lanes call and get the same answer. compute and evaluate end with a sync if they use the scratch; the rest of
// what they write is seen after the caller's next one.

/// sim::quadratic without momentum, with its bits: c_i x_i plus noise, a coordinate to a lane.
/// Tests   tests/cuda/simulated_cluster_test.cpp: AgreesWithTheHost, AnyNumberOfLanesGivesTheSameBits,
///         SaysWhatItCannotSimulate
template <std::uint32_t Dimension>
struct quadratic_goal {
  static constexpr std::uint32_t dimension = Dimension;  ///< parameters
  static constexpr std::uint32_t scratch_size = 0;       ///< none is needed

  double scale = 0;                  ///< of the noise in a word
  double curvature[Dimension] = {};  ///< of each parameter: 1 to 1 / condition, evenly in log

  /// For batches of this size. Errors  invalid_option: what sim::problem() says, another dimension, or momentum
  [[nodiscard]] static result<quadratic_goal> make(const sim::quadratic_options& o, std::uint32_t batch) {
    const auto wrong = [](std::string what) { return error{errc::invalid_option, "quadratic_goal: " + what}; };
    if (const char* problem = sim::problem(o)) return wrong(problem);
    if (o.dimension != Dimension)
      return wrong("dimension is " + std::to_string(o.dimension) + ", expected " + std::to_string(Dimension));
    if (o.momentum > 0) return wrong("momentum is set, expected 0");
    if (batch == 0) return wrong("batch is 0, expected a number of samples");
    quadratic_goal goal;
    goal.scale = o.noise / std::sqrt(double(batch)) * 2 * std::numbers::sqrt3 * 0x1p-32;
    for (std::uint32_t i = 0; i < Dimension; ++i)
      goal.curvature[i] = std::pow(o.condition, Dimension == 1 ? 0.0 : -double(i) / (Dimension - 1));
    return goal;
  }

  /// Each parameter is 1 or -1, drawn with the seed.
  template <Lanes L>
  RUBATO_DETAIL_SHARED void begin(const L& lanes, std::uint64_t seed, double* x) const noexcept {
    constexpr std::uint64_t corner = std::uint64_t{1} << 63;  // a stream
    for (std::uint32_t i = lanes.index(); i < Dimension; i += lanes.count()) {
      const detail::random_words draw = detail::philox_words(seed, corner, i / 2);
      x[i] = (draw.word[i % 2 * 2] & 1) == 0 ? -1 : 1;  // random_sequence::below(2) but for 1 in 2^63
    }
  }

  /// The loss at x.
  [[nodiscard]] RUBATO_DETAIL_SHARED double look(const double* x) const noexcept {
    double sum = 0;
    for (std::uint32_t i = 0; i < Dimension; ++i)
      sum = detail::exact_double::plus_product(sum, curvature[i] * x[i], x[i]);
    return sum / 2;
  }

  /// c_i x_i and the noise of a batch, drawn by (seed, worker, step). Answers `loss`, which is look(x).
  template <Lanes L>
  RUBATO_DETAIL_SHARED float compute(const L& lanes, std::uint64_t seed, std::uint32_t worker, std::uint64_t step,
                                     double loss, const double* x, double* out, double*) const noexcept {
    constexpr std::uint32_t blocks = (Dimension + 3) / 4;
    for (std::uint32_t b = lanes.index(); b < blocks; b += lanes.count()) {
      const detail::random_words draw = detail::philox_words(seed, worker, step * blocks + b);
      for (std::uint32_t j = 0; j < 4; ++j) {
        const std::uint32_t i = 4 * b + j;
        if (i >= Dimension) break;
        const auto word = static_cast<double>(draw.word[j]);
        out[i] = detail::exact_double::plus_product(curvature[i] * x[i], scale, word - 0x1.fffffffep30);
      }
    }
    return static_cast<float>(loss);
  }

  /// The loss without noise, and 1 / (1 + loss) as accuracy; 0 where the loss is not finite.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_evaluation evaluate(const L&, const double* x, double*) const noexcept {
    const double loss = look(x);
    return {loss, detail::is_finite(loss) ? 1 / (1 + loss) : 0};
  }
};

/// How logistic_goal's samples are drawn, and its loss.
struct logistic_options {
  std::uint64_t seed = 1;       ///< of the samples
  std::uint32_t samples = 256;  ///< at least 1
  double label_noise = 0.05;    ///< share of the samples that lie on the wrong side, in [0, 1/2)
  double decay = 0.001;         ///< weight of |x|^2 / 2 in the loss, 0 or more
};

/// Logistic regression on a fixed set of samples: loss = mean of log(1 + exp(-z . x)) + decay |x|^2 / 2, where z is a
/// sample's features times its label, 1 or -1. Features are uniform with variance 1, and labels those of a random
/// hyperplane, up to noise. A batch is drawn with replacement; training begins at 0. accuracy is the share of samples
/// on the right side, of the same set: there is no other, as nothing is there to be generalised.
///
/// Memory  4 x Dimension bytes a sample, of the caller: on the device they stay in the cache while all clusters share
///         them. Batches of up to MaxBatch samples.
/// Tests   tests/cuda/simulated_cluster_test.cpp: LogisticGradientIsThatOfTheOracle, LogisticLossesAreFiniteFarAway,
///         LogisticTrainingClassifies, AnyNumberOfLanesGivesTheSameBits, SaysWhatItCannotSimulate
template <std::uint32_t Dimension, std::uint32_t MaxBatch = 32>
struct logistic_goal {
  static constexpr std::uint32_t dimension = Dimension;  ///< parameters, as many as features
  /// Of the sum over all samples, which so has the same bits for any lanes.
  static constexpr std::uint32_t parts = 16;
  /// Numbers that compute() and evaluate() want.
  static constexpr std::uint32_t scratch_size = 3 * MaxBatch > 2 * parts ? 3 * MaxBatch : 2 * parts;

  const float* samples = nullptr;  ///< [count x Dimension]: features times labels, see draw_samples()
  std::uint32_t count = 0;         ///< samples
  std::uint32_t batch = 0;         ///< samples of a gradient, drawn with replacement
  double decay = 0;                ///< as in the options

  /// Writes the samples, options.samples x Dimension numbers, on the host. Errors  invalid_option
  static error draw_samples(const logistic_options& o, std::span<float> out) {
    if (const char* problem = problem_of(o)) return {errc::invalid_option, std::string{"logistic_goal: "} + problem};
    if (out.size() != std::size_t{o.samples} * Dimension)
      return {errc::invalid_option, "logistic_goal: room for " + std::to_string(out.size()) + " numbers, expected " +
                                        std::to_string(std::size_t{o.samples} * Dimension)};
    random_sequence of_plane{o.seed, 0}, of_samples{o.seed, 1}, of_labels{o.seed, 2};
    double plane[Dimension];
    for (double& each : plane) each = of_plane.normal();
    for (std::uint32_t s = 0; s < o.samples; ++s) {
      float* const z = out.data() + std::size_t{s} * Dimension;
      double side = 0;
      for (std::uint32_t i = 0; i < Dimension; ++i) {
        z[i] = static_cast<float>((2 * of_samples.uniform() - 1) * std::numbers::sqrt3);
        side += plane[i] * static_cast<double>(z[i]);
      }
      const bool flips = of_labels.uniform() < o.label_noise;
      if ((side < 0) != flips)
        for (std::uint32_t i = 0; i < Dimension; ++i) z[i] = -z[i];
    }
    return {};
  }

  /// On such samples, which stay where they are, in memory that those who simulate can read.
  /// Errors  invalid_option: the options, or a batch that is too large
  [[nodiscard]] static result<logistic_goal> make(const logistic_options& o, const float* samples,
                                                  std::uint32_t batch) {
    const auto wrong = [](std::string what) { return error{errc::invalid_option, "logistic_goal: " + what}; };
    if (const char* problem = problem_of(o)) return wrong(problem);
    if (samples == nullptr) return wrong("samples: expected memory that draw_samples() has filled");
    if (batch == 0 || batch > MaxBatch)
      return wrong("batch is " + std::to_string(batch) + ", expected 1 to " + std::to_string(MaxBatch));
    logistic_goal goal;
    goal.samples = samples, goal.count = o.samples, goal.batch = batch, goal.decay = o.decay;
    return goal;
  }

  /// All parameters are 0.
  template <Lanes L>
  RUBATO_DETAIL_SHARED void begin(const L& lanes, std::uint64_t, double* x) const noexcept {
    for (std::uint32_t i = lanes.index(); i < Dimension; i += lanes.count()) x[i] = 0;
  }

  /// The decay's part of the loss.
  [[nodiscard]] RUBATO_DETAIL_SHARED double look(const double* x) const noexcept {
    double squares = 0;
    for (std::uint32_t i = 0; i < Dimension; ++i) squares = detail::exact_double::plus_product(squares, x[i], x[i]);
    return decay * squares / 2;
  }

  /// The mean gradient of a batch drawn by (seed, worker, step). `of_decay` is look(x). Answers the batch's loss.
  template <Lanes L>
  RUBATO_DETAIL_SHARED float compute(const L& lanes, std::uint64_t seed, std::uint32_t worker, std::uint64_t step,
                                     double of_decay, const double* x, double* out, double* scratch) const noexcept {
    double *const slope = scratch, *const loss = scratch + MaxBatch, *const which = scratch + 2 * MaxBatch;
    const std::uint64_t blocks = (batch + 3) / 4;
    for (std::uint32_t s = lanes.index(); s < batch; s += lanes.count()) {
      const std::uint32_t word = detail::philox_words(seed, worker, step * blocks + s / 4).word[s % 4];
      const auto sample = static_cast<std::uint32_t>(std::uint64_t{word} * count >> 32);
      const double margin = margin_of(sample, x);
      const double rest = ::exp(margin > 0 ? -margin : margin);  // never overflows
      slope[s] = -(margin > 0 ? rest : 1.0) / (1 + rest);
      loss[s] = loss_of(margin, rest);
      which[s] = sample;
    }
    lanes.sync();
    for (std::uint32_t i = lanes.index(); i < Dimension; i += lanes.count()) {
      double sum = 0;
      for (std::uint32_t s = 0; s < batch; ++s)
        sum = detail::exact_double::plus_product(sum, slope[s], static_cast<double>(sample_at(which[s])[i]));
      out[i] = detail::exact_double::plus_product(sum / batch, decay, x[i]);
    }
    double sum = 0;
    for (std::uint32_t s = 0; s < batch; ++s) sum += loss[s];
    lanes.sync();
    return static_cast<float>(sum / batch + of_decay);
  }

  /// Loss and accuracy over all samples. O(count * Dimension).
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED simulated_evaluation evaluate(const L& lanes, const double* x,
                                                                   double* scratch) const noexcept {
    double *const loss = scratch, *const right = scratch + parts;
    for (std::uint32_t p = lanes.index(); p < parts; p += lanes.count()) {
      double losses = 0, rights = 0;
      for (std::uint32_t s = p; s < count; s += parts) {
        const double margin = margin_of(s, x);
        losses += loss_of(margin, ::exp(margin > 0 ? -margin : margin));
        rights += margin > 0 ? 1 : 0;
      }
      loss[p] = losses, right[p] = rights;
    }
    lanes.sync();
    double losses = 0, rights = 0;
    for (std::uint32_t p = 0; p < parts; ++p) losses += loss[p], rights += right[p];
    lanes.sync();
    return {losses / count + look(x), rights / count};
  }

 private:
  [[nodiscard]] static const char* problem_of(const logistic_options& o) noexcept {
    if (o.samples == 0) return "samples: expected at least 1";
    if (!(pinned::within(o.label_noise, 0, 0.5) && o.label_noise < 0.5))
      return "label_noise: expected a share in [0, 1/2)";
    if (!(o.decay >= 0) || !pinned::is_finite(o.decay)) return "decay: expected 0 or more";
    return nullptr;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED const float* sample_at(double sample) const noexcept {
    return samples + static_cast<std::size_t>(sample) * Dimension;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED double margin_of(std::uint32_t sample, const double* x) const noexcept {
    const float* const z = samples + std::size_t{sample} * Dimension;
    double sum = 0;
    for (std::uint32_t i = 0; i < Dimension; ++i)
      sum = detail::exact_double::plus_product(sum, static_cast<double>(z[i]), x[i]);
    return sum;
  }
  [[nodiscard]] RUBATO_DETAIL_SHARED static double loss_of(double margin, double rest) noexcept {
    return (margin > 0 ? 0.0 : -margin) + ::log1p(rest);
  }
};

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
