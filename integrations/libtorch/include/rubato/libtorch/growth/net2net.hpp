#ifndef RUBATO_LIBTORCH_GROWTH_NET2NET_HPP
#define RUBATO_LIBTORCH_GROWTH_NET2NET_HPP

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <rubato/core/result.hpp>
#include <rubato/core/rng.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../sentence.hpp"
#include "growable_sequential.hpp"
#include "rectified_unit.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// How to deepen.
struct deepen_options {
  /// What enters the model, best a large batch of training images: nothing changes then in training mode either, as
  /// long as this batch enters. Without it a convolutional block computes something else in training mode at once,
  /// since the new batch norm normalises, and Net2Net keeps what evaluation mode computes only.
  torch::Tensor calibration{};
};
/// How to widen.
struct widen_options {
  /// Standard deviation of what is added to the incoming weights of each copied unit, as a multiple of the standard
  /// deviation of its layer's weights. A copy without noise learns what its original learns, unless dropout tells them
  /// apart; with it the function changes by as much. The paper has about 1e-2.
  double noise = 0;
};

namespace detail {

inline error growth_refusal(const char* what, const growable_sequential& model, std::size_t block,
                            const std::string& why) {
  const bool exists = block < model->blocks();
  return {
      errc::invalid_option,
      std::string{what} + ": " + (exists ? model->block_name(block) : "block " + std::to_string(block)) + ": " + why};
}
inline std::string no_such_block(const growable_sequential& model) {
  return "found no such block, expected one below " + std::to_string(model->blocks());
}

/// Makes the batch norm of a unit that follows this block pass on unchanged what it sees of this batch in training
/// mode, and all that there is in evaluation mode. An empty sentence, or what is wrong.
inline std::string calibrate(const growable_sequential& model, std::size_t block, const torch::Tensor& batch,
                             rectified_unit_impl& unit) {
  const torch::NoGradGuard no_graph;
  // In a copy, whose running means may move.
  const growable_sequential twin = model.copy();
  twin.ptr()->train();
  const torch::Tensor seen = unit.conv->forward(twin.ptr()->forward_to(batch, block));
  const torch::Tensor mean = seen.mean({0, 2, 3}), variance = seen.var({0, 2, 3}, false);
  if (!mean.isfinite().all().item<bool>() || !variance.isfinite().all().item<bool>())
    return "found numbers in the calibration batch's activations that are not finite, expected finite ones";
  unit.norm->running_mean.copy_(mean);
  unit.norm->running_var.copy_(variance);
  unit.norm->weight.copy_((variance + unit.norm->options.eps()).sqrt());
  unit.norm->bias.copy_(mean);
  return {};
}

/// Channels, or what becomes of them, leave as many as come in and each depends on one that comes in.
inline bool keeps_channels_apart(const torch::nn::Module& layer) {
  using namespace torch::nn;
  const auto is_one_of = [&]<class... Layers>(std::type_identity<Layers>...) {
    return ((dynamic_cast<const Layers*>(&layer) != nullptr) || ...);
  };
  return is_one_of(std::type_identity<AvgPool2dImpl>{}, std::type_identity<MaxPool2dImpl>{},
                   std::type_identity<AdaptiveAvgPool2dImpl>{}, std::type_identity<AdaptiveMaxPool2dImpl>{},
                   std::type_identity<DropoutImpl>{}, std::type_identity<Dropout2dImpl>{},
                   std::type_identity<ReLUImpl>{}, std::type_identity<LeakyReLUImpl>{}, std::type_identity<TanhImpl>{},
                   std::type_identity<SigmoidImpl>{}, std::type_identity<IdentityImpl>{});
}

/// The next layer with weights behind a block, or why the block cannot be widened.
inline result<weighted_layer> consumer_of(const growable_sequential& model, std::size_t block) {
  const std::vector<growable_part>& parts = model->parts();
  const std::size_t at = model->part_of(block);
  const weighted_layer from = parts[at].weighted();
  const auto refusal = [&](const std::string& why) { return growth_refusal("widen", model, block, why); };
  if (from.groups() != 1) return refusal("found groups of channels, expected a convolution of all of them");
  bool flat = from.linear != nullptr;
  for (std::size_t p = at + 1; p < parts.size(); ++p) {
    const growable_part& part = parts[p];
    if (const weighted_layer layer = part.weighted(); layer.exists()) {
      const std::string where = "part \"" + part.name + "\" behind it has ";
      if (layer.groups() != 1) return refusal(where + "groups of channels, expected a convolution of all of them");
      const std::int64_t in = layer.inputs(), out = from.outputs();
      const bool fits = layer.conv != nullptr || from.linear != nullptr ? in == out : flat && in % out == 0;
      if (!fits)
        return refusal(where + std::to_string(in) + " inputs, expected " + std::to_string(out) +
                       (layer.linear != nullptr && flat && from.conv != nullptr ? " or a multiple" : "") +
                       (flat ? "" : ", behind a flattening if it is linear"));
      return layer;
    }
    if (!part.is_layer()) {
      flat = true;
      continue;
    }
    const auto* const flattening = dynamic_cast<const torch::nn::FlattenImpl*>(part.layer.ptr().get());
    if (flattening != nullptr && flattening->options.start_dim() == 1 && flattening->options.end_dim() == -1)
      flat = true;
    else if (!keeps_channels_apart(*part.layer.ptr()))
      return refusal("part \"" + part.name + "\" behind it is " + part.layer.ptr()->name() +
                     ", expected a pooling, a flattening of all dimensions but the first, a dropout or an activation");
  }
  return refusal(
      "found no layer with weights behind it, expected one: its outputs are the model's, such as the scores "
      "of classes");
}

/// The rows of a layer that these units have, and noise on those that are copies.
inline void copy_outputs(const weighted_layer& layer, const torch::Tensor& units, std::int64_t originals, double noise,
                         random_sequence& random) {
  const torch::Tensor old = layer.weight().detach();
  torch::Tensor rows = old.index_select(0, units);
  if (noise != 0) {
    const torch::Tensor copies = rows.slice(0, originals);
    torch::Tensor normal = torch::empty(copies.sizes(), torch::kFloat64);
    std::generate_n(normal.data_ptr<double>(), normal.numel(), [&] { return random.normal(); });
    copies.add_(normal.to(rows.options()) * (old.std(false) * noise));
  }
  give(layer.weight(), rows);
  if (layer.bias().defined()) give(layer.bias(), layer.bias().detach().index_select(0, units));
  layer.tell_options();
}
/// The columns of a layer that read these units, each divided by how many read alike. A unit may be read in several
/// places, as a channel is that was flattened.
inline void share_inputs(const weighted_layer& layer, const torch::Tensor& units, std::int64_t originals) {
  const torch::Tensor old = layer.weight().detach();
  std::vector<std::int64_t> sizes = old.sizes().vec();
  const std::int64_t places = sizes[1] / originals;
  std::vector<std::int64_t> by_unit{sizes[0], originals, places};
  by_unit.insert(by_unit.end(), sizes.begin() + 2, sizes.end());
  const torch::Tensor readers = torch::bincount(units, {}, originals).index_select(0, units).to(old.options());
  std::vector<std::int64_t> along_units(by_unit.size(), 1);
  along_units[1] = units.numel();
  sizes[1] = units.numel() * places;
  give(layer.weight(), (old.reshape(by_unit).index_select(1, units) / readers.view(along_units)).reshape(sizes));
  layer.tell_options();
}

}  // namespace detail

