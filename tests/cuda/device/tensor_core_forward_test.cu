#include <rubato/cuda/tensor_core_forward.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/network_terms.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda::test_tensor_core_forward_on_device {
namespace {

using CudaTensorCoreForward = test::OnDevice;

template <class Operands, class Shape>
void expect_within_the_error(const nn::activation& hidden, const nn::activation& output) {
  const std::vector<float> parameters = test::numbers(Shape::parameters, 1);
  const test::device_array<float> parameters_there{parameters};
  const network<Shape> here{parameters.data(), hidden, output}, there{parameters_there.data(), hidden, output};
  const test::device_array<std::uint32_t> packed{packed_words<Shape, Operands>};
  error e = pack_weights<Operands>(there, packed.data(), nullptr);
  ASSERT_EQ(e.code, errc::ok) << e.message;
  for (const std::size_t queries : {1u, 15u, 32u, 33u, 1000u, 20011u})
    for (const std::size_t skipped : {0u, 1u}) {
      const std::vector<float> in = test::numbers(skipped + queries * Shape::inputs, queries);
      const test::network_terms<Shape> exact{here, {in.begin() + static_cast<std::ptrdiff_t>(skipped), in.end()}};
      const test::device_array<float> from{in}, to{queries * Shape::outputs};
      e = tensor_core_forward<Operands>(there, packed.data(), queries, from.data() + skipped, to.data(), nullptr);
      ASSERT_EQ(e.code, errc::ok) << e.message;
      const std::vector<float> found = to.host();
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_LE(std::fabs(found[i] - exact.outputs[i]), 2.1 * Shape::layers * Operands::roundoff * exact.terms[i])
            << queries << " queries, output " << i;
    }
}

TEST_F(CudaTensorCoreForward, StaysWithinItsError) {
  using kind = nn::activation_kind;
  expect_within_the_error<bf16_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_within_the_error<tf32_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_within_the_error<bf16_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::tanh}, {.kind = kind::tanh});
  expect_within_the_error<bf16_operands, mlp_shape<3, 33, 2, 17, 9>>({.kind = kind::relu}, {.kind = kind::relu});
  expect_within_the_error<tf32_operands, mlp_shape<3, 33, 2, 17, 9>>({.kind = kind::relu}, {.kind = kind::relu});
}

TEST_F(CudaTensorCoreForward, WantsAlignedWeights) {
  using shape = mlp_shape<40, 64, 32, 3>;
  const test::device_array<std::uint32_t> packed{packed_words<shape, bf16_operands> + 1};
  const test::device_array<float> numbers{shape::parameters};
  const network<shape> net{numbers.data()};
  EXPECT_EQ(pack_weights(net, packed.data() + 1, nullptr).code, errc::invalid_option);
  EXPECT_EQ(tensor_core_forward(net, packed.data() + 1, 1, numbers.data(), numbers.data(), nullptr).code,
            errc::invalid_option);
}

}  // namespace
}  // namespace rubato::cuda::test_tensor_core_forward_on_device
