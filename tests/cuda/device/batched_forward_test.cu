#include <rubato/cuda/batched_forward.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda::test_batched_forward_on_device {
namespace {

using CudaForwardBatch = test::OnDevice;

template <class Shape>
void expect_the_bits_of_the_host(const nn::activation& hidden, const nn::activation& output) {
  const std::vector<float> parameters = test::numbers(Shape::parameters, 1);
  const test::device_array<float> parameters_there{parameters};
  const network<Shape> here{parameters.data(), hidden, output}, there{parameters_there.data(), hidden, output};
  std::vector<float> scratch(evaluate_scratch<Shape>);
  for (const std::size_t queries : {1u, 31u, 32u, 33u, 1000u, 20011u}) {
    for (const std::size_t skipped : {0u, 1u}) {
      const std::vector<float> in = test::numbers(skipped + queries * Shape::inputs, queries);
      std::vector<float> expected(queries * Shape::outputs);
      for (std::size_t q = 0; q < queries; ++q)
        evaluate<fused_arithmetic>(here, one_lane{}, in.data() + skipped + q * Shape::inputs, scratch.data(),
                                   expected.data() + q * Shape::outputs);
      const test::device_array<float> from{in}, to{queries * Shape::outputs};
      const error e = forward_batch(there, queries, from.data() + skipped, to.data(), nullptr);
      ASSERT_EQ(e.code, errc::ok) << e.message;
      EXPECT_EQ(to.host(), expected) << queries << " queries, inputs " << skipped << " numbers further";
    }
  }
}

TEST_F(CudaForwardBatch, HasTheBitsOfTheFusedHost) {
  using kind = nn::activation_kind;
  expect_the_bits_of_the_host<mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_the_bits_of_the_host<mlp_shape<40, 64, 32, 3>>({.kind = kind::relu}, {.kind = kind::leaky_relu});
  expect_the_bits_of_the_host<mlp_shape<3, 33, 2, 17, 4>>({.kind = kind::leaky_relu, .slope = 2}, {.kind = kind::relu});
  expect_the_bits_of_the_host<mlp_shape<34, 128, 9>>({.kind = kind::leaky_relu}, {});
}

TEST_F(CudaForwardBatch, SaysWhatDoesNotFit) {
  using shape = mlp_shape<512, 512, 1>;
  const test::device_array<float> numbers{512};
  const error e = forward_batch(network<shape>{numbers.data()}, 1, numbers.data(), numbers.data(), nullptr);
  EXPECT_EQ(e.code, errc::invalid_option);
  EXPECT_EQ(e.message.substr(0, 33), "forward_batch: the network wants ") << e.message;
  EXPECT_EQ(forward_batch(network<shape>{}, 0, nullptr, nullptr, nullptr).code, errc::ok) << "nothing to do";
}

}  // namespace
}  // namespace rubato::cuda::test_batched_forward_on_device
