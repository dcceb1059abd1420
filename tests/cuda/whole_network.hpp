#ifndef RUBATO_TESTS_CUDA_WHOLE_NETWORK_HPP
#define RUBATO_TESTS_CUDA_WHOLE_NETWORK_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda/network.cuh>
#include <vector>

#include "random_network.hpp"

namespace rubato::test {

/// Parameters with which a network of ReLUs maps whole_inputs() to whole numbers, and no operand needs more than 8
/// bits: few weights that are not 0, and small ones.
template <class Shape>
std::vector<float> whole_parameters(std::uint64_t seed) {
  std::vector<float> parameters = numbers(Shape::parameters, seed);
  for (std::size_t l = 0; l < Shape::layers; ++l) {
    const float often = 1 - 3 / static_cast<float>(Shape::width(l));
    for (std::size_t i = Shape::weight(l); i < Shape::bias(l); ++i)
      parameters[i] = parameters[i] < -often ? -1.0F : parameters[i] > often ? 2.0F : 0.0F;
    for (std::size_t o = Shape::bias(l); o < Shape::weight(l + 1); ++o) parameters[o] = std::round(2 * parameters[o]);
  }
  return parameters;
}
inline std::vector<float> whole_inputs(std::size_t count, std::uint64_t seed) {
  std::vector<float> in = numbers(count, seed);
  for (float& x : in) x = std::round(3 * x);
  return in;
}

/// What a network on the host says of each row.
template <class Arithmetic, class Shape>
std::vector<float> evaluate_rows(const cuda::network<Shape>& net, const std::vector<float>& in) {
  const std::size_t rows = in.size() / Shape::inputs;
  std::vector<float> out(rows * Shape::outputs), scratch(cuda::evaluate_scratch<Shape>);
  for (std::size_t row = 0; row < rows; ++row)
    cuda::evaluate<Arithmetic>(net, cuda::one_lane{}, in.data() + row * Shape::inputs, scratch.data(),
                               out.data() + row * Shape::outputs);
  return out;
}

}  // namespace rubato::test

#endif
