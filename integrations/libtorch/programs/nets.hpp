#ifndef RUBATO_LIBTORCH_PROGRAMS_NETS_HPP
#define RUBATO_LIBTORCH_PROGRAMS_NETS_HPP

#include <torch/nn.h>

#include <algorithm>
#include <cstdint>

#include "images.hpp"

/// For MNIST: 784, 128, 10.
inline torch::nn::Sequential perceptron() {
  return torch::nn::Sequential{torch::nn::Flatten(), torch::nn::Linear(784, 128), torch::nn::ReLU(),
                               torch::nn::Linear(128, 10)};
}
/// For CIFAR-10: three convolutions, each with a pooling, and two linear layers; 150,698 parameters.
inline torch::nn::Sequential convolutional() {
  using namespace torch::nn;
  const auto convolution = [](std::int64_t from, std::int64_t to) {
    return Conv2d(Conv2dOptions(from, to, 3).padding(1));
  };
  return Sequential{convolution(3, 32),  ReLU(), MaxPool2d(2), convolution(32, 64), ReLU(),           MaxPool2d(2),
                    convolution(64, 64), ReLU(), MaxPool2d(2), Flatten(),           Linear(1024, 90), ReLU(),
                    Linear(90, 10)};
}
inline torch::nn::Sequential net_for(const images& all) { return all.grey() ? perceptron() : convolutional(); }

/// On the held-out images.
struct judgement {
  double loss = 0;      ///< mean, in nats
  double accuracy = 0;  ///< share that is recognised
};
inline judgement judged(torch::nn::Sequential& net, const images& all) {
  const torch::InferenceMode no_graph;
  net->eval();
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t from = 0; from < all.judged(); from += 500) {
    const images::batch b = all.held_out(from, std::min<std::int64_t>(500, all.judged() - from));
    const torch::Tensor scores = net->forward(b.pixels);
    loss += torch::cross_entropy_loss(scores, b.labels, {}, at::Reduction::Sum).item<double>();
    right += scores.argmax(1).eq(b.labels).sum().item<std::int64_t>();
  }
  net->train();
  const auto count = static_cast<double>(all.judged());
  return {.loss = loss / count, .accuracy = static_cast<double>(right) / count};
}

#endif
