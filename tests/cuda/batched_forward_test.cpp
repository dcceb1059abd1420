#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <rubato/cuda/forward_tile.cuh>
#include <set>
#include <utility>
#include <vector>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda::test_batched_forward {
namespace {

// Widths that are multiples of nothing, a tile of each size, and lanes without work (6-200-1: 8 queries, 32 rows).
using shapes =
    testing::Types<mlp_shape<40, 64, 32, 3>, mlp_shape<7, 5>, mlp_shape<1, 1, 1>, mlp_shape<8, 64, 64, 5>,
                   mlp_shape<3, 33, 2, 17, 4>, mlp_shape<34, 128, 9>, mlp_shape<6, 200, 1>, mlp_shape<5, 300, 7>>;

template <class Shape>
struct CudaForwardTile : testing::Test {};
TYPED_TEST_SUITE(CudaForwardTile, shapes);

using kind = nn::activation_kind;
const std::pair<nn::activation, nn::activation> endings[] = {
    {{.kind = kind::leaky_relu}, {}},
    {{.kind = kind::relu}, {.kind = kind::leaky_relu, .slope = 0.3}},
    {{.kind = kind::leaky_relu, .slope = 2}, {.kind = kind::relu}},
    {{.kind = kind::tanh}, {.kind = kind::tanh}},
};

/// Numbers that begin at a multiple of 16 bytes, or `skipped` numbers after one.
class aligned_numbers {
 public:
  explicit aligned_numbers(const std::vector<float>& from, std::size_t skipped = 0)
      : memory_(from.size() + 4 + skipped), at_{skipped} {
    while (reinterpret_cast<std::uintptr_t>(memory_.data() + at_ - skipped) % 16 != 0) ++at_;
    std::copy(from.begin(), from.end(), data());
  }
  float* data() { return memory_.data() + at_; }

 private:
  std::vector<float> memory_;
  std::size_t at_;
};

/// A network with random parameters, a batch, and the fused outputs of each query by itself.
template <class Shape>
struct problem {
  std::vector<float> parameters = test::numbers(Shape::parameters, 1);
  network<Shape> net{parameters.data()};
  std::size_t queries;
  std::vector<float> in, expected;

