#ifndef RUBATO_LIBTORCH_REPLICA_HPP
#define RUBATO_LIBTORCH_REPLICA_HPP

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/core/result.hpp>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "optimizer_rule.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// A worker's own copy of a torch module, whose trainable parameters lie one behind the other in one tensor: what a
/// parameter server sends is copied straight into the module.
///
///     auto net = libtorch::replica<Net>::make(Net{});       // Net: TORCH_MODULE(Net), or std::shared_ptr of a module
///     session.pull(net->parameters());
///     const torch::Tensor loss = torch::nll_loss((*net)->forward(images), labels);
///     session.push(net->gradient(loss), {.samples = n, .loss = loss.item<float>()});
///
/// Order   of named_parameters(); a parameter that is registered twice is there once. Those that need no gradient stay
///         out of it, and as they are, and so do buffers, such as the running means of a batch norm.
/// Memory  parameters and gradient once each, besides what torch needs for a step
/// Thread  one at a time; replicas of different threads share nothing
/// Tests   tests/integrations/libtorch/replica_test.cpp: ParametersAreTheModules, TheGradientIsTorchs,
///         WhatTheLossDoesNotNeedHasAZeroGradient, FrozenAndSharedParameters, ASparseGradientIsMadeDense,
///         ASharedPointerIsAModule
template <class Module>
class replica {
 public:
  /// Takes the module over. Errors  invalid_option: no trainable parameters; one that is not a dense float32 on the CPU
  [[nodiscard]] static result<replica> make(Module module) {
    replica made{std::move(module)};
    std::int64_t size = 0;
    for (const auto& named : made.module_->named_parameters()) {
      const torch::Tensor& each = named.value();
      const auto is_same = [&](const torch::Tensor& known) { return known.is_same(each); };
      if (!each.requires_grad() || std::any_of(made.leaves_.begin(), made.leaves_.end(), is_same)) continue;
      if (each.scalar_type() != torch::kFloat32 || !each.device().is_cpu() || each.layout() != torch::kStrided)
        return error{errc::invalid_option,
                     "parameter " + named.key() + " is " + kind_of(each) + ", expected Float, Strided, on cpu"};
      made.leaves_.push_back(each);
      size += each.numel();
    }
    if (size == 0) return error{errc::invalid_option, "the module has no parameter that needs a gradient"};
    made.lay_out(size);
    return made;
  }

  replica(replica&&) noexcept = default;             ///< with the module
  replica& operator=(replica&&) noexcept = default;  ///< likewise
  replica(const replica&) = delete;                  // it would share the parameters
  replica& operator=(const replica&) = delete;
  ~replica() = default;

  [[nodiscard]] Module& module() noexcept { return module_; }           ///< to save it, or to take it out
  auto* operator->() { return std::to_address(module_.operator->()); }  ///< for forward(), train() and eval()

  /// Trainable parameters.
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(parameters_.numel()); }
  /// For the host to write. A graph that was made before is of older values: torch says so should it be used.
  [[nodiscard]] std::span<float> parameters() {
    for (const torch::Tensor& each : leaves_) each.unsafeGetTensorImpl()->bump_version();
    return {parameters_.data_ptr<float>(), size()};
  }
  /// The parameters, to read.
  [[nodiscard]] std::span<const float> values() const { return {parameters_.data_ptr<float>(), size()}; }

  /// Of a scalar, as autograd::grad has it: nothing is written into the parameters' grad(). Zero for a parameter on
  /// which the loss does not depend; a sparse one is made dense. Valid until the next call. Throws what torch throws.
  [[nodiscard]] std::span<const float> gradient(const torch::Tensor& loss) {
    const std::vector<torch::Tensor> of = torch::autograd::grad({loss}, leaves_, {}, {}, false, true);
    const torch::NoGradGuard no_graph;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i].defined())
        parts_[i].copy_(of[i].layout() == torch::kStrided ? of[i] : of[i].to_dense());
      else
        parts_[i].zero_();
    }
    return {gradient_.data_ptr<float>(), size()};
  }
  /// Zeros in its place, of a step that came to nothing. Valid as long as gradient().
  [[nodiscard]] std::span<const float> no_gradient() {
    const torch::NoGradGuard no_graph;
    gradient_.zero_();
    return {gradient_.data_ptr<float>(), size()};
  }
  /// Euclidean, of what gradient() returned last; not finite if one of its numbers is not. One pass over it.
  [[nodiscard]] float gradient_norm() const {
    const torch::NoGradGuard no_graph;
    return gradient_.norm().item<float>();
  }

 private:
  explicit replica(Module module) : module_{std::move(module)} {}

  [[nodiscard]] static std::string kind_of(const torch::Tensor& each) {
    std::ostringstream text;
    text << c10::toString(each.scalar_type()) << ", " << each.layout() << ", on " << each.device();
    return text.str();
  }

  void lay_out(std::int64_t size) {
    const torch::NoGradGuard no_graph;
    parameters_ = torch::empty({size}, torch::kFloat32);
    gradient_ = torch::zeros({size}, torch::kFloat32);
    std::int64_t begin = 0;
    for (torch::Tensor& each : leaves_) {
      torch::Tensor place = parameters_.narrow(0, begin, each.numel()).view(each.sizes());
      place.copy_(each);
      each.set_data(place);
      parts_.push_back(gradient_.narrow(0, begin, each.numel()).view(each.sizes()));
      begin += each.numel();
    }
  }

  Module module_;
  std::vector<torch::Tensor> leaves_;  // of the module
  torch::Tensor parameters_, gradient_;
  std::vector<torch::Tensor> parts_;  // of the gradient, in the shapes of the leaves
};

/// Parameters that need no gradient: training leaves them as they are.
[[nodiscard]] inline std::vector<torch::Tensor> frozen_of(const torch::nn::Module& module) {
  std::vector<torch::Tensor> frozen = module.parameters();
  std::erase_if(frozen, [](const torch::Tensor& each) { return each.requires_grad(); });
  return frozen;
}
/// Names and shapes of parameters and buffers, a line each, and which of them are trained: alike for modules whose
/// values can be copied from one to the other.
[[nodiscard]] inline std::string shape_of(const torch::nn::Module& module) {
  std::ostringstream text;
  for (const auto& each : module.named_parameters())
    text << each.key() << ' ' << each->sizes() << (each->requires_grad() ? "" : " frozen") << '\n';
  for (const auto& each : module.named_buffers()) text << each.key() << ' ' << each->sizes() << " buffer\n";
  return text.str();
}
/// Copies of the values, without a graph.
[[nodiscard]] inline std::vector<torch::Tensor> clones_of(const std::vector<torch::Tensor>& all) {
  const torch::NoGradGuard no_graph;
  std::vector<torch::Tensor> made;
  for (const torch::Tensor& each : all) made.push_back(each.clone());
  return made;
}
/// The values of each, from tensors of the same shapes.
inline void copy_each(const std::vector<torch::Tensor>& from, std::vector<torch::Tensor> to) {
  const torch::NoGradGuard no_graph;
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
