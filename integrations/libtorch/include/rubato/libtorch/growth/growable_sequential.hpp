#ifndef RUBATO_LIBTORCH_GROWTH_GROWABLE_SEQUENTIAL_HPP
#define RUBATO_LIBTORCH_GROWTH_GROWABLE_SEQUENTIAL_HPP

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/adapt/growth/growable_model.hpp>
#include <rubato/core/result.hpp>
#include <string>
#include <utility>
#include <vector>

#include "layer_name.hpp"
#include "rectified_unit.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// A step of a growable_sequential: a block if it has units, a layer if it has one, else a flattening.
struct growable_part {
  std::string name{};                   ///< of its own, for parameters and messages
  std::vector<rectified_unit> units{};  ///< the original one, and what was inserted behind it, the newest first
  torch::nn::AnyModule layer{};         ///< empty for a block or a flattening
  std::string printed{};                ///< what PyTorch prints for the layer, where that is given
  bool widens = false;                  ///< widening the block is an action for who decides, too

  [[nodiscard]] bool is_block() const noexcept { return !units.empty(); }     ///< see above
  [[nodiscard]] bool is_layer() const noexcept { return !layer.is_empty(); }  ///< see above
  /// What has weights: a block's original layer, or the layer; it may not exist.
  [[nodiscard]] weighted_layer weighted() const {
    if (is_block()) return units.front()->weighted();
    return is_layer() ? weighted_layer::of(*layer.ptr()) : weighted_layer{};
  }
};

/// What may be done to a block, besides deepening it.
struct block_options {
  bool widens = false;  ///< whoever decides may double its width, too
};

/// The parts of a growable_sequential, one after the other. Modules are taken over, not copied.
class growable_parts {
 public:
  /// A block that can be deepened: Linear and ReLU.
  growable_parts& block(std::string name, torch::nn::Linear linear, block_options options = {}) {
    return add_block(std::move(name), rectified_unit{std::move(linear)}, options);
  }
  /// Likewise: Conv2d, BatchNorm2d and ReLU.
  growable_parts& block(std::string name, torch::nn::Conv2d conv, torch::nn::BatchNorm2d norm,
                        block_options options = {}) {
    return add_block(std::move(name), rectified_unit{std::move(conv), std::move(norm)}, options);
  }
  /// Any module from a tensor to a tensor. `printed` is what PyTorch prints for it, where layer_name() does not know.
  template <class Module>
  growable_parts& layer(std::string name, Module module, std::string printed = {}) {
    all_.push_back(
        {.name = std::move(name), .layer = torch::nn::AnyModule{std::move(module)}, .printed = std::move(printed)});
    return *this;
  }
  /// x.flatten(1): no layer, as a function in Python is none. With torch::nn::Flatten there is one more layer.
  growable_parts& flatten() {
    all_.push_back({});
    return *this;
  }
  [[nodiscard]] const std::vector<growable_part>& all() const noexcept { return all_; }  ///< in order

 private:
  growable_parts& add_block(std::string name, rectified_unit unit, block_options options) {
    all_.push_back({.name = std::move(name), .units = {std::move(unit)}, .widens = options.widens});
    return *this;
  }

  std::vector<growable_part> all_;
};

/// The module behind growable_sequential.
class growable_sequential_impl : public torch::nn::Cloneable<growable_sequential_impl> {
 public:
  /// Parts that growable_sequential::make() has looked at.
  explicit growable_sequential_impl(std::vector<growable_part> parts) : parts_{std::move(parts)} { register_parts(); }

  /// What leaves the last part.
  torch::Tensor forward(torch::Tensor x) { return run(std::move(x), parts_.size()); }
  /// What leaves the original layers of this block, before anything that was inserted.
  /// Precondition: block < blocks()
  torch::Tensor forward_to(torch::Tensor x, std::size_t block) {
    const std::size_t part = part_of(block);
    return parts_[part].units.front()->forward(run(std::move(x), part));
  }

  [[nodiscard]] const std::vector<growable_part>& parts() const noexcept { return parts_; }  ///< in order
  /// How many can be deepened; insertions do not count.
  [[nodiscard]] std::size_t blocks() const {
    return static_cast<std::size_t>(std::ranges::count_if(parts_, &growable_part::is_block));
  }
  /// Where in parts() this block is.
  /// Precondition: block < blocks()
  [[nodiscard]] std::size_t part_of(std::size_t block) const {
    std::size_t part = 0;
    for (;; ++part)
      if (parts_[part].is_block() && block-- == 0) return part;
  }
  /// "block 1 (conv2)"
  [[nodiscard]] std::string block_name(std::size_t block) const {
    return "block " + std::to_string(block) + " (" + parts_[part_of(block)].name + ")";
  }
  /// Trainable or not.
  [[nodiscard]] std::int64_t parameter_count() const {
    std::int64_t count = 0;
    for (const torch::Tensor& each : parameters()) count += each.numel();
    return count;
  }

