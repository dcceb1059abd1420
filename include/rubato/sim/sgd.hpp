#ifndef RUBATO_SIM_SGD_HPP
#define RUBATO_SIM_SGD_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "../config.hpp"
#include "../core/rng.hpp"
#include "../pinned.hpp"
#include "aligned_buffer.hpp"
#include "dataset.hpp"
#include "gradient_pool.hpp"
#include "kernels/kernels.hpp"
#include "mlp.hpp"
#include "mlp_norm.hpp"
#include "objective.hpp"
#include "sparse_images.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Training and validation images, prepared once and shared by any number of objectives (and threads).
struct image_data {
  /// Copies what it needs. Precondition: both datasets are consistent().
  explicit image_data(const data_split& from) : training{from.training}, validation{from.validation} {}

  sparse_images training;    ///< what gradients and probes are computed on
  sparse_images validation;  ///< what evaluations are made on
};

/// How a pixel becomes an input.
enum class input_scale : std::uint8_t {
  unit,         ///< pixel / 255
  standardised  ///< (pixel - mean) / deviation over all training pixels
};

/// Which kernels compute.
enum class instruction_set : std::uint8_t {
  native,   ///< the quickest that this processor has
  portable  ///< the same on every processor: for results that are bit-equal across machines
};

/// The network, and how it is trained.
struct sgd_options {
  std::uint32_t hidden_layers = 1;                ///< 0 to 6
  std::uint32_t hidden_units = 256;               ///< of each hidden layer
  std::uint32_t batch = 16;                       ///< samples, where compute() is not told
  double momentum = 0;                            ///< in [0, 1)
  input_scale input = input_scale::standardised;  ///< how pixels become inputs
  double data_fraction = 0.5;                     ///< share of the training images in use, chosen anew for every seed
  double label_noise = 0;                         ///< share of them whose label is drawn anew, among all classes
  std::uint32_t validation_samples = 1'000;       ///< the first so many of the validation images
  std::uint32_t probe_samples = 64;               ///< training images that probe() looks at, chosen per seed
  bool gradient_norm = false;                     ///< compute gradient::norm (h = 1, batch 16: about 15 us more)
  bool gradient_statistics = false;               ///< compute gradient::statistics
  instruction_set instructions = instruction_set::native;  ///< native: the last bits depend on the processor

