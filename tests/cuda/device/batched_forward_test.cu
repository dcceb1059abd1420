#include <rubato/cuda/batched_forward.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "cuda/device/captured.hpp"
#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"
#include "cuda/whole_network.hpp"

namespace rubato::cuda::test_batched_forward_on_device {
namespace {

using CudaForwardBatch = test::OnDevice;
using kind = nn::activation_kind;

/// A network with its parameters here and there.
template <class Shape>
struct twin_networks {
  std::vector<float> parameters;
  test::device_array<float> parameters_there;
  network<Shape> here, there;

  explicit twin_networks(const nn::activation& hidden = {.kind = kind::leaky_relu}, const nn::activation& output = {},
                         float size = 1)
      : parameters{scaled(size)},
        parameters_there{parameters},
        here{parameters.data(), hidden, output},
        there{parameters_there.data(), hidden, output} {}
  twin_networks(const twin_networks&) = delete;

 private:
  static std::vector<float> scaled(float size) {
    std::vector<float> all = test::numbers(Shape::parameters, 1);
    for (float& x : all) x *= size;
    return all;
  }
};

template <class Shape>
void expect_the_bits_of_the_host(const nn::activation& hidden, const nn::activation& output) {
  const twin_networks<Shape> net{hidden, output};
  for (const std::size_t queries : {1u, 31u, 32u, 33u, 1000u, 20011u}) {
    std::vector<float> in = test::numbers(queries * Shape::inputs, queries);
    const std::vector<float> expected = test::evaluate_rows<fused_arithmetic>(net.here, in);
    for (const std::size_t skipped : {0u, 1u}) {
      in.insert(in.begin(), skipped, 1e9F);
      const test::device_array<float> from{in}, to{queries * Shape::outputs};
      const error e = forward_batch(net.there, queries, from.data() + skipped, to.data(), nullptr);
      ASSERT_EQ(e.code, errc::ok) << e.message;
      EXPECT_EQ(to.host(), expected) << queries << " queries, inputs " << skipped << " numbers further";
    }
  }
}

TEST_F(CudaForwardBatch, HasTheBitsOfTheFusedHost) {
  expect_the_bits_of_the_host<mlp_shape<40, 64, 32, 3>>({.kind = kind::leaky_relu}, {});
  expect_the_bits_of_the_host<mlp_shape<40, 64, 32, 3>>({.kind = kind::relu}, {.kind = kind::leaky_relu});
  expect_the_bits_of_the_host<mlp_shape<3, 33, 2, 17, 4>>({.kind = kind::leaky_relu, .slope = 2}, {.kind = kind::relu});
  expect_the_bits_of_the_host<mlp_shape<34, 128, 9>>({.kind = kind::leaky_relu}, {});
}

template <class Shape>
void expect_close_with_tanh() {
  constexpr std::size_t queries = 1000;
  const twin_networks<Shape> net{{.kind = kind::tanh}, {.kind = kind::tanh}, 0.25F};
  const std::vector<float> in = test::numbers(queries * Shape::inputs, 2);
  const std::vector<float> expected = test::evaluate_rows<fused_arithmetic>(net.here, in);
  const test::device_array<float> from{in}, to{queries * Shape::outputs};
  const error e = forward_batch(net.there, queries, from.data(), to.data(), nullptr);
  ASSERT_EQ(e.code, errc::ok) << e.message;
  const std::vector<float> found = to.host();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST_F(CudaForwardBatch, TanhIsCloseToTheHost) {
  expect_close_with_tanh<mlp_shape<40, 64, 32, 3>>();
  expect_close_with_tanh<mlp_shape<3, 33, 2, 17, 4>>();
}

// More tiles than the warps of a large card, and a row in another place of its tile each time it comes again.
TEST_F(CudaForwardBatch, EachTileOfAWarpHasTheSameBits) {
  using shape = mlp_shape<40, 64, 32, 3>;
  constexpr std::size_t queries = 200'003, period = 1'000;
  const twin_networks<shape> net;
  const std::vector<float> in = test::numbers(period * shape::inputs, 3);
  const std::vector<float> expected = test::evaluate_rows<fused_arithmetic>(net.here, in);
  const test::device_array<float> from{test::repeated(in, queries * shape::inputs)}, to{queries * shape::outputs};
  const error e = forward_batch(net.there, queries, from.data(), to.data(), nullptr);
  ASSERT_EQ(e.code, errc::ok) << e.message;
  EXPECT_EQ(to.host(), test::repeated(expected, queries * shape::outputs));
}

// Shapes of no other test: the kernel has not been loaded before.
template <class Shape>
void expect_captured(cudaStreamCaptureMode mode) {
  constexpr std::size_t queries = 1'000;
  const twin_networks<Shape> net;
  const std::vector<float> in = test::numbers(queries * Shape::inputs, 4);
  const test::device_array<float> from{in}, to{queries * Shape::outputs};
  test::run_captured(
      mode, [&](cudaStream_t stream) { return forward_batch(net.there, queries, from.data(), to.data(), stream); });
  EXPECT_EQ(to.host(), test::evaluate_rows<fused_arithmetic>(net.here, in));
}

TEST_F(CudaForwardBatch, IsCaptured) {
  expect_captured<mlp_shape<12, 24, 5>>(cudaStreamCaptureModeGlobal);
  expect_captured<mlp_shape<12, 20, 5>>(cudaStreamCaptureModeThreadLocal);
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