  /// Puts a unit right behind the original layers of a block, before earlier insertions, on the device, of the type and
  /// in the mode of the model. Parameters that were there stay the same tensors.
  /// Precondition: block < blocks()
  void insert(std::size_t block, const std::shared_ptr<rectified_unit_impl>& unit) {
    std::vector<rectified_unit>& units = parts_[part_of(block)].units;
    const torch::Tensor& like = units.front()->weighted().weight();
    unit->to(like.device(), like.scalar_type());
    unit->train(is_training());
    units.insert(units.begin() + 1, rectified_unit{unit});
    register_parts();
  }
  /// Removes the newest insertions, so that at most so many are left.
  /// Precondition: block < blocks()
  void remove_insertions(std::size_t block, std::size_t left) {
    std::vector<rectified_unit>& units = parts_[part_of(block)].units;
    if (units.size() > left + 1) units.erase(units.begin() + 1, units.end() - static_cast<std::ptrdiff_t>(left));
    register_parts();
  }

  /// As an agent sees it: layers as PyTorch prints them, and what deepening each block inserts.
  /// Errors  invalid_option: a layer whose name is not known, which is named; a block that widens, but is read by none
  [[nodiscard]] result<adapt::growable_model> description() const {
    std::vector<std::string> layers;
    std::vector<adapt::growable_block> blocks;
    for (const growable_part& part : parts_) {
      if (part.is_block()) {
        const std::vector<std::string> own = part.units.front()->layers();
        blocks.push_back({.first = static_cast<std::uint32_t>(layers.size()),
                          .layers = static_cast<std::uint32_t>(own.size()),
                          .insertion = part.units.front()->inserted_layers(),
                          .widens = part.widens,
                          .insertions = 0});
        layers.insert(layers.end(), own.begin(), own.end());
      } else if (part.is_layer()) {
        const result<std::string> name = printed(part);
        if (!name)
          return error{name.error().code, "growable_sequential: layer \"" + part.name + "\": " + name.error().message};
        layers.push_back(*name);
      }
    }
    auto made = adapt::growable_model::make(std::move(layers), std::move(blocks));
    if (!made) return made;
    for (std::size_t block = 0; block < this->blocks(); ++block)
      for (std::size_t n = 1; n < parts_[part_of(block)].units.size(); ++n) made->deepen(block);
    return made;
  }
  /// A line for each part, of all that stays as it is when the model grows: models with the same lines were made alike,
  /// but perhaps of other widths.
  [[nodiscard]] std::vector<std::string> outline() const {
    std::vector<std::string> lines;
    for (const growable_part& part : parts_) {
      if (!part.is_block() && !part.is_layer()) {
        lines.emplace_back("flatten");
        continue;
      }
      std::string line = (part.is_block() ? "block " : "layer ") + part.name + ": ";
      if (const weighted_layer layer = part.weighted(); layer.linear != nullptr)
        line += layer_name(torch::nn::LinearOptions{layer.linear->options}.in_features(0).out_features(0));
      else if (layer.conv != nullptr)
        line += layer_name(decltype(layer.conv->options){layer.conv->options}.in_channels(0).out_channels(0));
      else if (const result<std::string> name = printed(part); name)
        line += *name;
      else
        line += part.layer.ptr()->name();
      if (part.is_block() && part.units.front()->norm)
        line += ", " + layer_name(torch::nn::BatchNormOptions{part.units.front()->norm->options}.num_features(0), 2);
      lines.push_back(std::move(line));
    }
    return lines;
  }

  /// For Cloneable: takes copies of the parts.
  void reset() override {
    for (growable_part& part : parts_) {
      for (rectified_unit& unit : part.units)
        unit = rectified_unit{std::dynamic_pointer_cast<rectified_unit_impl>(unit->clone())};
      if (part.is_layer()) part.layer = part.layer.clone();
    }
    register_parts();
  }
  /// With what was inserted. Unlike other modules' clones, its frozen parameters are frozen.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(
      const c10::optional<torch::Device>& device = c10::nullopt) const override {
    std::shared_ptr<torch::nn::Module> made = Cloneable::clone(device);
    auto of_clone = made->named_parameters();
    for (const auto& each : named_parameters()) of_clone[each.key()].set_requires_grad(each->requires_grad());
    return made;
  }

 private:
  [[nodiscard]] static result<std::string> printed(const growable_part& part) {
    if (!part.printed.empty()) return std::string{part.printed};
    return layer_name(*part.layer.ptr());
  }
  torch::Tensor run(torch::Tensor x, std::size_t end) {
    for (std::size_t p = 0; p < end; ++p) {
      growable_part& part = parts_[p];
      if (part.is_block())
        for (rectified_unit& unit : part.units) x = unit->forward(x);
      else
        x = part.is_layer() ? part.layer.forward(x) : x.flatten(1);
    }
    return x;
  }
  /// In the order in which they run. An insertion has the block's name and its number, the oldest 1: "conv1+1".
  void register_parts() {
    for (const std::string& name : children_names()) unregister_module(name);
    for (growable_part& part : parts_) {
      for (std::size_t n = 0; n < part.units.size(); ++n)
        register_module(n == 0 ? part.name : part.name + "+" + std::to_string(part.units.size() - n), part.units[n]);
      if (part.is_layer()) register_module(part.name, part.layer.ptr());
    }
  }
  [[nodiscard]] std::vector<std::string> children_names() const {
    std::vector<std::string> names;
    for (const auto& child : named_children()) names.push_back(child.key());
    return names;
  }

  std::vector<growable_part> parts_;
};

