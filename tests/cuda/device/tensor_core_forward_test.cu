#include <rubato/cuda/tensor_core_forward.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/device/captured.hpp"
#include "cuda/device/device.hpp"
#include "cuda/network_terms.hpp"
#include "cuda/random_network.hpp"
#include "cuda/whole_network.hpp"

namespace rubato::cuda::test_tensor_core_forward_on_device {
namespace {

using CudaTensorCoreForward = test::OnDevice;
using kind = nn::activation_kind;

/// A network with its parameters here and there, and packed.
template <class Operands, class Shape>
struct packed_network {
  std::vector<float> parameters;
  test::device_array<float> parameters_there;
  test::device_array<std::uint32_t> packed{packed_words<Shape, Operands>};
  network<Shape> here, there;

  packed_network(const std::vector<float>& numbers, const nn::activation& hidden, const nn::activation& output)
      : parameters{numbers},
        parameters_there{parameters},
        here{parameters.data(), hidden, output},
        there{parameters_there.data(), hidden, output} {}
  packed_network(const packed_network&) = delete;

  [[nodiscard]] error pack(cudaStream_t stream) const { return pack_weights<Operands>(there, packed.data(), stream); }
  [[nodiscard]] error forward(std::size_t queries, const float* in, float* out, cudaStream_t stream) const {
    return tensor_core_forward<Operands>(there, packed.data(), queries, in, out, stream);
  }
  /// The outputs of the first `queries` rows, which begin `skipped` numbers after a multiple of 16 bytes.
  [[nodiscard]] std::vector<float> outputs(const std::vector<float>& in, std::size_t queries,
                                           std::size_t skipped = 0) const {
    std::vector<float> rows(skipped, 1e9F);
    rows.insert(rows.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(queries * Shape::inputs));
    const test::device_array<float> from{rows}, to{queries * Shape::outputs};
    const error e = forward(queries, from.data() + skipped, to.data(), nullptr);
    EXPECT_EQ(e.code, errc::ok) << e.message;
    return to.host();
  }
};

void expect_ok(const error& e) { ASSERT_EQ(e.code, errc::ok) << e.message; }

template <class Operands, class Shape>
void expect_whole_numbers() {
  const packed_network<Operands, Shape> net{test::whole_parameters<Shape>(1), {.kind = kind::relu}, {}};
  expect_ok(net.pack(nullptr));
  for (const std::size_t queries : {1u, 15u, 33u, 20'011u}) {
    const std::vector<float> in = test::whole_inputs(queries * Shape::inputs, queries);
    EXPECT_EQ(net.outputs(in, queries), test::evaluate_rows<exact_arithmetic>(net.here, in)) << queries << " queries";
  }
}

TEST_F(CudaTensorCoreForward, WholeNumbersAreExact) {
  expect_whole_numbers<bf16_operands, mlp_shape<40, 64, 32, 3>>();
  expect_whole_numbers<tf32_operands, mlp_shape<40, 64, 32, 3>>();
  expect_whole_numbers<bf16_operands, mlp_shape<3, 33, 2, 17, 9>>();
  expect_whole_numbers<tf32_operands, mlp_shape<3, 33, 2, 17, 9>>();
  expect_whole_numbers<bf16_operands, mlp_shape<7, 5>>();
  expect_whole_numbers<bf16_operands, mlp_shape<10, 72, 4>>();
}

template <class Operands, class Shape>
void expect_within_the_error(const nn::activation& hidden, const nn::activation& output, float size = 1) {
  std::vector<float> parameters = test::numbers(Shape::parameters, 1);
  for (float& p : parameters) p *= size;
  const packed_network<Operands, Shape> net{parameters, hidden, output};
  expect_ok(net.pack(nullptr));
  const std::vector<float> in = test::numbers(20'011 * Shape::inputs, 2);
  const test::network_terms<Shape> exact{net.here, in};
  for (const std::size_t queries : {1u, 15u, 32u, 33u, 1'000u, 20'011u})
    for (const std::size_t skipped : {0u, 1u}) {
      const std::vector<float> found = net.outputs(in, queries, skipped);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double apart = std::fabs(static_cast<double>(found[i]) - exact.outputs[i]);
        ASSERT_LE(apart, 2.1 * Shape::layers * Operands::roundoff * exact.terms[i]) << queries << ", output " << i;
        ASSERT_LE(apart, test::of_largest<Operands> * exact.largest) << queries << " queries, output " << i;
      }
    }
}

TEST_F(CudaTensorCoreForward, StaysWithinItsError) {
  expect_within_the_error<bf16_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_within_the_error<tf32_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_within_the_error<bf16_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::tanh}, {.kind = kind::tanh}, 0.25F);
  expect_within_the_error<tf32_operands, mlp_shape<40, 64, 32, 3>>({.kind = kind::tanh}, {.kind = kind::tanh}, 0.25F);
  expect_within_the_error<bf16_operands, mlp_shape<3, 33, 2, 17, 9>>({.kind = kind::relu}, {.kind = kind::relu});
  expect_within_the_error<tf32_operands, mlp_shape<3, 33, 2, 17, 9>>({.kind = kind::relu}, {.kind = kind::relu});
}

// More tiles than the warps of a large card, and a row in another place of its tile each time it comes again.
template <class Operands>
void expect_the_same_bits_again() {
  using shape = mlp_shape<40, 64, 32, 3>;
  constexpr std::size_t queries = 200'003, period = 1'000;
  const packed_network<Operands, shape> net{test::numbers(shape::parameters, 1), {.kind = kind::leaky_relu}, {}};
  expect_ok(net.pack(nullptr));
  const std::vector<float> in = test::numbers(period * shape::inputs, 3);
  const std::vector<float> once = net.outputs(in, period);  // StaysWithinItsError has looked at such outputs
  EXPECT_EQ(net.outputs(test::repeated(in, queries * shape::inputs), queries),
            test::repeated(once, queries * shape::outputs));
}

TEST_F(CudaTensorCoreForward, EachTileOfAWarpHasTheSameBits) {
  expect_the_same_bits_again<bf16_operands>();
  expect_the_same_bits_again<tf32_operands>();
}

// Shapes of no other test: the kernels have not been loaded before.
template <class Operands, class Shape>
void expect_captured(cudaStreamCaptureMode mode) {
  constexpr std::size_t queries = 1'000;
  const packed_network<Operands, Shape> net{test::whole_parameters<Shape>(1), {.kind = kind::relu}, {}};
  const std::vector<float> in = test::whole_inputs(queries * Shape::inputs, 4);
  const test::device_array<float> from{in}, to{queries * Shape::outputs};
  test::run_captured(mode, [&](cudaStream_t stream) {
    const error e = net.pack(stream);
    return e.code == errc::ok ? net.forward(queries, from.data(), to.data(), stream) : e;
  });
  EXPECT_EQ(to.host(), test::evaluate_rows<exact_arithmetic>(net.here, in));
}

TEST_F(CudaTensorCoreForward, IsCaptured) {
  expect_captured<bf16_operands, mlp_shape<14, 24, 5>>(cudaStreamCaptureModeGlobal);
  expect_captured<tf32_operands, mlp_shape<14, 20, 5>>(cudaStreamCaptureModeThreadLocal);
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
