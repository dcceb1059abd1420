#ifndef RUBATO_LIBTORCH_GROWTH_LAYER_NAME_HPP
#define RUBATO_LIBTORCH_GROWTH_LAYER_NAME_HPP

#include <torch/enum.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <rubato/core/result.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace rubato::inline RUBATO_ABI::libtorch {

namespace detail {

/// As Python's repr() has it: 0.1, 1e-05, 1.0.
inline std::string python_number(double number) {
  const double size = std::abs(number);
  const bool short_form = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[40];
  std::string text{digits, std::to_chars(digits, digits + sizeof digits, number,
                                         short_form ? std::chars_format::fixed : std::chars_format::scientific)
                               .ptr};
  return short_form && std::isfinite(number) && text.find('.') == std::string::npos ? text + ".0" : text;
}
inline std::string python_bool(bool value) { return value ? "True" : "False"; }

inline std::string python_pair(const torch::ExpandingArray<2>& sizes) {
  return "(" + std::to_string((*sizes)[0]) + ", " + std::to_string((*sizes)[1]) + ")";
}
/// One number where both are the same.
inline std::string python_size(const torch::ExpandingArray<2>& sizes) {
  return (*sizes)[0] == (*sizes)[1] ? std::to_string((*sizes)[0]) : python_pair(sizes);
}
template <class Sizes>
std::string python_output_size(const Sizes& sizes) {
  std::string text;
  for (const auto& size : *sizes) text += (text.empty() ? "(" : ", ") + (size ? std::to_string(*size) : "None");
  return text + ")";
}

}  // namespace detail

/// A linear layer, as PyTorch prints it in Python.
[[nodiscard]] inline std::string layer_name(const torch::nn::LinearOptions& of) {
  return "Linear(in_features=" + std::to_string(of.in_features()) +
         ", out_features=" + std::to_string(of.out_features()) + ", bias=" + detail::python_bool(of.bias()) + ")";
}
/// A convolution in two dimensions, likewise.
template <class Options>
requires requires(const Options& o) { o.in_channels(), o.padding_mode(); }
[[nodiscard]] std::string layer_name(const Options& of) {
  std::string text = "Conv2d(" + std::to_string(of.in_channels()) + ", " + std::to_string(of.out_channels()) +
                     ", kernel_size=" + detail::python_pair(of.kernel_size()) +
                     ", stride=" + detail::python_pair(of.stride());
  if (c10::get_if<torch::enumtype::kSame>(&of.padding()) != nullptr)
    text += ", padding=same";
  else if (c10::get_if<torch::enumtype::kValid>(&of.padding()) != nullptr)
    text += ", padding=valid";
  else if (const auto& sizes = c10::get<torch::ExpandingArray<2>>(of.padding()); (*sizes)[0] != 0 || (*sizes)[1] != 0)
    text += ", padding=" + detail::python_pair(sizes);
  if ((*of.dilation())[0] != 1 || (*of.dilation())[1] != 1) text += ", dilation=" + detail::python_pair(of.dilation());
  if (of.groups() != 1) text += ", groups=" + std::to_string(of.groups());
  if (!of.bias()) text += ", bias=False";
  const auto& mode = of.padding_mode();
  if (c10::get_if<torch::enumtype::kReflect>(&mode) != nullptr) text += ", padding_mode=reflect";
  if (c10::get_if<torch::enumtype::kReplicate>(&mode) != nullptr) text += ", padding_mode=replicate";
  if (c10::get_if<torch::enumtype::kCircular>(&mode) != nullptr) text += ", padding_mode=circular";
  return text + ")";
}
/// A batch norm in so many dimensions, likewise.
[[nodiscard]] inline std::string layer_name(const torch::nn::BatchNormOptions& of, int dimensions) {
  return "BatchNorm" + std::to_string(dimensions) + "d(" + std::to_string(of.num_features()) +
         ", eps=" + detail::python_number(of.eps()) +
         ", momentum=" + (of.momentum() ? detail::python_number(*of.momentum()) : "None") +
         ", affine=" + detail::python_bool(of.affine()) +
         ", track_running_stats=" + detail::python_bool(of.track_running_stats()) + ")";
}