/// A torch module that can grow while it is trained: parts one after the other, some of which are blocks that can be
/// deepened and widened, as net2net.hpp does it.
///
///     using namespace torch::nn;
///     auto net = growable_sequential::make(growable_parts{}
///                                              .block("conv1", Conv2d(Conv2dOptions(3, 32, 3)), BatchNorm2d(32))
///                                              .layer("pool", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 1})))
///                                              .flatten()
///                                              .block("scores", Linear(32, 10)));
///     torch::Tensor scores = (*net)->forward(images);
///
/// It is a holder, as torch's modules are: copies share the module, clone() makes another. clone(), parameters(),
/// train(), to() and save_growable() know what was inserted. Parameters are named by part: "conv1.conv.weight", and
/// "conv1+1.norm.bias" in the first unit that was inserted behind it.
///
/// Growing it leaves a replica and an optimizer with what there was before: make new ones (carried_optimizer.hpp).
///
/// Thread  as any module of torch
/// Tests   tests/integrations/libtorch/growth/growable_sequential_test.cpp: ComputesWhatItsPartsDo,
///         InsertsBehindTheOriginalLayers, TheDescriptionIsWhatPyTorchPrints, TheDescriptionGrowsAsTheModelDoes,
///         TheDescriptionSaysWhatWidens,
///         AGrownCloneIsBitEqual, ACloneSharesNothing, FrozenStaysFrozenInAClone, LayersWithoutANameAreAnError,
///         ANameCanBeGiven, RefusesImpossibleParts, InsertionsCanBeRemoved, OutlinesLeaveOutWidths,
///         AgentsKnowTheLayers, AReplicaTrainsIt
class growable_sequential : public torch::nn::ModuleHolder<growable_sequential_impl> {
 public:
  using ModuleHolder::ModuleHolder;

  /// Errors  invalid_option: no block; a name that is empty, there twice, or has a dot or a plus; a convolution whose
  ///         kernel is even, or whose batch norm has another width, no weights or no running means
  [[nodiscard]] static result<growable_sequential> make(const growable_parts& parts) {
    const auto refusal = [](const std::string& what) {
      return error{errc::invalid_option, "growable_sequential: " + what};
    };
    std::vector<std::string> names;
    bool has_block = false;
    for (const growable_part& part : parts.all()) {
      if (!part.is_block() && !part.is_layer()) continue;
      const std::string which = "part \"" + part.name + "\": ";
      if (part.name.empty() || part.name.find_first_of(".+") != std::string::npos)
        return refusal(which + "found this name, expected one without dots and pluses");
      if (std::ranges::find(names, part.name) != names.end())
        return refusal(which + "found this name twice, expected it once");
      names.push_back(part.name);
      if (!part.is_block()) continue;
      has_block = true;
      const rectified_unit& unit = part.units.front();
      if (!unit->conv) continue;
      const auto& conv = unit->conv->options;
      const auto& norm = unit->norm->options;
      if ((*conv.kernel_size())[0] % 2 == 0 || (*conv.kernel_size())[1] % 2 == 0)
        return refusal(which + "found a kernel of " + std::to_string((*conv.kernel_size())[0]) + " x " +
                       std::to_string((*conv.kernel_size())[1]) + ", expected odd ones, which have a centre");
      if (norm.num_features() != conv.out_channels())
        return refusal(which + "found a batch norm of " + std::to_string(norm.num_features()) + " channels, expected " +
                       std::to_string(conv.out_channels()));
      if (!norm.affine() || !norm.track_running_stats())
        return refusal(which + "found " + layer_name(norm, 2) + ", expected one with weights and running means");
    }
    if (!has_block) return refusal("found no block that can be deepened, expected at least 1");
    return growable_sequential{std::make_shared<growable_sequential_impl>(parts.all())};
  }
  /// A model of its own with the same values.
  [[nodiscard]] growable_sequential copy() const {
    return growable_sequential{std::dynamic_pointer_cast<growable_sequential_impl>(get()->clone())};
  }
};

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
