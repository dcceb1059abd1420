#include <rubato/cuda/evaluate.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/nn/mlp.hpp>
#include <vector>

#include "cuda/device/captured.hpp"
#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda::test_evaluate_on_device {
namespace {

using CudaEvaluate = test::OnDevice;

/// Starts with launch(body), which calls body(stream), and compares with the host.
template <std::size_t Inputs, std::size_t First, std::size_t... Rest, class Launch>
void expect_the_bits_of_the_host(mlp_shape<Inputs, First, Rest...>, std::size_t queries, const Launch& launch,
                                 const nn::mlp_options& options = {}) {
  using shape = mlp_shape<Inputs, First, Rest...>;
  const auto host = test::random_network<nn::mlp<Inputs, First, Rest...>>(options, 1);
  const test::device_array<float> parameters{{host.parameters().begin(), host.parameters().end()}};
  const network<shape> there{parameters.data(), host.options().hidden, host.options().output};
  const std::vector<float> in = test::numbers(queries * shape::inputs, queries);
  std::vector<float> expected(queries * shape::outputs);
  for (std::size_t q = 0; q < queries; ++q)
    host.evaluate({in.data() + q * shape::inputs, shape::inputs},
                  {expected.data() + q * shape::outputs, shape::outputs});
  const test::device_array<float> from{in}, to{expected.size()};
  launch([&](cudaStream_t stream) { return evaluate_batch(there, queries, from.data(), to.data(), stream); });
  EXPECT_EQ(to.host(), expected) << queries;
}

constexpr auto at_once = [](const auto& body) {
  const error e = body(nullptr);
  EXPECT_EQ(e.code, errc::ok) << e.message;
};

TEST_F(CudaEvaluate, HasTheBitsOfTheHost) {
  using kind = nn::activation_kind;
  for (const std::size_t queries : {1u, 3u, 4u, 1000u}) {
    expect_the_bits_of_the_host(mlp_shape<40, 64, 32, 3>{}, queries, at_once);
    expect_the_bits_of_the_host(mlp_shape<7, 5>{}, queries, at_once, {.output = {kind::relu}});
    expect_the_bits_of_the_host(mlp_shape<3, 33, 2, 17, 4>{}, queries, at_once,
                                {.hidden = {kind::relu}, .output = {kind::leaky_relu, 0.3}});
  }
  expect_the_bits_of_the_host(mlp_shape<2, 1535, 3>{}, 9, at_once);  // as wide as there is memory for
}

// Shapes of no other test: the kernel has not been loaded before.
TEST_F(CudaEvaluate, IsCaptured) {
  expect_the_bits_of_the_host(mlp_shape<12, 24, 6>{}, 100,
                              [](const auto& body) { test::run_captured(cudaStreamCaptureModeGlobal, body); });
  expect_the_bits_of_the_host(mlp_shape<12, 20, 6>{}, 100,
                              [](const auto& body) { test::run_captured(cudaStreamCaptureModeThreadLocal, body); });
}

}  // namespace
}  // namespace rubato::cuda::test_evaluate_on_device