/// Inserts an identity behind a block's original layers, before earlier insertions: a linear layer, or a convolution of
/// the block's kernel with stride 1, padded to keep the size, and a batch norm; and a ReLU. Returns how many parameters
/// that adds.
///
///     const auto added = deepen(*net, advice->action, {.calibration = images});
///
/// What the model computes in evaluation mode stays the same up to rounding, below 1e-4; and in training mode too for a
/// linear block, or for the calibration batch. Parameters that were there are the same tensors as before. It draws from
/// torch's generator, as making any layer does.
///
/// Errors  invalid_option: no such block; a calibration batch that the model cannot take, or with activations that are
///         not finite. Nothing has changed then.
/// Cost    O(parameters of the insertion); with a calibration batch that of a forward pass and of a copy of the model
/// Thread  nobody else uses the model
/// Tests   tests/integrations/libtorch/growth/net2net_test.cpp: DeepeningChangesNothingInEvaluation,
///         DeepeningAgainAndAgain, TheNewestInsertionIsFirst, CalibrationKeepsTrainingMode,
///         WithoutCalibrationTrainingModeChanges, CalibrationLeavesTheRestOfTheModel, CalibratesChannelsThatAreDead,
///         DeepensALinearBlockInBothModes, ParametersStayTheSameTensors, RefusesToDeepen, AddsAsManyParameters,
///         AnInsertionLearns, DeepeningKeepsDeviceTypeAndMode
/// Source  Chen, Goodfellow, Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", ICLR 2016, §2.3
inline result<std::uint64_t> deepen(growable_sequential& model, std::size_t block, const deepen_options& options = {}) {
  if (block >= model->blocks()) return detail::growth_refusal("deepen", model, block, detail::no_such_block(model));
  const std::int64_t before = model->parameter_count();
  const rectified_unit& original = model->parts()[model->part_of(block)].units.front();
  std::shared_ptr<rectified_unit_impl> unit = original->inserted();
  const torch::Tensor& like = original->weighted().weight();
  unit->to(like.device(), like.scalar_type());
  if (options.calibration.defined() && unit->norm) {
    try {
      const std::string wrong = detail::calibrate(model, block, options.calibration, *unit);
      if (!wrong.empty()) return detail::growth_refusal("deepen", model, block, wrong);
    } catch (const std::exception& e) {
      return detail::growth_refusal("deepen", model, block, "calibration: " + sentence_of(e));
    }
  }
  model->insert(block, unit);
  return static_cast<std::uint64_t>(model->parameter_count() - before);
}

