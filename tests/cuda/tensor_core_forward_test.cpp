#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/cuda/tensor_core_tile.cuh>
#include <type_traits>
#include <vector>

#include "network_terms.hpp"
#include "random_network.hpp"
#include "thread_lanes.hpp"
#include "whole_network.hpp"

namespace rubato::cuda::test_tensor_core_forward {
namespace {

/// A number that a word of an operand holds.
template <class Operands>
double number_of(std::uint32_t word, unsigned half) {
  if constexpr (std::is_same_v<Operands, bf16_operands>)
    return std::bit_cast<float>((half == 0 ? word : word >> 16) << 16);
  return std::bit_cast<float>(word);
}

struct place {
  unsigned lane, word, half;
};
/// Where the PTX manual's matrices lie: A (query, input), B (input, output).
template <class Operands>
place place_in_a(unsigned query, unsigned input) {
  if constexpr (std::is_same_v<Operands, bf16_operands>)
    return {query % 8 * 4 + input % 8 / 2, query / 8 + 2 * (input / 8), input % 2};
  return {query % 8 * 4 + input % 4, query / 8 + 2 * (input / 4), 0};
}
template <class Operands>
place place_in_b(unsigned input, unsigned output) {
  if constexpr (std::is_same_v<Operands, bf16_operands>) return {output * 4 + input % 8 / 2, input / 8, input % 2};
  return {output * 4 + input % 4, input / 4, 0};
}

/// The instruction, played by 32 threads: each shows its words to the others and works out its own sums.
template <class Operands>
class played_unit {
 public:
  struct memory {
    std::array<std::array<std::uint32_t, 4>, 32> a;
    std::array<std::array<std::uint32_t, 2>, 32> b;
  };
  played_unit(const test::thread_lanes& lanes, memory& shown) : lanes_{lanes}, shown_{&shown} {}

  void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) const {
    const unsigned lane = lanes_.index();
    std::copy(std::begin(a), std::end(a), shown_->a[lane].begin());
    std::copy(std::begin(b), std::end(b), shown_->b[lane].begin());
    lanes_.sync();
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned query = lane / 4 + 8 * (k / 2), output = lane % 4 * 2 + k % 2;  // the manual's C
      double sum = 0;
      for (unsigned i = 0; i < Operands::depth; ++i) {
        const place in_a = place_in_a<Operands>(query, i), in_b = place_in_b<Operands>(i, output);
        sum += number_of<Operands>(shown_->a[in_a.lane][in_a.word], in_a.half) *
               number_of<Operands>(shown_->b[in_b.lane][in_b.word], in_b.half);
      }
      c[k] = static_cast<float>(c[k] + sum);
    }
    lanes_.sync();
  }

 private:
  test::thread_lanes lanes_;
  memory* shown_;
};

/// `warps` warps, one after the other; what nobody writes stays -1e9.
template <class Operands, class Shape>
std::vector<float> forward_by_threads(const network<Shape>& net, const std::vector<float>& in, std::size_t warps) {
  const std::size_t queries = in.size() / Shape::inputs;
  std::vector<std::uint32_t> packed(packed_words<Shape, Operands> + 1, 0xdeadbeef);
  std::vector<float> out(queries * Shape::outputs + 1, -1e9F);
  typename played_unit<Operands>::memory shown{};
  test::on_lanes(32, [&](const auto& lanes) {
    pack_words<Operands>(net, lanes, packed.data());
    for (std::size_t warp = 0; warp < warps; ++warp)
      tensor_core_tiles<Operands>(net, played_unit<Operands>{lanes, shown}, lanes.index(), packed.data(), warp, warps,
                                  queries, in.data(), out.data());
  });
  EXPECT_EQ(packed.back(), 0xdeadbeef);
  EXPECT_EQ(out.back(), -1e9F);
  out.pop_back();
  return out;
}

template <class Operands, class Shape>
struct both {
  using operands = Operands;
  using shape = Shape;
};
template <class Pair>
struct CudaTensorCore : testing::Test {};
using pairs =
    testing::Types<both<bf16_operands, mlp_shape<40, 64, 32, 3>>, both<tf32_operands, mlp_shape<40, 64, 32, 3>>,
                   both<bf16_operands, mlp_shape<7, 5>>, both<tf32_operands, mlp_shape<7, 5>>,
                   both<bf16_operands, mlp_shape<3, 33, 2, 17, 9>>, both<tf32_operands, mlp_shape<3, 33, 2, 17, 9>>,
                   both<bf16_operands, mlp_shape<1, 1, 1>>, both<bf16_operands, mlp_shape<10, 72, 4>>>;
TYPED_TEST_SUITE(CudaTensorCore, pairs);