  explicit problem(std::size_t count, const nn::activation& hidden = {.kind = kind::leaky_relu},
                   const nn::activation& output = {})
      : queries{count}, in{test::numbers(count * Shape::inputs, 2)}, expected(count * Shape::outputs) {
    net.hidden = hidden;
    net.output = output;
    std::vector<float> scratch(evaluate_scratch<Shape>);
    for (std::size_t q = 0; q < queries; ++q)
      evaluate<fused_arithmetic>(net, one_lane{}, in.data() + q * Shape::inputs, scratch.data(),
                                 expected.data() + q * Shape::outputs);
  }
  problem(const problem&) = delete;
};

/// What does not overwrite `out` shows as -1e9.
template <class Shape, class Lanes>
void forward_as(const Lanes& lanes, const problem<Shape>& of, const float* packed, float* activations,
                std::size_t warps, const float* in, float* out) {
  for (std::size_t warp = 0; warp < warps; ++warp) {
    load_tile<Shape>(lanes, warp, of.queries, in, activations);
    forward_tiles(of.net, lanes, packed, activations, warp, warps, of.queries, in, out);
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TYPED_TEST(CudaForwardTile, PacksEveryParameterOnce) {
  using tile = forward_tile<TypeParam>;
  std::vector<float> numbered(TypeParam::parameters);
  for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i] = static_cast<float>(i + 1);
  std::vector<float> packed(tile::parameters, -1);
  pack_for_tiles(network<TypeParam>{numbered.data()}, one_lane{}, packed.data());
  for (std::size_t l = 0; l < TypeParam::layers; ++l) {
    const std::size_t outputs = TypeParam::width(l + 1);
    for (std::size_t o = 0; o < tile::padded(l); ++o) {
      for (std::size_t i = 0; i < TypeParam::width(l); ++i)
        EXPECT_EQ(packed[tile::weight(l) + i * tile::padded(l) + o],
                  o < outputs ? numbered[TypeParam::weight(l) + i * outputs + o] : 0);
      EXPECT_EQ(packed[tile::bias(l) + o], o < outputs ? numbered[TypeParam::bias(l) + o] : 0);
    }
    EXPECT_EQ(tile::weight(l) % 4, 0u);
  }
  std::vector<float> by_many(tile::parameters, -1);
  test::on_lanes(
      7, [&](const auto& lanes) { pack_for_tiles(network<TypeParam>{numbered.data()}, lanes, by_many.data()); });
  EXPECT_EQ(by_many, packed);
}

template <class Shape, std::size_t Layer>
void expect_covered() {
  if constexpr (Layer < Shape::layers) {
    using sums = detail::tile_sums<fused_arithmetic, Shape, Layer>;
    EXPECT_LE(sums::each * sums::groups * 4, 64u);
    std::multiset<std::pair<unsigned, unsigned>> seen;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned j = 0; j < sums::each && !sums::idle(lane); ++j)
        for (unsigned g = 0; g < sums::groups; ++g)
          for (unsigned o = 0; o < 4; ++o) seen.emplace(sums::query(lane, j), sums::output(lane, g) + o);
    for (unsigned q = 0; q < forward_tile<Shape>::queries; ++q)
      for (unsigned o = 0; o < forward_tile<Shape>::padded(Layer); ++o)
        EXPECT_EQ(seen.count({q, o}), 1u) << "layer " << Layer << ", query " << q << ", output " << o;
    EXPECT_EQ(seen.size(), forward_tile<Shape>::queries * forward_tile<Shape>::padded(Layer));
    expect_covered<Shape, Layer + 1>();
  }
}

TYPED_TEST(CudaForwardTile, LanesOfALayerCoverItOnce) { expect_covered<TypeParam, 0>(); }

TEST(CudaTileLanes, LanesAreAWarpOrOne) {
  EXPECT_TRUE(detail::TileLanes<one_lane>);
  EXPECT_TRUE(detail::TileLanes<test::thread_warp>);
  EXPECT_FALSE(detail::TileLanes<test::thread_lanes>) << "any number";
}

// What a load or a store of 16 bytes wants of the lanes; see tile_sums.
template <class Shape, std::size_t Layer>
void expect_lanes_in_pairs() {
  if constexpr (Layer < Shape::layers) {
    using sums = detail::tile_sums<fused_arithmetic, Shape, Layer>;
    for (unsigned lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(sums::output(lane, 0), sums::output(lane ^ 1, 0)) << lane;
      if constexpr (sums::columns > 1) {
        EXPECT_EQ(sums::query(lane, 0), sums::query(lane ^ 2, 0)) << lane;
      }
      for (unsigned j = 0; j < sums::each; ++j)
        EXPECT_EQ(sums::query(lane, j), sums::query(lane, 0) + sums::query(0, j)) << lane << ", " << j;
      for (unsigned j = 1; j < sums::each; ++j) EXPECT_LT(sums::query(lane, j - 1), sums::query(lane, j));
    }
    if constexpr (sums::columns == 8 && forward_tile<Shape>::queries >= 8)
      for (unsigned first = 0; first < 32; first += 8) {  // lanes that store together
        std::set<std::size_t> banks;
        for (unsigned lane = first; lane < first + 8; ++lane)
          for (unsigned o = 0; o < 4; ++o)
            banks.insert((sums::query(lane, 0) * sums::pitch + sums::output(lane, 0) + o) % 32);
        EXPECT_EQ(banks.size(), 32u) << "layer " << Layer << ", lanes from " << first;
      }
    expect_lanes_in_pairs<Shape, Layer + 1>();
  }
}

TYPED_TEST(CudaForwardTile, LanesReadInPairs) { expect_lanes_in_pairs<TypeParam, 0>(); }

TYPED_TEST(CudaForwardTile, OneLaneHasTheBitsOfEvaluate) {
  using tile = forward_tile<TypeParam>;
  for (const auto& [hidden, output] : endings)
    for (const std::size_t queries :
         {std::size_t{0}, std::size_t{1}, tile::queries - 1, tile::queries, tile::queries + 1, 5 * tile::queries + 3}) {
      const problem<TypeParam> of{queries, hidden, output};
      aligned_numbers packed{std::vector<float>(tile::parameters)}, activations{std::vector<float>(tile::activations)};
      aligned_numbers in{of.in};
      pack_for_tiles(of.net, one_lane{}, packed.data());
      std::vector<float> found(of.expected.size() + 1, -1e9F);
      forward_as(one_lane{}, of, packed.data(), activations.data(), 3, in.data(), found.data());
      EXPECT_EQ(found.back(), -1e9F);
      found.pop_back();
      EXPECT_TRUE(same_bits(found, of.expected)) << queries << " queries, hidden " << name(hidden.kind);
    }
}

TYPED_TEST(CudaForwardTile, WarpHasTheBitsOfEvaluate) {
  using tile = forward_tile<TypeParam>;
  const problem<TypeParam> of{2 * tile::queries + 3};
  aligned_numbers packed{std::vector<float>(tile::parameters)}, activations{std::vector<float>(tile::activations)};
  aligned_numbers in{of.in};
  std::vector<float> found(of.expected.size(), -1e9F);
  test::on_lanes(32, [&](const auto& lanes) {
    pack_for_tiles(of.net, lanes, packed.data());
    forward_as(test::thread_warp{lanes}, of, packed.data(), activations.data(), 1, in.data(), found.data());
  });
  EXPECT_TRUE(same_bits(found, of.expected));
}

TYPED_TEST(CudaForwardTile, InputsAnywhereGiveTheSameBits) {
  using tile = forward_tile<TypeParam>;
  const problem<TypeParam> of{tile::queries + 1};
  aligned_numbers packed{std::vector<float>(tile::parameters)}, activations{std::vector<float>(tile::activations)};
  pack_for_tiles(of.net, one_lane{}, packed.data());
  for (const std::size_t skipped : {1u, 2u, 3u}) {
    aligned_numbers in{of.in, skipped};
    std::vector<float> found(of.expected.size(), -1e9F);
    forward_as(one_lane{}, of, packed.data(), activations.data(), 1, in.data(), found.data());
    EXPECT_TRUE(same_bits(found, of.expected)) << skipped;
  }
}

}  // namespace
}  // namespace rubato::cuda::test_batched_forward
