#ifndef RUBATO_SIM_KERNELS_PORTABLE_HPP
#define RUBATO_SIM_KERNELS_PORTABLE_HPP

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel_set.hpp"

// Pinned to the baseline of the architecture: a unit compiled for a newer one must not emit a body under the same name
// that older machines cannot run, and must not contract to fused multiply-adds, which would change results.
#if defined(__x86_64__)
#define RUBATO_DETAIL_PORTABLE __attribute__((target("no-avx")))
#else
#define RUBATO_DETAIL_PORTABLE
#endif

namespace rubato::inline RUBATO_ABI::sim::kernels::portable {

/// Floats of a block: of a known width, so that compilers keep the sums in vector registers of whatever size they have.
inline constexpr std::size_t block = 16;

/// See kernel_set::widen.
RUBATO_DETAIL_PORTABLE inline void widen(const std::uint8_t* bytes, std::size_t count, float scale, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = scale * static_cast<float>(bytes[i]);
}

/// See kernel_set::sparse_multiply.
RUBATO_DETAIL_PORTABLE inline void sparse_multiply(panels<float> c, std::size_t rows, std::size_t columns,
                                                   sparse_view x, panels<const float> y, float scale) {
  for (std::size_t column = 0; column < columns; column += block)
    for (std::size_t row = 0; row < rows; ++row) {
      float sum[block] = {};
      for (std::size_t j = x.begin[row]; j < x.begin[row + 1]; ++j) {
        const float factor = x.value[j];
        const float* from = y.data + column / 64 * y.step + x.index[j] * y.stride + column % 64;
        for (std::size_t i = 0; i < block; ++i) sum[i] += factor * from[i];
      }
      float* to = c.data + column / 64 * c.step + row * c.stride + column % 64;
      for (std::size_t i = 0; i < block; ++i) to[i] += scale * sum[i];
    }
}

/// See kernel_set::sparse_outer.
RUBATO_DETAIL_PORTABLE inline void sparse_outer(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                                sparse_view x, const float* y, std::size_t y_stride, float scale) {
  for (std::size_t column = 0; column < columns; column += block)
    for (std::size_t row = 0; row < rows; ++row) {
      const float* from = y + row * y_stride + column;
      float scaled[block];
      for (std::size_t i = 0; i < block; ++i) scaled[i] = scale * from[i];
      for (std::size_t j = x.begin[row]; j < x.begin[row + 1]; ++j) {
        const float factor = x.value[j];
        float* to = c + x.index[j] * c_stride + column;
        for (std::size_t i = 0; i < block; ++i) to[i] += factor * scaled[i];
      }
    }
}

/// See kernel_set::multiply.
RUBATO_DETAIL_PORTABLE inline void multiply(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                            strided_view x, std::size_t depth, const float* y, std::size_t y_stride,
                                            float scale) {
  for (std::size_t column = 0; column < columns; column += block)
    for (std::size_t row = 0; row < rows; ++row) {
      float sum[block] = {};
      for (std::size_t k = 0; k < depth; ++k) {
        const float factor = x.data[row * x.row_step + k * x.column_step];
        const float* from = y + k * y_stride + column;
        for (std::size_t i = 0; i < block; ++i) sum[i] += factor * from[i];
      }
      float* to = c + row * c_stride + column;
      for (std::size_t i = 0; i < block; ++i) to[i] += scale * sum[i];
    }
}

/// See kernel_set::multiply_transposed.
RUBATO_DETAIL_PORTABLE inline void multiply_transposed(float* c, std::size_t c_stride, std::size_t rows,
                                                       std::size_t columns, const float* x, std::size_t x_stride,
                                                       std::size_t depth, const float* y, std::size_t y_stride) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const float* left = x + row * x_stride;
      const float* right = y + column * y_stride;
      float sum[block] = {};
      for (std::size_t k = 0; k < depth; k += block)
        for (std::size_t i = 0; i < block; ++i) sum[i] += left[k + i] * right[k + i];
      float total = 0;
      for (std::size_t i = 0; i < block; ++i) total += sum[i];
      c[row * c_stride + column] += total;
    }
}

/// See kernel_set::relu.
RUBATO_DETAIL_PORTABLE inline void relu(float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] = x[i] < 0 ? 0 : x[i];
}

/// See kernel_set::relu_gradient.
RUBATO_DETAIL_PORTABLE inline void relu_gradient(float* delta, const float* activation, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) delta[i] = activation[i] > 0 ? delta[i] : 0;
}

/// See kernel_set::softmax.
RUBATO_DETAIL_PORTABLE inline outcome softmax(float* row, std::size_t classes, std::size_t label, float scale) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < classes; ++i) best = row[i] > row[best] ? i : best;
  const float most = row[best];
  const float own = row[label] - most;
  const bool correct = best == label && own == 0;  // the second part is false for NaN

  float sum = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    const float exponent = row[i] - most;
    row[i] = exponent < -80 ? 0 : std::exp(exponent);
    sum += row[i];
  }
  for (std::size_t i = 0; i < classes; ++i) row[i] *= scale / sum;
  row[label] -= scale;
  for (std::size_t i = classes; i % block != 0; ++i) row[i] = 0;
  return {std::log(sum) - own, correct};
}

/// See kernel_set::scale.
RUBATO_DETAIL_PORTABLE inline void scale(float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

/// See kernel_set::add.
RUBATO_DETAIL_PORTABLE inline void add(float* y, const float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// Plain loops, which give the same bits on every processor.
inline constexpr kernel_set set{"portable",          "portable", widen,         sparse_multiply, sparse_outer, multiply,
                                multiply_transposed, relu,       relu_gradient, softmax,         scale,        add};

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::portable

#undef RUBATO_DETAIL_PORTABLE

#endif
