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

/// ConvNet2: 10 layers, 10,602 parameters. Its convolutional blocks may widen, where that is asked for.
[[nodiscard]] inline rubato::libtorch::growable_sequential conv_net_2(bool widens = false) {
  using namespace torch::nn;
  const rubato::libtorch::block_options how{.widens = widens};
  return *rubato::libtorch::growable_sequential::make(rubato::libtorch::growable_parts{}
                                                          .block("block1", convolution(3, 32), BatchNorm2d(32), how)
                                                          .layer("pool", AvgPool2d(2))
                                                          .block("block2", convolution(32, 32), BatchNorm2d(32), how)
                                                          .layer("flat_pool", flat_pool())
                                                          .flatten()
                                                          .block("block3", Linear(32, 10)));
}
/// ConvNet3: 9 layers, 20,778 parameters. Likewise.
[[nodiscard]] inline rubato::libtorch::growable_sequential conv_net_3(bool widens = false) {
  using namespace torch::nn;
  const rubato::libtorch::block_options how{.widens = widens};
  return *rubato::libtorch::growable_sequential::make(rubato::libtorch::growable_parts{}
                                                          .block("block1", convolution(3, 64), BatchNorm2d(64), how)
                                                          .block("block2", convolution(64, 32), BatchNorm2d(32), how)
                                                          .layer("flat_pool", flat_pool())
                                                          .flatten()
                                                          .block("block3", Linear(32, 10)));
}

}  // namespace growth_nets

#endif
