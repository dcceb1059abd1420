#ifndef RUBATO_LIBTORCH_GROWTH_RECTIFIED_UNIT_HPP
#define RUBATO_LIBTORCH_GROWTH_RECTIFIED_UNIT_HPP

#include <torch/nn/cloneable.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "layer_name.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// A Linear or a Conv2d, whose weights have the outputs in their first dimension and the inputs in the second.
struct weighted_layer {
  torch::nn::LinearImpl* linear = nullptr;  ///< either this
  torch::nn::Conv2dImpl* conv = nullptr;    ///< or this

  /// The module, if it is one of them.
  [[nodiscard]] static weighted_layer of(torch::nn::Module& module) noexcept {
    return {dynamic_cast<torch::nn::LinearImpl*>(&module), dynamic_cast<torch::nn::Conv2dImpl*>(&module)};
  }
  [[nodiscard]] bool exists() const noexcept { return linear != nullptr || conv != nullptr; }  ///< is one of them
  /// Precondition for all that follow: exists()
  [[nodiscard]] torch::Tensor& weight() const noexcept { return linear != nullptr ? linear->weight : conv->weight; }
  /// Undefined if there is none.
  [[nodiscard]] torch::Tensor& bias() const noexcept { return linear != nullptr ? linear->bias : conv->bias; }
  /// Of channels, which a convolution keeps apart.
  [[nodiscard]] std::int64_t groups() const noexcept { return linear != nullptr ? 1 : conv->options.groups(); }
  [[nodiscard]] std::int64_t outputs() const { return weight().size(0); }            ///< features or channels
  [[nodiscard]] std::int64_t inputs() const { return weight().size(1) * groups(); }  ///< likewise
  /// Makes the options say what the weights are.
  void tell_options() const {
    if (linear != nullptr)
      linear->options.in_features(inputs()).out_features(outputs());
    else
      conv->options.in_channels(inputs()).out_channels(outputs());
  }
};

/// Gives a parameter or buffer other values, and with them another shape; a gradient that it had is gone. It stays the
/// same tensor to all that hold it.
inline void give(torch::Tensor& tensor, const torch::Tensor& values) {
  const torch::NoGradGuard no_graph;
  tensor.set_data(values.detach());
  tensor.mutable_grad().reset();
}

/// What can be deepened, and what deepening inserts: Linear and ReLU, or Conv2d, BatchNorm2d and ReLU.
///
/// Thread  as any module of torch
/// Tests   tests/integrations/libtorch/growth/rectified_unit_test.cpp: ComputesWhatItsLayersDo, AnIdentityOfTheOutputs,
///         LayersAsPyTorchPrintsThem, ACloneSharesNothing
class rectified_unit_impl : public torch::nn::Cloneable<rectified_unit_impl> {
 public:
  torch::nn::Linear linear{nullptr};     ///< either this
  torch::nn::Conv2d conv{nullptr};       ///< or this
  torch::nn::BatchNorm2d norm{nullptr};  ///< and this

  /// With a ReLU.
  explicit rectified_unit_impl(torch::nn::Linear layer) : linear{register_module("linear", std::move(layer))} {}
  /// With a ReLU.
  rectified_unit_impl(torch::nn::Conv2d layer, torch::nn::BatchNorm2d behind)
      : conv{register_module("conv", std::move(layer))}, norm{register_module("norm", std::move(behind))} {}

  /// For Cloneable: takes copies of the layers.
  void reset() override {
    const auto copy = [&](const char* name, auto& layer) {
      using holder = std::remove_reference_t<decltype(layer)>;
      if (layer)
        layer =
            register_module(name, holder{std::dynamic_pointer_cast<typename holder::ContainedType>(layer->clone())});
    };
    copy("linear", linear), copy("conv", conv), copy("norm", norm);
  }
  /// What the layers make of it.
  torch::Tensor forward(const torch::Tensor& x) { return torch::relu(linear ? linear(x) : norm(conv(x))); }

  /// The layer with weights.
  [[nodiscard]] weighted_layer weighted() const {
    return linear ? weighted_layer{linear.ptr().get(), nullptr} : weighted_layer{nullptr, conv.ptr().get()};
  }
  /// As PyTorch prints them.
  [[nodiscard]] std::vector<std::string> layers() const {
    if (linear) return {layer_name(linear->options), "ReLU()"};
    return {layer_name(conv->options), layer_name(norm->options, 2), "ReLU()"};
  }
  /// Those that inserted() has.
  [[nodiscard]] std::vector<std::string> inserted_layers() const {
    if (linear) return {layer_name(inserted_linear()), "ReLU()"};
    return {layer_name(inserted_conv()), layer_name(inserted_norm(), 2), "ReLU()"};
  }
  /// A unit of the same kind and kernel that changes nothing in evaluation mode when it follows this one: the identity,
  /// with a bias of 0. The batch norm's running mean is 0 and its variance 1, and its weight makes good for eps, which
  /// is this unit's, as is its momentum.
  /// Precondition: an odd kernel
  [[nodiscard]] std::shared_ptr<rectified_unit_impl> inserted() const {
    const torch::NoGradGuard no_graph;
    if (linear) {
      const torch::nn::Linear made{inserted_linear()};
      torch::nn::init::eye_(made->weight);
      torch::nn::init::zeros_(made->bias);
      return std::make_shared<rectified_unit_impl>(made);
    }
    const torch::nn::Conv2d made{inserted_conv()};
    const torch::nn::BatchNorm2d behind{inserted_norm()};
    torch::nn::init::dirac_(made->weight);
    torch::nn::init::zeros_(made->bias);
    behind->weight.fill_(std::sqrt(1 + behind->options.eps()));
    return std::make_shared<rectified_unit_impl>(made, behind);
  }

 private:
  [[nodiscard]] torch::nn::LinearOptions inserted_linear() const {
    return {linear->options.out_features(), linear->options.out_features()};
  }
  [[nodiscard]] torch::nn::Conv2dOptions inserted_conv() const {
    const auto kernel = conv->options.kernel_size();
    return torch::nn::Conv2dOptions(conv->options.out_channels(), conv->options.out_channels(), kernel)
        .padding(torch::ExpandingArray<2>{{(*kernel)[0] / 2, (*kernel)[1] / 2}});
  }
  [[nodiscard]] torch::nn::BatchNormOptions inserted_norm() const {
    return torch::nn::BatchNormOptions(conv->options.out_channels())
        .eps(norm->options.eps())
        .momentum(norm->options.momentum());
  }
};
/// Holds a rectified_unit_impl, as torch's modules are held.
class rectified_unit : public torch::nn::ModuleHolder<rectified_unit_impl> {
 public:
  using torch::nn::ModuleHolder<rectified_unit_impl>::ModuleHolder;
};

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
