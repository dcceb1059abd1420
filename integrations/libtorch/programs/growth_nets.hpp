#ifndef RUBATO_LIBTORCH_PROGRAMS_GROWTH_NETS_HPP
#define RUBATO_LIBTORCH_PROGRAMS_GROWTH_NETS_HPP

#include <torch/nn.h>

#include <cstdint>
#include <rubato/libtorch/growth/growable_sequential.hpp>

/// The networks of the report on growing a model, for images of 3 x 32 x 32 in ten classes. The scores of the classes
/// pass through a ReLU, too, as published.
/// Tests   tests/integrations/libtorch/growth/growth_nets_test.cpp: ParameterCounts, WhatDeepeningAdds,
///         DeepeningIsTheIdentity, TheirLayersAreThePublishedOnes
/// Source  Lamelas, course report, Tufts University, December 2023
namespace growth_nets {

inline torch::nn::Conv2d convolution(std::int64_t from, std::int64_t to) {
  return torch::nn::Conv2d{torch::nn::Conv2dOptions(from, to, 3)};
}
inline torch::nn::AdaptiveAvgPool2d flat_pool() {
  return torch::nn::AdaptiveAvgPool2d{torch::nn::AdaptiveAvgPool2dOptions({1, 1})};
}

/// A convolutional block, which may widen, too.
inline void add_block(rubato::libtorch::growable_parts& to, const char* name, std::int64_t from, std::int64_t channels,
                      bool widens) {
  to.block(name, convolution(from, channels), torch::nn::BatchNorm2d(channels));
  if (widens) to.widens();
}
/// ConvNet2: 10 layers, 10,602 parameters.
[[nodiscard]] inline rubato::libtorch::growable_sequential conv_net_2(bool widens = false) {
  rubato::libtorch::growable_parts parts;
  add_block(parts, "block1", 3, 32, widens);
  parts.layer("pool", torch::nn::AvgPool2d(2));
  add_block(parts, "block2", 32, 32, widens);
  parts.layer("flat_pool", flat_pool()).flatten().block("block3", torch::nn::Linear(32, 10));
  return *rubato::libtorch::growable_sequential::make(parts);
}
/// ConvNet3: 9 layers, 20,778 parameters.
[[nodiscard]] inline rubato::libtorch::growable_sequential conv_net_3(bool widens = false) {
  rubato::libtorch::growable_parts parts;
  add_block(parts, "block1", 3, 64, widens);
  add_block(parts, "block2", 64, 32, widens);
  parts.layer("flat_pool", flat_pool()).flatten().block("block3", torch::nn::Linear(32, 10));
  return *rubato::libtorch::growable_sequential::make(parts);
}

}  // namespace growth_nets

#endif