/// Gives a block more units, which are copies of units that it has, drawn at random; whatever reads a unit that now
/// exists several times divides its weights among them. That is the next layer with weights, be it behind poolings,
/// dropouts, activations and a flattening. What was inserted behind the block gets as many units, copied alike, and so
/// does the batch norm. Returns how many parameters that adds.
///
///     rubato::random_sequence random{seed};
///     const auto added = widen(*net, 0, 48, random);
///
/// What the model computes in evaluation mode stays the same up to rounding, below 1e-4, unless noise is asked for; in
/// training mode, too, if there is no dropout. Parameters stay the same tensors but have other shapes, and no gradient:
/// make a new optimizer (carried_optimizer.hpp), and let no graph live on from before.
///
/// Errors  invalid_option: no such block; a width that is not larger; noise that is negative or not finite; no layer
///         with weights behind it, as behind the scores of classes; a layer of another kind between them; convolutions
///         in groups; a next layer whose inputs are not the block's. Nothing has changed then.
/// Cost    O(parameters of the block and of the next layer)
/// Thread  nobody else uses the model
/// Tests   tests/integrations/libtorch/growth/net2net_test.cpp: WideningChangesNothingInEvaluation,
///         WideningALinearBlock, WidensThroughPoolingAndFlattening, WidensWhatWasInserted, TheSameSeedTheSameCopies,
///         UnitsAreCopiesOfUnits, NoiseBreaksSymmetry, RefusesToWiden, WidensWhatALayerReads,
///         WideningKeepsTrainingMode, AWidenedModelLearns
/// Source  Chen, Goodfellow, Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", ICLR 2016, §2.2
inline result<std::uint64_t> widen(growable_sequential& model, std::size_t block, std::int64_t width,
                                   random_sequence& random, const widen_options& options = {}) {
  const auto refusal = [&](const std::string& why) { return detail::growth_refusal("widen", model, block, why); };
  if (block >= model->blocks()) return refusal(detail::no_such_block(model));
  const std::vector<rectified_unit>& units = model->parts()[model->part_of(block)].units;
  const weighted_layer original = units.front()->weighted();
  const std::int64_t originals = original.outputs();
  if (width <= originals)
    return refusal("found a width of " + std::to_string(width) + ", expected more than " + std::to_string(originals));
  if (!(options.noise >= 0) || !std::isfinite(options.noise)) return refusal("expected noise of 0 or more");
  const result<weighted_layer> next = detail::consumer_of(model, block);
  if (!next) return next.error();

  const torch::NoGradGuard no_graph;
  const std::int64_t before = model->parameter_count();
  torch::Tensor on_host = torch::arange(width, torch::kLong);
  std::generate(on_host.data_ptr<std::int64_t>() + originals, on_host.data_ptr<std::int64_t>() + width,
                [&] { return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(originals))); });
  const torch::Tensor copied = on_host.to(original.weight().device());
  for (const rectified_unit& unit : units) {
    if (&unit != &units.front()) detail::share_inputs(unit->weighted(), copied, originals);
    detail::copy_outputs(unit->weighted(), copied, originals, options.noise, random);
    if (!unit->norm) continue;
    auto& norm = *unit.ptr()->norm;
    for (torch::Tensor* each : {&norm.weight, &norm.bias, &norm.running_mean, &norm.running_var})
      give(*each, each->detach().index_select(0, copied));
    norm.options.num_features(width);
  }
  detail::share_inputs(*next, copied, originals);
  return static_cast<std::uint64_t>(model->parameter_count() - before);
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