TYPED_TEST(CudaTensorCore, WholeNumbersAreExact) {
  using shape = typename TypeParam::shape;
  using plan = tensor_core_plan<shape, typename TypeParam::operands>;
  const std::vector<float> parameters = test::whole_parameters<shape>(1);
  network<shape> net{parameters.data()};
  net.hidden = nn::activation{.kind = nn::activation_kind::relu};
  for (const std::size_t queries : {std::size_t{1}, plan::queries - 1, plan::queries, 2 * plan::queries + 9}) {
    const std::vector<float> in = test::whole_inputs(queries * shape::inputs, queries);
    EXPECT_EQ((forward_by_threads<typename TypeParam::operands>(net, in, 2)),
              test::evaluate_rows<exact_arithmetic>(net, in))
        << queries << " queries";
  }
}

TYPED_TEST(CudaTensorCore, StaysWithinItsError) {
  using shape = typename TypeParam::shape;
  using operands = typename TypeParam::operands;
  using kind = nn::activation_kind;
  const std::vector<float> in = test::numbers(37 * shape::inputs, 4);
  const struct {
    nn::activation hidden, output;
    float size;  // of parameters
  } cases[] = {{{.kind = kind::leaky_relu}, {}, 1},
               {{.kind = kind::leaky_relu, .slope = 1}, {.kind = kind::relu}, 1},
               {{.kind = kind::tanh}, {.kind = kind::tanh}, 0.25F}};  // beyond +-1 tanh would hide what is wrong
  for (const auto& [hidden, output, size] : cases) {
    std::vector<float> parameters = test::numbers(shape::parameters, 3);
    for (float& p : parameters) p *= size;
    const network<shape> net{parameters.data(), hidden, output};
    const std::vector<float> found = forward_by_threads<operands>(net, in, 1);
    const test::network_terms<shape> exact{net, in};
    bool rounded = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double apart = std::fabs(static_cast<double>(found[i]) - exact.outputs[i]);
      rounded = rounded || apart > 0;
      EXPECT_LE(apart, 2.1 * shape::layers * operands::roundoff * exact.terms[i]) << name(hidden.kind);
      EXPECT_LE(apart, test::of_largest<operands> * exact.largest) << name(hidden.kind);
    }
    EXPECT_TRUE(rounded) << "nothing was rounded";
  }
}

template <class Operands>
void expect_close(double of_terms, double of_largest) {
  using shape = mlp_shape<40, 64, 32, 3>;
  const std::vector<float> parameters = test::numbers(shape::parameters, 5), in = test::numbers(100 * 40, 6);
  const network<shape> net{parameters.data()};
  const std::vector<float> found = forward_by_threads<Operands>(net, in, 1);
  const test::network_terms<shape> exact{net, in};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(found[i]) - exact.outputs[i]);
    EXPECT_LE(apart, of_terms * exact.terms[i]);
    EXPECT_LE(apart, of_largest * exact.largest);
  }
}

TEST(CudaTensorCoreOperands, RandomNetworksAreCloser) {
  expect_close<bf16_operands>(1e-4, 1e-2);
  expect_close<tf32_operands>(1e-5, 1e-3);
}

TEST(CudaTensorCoreOperands, RoundsToTheNearest) {
  const auto bf16 = [](float x, float y) {
    const float both[] = {x, y};
    return bf16_operands::word(both);
  };
  EXPECT_EQ(bf16(1, -2), 0xc0003f80);
  EXPECT_EQ(bf16(0x1.01p0F, 0x1.03p0F), 0x3f823f80) << "ties to even";
  EXPECT_EQ(bf16(0x1.010002p0F, 0x1.00fffep0F), 0x3f803f81);
  EXPECT_EQ(bf16(3.4e38F, -0.0F), 0x80007f80) << "beyond the largest, and -0";
  EXPECT_EQ(bf16(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()), 0x7f807fff);
  const auto tf32 = [](float x) { return std::bit_cast<float>(tf32_operands::word(&x)); };
  EXPECT_EQ(tf32(1), 1);
  EXPECT_EQ(tf32(0x1.002p0F), 0x1.004p0F) << "ties away from zero";
  EXPECT_EQ(tf32(-0x1.002p0F), -0x1.004p0F);
  EXPECT_EQ(tf32(0x1.001ffep0F), 1);
  EXPECT_TRUE(std::isnan(tf32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(tf32(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
}

template <class Operands>
void expect_roundoff() {
  double most = 0;
  for (double x = 1; x < 2; x += 0x1p-14) {
    const float both[] = {static_cast<float>(x), 0};
    most = (std::max)(most, std::fabs(number_of<Operands>(Operands::word(both), 0) - x) / x);
  }
  EXPECT_LE(most, Operands::roundoff);
  EXPECT_GE(most, 0.99 * Operands::roundoff);
}

TEST(CudaTensorCoreOperands, RoundoffIsTheLargest) {
  expect_roundoff<bf16_operands>();
  expect_roundoff<tf32_operands>();
}

}  // namespace
}  // namespace rubato::cuda::test_tensor_core_forward
