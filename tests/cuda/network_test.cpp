#include <rubato/cuda/network.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <rubato/nn/mlp.hpp>
#include <type_traits>
#include <vector>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {

template <std::size_t Inputs, std::size_t First, std::size_t... Rest>
struct same {
  using host = nn::mlp<Inputs, First, Rest...>;
  using shape = mlp_shape<Inputs, First, Rest...>;
};
using shapes = testing::Types<same<40, 64, 32, 3>, same<7, 5>, same<1, 1, 1>, same<8, 64, 64, 5>, same<3, 33, 2, 17, 4>>;

template <class Pair>
struct CudaNetwork : testing::Test {};
TYPED_TEST_SUITE(CudaNetwork, shapes);

const nn::mlp_options endings[] = {
    {},
    {.hidden = {nn::activation_kind::relu}, .output = {nn::activation_kind::leaky_relu, 0.3}},
    {.hidden = {nn::activation_kind::leaky_relu, 2}, .output = {nn::activation_kind::relu}},
    {.hidden = {nn::activation_kind::tanh}, .output = {nn::activation_kind::tanh}},
};

template <class Shape>
network<Shape> view(const auto& host) {
  return {host.parameters().data(), host.options().hidden, host.options().output};
}

TYPED_TEST(CudaNetwork, LayersLieAsTheHostsDo) {
  using shape = typename TypeParam::shape;
  const auto layers = TypeParam::host::layers();
  ASSERT_EQ(layers.size(), shape::layers);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    EXPECT_EQ(layers[l].inputs, shape::width(l));
    EXPECT_EQ(layers[l].outputs, shape::width(l + 1));
    EXPECT_EQ(layers[l].first, shape::weight(l));
    EXPECT_EQ(layers[l].bias(), shape::bias(l));
  }
  EXPECT_EQ(layers.back().end(), shape::parameters);
  EXPECT_EQ(TypeParam::host::widest_hidden(), shape::widest_hidden);
  static_assert(std::is_trivially_copyable_v<network<shape>>);
}

TYPED_TEST(CudaNetwork, EvaluateHasTheBitsOfTheHost) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 1);
    for (std::uint64_t sample = 0; sample < 10; ++sample) {
      const std::vector<float> in = test::numbers(shape::inputs, 2 + sample);
      std::vector<float> expected(shape::outputs), found(shape::outputs), scratch(evaluate_scratch<shape>);
      host.evaluate(in, expected);
      evaluate(view<shape>(host), one_lane{}, in.data(), scratch.data(), found.data());
      EXPECT_EQ(found, expected);
    }
  }
}

TYPED_TEST(CudaNetwork, AnyNumberOfLanesGivesTheSameBits) {
  using shape = typename TypeParam::shape;
  const auto host = test::random_network<typename TypeParam::host>({}, 3);
  const std::vector<float> in = test::numbers(shape::inputs, 4);
  std::vector<float> expected(shape::outputs);
  host.evaluate(in, expected);
  for (const unsigned count : {2u, 5u, 32u}) {
    std::vector<float> found(shape::outputs), scratch(evaluate_scratch<shape>);
    test::on_lanes(count, [&](const auto& lanes) {
      evaluate(view<shape>(host), lanes, in.data(), scratch.data(), found.data());
    });
    EXPECT_EQ(found, expected) << count << " lanes";
  }
}

TYPED_TEST(CudaNetwork, FusedIsCloseToExact) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 5);
    const std::vector<float> in = test::numbers(shape::inputs, 6);
    std::vector<float> expected(shape::outputs), found(shape::outputs), scratch(evaluate_scratch<shape>);
    host.evaluate(in, expected);
    evaluate<fused_arithmetic>(view<shape>(host), one_lane{}, in.data(), scratch.data(), found.data());
    for (std::size_t o = 0; o < found.size(); ++o)
      EXPECT_NEAR(found[o], expected[o], 1e-5 * (1 + std::fabs(expected[o])));
  }
}

TEST(CudaActivation, ChainHasTheBitsOfTheHost) {
  for (const nn::mlp_options& options : endings)
    for (const nn::activation& f : {options.hidden, options.output})
      for (const float x : {-2.0F, -0.5F, 0.0F, 0.25F, 3.0F}) {
        const float y = nn::activate(f, x);
        EXPECT_EQ(activate(f, x), y);
        EXPECT_EQ(chain(f, y, 1.7F), nn::chain(f, y, 1.7F));
      }
}

}  // namespace
}  // namespace rubato::cuda