/// A layer as PyTorch prints it in Python, the words that agents know: libtorch itself prints others, such as
/// `torch::nn::ReLU()`.
///
/// Where PyTorch prints what it was given, a pair or a number, here are pairs, but for padding and dilation of a
/// pooling, which are numbers if both are the same: `AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)`.
///
/// Errors  invalid_option: of a type that is not known here, which is named
/// Cost    O(length of the text). Allocates. Thread-safe while nobody changes the options.
/// Tests   tests/integrations/libtorch/growth/layer_name_test.cpp: NamesAreThoseOfPython, PythonPrintsTheSame,
///         OtherLayersAreAnError
[[nodiscard]] inline result<std::string> layer_name(const torch::nn::Module& layer) {
  using namespace torch::nn;
  using detail::python_bool;
  using detail::python_number;
  using detail::python_pair;
  using detail::python_size;
  const auto in_place = [](bool yes, const char* before) {
    return yes ? std::string{before} + "inplace=True" : std::string{};
  };
  if (const auto* is = dynamic_cast<const LinearImpl*>(&layer)) return layer_name(is->options);
  if (const auto* is = dynamic_cast<const Conv2dImpl*>(&layer)) return layer_name(is->options);
  if (const auto* is = dynamic_cast<const BatchNorm1dImpl*>(&layer)) return layer_name(is->options, 1);
  if (const auto* is = dynamic_cast<const BatchNorm2dImpl*>(&layer)) return layer_name(is->options, 2);
  if (const auto* is = dynamic_cast<const ReLUImpl*>(&layer))
    return "ReLU(" + in_place(is->options.inplace(), "") + ")";
  if (const auto* is = dynamic_cast<const LeakyReLUImpl*>(&layer))
    return "LeakyReLU(negative_slope=" + python_number(is->options.negative_slope()) +
           in_place(is->options.inplace(), ", ") + ")";
  if (dynamic_cast<const TanhImpl*>(&layer) != nullptr) return std::string{"Tanh()"};
  if (dynamic_cast<const SigmoidImpl*>(&layer) != nullptr) return std::string{"Sigmoid()"};
  if (dynamic_cast<const IdentityImpl*>(&layer) != nullptr) return std::string{"Identity()"};
  if (const auto* is = dynamic_cast<const FlattenImpl*>(&layer))
    return "Flatten(start_dim=" + std::to_string(is->options.start_dim()) +
           ", end_dim=" + std::to_string(is->options.end_dim()) + ")";
  const auto dropout = [](const char* name, const auto& options) {
    return std::string{name} + "(p=" + python_number(options.p()) + ", inplace=" + python_bool(options.inplace()) + ")";
  };
  if (const auto* is = dynamic_cast<const DropoutImpl*>(&layer)) return dropout("Dropout", is->options);
  if (const auto* is = dynamic_cast<const Dropout2dImpl*>(&layer)) return dropout("Dropout2d", is->options);
  const auto pooling = [](const char* name, const auto& options) {
    return std::string{name} + "(kernel_size=" + python_pair(options.kernel_size()) +
           ", stride=" + python_pair(options.stride()) + ", padding=" + python_size(options.padding());
  };
  if (const auto* is = dynamic_cast<const AvgPool2dImpl*>(&layer)) return pooling("AvgPool2d", is->options) + ")";
  if (const auto* is = dynamic_cast<const MaxPool2dImpl*>(&layer))
    return pooling("MaxPool2d", is->options) + ", dilation=" + python_size(is->options.dilation()) +
           ", ceil_mode=" + python_bool(is->options.ceil_mode()) + ")";
  const auto adaptive = [](const char* name, const auto& options) {
    return std::string{name} + "(output_size=" + detail::python_output_size(options.output_size()) + ")";
  };
  if (const auto* is = dynamic_cast<const AdaptiveAvgPool2dImpl*>(&layer))
    return adaptive("AdaptiveAvgPool2d", is->options);
  if (const auto* is = dynamic_cast<const AdaptiveMaxPool2dImpl*>(&layer))
    return adaptive("AdaptiveMaxPool2d", is->options);
  return error{errc::invalid_option, "layer_name: found " + layer.name() +
                                         ", expected a layer whose name in PyTorch is known, or a name beside it"};
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
