#include <rubato/cuda/evaluate.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <rubato/nn/mlp.hpp>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda {
namespace {

using CudaEvaluate = test::OnDevice;

TEST_F(CudaEvaluate, HasTheBitsOfTheHost) {
  using shape = mlp_shape<40, 64, 32, 3>;
  const auto host = test::random_network<nn::mlp<40, 64, 32, 3>>({}, 1);
  const test::device_array<float> parameters{{host.parameters().begin(), host.parameters().end()}};
  for (const std::size_t queries : {1u, 3u, 4u, 1000u}) {
    const std::vector<float> in = test::numbers(queries * 40, queries);
    std::vector<float> expected(queries * 3);
    for (std::size_t q = 0; q < queries; ++q)
      host.evaluate({in.data() + q * 40, 40}, {expected.data() + q * 3, 3});
    const test::device_array<float> from{in}, to{queries * 3};
    const error e = evaluate_batch(network<shape>{parameters.data(), host.options().hidden, host.options().output},
                                   queries, from.data(), to.data(), nullptr);
    ASSERT_EQ(e.code, errc::ok) << e.message;
    EXPECT_EQ(to.host(), expected) << queries;
  }
}

}  // namespace
}  // namespace rubato::cuda
