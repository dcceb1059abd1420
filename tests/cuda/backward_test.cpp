#include <rubato/cuda/backward.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/mlp.hpp>
#include <span>
#include <vector>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {

template <std::size_t Inputs, std::size_t First, std::size_t... Rest>
struct trained {
  using host = nn::mlp<Inputs, First, Rest...>;
  using shape = mlp_shape<Inputs, First, Rest...>;
};
using trained_shapes = testing::Types<trained<40, 64, 32, 3>, trained<7, 5>, trained<3, 33, 2, 17, 4>>;

template <class Pair>
struct CudaBackward : testing::Test {};
TYPED_TEST_SUITE(CudaBackward, trained_shapes);

const nn::mlp_options trained_endings[] = {
    {},
    {.hidden = {nn::activation_kind::relu}, .output = {nn::activation_kind::leaky_relu, 0.3}},
    {.hidden = {nn::activation_kind::tanh}, .output = {nn::activation_kind::tanh}},
};

template <class Shape, class Host>
network<Shape> view_of(const Host& host) {
  return {host.parameters().data(), host.options().hidden, host.options().output};
}

template <class Host>
std::vector<float> gradient_of_host(const Host& host, std::span<const float> in, std::span<const float> slopes) {
  typename Host::workspace work{host, in.size() / host.inputs()};
  std::vector<float> gradient(host.parameters().size());
  static_cast<void>(host.forward(in, work));
  host.backward(slopes, work, gradient);
  return gradient;
}

// The gradient of `rows` samples, tile by tile. Threads of a tile are those of `run(body)`.
template <class Arithmetic, unsigned Rows, class Shape, class Run>
std::vector<float> gradient_of_tiles(const network<Shape>& net, const std::vector<float>& in,
                                     const std::vector<float>& slopes, const Run& run) {
  const auto rows = static_cast<unsigned>(in.size() / Shape::inputs), tiles = (rows + Rows - 1) / Rows;
  std::vector<float> partial(tiles * Shape::parameters, 1e9F), gradient(Shape::parameters);
  for (unsigned t = 0; t < tiles; ++t) {
    const auto memory = std::make_unique<training_tile<Shape, Rows>>();
    std::fill(std::begin(memory->values), std::end(memory->values), 1e9F);  // what is there before does not matter
    const unsigned first = t * Rows, here = (std::min)(Rows, rows - first);
    run([&](const auto& lanes) {
      stage(net, lanes, *memory);
      load_rows(
          lanes, here, [&](unsigned row) { return in.data() + (first + row) * Shape::inputs; }, *memory);
      forward<Arithmetic>(net, lanes, *memory);
      backward<Arithmetic>(
          net, lanes, here, [&](unsigned row, unsigned o) { return slopes[(first + row) * Shape::outputs + o]; },
          *memory, partial.data() + t * Shape::parameters);
    });
  }
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = ordered_sum(partial.data(), tiles, Shape::parameters, i);
  return gradient;
}
constexpr auto on_one_lane = [](const auto& body) { body(one_lane{}); };

double widest(const std::vector<float>& all) {
  double most = 0;
  for (const float x : all) most = (std::max)(most, std::fabs(static_cast<double>(x)));
  return most;
}
void expect_close(const std::vector<float>& found, const std::vector<float>& expected, double share) {
  ASSERT_EQ(found.size(), expected.size());
  const double most = widest(expected);
  ASSERT_GT(most, 0);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], share * most) << i;
}

TEST(CudaTrainingTile, IsAsLargeAsItSays) {
  EXPECT_EQ((sizeof(training_tile<mlp_shape<40, 64, 32, 3>, 32>) + 1023) / 1024, 41u);
}

TYPED_TEST(CudaBackward, ForwardHasTheBitsOfEvaluate) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : trained_endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 1);
    const auto net = view_of<shape>(host);
    const std::vector<float> in = test::numbers(16 * shape::inputs, 2);
    const auto memory = std::make_unique<training_tile<shape, 16>>();
    stage(net, one_lane{}, *memory);
    load_rows(
        one_lane{}, 16, [&](unsigned row) { return in.data() + row * shape::inputs; }, *memory);
    forward(net, one_lane{}, *memory);
    for (unsigned row = 0; row < 16; ++row) {
      std::vector<float> expected(shape::outputs), scratch(evaluate_scratch<shape>);
      evaluate(net, one_lane{}, in.data() + row * shape::inputs, scratch.data(), expected.data());
      for (unsigned o = 0; o < shape::outputs; ++o) EXPECT_EQ(memory->output(o, row), expected[o]) << row;
    }
  }
}

TYPED_TEST(CudaBackward, OneTileHasTheBitsOfTheHost) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : trained_endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 3);
    for (const std::size_t rows : {1u, 13u, 32u}) {
      const std::vector<float> in = test::numbers(rows * shape::inputs, 4);
      const std::vector<float> slopes = test::numbers(rows * shape::outputs, 5);
      EXPECT_EQ((gradient_of_tiles<exact_arithmetic, 32>(view_of<shape>(host), in, slopes, on_one_lane)),
                gradient_of_host(host, in, slopes))
          << rows;
    }
  }
}

TYPED_TEST(CudaBackward, TilesInTurnAreCloseToTheHost) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : trained_endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 6);
    for (const std::size_t rows : {33u, 256u}) {
      const std::vector<float> in = test::numbers(rows * shape::inputs, 7);
      const std::vector<float> slopes = test::numbers(rows * shape::outputs, 8);
      expect_close(gradient_of_tiles<exact_arithmetic, 32>(view_of<shape>(host), in, slopes, on_one_lane),
                   gradient_of_host(host, in, slopes), 1e-5);
    }
  }
}

TYPED_TEST(CudaBackward, AnyNumberOfLanesGivesTheSameGradient) {
  using shape = typename TypeParam::shape;
  const auto host = test::random_network<typename TypeParam::host>({}, 9);
  const std::vector<float> in = test::numbers(20 * shape::inputs, 10), slopes = test::numbers(20 * shape::outputs, 11);
  const auto expected = gradient_of_tiles<exact_arithmetic, 16>(view_of<shape>(host), in, slopes, on_one_lane);
  for (const unsigned count : {2u, 5u, 32u}) {
    const auto together = [&](const auto& body) { test::on_lanes(count, body); };
    EXPECT_EQ((gradient_of_tiles<exact_arithmetic, 16>(view_of<shape>(host), in, slopes, together)), expected)
        << count << " lanes";
  }
}

TYPED_TEST(CudaBackward, FusedGradientIsClose) {
  using shape = typename TypeParam::shape;
  for (const nn::mlp_options& options : trained_endings) {
    const auto host = test::random_network<typename TypeParam::host>(options, 12);
    const std::vector<float> in = test::numbers(64 * shape::inputs, 13);
    const std::vector<float> slopes = test::numbers(64 * shape::outputs, 14);
    expect_close(gradient_of_tiles<fused_arithmetic, 32>(view_of<shape>(host), in, slopes, on_one_lane),
                 gradient_of_host(host, in, slopes), 1e-5);
  }
}

}  // namespace
}  // namespace rubato::cuda
