#ifndef RUBATO_TESTS_CUDA_NETWORK_TERMS_HPP
#define RUBATO_TESTS_CUDA_NETWORK_TERMS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <rubato/cuda/network.cuh>
#include <utility>
#include <vector>

namespace rubato::test {

/// A batch through a network in double precision; beside each output the sum of the absolute values of its terms, where
/// that of a hidden unit stands for the unit: what roundings of operands are measured by.
template <class Shape>
struct network_terms {
  std::vector<double> outputs, terms;
  double largest = 0;  ///< of the absolute values of the outputs

  /// The parameters can be read by the host.
  network_terms(const cuda::network<Shape>& net, const std::vector<float>& in) {
    for (std::size_t q = 0; q < in.size() / Shape::inputs; ++q) {
      std::vector<double> x(in.begin() + static_cast<std::ptrdiff_t>(q * Shape::inputs),
                            in.begin() + static_cast<std::ptrdiff_t>((q + 1) * Shape::inputs));
      std::vector<double> size(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) size[i] = std::fabs(x[i]);
      for (std::size_t l = 0; l < Shape::layers; ++l) layer(net, l, x, size);
      outputs.insert(outputs.end(), x.begin(), x.end());
      terms.insert(terms.end(), size.begin(), size.end());
    }
    for (const double y : outputs) largest = (std::max)(largest, std::fabs(y));
  }

 private:
  static double end(const cuda::ending& f, double x) {
    switch (f.kind) {
      case nn::activation_kind::relu:
        return x < 0 ? 0 : x;
      case nn::activation_kind::leaky_relu:
        return x < 0 ? static_cast<double>(f.slope) * x : x;
      case nn::activation_kind::tanh:
        return std::tanh(x);
      default:
        return x;
    }
  }
  static void layer(const cuda::network<Shape>& net, std::size_t l, std::vector<double>& x, std::vector<double>& size) {
    std::vector<double> y(Shape::width(l + 1)), sizes(y.size());
    for (std::size_t o = 0; o < y.size(); ++o) {
      double sum = static_cast<double>(net.parameters[Shape::bias(l) + o]), of_sizes = std::fabs(sum);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double weight = static_cast<double>(net.parameters[Shape::weight(l) + i * y.size() + o]);
        sum += weight * x[i];
        of_sizes += std::fabs(weight) * size[i];
      }
      y[o] = end(net.ending_of(l), sum);
      sizes[o] = of_sizes;
    }
    x = std::move(y);
    size = std::move(sizes);
  }
};

/// How far rounded operands may take the tests' networks from exact ones, as a share of the largest output of a batch.
/// A host that rounds in the same places comes to 1.4e-2 and 1.4e-3 at most.
template <class Operands>
inline constexpr double of_largest = Operands::of_word == 2 ? 2e-2 : 2e-3;

}  // namespace rubato::test

#endif
