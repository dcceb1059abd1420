#ifndef RUBATO_LIBTORCH_GROWTH_GROWTH_EPOCH_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWTH_EPOCH_HPP

#include <torch/nn/functional/loss.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <rubato/adapt/growth/scheduler.hpp>
#include <rubato/core/result.hpp>
#include <string>
#include <string_view>

#include "distillation.hpp"
#include "growable_sequential.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// Samples, on the device of the model.
struct growth_batch {
  torch::Tensor inputs{};  ///< samples first; undefined: there are no more
  torch::Tensor labels{};  ///< of each sample its class, int64
};
/// What a job trains on, and what it is judged by. Both are asked for the same batch several times, and by a job that
/// goes on from a file, so they must depend on nothing but what they are given.
struct growth_data {
  std::function<growth_batch(std::uint64_t epoch, std::uint64_t n)> training{};  ///< from 0; at least one batch
  std::function<growth_batch(std::uint64_t n)> judging{};                        ///< likewise
};

/// How an epoch ended.
enum class epoch_end : std::uint8_t {
  completed,  ///< after its last batch
  time_up,    ///< before, since there was no time left
  changed     ///< before, since devices came or went
};
/// The end as words.
[[nodiscard]] constexpr std::string_view name(epoch_end end) noexcept {
  return end == epoch_end::completed ? "completed" : end == epoch_end::time_up ? "time is up" : "devices changed";
}

/// Multiply-adds of layers with weights when the model computes this batch; for a step of training, count three times
/// as many. Modules that are neither Linear nor Conv2d count as none.
/// Cost    one forward pass in evaluation mode
/// Tests   tests/integrations/libtorch/growth/growth_job_test.cpp: CountsMultiplyAdds
[[nodiscard]] inline std::uint64_t multiply_adds(const growable_sequential& model, torch::Tensor x) {
  const torch::NoGradGuard no_graph;
  const bool training = model->is_training();
  model.ptr()->eval();
  std::int64_t sum = 0;
  const auto count = [&](const weighted_layer& layer) {
    if (layer.exists()) sum += x.numel() * (layer.weight().numel() / layer.weight().size(0));
  };
  for (const growable_part& part : model->parts()) {
    for (const rectified_unit& unit : part.units) x = unit.ptr()->forward(x), count(unit->weighted());
    if (part.is_block()) continue;
    torch::nn::AnyModule layer = part.layer;
    x = part.is_layer() ? layer.forward(x) : x.flatten(1);
    if (part.is_layer()) count(part.weighted());
  }
  model.ptr()->train(training);
  return static_cast<std::uint64_t>(sum);
}

/// The share of samples that a model gets right, in evaluation mode.
/// Errors  invalid_option: no sample to judge by. Throws what torch and the data do.
inline result<double> judged(const growable_sequential& model, const growth_data& data) {
  const torch::NoGradGuard no_graph;
  const bool training = model->is_training();
  model.ptr()->eval();
  std::int64_t right = 0, samples = 0;
  for (std::uint64_t n = 0;; ++n) {
    const growth_batch batch = data.judging(n);
    if (!batch.inputs.defined()) break;
    right += model.ptr()->forward(batch.inputs).argmax(1).eq(batch.labels).sum().item<std::int64_t>();
    samples += batch.labels.numel();
  }
  model.ptr()->train(training);
  if (samples == 0) return error{errc::invalid_option, "found no sample to judge by, expected at least 1"};
  return static_cast<double>(right) / static_cast<double>(samples);
}

/// An epoch that was begun.
struct trained_epoch {
  epoch_end end = epoch_end::completed;                ///< why it ended
  adapt::allocation change = adapt::allocation::same;  ///< that it was aborted for
  std::uint64_t batches = 0;                           ///< that the model has learned from
  double loss = 0;                                     ///< mean of these batches' losses
};

/// Trains a model for one epoch, or until time is up or devices change, which is asked before each batch. So an epoch
/// is completed if there was time when its last batch began. Steps that were made stay made.
///
/// `work` grows by the multiply-adds of each step: three times those of the model, for a gradient, and those of the
/// teacher, if there is one. A clock that reads it depends on no machine.
///
/// Errors  invalid_option: no batch, a loss that is not finite, what distillation_loss() refuses. Throws what torch and
///         the data do.
template <adapt::JobScheduler Scheduler>
result<trained_epoch> train_epoch(growable_sequential& model, torch::optim::Optimizer& optimizer,
                                  const growth_data& data, std::uint64_t epoch, Scheduler& scheduler,
                                  const growable_sequential* teacher, const distillation_options& teaching,
                                  std::uint64_t& work) {
  model->train();
  if (teacher != nullptr) teacher->ptr()->eval();
  trained_epoch made;
  std::uint64_t work_of_a_sample = 0;
  for (;; ++made.batches) {
    const growth_batch batch = data.training(epoch, made.batches);
    if (!batch.inputs.defined()) break;
    if (scheduler.time_left() <= 0) made.end = epoch_end::time_up;
    if (made.end == epoch_end::completed && (made.change = scheduler.change()) != adapt::allocation::same)
      made.end = epoch_end::changed;
    if (made.end != epoch_end::completed) break;

    if (work_of_a_sample == 0) {
      const torch::Tensor sample = batch.inputs.narrow(0, 0, 1);
      work_of_a_sample = 3 * multiply_adds(model, sample) + (teacher ? multiply_adds(*teacher, sample) : 0);
    }
    const auto where = [&] { return "epoch " + std::to_string(epoch) + ", batch " + std::to_string(made.batches); };
    optimizer.zero_grad();
    const torch::Tensor scores = model->forward(batch.inputs);
    torch::Tensor loss;
    if (teacher != nullptr) {
      torch::Tensor taught;
      {
        const torch::NoGradGuard no_graph;
        taught = teacher->ptr()->forward(batch.inputs);
      }
      const result<torch::Tensor> both = distillation_loss(scores, taught, batch.labels, teaching);
      if (!both) return error{both.error().code, where() + ": " + both.error().message};
      loss = *both;
    } else {
      loss = torch::nn::functional::cross_entropy(scores, batch.labels);
    }
    const auto value = loss.item<double>();
    if (!std::isfinite(value))
      return error{errc::invalid_option, where() + ": found a loss that is not finite, expected a finite one"};
    loss.backward();
    optimizer.step();
    made.loss += (value - made.loss) / static_cast<double>(made.batches + 1);
    work += work_of_a_sample * static_cast<std::uint64_t>(batch.inputs.size(0));
  }
  if (made.batches == 0 && made.end == epoch_end::completed)
    return error{errc::invalid_option, "epoch " + std::to_string(epoch) + ": found no batch, expected at least 1"};
  return made;
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