  friend bool operator==(const sgd_options&, const sgd_options&) = default;
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] inline const char* problem(const sgd_options& options) noexcept {
  if (options.hidden_layers > max_hidden_layers) return "hidden_layers: expected 0 to 6";
  if (options.hidden_units == 0) return "hidden_units: expected at least 1";
  if (options.batch == 0 || options.batch > 65'535) return "batch: expected 1 to 65535";
  if (!(pinned::within(options.momentum, 0, 1) && options.momentum < 1)) return "momentum: expected a number in [0, 1)";
  if (!(pinned::within(options.data_fraction, 0, 1) && options.data_fraction > 0))
    return "data_fraction: expected a number in (0, 1]";
  if (!pinned::within(options.label_noise, 0, 1)) return "label_noise: expected a number in [0, 1]";
  if (options.validation_samples == 0) return "validation_samples: expected at least 1";
  if (options.probe_samples == 0) return "probe_samples: expected at least 1";
  return nullptr;
}

/// What is wrong with the options for this data, or nullptr.
[[nodiscard]] inline const char* problem(const sgd_options& options, const image_data& data) noexcept {
  if (data.training.samples() == 0) return "training images: expected at least 1";
  if (data.validation.samples() == 0) return "validation images: expected at least 1";
  if (data.training.inputs() != data.validation.inputs()) return "validation images: expected the size of the training";
  if (data.training.classes() != data.validation.classes()) return "validation images: expected the same classes";
  return problem(options);
}

/// Mini-batch SGD of a multi-layer perceptron (ReLU, softmax, cross-entropy) on real images: what a cluster trains.
///
/// A gradient is kept as its factors, the inputs and deltas of every layer for the batch, and is applied from them: no
/// dense gradient is ever formed. A diverged model reports a loss that is not finite and goes on without trouble.
///
/// Same    seed, options and data give the same bits on the same instruction set, and with AVX-512 those of AVX2;
///         batches are drawn with replacement for (seed, worker, step) alone, so the order of events never changes what
///         a worker sees in its n-th step.
/// Pre     problem(options, data) == nullptr; `data` outlives the objective; handles are live; steps below 2^48
/// Cost    MNIST, batch 16, one 2.5 GHz core with AVX2, h = 0 / 1 / 2 / 3: compute 7 / 55 / 125 / 210 us, update
///         3 / 55 / 95 / 150 us (dense and about twice that with momentum), evaluate 0.2 / 3 / 5 / 8 ms;
///         with AVX-512: 5 / 28 / 75 / 125 us, 3 / 26 / 50 / 70 us, 0.2 / 1.4 / 2.7 / 4 ms. No allocation once the pool
///         has grown to the largest number of live gradients. Bench: bench/micro/bench_sgd.cpp
/// Thread  one object per thread
/// Tests   tests/sim/sgd_test.cpp, tests/sim/sgd_determinism_test.cpp
class sgd_objective {
 public:
  /// Starts as after reset(0).
  sgd_objective(const sgd_options& options, const image_data& data)
      : options_{options},
        data_{&data},
        kernel_{options.instructions == instruction_set::native ? &kernels::native() : &kernels::portable::set},
        map_{pixel_map_for(options.input, data.training)},
        mlp_{{data.training.inputs(), options.hidden_layers, options.hidden_units, data.training.classes()}, *kernel_},
        parameters_(mlp_.size()),
        velocity_(options.momentum > 0 ? mlp_.size() : 0),
        momentum_{options.momentum} {
    RUBATO_ASSERT(problem(options, data) == nullptr, "sgd_objective: bad options or data");
    const std::uint32_t samples = data.training.samples();
    const auto share = static_cast<std::uint32_t>(std::llround(options.data_fraction * samples));
    subset_.resize(std::clamp(share, 1U, samples));
    order_.resize(samples);

    const std::uint32_t validated = (std::min)(options.validation_samples, data.validation.samples());
    for (std::uint32_t sample = 0; sample < validated; ++sample)
      validation_.append(data.validation, sample, map_, *kernel_);
    for (std::uint32_t layer = 0; layer <= mlp_.hidden(); ++layer)  // layers take turns on two buffers
      judged_[layer == mlp_.hidden() ? 2 : layer % 2].ensure(judge_rows * mlp_.stride(layer));
    reset(0);
  }

  /// See Objective: other weights, no velocity, the momentum of the options, another subset of the training images, and
  /// other labels of those whose labels are noise.
  void reset(std::uint64_t seed) {
    seed_ = seed;
    momentum_ = options_.momentum;
    updates_ = 0;
    pool_.clear();
    velocity_.clear();
    parameters_.clear();
    mlp_.initialise(parameters_.data(), seed, weight_stream);

    // The first steps of a shuffle: each place takes one of the samples not yet taken.
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    random_sequence random{seed, subset_stream};
    for (std::uint32_t i = 0; i < subset_.size(); ++i) {
      const auto other = i + static_cast<std::uint32_t>(random.below(order_.size() - i));
      std::swap(order_[i], order_[other]);
      subset_[i] = order_[i];
    }

    if (options_.label_noise > 0) draw_labels();
    probe_.clear();
    const std::size_t probed = std::min<std::size_t>(options_.probe_samples, subset_.size());
    for (std::size_t i = 0; i < probed; ++i) append_training(probe_, subset_[i]);
  }

  /// `batch` samples, options.batch when 0; at most 65,535.
  [[nodiscard]] gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch = 0) {
    if (batch == 0) batch = options_.batch;
    RUBATO_ASSERT(batch <= 65'535, "sgd_objective: a batch of more than 65535 samples");
    const std::uint32_t handle = pool_.acquire();
    slot& to = pool_[handle];
    draw(worker, step, batch);
    to.input.clear();
    for (const std::uint32_t sample : drawn_) append_training(to.input, sample);
    place(to, batch);

    mlp_.forward(parameters_.data(), to.input, 0, batch, to.pass);
    double loss = 0;
    std::uint32_t correct = 0;
    float* logits = to.pass.activation[mlp_.hidden()];
    const std::size_t stride = mlp_.stride(mlp_.hidden());
    for (std::size_t row = 0; row < batch; ++row) {
      const kernels::outcome one = kernel_->softmax(logits + row * stride, data_->training.classes(),
                                                    to.input.labels[row], 1 / static_cast<float>(batch));
      loss += static_cast<double>(one.loss);
      correct += one.correct ? 1 : 0;
    }
    mlp_.backward(parameters_.data(), batch, to.pass);

    gradient made{.handle = handle, .loss = static_cast<float>(loss / batch), .samples = batch};
    const std::size_t inputs = data_->training.inputs();
    if (options_.gradient_norm) made.norm = norm_(mlp_, to.input, to.pass, map_, inputs, *kernel_);
    if (options_.gradient_statistics) {
      made.statistics = norm_.statistics(mlp_, to.input, to.pass, map_, inputs, *kernel_);
      made.statistics.accuracy = static_cast<float>(correct) / static_cast<float>(batch);
    }
    return made;
  }

  /// See Objective.
  void update(std::span<const contribution> contributions, double learning_rate) {
    const bool heavy = options_.momentum > 0;
    if (heavy) kernel_->scale(velocity_.data(), mlp_.size(), static_cast<float>(momentum_));
    float* target = heavy ? velocity_.data() : parameters_.data();
    for (const contribution& part : contributions) {
      const slot& from = pool_[part.handle];
      const auto weight = static_cast<double>(part.weight);
      const double scale = heavy ? weight : -learning_rate * weight;
      mlp_.accumulate(target, static_cast<float>(scale), from.input, from.pass, transposed_);
    }
    if (heavy) kernel_->add(parameters_.data(), velocity_.data(), mlp_.size(), static_cast<float>(-learning_rate));

    // The velocity needs none of this: what rounding puts into it, momentum forgets.
    if (++updates_ % rebase_period == 0 && options_.input == input_scale::standardised) mlp_.rebase(parameters_.data());
  }

  /// The momentum of later updates, until reset(); the velocity stays. Preconditions: options().momentum > 0, for
  /// without it there is no velocity; momentum in [0, 1).
  void set_momentum(double momentum) noexcept {
    RUBATO_ASSERT(options_.momentum > 0 && momentum >= 0 && momentum < 1, "sgd_objective: momentum cannot be that");
    momentum_ = momentum;
  }

  void release(std::uint32_t handle) { pool_.release(handle); }  ///< see Objective

  [[nodiscard]] evaluation evaluate() { return judge(validation_); }  ///< see Objective

  /// Mean loss on the probe samples.
  [[nodiscard]] double probe() { return judge(probe_).loss; }

  [[nodiscard]] const sgd_options& options() const noexcept { return options_; }  ///< as they were given

  /// The parameters as one array, padding included, for hosts that keep and move them themselves: compute(), evaluate()
  /// and probe() use what stands here. Equal places for equal options and data.
  [[nodiscard]] std::span<float> parameters() noexcept { return {parameters_.data(), mlp_.size()}; }

  /// Overwrites `to`, of the size of parameters(), by a live gradient in the places of the parameters: without momentum
  /// update() subtracts rate * weight times this.
  void write_gradient(std::uint32_t handle, std::span<float> to) {
    RUBATO_ASSERT(to.size() == mlp_.size(), "sgd_objective: a gradient of another size");
    const slot& from = pool_[handle];
    std::fill(to.begin(), to.end(), 0.0F);
    mlp_.accumulate(to.data(), 1, from.input, from.pass, transposed_);
  }

  /// The training images in use for this seed, in the order of the draw.
  [[nodiscard]] std::span<const std::uint32_t> training_samples() const noexcept { return subset_; }

  /// The training images of one batch; valid until the next call of samples() or compute().
  [[nodiscard]] std::span<const std::uint32_t> samples(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    draw(worker, step, batch);
    return drawn_;
  }

  /// Weight from input (or hidden unit) `from` to output `to` of layer 0 to hidden_layers.
  [[nodiscard]] float weight(std::uint32_t layer, std::size_t from, std::size_t to) const noexcept {
    return mlp_.weight(parameters_.data(), layer, from, to);
  }
  /// Bias of output `to` of layer 0 to hidden_layers.
  [[nodiscard]] float bias(std::uint32_t layer, std::size_t to) const noexcept {
    return mlp_.bias(parameters_.data(), layer, to);
  }

  /// Gradients ever live at once.
  [[nodiscard]] std::size_t pool_capacity() const noexcept { return pool_.capacity(); }

  /// Name of the instruction set in use.
  [[nodiscard]] std::string_view instructions() const noexcept { return kernel_->name; }

 private:
  struct slot {
    mlp_batch input;
    mlp_pass pass;  // points into `storage`
    aligned_buffer storage;
  };

  // Beyond every worker's stream.
  static constexpr std::uint64_t weight_stream = std::uint64_t{1} << 63;
  static constexpr std::uint64_t subset_stream = weight_stream + max_hidden_layers + 1;
  static constexpr std::uint64_t label_stream = subset_stream + 1;
  static constexpr std::size_t judge_rows = 48;          // a block whose activations stay in the second-level cache
  static constexpr std::uint64_t rebase_period = 1'024;  // updates

  [[nodiscard]] static pixel_map pixel_map_for(input_scale input, const sparse_images& training) noexcept {
    const double deviation = training.deviation();
    if (input == input_scale::unit || !(deviation > 0)) return {1.0F / 255, 0};
    return {static_cast<float>(1 / deviation), static_cast<float>(-training.mean() / deviation)};
  }

  void draw(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    random_sequence random{seed_, worker, step << 16};  // a step takes at most 2^16 draws
    drawn_.resize(batch);
    for (std::uint32_t& sample : drawn_) {
      // 32 random bits scaled down: uneven by under 1 in 2^32 / size, and free of the division of below().
      sample = subset_.data()[((random() >> 32) * subset_.size()) >> 32];
      data_->training.prefetch_position(sample);
    }
    for (const std::uint32_t sample : drawn_) data_->training.prefetch_pixels(sample);
  }

  void draw_labels() {
    noisy_labels_.resize(data_->training.samples());
    random_sequence random{seed_, label_stream};
    for (std::uint32_t sample = 0; sample < noisy_labels_.size(); ++sample) {
      const bool noisy = random.uniform() < options_.label_noise;
      const std::uint64_t other = random.below(data_->training.classes());
      noisy_labels_[sample] = noisy ? static_cast<std::uint8_t>(other) : data_->training.label(sample);
    }
  }

  void append_training(mlp_batch& to, std::uint32_t sample) {
    to.append(data_->training, sample, map_, *kernel_);
    if (!noisy_labels_.empty()) to.labels.back() = noisy_labels_[sample];
  }

  // Lays out a pass of `rows` rows in the slot's storage.
  void place(slot& to, std::size_t rows) const {
    const std::size_t room = mlp::fours(rows);
    std::size_t size = 0;
    for (std::uint32_t layer = 0; layer <= mlp_.hidden(); ++layer) size += 2 * room * mlp_.stride(layer);
    to.storage.ensure(size);
    float* next = to.storage.data();
    for (std::uint32_t layer = 0; layer <= mlp_.hidden(); ++layer) {
      to.pass.activation[layer] = std::exchange(next, next + room * mlp_.stride(layer));
      to.pass.delta[layer] =
          layer == mlp_.hidden() ? to.pass.activation[layer] : std::exchange(next, next + room * mlp_.stride(layer));
    }
  }

  [[nodiscard]] evaluation judge(const mlp_batch& input) {
    mlp_pass pass;
    for (std::uint32_t layer = 0; layer <= mlp_.hidden(); ++layer)
      pass.activation[layer] = judged_[layer == mlp_.hidden() ? 2 : layer % 2].data();
    float* logits = judged_[2].data();
    const std::size_t stride = mlp_.stride(mlp_.hidden());

    double loss = 0;
    std::size_t correct = 0;
    for (std::size_t first = 0; first < input.rows(); first += judge_rows) {
      const std::size_t count = std::min<std::size_t>(judge_rows, input.rows() - first);
      mlp_.forward(parameters_.data(), input, first, count, pass);
      for (std::size_t row = 0; row < count; ++row) {
        const kernels::outcome one =
            kernel_->softmax(logits + row * stride, data_->training.classes(), input.labels[first + row], 1);
        loss += static_cast<double>(one.loss);
        correct += one.correct ? 1 : 0;
      }
    }
    return {loss / input.rows(), static_cast<double>(correct) / input.rows()};
  }

  sgd_options options_;
  const image_data* data_;
  const kernels::kernel_set* kernel_;
  pixel_map map_;
  mlp mlp_;
  aligned_buffer parameters_;
  aligned_buffer velocity_;  // empty without momentum
  gradient_pool<slot> pool_;
  mlp_batch validation_;
  mlp_batch probe_;
  std::vector<std::uint32_t> order_;   // scratch of reset()
  std::vector<std::uint32_t> subset_;  // training images in use
  std::vector<std::uint8_t> noisy_labels_;  // of all training images; empty: as the data say
  std::vector<std::uint32_t> drawn_;   // the batch drawn last
  sparse_rows transposed_;             // scratch of update()
  mlp_gradient_norm norm_;             // scratch of compute()
  aligned_buffer judged_[3];           // scratch of judge()
  std::uint64_t seed_ = 0;
  std::uint64_t updates_ = 0;
  double momentum_;  // of the next update
};

static_assert(Objective<sgd_objective>);

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
