#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <rubato/nn/kernels/kernels.hpp>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

template <class T>
void evaluate_goes_through_every_layer() {
  constexpr std::array<std::size_t, 5> widths{3, 7, 5, 9, 2};
  constexpr std::size_t layers = widths.size() - 1, widest = 9;
  std::array<layer_shape, layers> all{};
  for (std::size_t l = 0; l < layers; ++l) all[l] = {widths[l], widths[l + 1], l == 0 ? 0 : all[l - 1].end()};
  const std::vector<T> parameters = test::random_values<T>(all.back().end(), 1),
                       in = test::random_values<T>(widths[0], 2);
  const activation f{activation_kind::leaky_relu, 0.3};
  const kernels::ending hidden{f};

  std::vector<T> expected = in;
  for (std::size_t l = 0; l < layers; ++l) {
    const T* const weight = parameters.data() + all[l].first;
    const T* const bias = parameters.data() + all[l].bias();
    expected = test::layer(l + 1 == layers ? activation{} : f, std::vector<T>(weight, bias),
                           std::vector<T>(bias, bias + all[l].outputs), expected);
  }
  for (const kernels::kernel_set<T>* set : {&kernels::portable::set<T>, &kernels::avx2::set<T>}) {
    if (set == &kernels::avx2::set<T> && !kernels::avx2::supported()) continue;
    std::vector<T> scratch(2 * widest), out(widths.back());
    set->evaluate(
        {.shapes = all.data(), .layers = layers, .width = widest, .parameters = parameters.data(), .hidden = &hidden},
        in.data(), scratch.data(), out.data());
    EXPECT_EQ(out, expected) << set->name;
  }
}

TEST(EveryLayer, IsEvaluatedInItsTurn) {
  evaluate_goes_through_every_layer<float>();
  evaluate_goes_through_every_layer<double>();
}

}  // namespace
}  // namespace rubato::nn
