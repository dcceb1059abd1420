#ifndef RUBATO_TESTS_INTEGRATIONS_LIBTORCH_SOME_NETS_HPP
#define RUBATO_TESTS_INTEGRATIONS_LIBTORCH_SOME_NETS_HPP

#include <torch/nn.h>

namespace rubato::libtorch::test {

struct NetImpl : torch::nn::Module {
  torch::nn::Linear a{register_module("a", torch::nn::Linear(2, 5))}, b{register_module("b", torch::nn::Linear(5, 1))};
  torch::Tensor forward(const torch::Tensor& x) { return b(torch::tanh(a(x))); }
};
TORCH_MODULE(Net);

// With buffers.
struct NormedImpl : torch::nn::Module {
  torch::nn::Linear a{register_module("a", torch::nn::Linear(2, 5))};
  torch::nn::BatchNorm1d norm{register_module("norm", torch::nn::BatchNorm1d(5))};
  torch::nn::Linear b{register_module("b", torch::nn::Linear(5, 1))};
  torch::Tensor forward(const torch::Tensor& x) { return b(torch::tanh(norm(a(x)))); }
};
TORCH_MODULE(Normed);

}  // namespace rubato::libtorch::test

#endif
