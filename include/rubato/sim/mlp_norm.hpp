#ifndef RUBATO_SIM_MLP_NORM_HPP
#define RUBATO_SIM_MLP_NORM_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../config.hpp"
#include "aligned_buffer.hpp"
#include "kernels/kernel_set.hpp"
#include "mlp.hpp"
#include "objective.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The Euclidean norm of a gradient that exists only as factors, and how much those of its samples differ.
///
/// For a layer with inputs a_n and deltas d_n, the squared norm of sum_n a_n d_n^T is sum_{n,m} (a_n . a_m)(d_n . d_m),
/// and its bias adds 1 to every a_n . a_m. So two small Gram matrices replace the dense gradient.
///
/// Cost    rows^2 products of every layer's width; scratch is kept, so no allocation once warm. One object per thread.
/// Tests   tests/sim/sgd_test.cpp: NormMatchesTheDenseGradient, StatisticsMatchTheDenseGradients
class mlp_gradient_norm {
 public:
  /// Of the mean gradient of a batch, from its pass. Precondition: the storage of `pass` has room for the number of
  /// rows rounded up to 4.
  [[nodiscard]] float operator()(const mlp& net, const mlp_batch& batch, const mlp_pass& pass, pixel_map map,
                                 std::size_t inputs, const kernels::kernel_set& kernel) {
    // Rounding may leave a tiny negative number; a NaN must stay one.
    const double squares = squares_of(net, batch, pass, map, inputs, kernel, batch.rows()).sum;
    return static_cast<float>(std::sqrt(squares < 0 ? 0 : squares));
  }

  /// From the first samples of a batch, at most 32, which cost little and, over a few steps of a few workers, say
  /// enough; nothing of a single one. Preconditions as above; the pass is that of the mean over the batch.
  [[nodiscard]] gradient_statistics statistics(const mlp& net, const mlp_batch& batch, const mlp_pass& pass,
                                               pixel_map map, std::size_t inputs, const kernels::kernel_set& kernel) {
    const std::size_t rows = (std::min)(std::size_t{batch.rows()}, most_samples);
    if (rows < 2) return {};
    const squared_norms found = squares_of(net, batch, pass, map, inputs, kernel, rows);
    const double n = static_cast<double>(rows), whole = batch.rows();
    const double mean = found.sum * (whole / n) * (whole / n), each = found.each * whole * whole / n;
    const double variance = (each - mean) * n / (n - 1);
    return {.variance = static_cast<float>(variance < 0 ? 0 : variance),
            .square = static_cast<float>(mean - variance / n)};
  }

 private:
  static constexpr std::size_t most_samples = 32;

  struct squared_norms {
    double sum = 0;   // of the sum of the samples' gradients
    double each = 0;  // the sum of the squared norms of these
  };

  // Of the first rows of the batch.
  [[nodiscard]] squared_norms squares_of(const mlp& net, const mlp_batch& batch, const mlp_pass& pass, pixel_map map,
                                         std::size_t inputs, const kernels::kernel_set& kernel, std::size_t rows) {
    const std::size_t stride = mlp::padded(rows);
    left_.ensure(rows * stride);
    right_.ensure(rows * stride);

    squared_norms squares;
    for (std::uint32_t layer = 0; layer <= net.hidden(); ++layer) {
      if (layer == 0)
        gram_of_pixels(batch, map, inputs, kernel, rows);
      else
        gram(left_.data(), pass.activation[layer - 1], net.stride(layer - 1), rows, kernel);
      gram(right_.data(), pass.delta[layer], net.stride(layer), rows, kernel);
      const auto product = [&](std::size_t n, std::size_t m) {
        return (static_cast<double>(left_.data()[n * stride + m]) + 1) *
               static_cast<double>(right_.data()[n * stride + m]);
      };
      for (std::size_t n = 0; n < rows; ++n) {
        for (std::size_t m = 0; m < rows; ++m) squares.sum += product(n, m);
        squares.each += product(n, n);
      }
    }
    return squares;
  }

  static void gram(float* to, const float* x, std::size_t x_stride, std::size_t rows,
                   const kernels::kernel_set& kernel) {
    const std::size_t stride = mlp::padded(rows);
    std::fill(to, to + rows * stride, 0.0F);
    kernel.multiply_transposed(to, stride, rows, mlp::fours(rows), x, x_stride, x_stride, x, x_stride);
  }

  // With x = s + shift, x . y = s . t + shift (sum s + sum t) + inputs shift^2.
  void gram_of_pixels(const mlp_batch& batch, pixel_map map, std::size_t inputs, const kernels::kernel_set& kernel,
                      std::size_t rows) {
    const sparse_rows& pixels = batch.pixels;
    const std::size_t stride = mlp::padded(rows);
    dense_.ensure(inputs * stride);
    for (std::size_t n = 0; n < rows; ++n) {
      for (std::size_t j = pixels.begin[n]; j < pixels.begin[n + 1]; ++j)
        dense_.data()[pixels.index[j] * stride + n] = pixels.value[j];
      for (std::size_t m = 0; m < rows; ++m)
        left_.data()[n * stride + m] = map.shift * (batch.affine[n].backward[2] + batch.affine[m].forward[1]);
    }
    kernel.sparse_multiply({left_.data(), stride}, rows, stride, pixels.view(), {dense_.data(), stride}, 1);
    for (std::size_t n = 0; n < rows; ++n)  // zero again for the next batch, whatever its stride
      for (std::size_t j = pixels.begin[n]; j < pixels.begin[n + 1]; ++j)
        dense_.data()[pixels.index[j] * stride + n] = 0;
  }

  aligned_buffer left_;   // inner products of the inputs
  aligned_buffer right_;  // inner products of the deltas
  aligned_buffer dense_;  // the pixels of the batch, one column per image; zero between calls
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
