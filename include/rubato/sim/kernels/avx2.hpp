#ifndef RUBATO_SIM_KERNELS_AVX2_HPP
#define RUBATO_SIM_KERNELS_AVX2_HPP

#include "kernel_set.hpp"
#include "../../pinned.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <limits>

// Compiled whatever the flags of the unit, called only where the processor has it. Tiles keep their sums in registers:
// without `unroll` GCC at -O2 leaves such arrays on the stack, at a third of the speed.
#define RUBATO_DETAIL_AVX2 RUBATO_DETAIL_OPTIMISED __attribute__((target("avx2,fma")))
#define RUBATO_DETAIL_AVX2_TILE RUBATO_DETAIL_AVX2 __attribute__((__always_inline__))

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::sim::kernels::avx2::inline RUBATO_DETAIL_OF_UNIT {

RUBATO_DETAIL_AVX2 inline void widen(const std::uint8_t* bytes, std::size_t count, float scale, float* out) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + i));
    _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight))));
  }
  for (; i < count; ++i) out[i] = scale * static_cast<float>(bytes[i]);
}

// to[0, 8 * Vectors) += scale * sum over the entries of one sparse row of value * y[index].
template <int Vectors>
RUBATO_DETAIL_AVX2_TILE inline void sparse_tile(float* to, const std::uint16_t* index, const float* value,
                                                std::size_t count, const float* y, std::size_t y_stride, float scale) {
  __m256 sum[static_cast<std::size_t>(Vectors)];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) sum[v] = _mm256_setzero_ps();
  for (std::size_t j = 0; j < count; ++j) {
    const __m256 factor = _mm256_broadcast_ss(value + j);
    const float* from = y + index[j] * y_stride;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[v] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(from + 8 * v), sum[v]);
  }
  const __m256 factor = _mm256_set1_ps(scale);
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v)
    _mm256_storeu_ps(to + 8 * v, _mm256_fmadd_ps(factor, sum[v], _mm256_loadu_ps(to + 8 * v)));
}

// The same for 16 columns. One pair of sums would wait for its own latency, so four entries are summed side by side.
RUBATO_DETAIL_AVX2_TILE inline void sparse_narrow(float* to, const std::uint16_t* index, const float* value,
                                                  std::size_t count, const float* y, std::size_t y_stride,
                                                  float scale) {
  __m256 low[4], high[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) low[e] = high[e] = _mm256_setzero_ps();
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
#pragma GCC unroll 4
    for (std::size_t e = 0; e < 4; ++e) {
      const __m256 factor = _mm256_broadcast_ss(value + j + e);
      const float* from = y + index[j + e] * y_stride;
      low[e] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(from), low[e]);
      high[e] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(from + 8), high[e]);
    }
  }
  for (; j < count; ++j) {
    const __m256 factor = _mm256_broadcast_ss(value + j);
    const float* from = y + index[j] * y_stride;
    low[0] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(from), low[0]);
    high[0] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(from + 8), high[0]);
  }
  const __m256 factor = _mm256_set1_ps(scale);
  const __m256 left = _mm256_add_ps(_mm256_add_ps(low[0], low[1]), _mm256_add_ps(low[2], low[3]));
  const __m256 right = _mm256_add_ps(_mm256_add_ps(high[0], high[1]), _mm256_add_ps(high[2], high[3]));
  _mm256_storeu_ps(to, _mm256_fmadd_ps(factor, left, _mm256_loadu_ps(to)));
  _mm256_storeu_ps(to + 8, _mm256_fmadd_ps(factor, right, _mm256_loadu_ps(to + 8)));
}

RUBATO_DETAIL_AVX2 inline void sparse_multiply(panels<float> c, std::size_t rows, std::size_t columns, sparse_view x,
                                               panels<const float> y, float scale) {
  std::size_t column = 0;
  for (; column + 64 <= columns; column += 64, c.data += c.step, y.data += y.step)
    for (std::size_t row = 0; row < rows; ++row) {  // a panel of y stays in the second-level cache for all of them
      const std::size_t first = x.begin[row];
      if (const std::size_t count = x.begin[row + 1] - first; count > 0)
        sparse_tile<8>(c.data + row * c.stride, x.index + first, x.value + first, count, y.data, y.stride, scale);
    }
  for (; column < columns; column += 16, c.data += 16, y.data += 16)
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = x.begin[row];
      if (const std::size_t count = x.begin[row + 1] - first; count > 0)
        sparse_narrow(c.data + row * c.stride, x.index + first, x.value + first, count, y.data, y.stride, scale);
    }
}

RUBATO_DETAIL_AVX2 inline void sparse_outer(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                            sparse_view x, const float* y, std::size_t y_stride, float scale) {
  for (std::size_t column = 0; column < columns; column += 16)
    for (std::size_t row = 0; row < rows; ++row) {
      const float* from = y + row * y_stride + column;
      const __m256 low = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_loadu_ps(from));
      const __m256 high = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_loadu_ps(from + 8));
      const std::size_t end = x.begin[row + 1];
      for (std::size_t j = x.begin[row]; j < end; ++j) {
        const __m256 factor = _mm256_broadcast_ss(x.value + j);
        float* to = c + x.index[j] * c_stride + column;
        _mm256_storeu_ps(to, _mm256_fmadd_ps(factor, low, _mm256_loadu_ps(to)));
        _mm256_storeu_ps(to + 8, _mm256_fmadd_ps(factor, high, _mm256_loadu_ps(to + 8)));
      }
    }
}

// c[Rows x 16] += scale * x y: 2 * Rows sums, 6 rows being the most that 16 registers hold.
template <int Rows>
RUBATO_DETAIL_AVX2_TILE inline void multiply_tile(float* c, std::size_t c_stride, strided_view x, std::size_t depth,
                                                  const float* y, std::size_t y_stride, float scale) {
  __m256 low[static_cast<std::size_t>(Rows)], high[static_cast<std::size_t>(Rows)];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) low[r] = high[r] = _mm256_setzero_ps();
  const float* at = x.data;
  for (std::size_t k = 0; k < depth; ++k, at += x.column_step, y += y_stride) {
    const __m256 left = _mm256_loadu_ps(y);
    const __m256 right = _mm256_loadu_ps(y + 8);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < Rows; ++r) {
      const __m256 factor = _mm256_broadcast_ss(at + r * x.row_step);
      low[r] = _mm256_fmadd_ps(factor, left, low[r]);
      high[r] = _mm256_fmadd_ps(factor, right, high[r]);
    }
  }
  const __m256 factor = _mm256_set1_ps(scale);
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r, c += c_stride) {
    _mm256_storeu_ps(c, _mm256_fmadd_ps(factor, low[r], _mm256_loadu_ps(c)));
    _mm256_storeu_ps(c + 8, _mm256_fmadd_ps(factor, high[r], _mm256_loadu_ps(c + 8)));
  }
}

RUBATO_DETAIL_AVX2 inline void multiply(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                        strided_view x, std::size_t depth, const float* y, std::size_t y_stride,
                                        float scale) {
  for (std::size_t column = 0; column < columns; column += 16) {
    const float* panel = y + column;
    std::size_t row = 0;
    for (; row + 6 <= rows; row += 6)
      multiply_tile<6>(c + row * c_stride + column, c_stride, {x.data + row * x.row_step, x.row_step, x.column_step},
                       depth, panel, y_stride, scale);
    float* to = c + row * c_stride + column;
    const strided_view rest{x.data + row * x.row_step, x.row_step, x.column_step};
    switch (rows - row) {
      case 5:
        multiply_tile<5>(to, c_stride, rest, depth, panel, y_stride, scale);
        break;
      case 4:
        multiply_tile<4>(to, c_stride, rest, depth, panel, y_stride, scale);
        break;
      case 3:
        multiply_tile<3>(to, c_stride, rest, depth, panel, y_stride, scale);
        break;
      case 2:
        multiply_tile<2>(to, c_stride, rest, depth, panel, y_stride, scale);
        break;
      case 1:
        multiply_tile<1>(to, c_stride, rest, depth, panel, y_stride, scale);
        break;
      default:
        break;
    }
  }
}

// c[Rows x 4] += x y^T.
template <int Rows>
RUBATO_DETAIL_AVX2_TILE inline void transposed_tile(float* c, std::size_t c_stride, const float* x,
                                                    std::size_t x_stride, std::size_t depth, const float* y,
                                                    std::size_t y_stride) {
  __m256 sum[static_cast<std::size_t>(Rows)][4];
#pragma GCC unroll 3
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[r][i] = _mm256_setzero_ps();
  }
  for (std::size_t k = 0; k < depth; k += 8) {
    __m256 left[static_cast<std::size_t>(Rows)];
#pragma GCC unroll 3
    for (std::size_t r = 0; r < Rows; ++r) left[r] = _mm256_loadu_ps(x + r * x_stride + k);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256 right = _mm256_loadu_ps(y + i * y_stride + k);
#pragma GCC unroll 3
      for (std::size_t r = 0; r < Rows; ++r) sum[r][i] = _mm256_fmadd_ps(left[r], right, sum[r][i]);
    }
  }
#pragma GCC unroll 3
  for (int r = 0; r < Rows; ++r, c += c_stride) {
    const __m256 halves = _mm256_hadd_ps(_mm256_hadd_ps(sum[r][0], sum[r][1]), _mm256_hadd_ps(sum[r][2], sum[r][3]));
    const __m128 total = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
    _mm_storeu_ps(c, _mm_add_ps(_mm_loadu_ps(c), total));
  }
}

RUBATO_DETAIL_AVX2 inline void multiply_transposed(float* c, std::size_t c_stride, std::size_t rows,
                                                   std::size_t columns, const float* x, std::size_t x_stride,
                                                   std::size_t depth, const float* y, std::size_t y_stride) {
  for (std::size_t column = 0; column < columns; column += 4) {
    const float* from = y + column * y_stride;
    std::size_t row = 0;
    for (; row + 3 <= rows && rows - row != 4; row += 3)  // 4 left are better done as 2 and 2
      transposed_tile<3>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
    for (; row + 2 <= rows; row += 2)
      transposed_tile<2>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
    if (row < rows)
      transposed_tile<1>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
  }
}

RUBATO_DETAIL_AVX2 inline void relu(float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8)  // max returns its second operand when one is NaN
    _mm256_storeu_ps(x + i, _mm256_max_ps(_mm256_setzero_ps(), _mm256_loadu_ps(x + i)));
}

RUBATO_DETAIL_AVX2 inline void relu_gradient(float* delta, const float* activation, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8) {
    const __m256 on = _mm256_cmp_ps(_mm256_loadu_ps(activation + i), _mm256_setzero_ps(), _CMP_GT_OQ);
    _mm256_storeu_ps(delta + i, _mm256_and_ps(on, _mm256_loadu_ps(delta + i)));
  }
}

// e^x for x <= 0, 0 under -80, NaN for NaN; 2 ulp. Cephes expf: split off the power of two, then a polynomial.
RUBATO_DETAIL_AVX2_TILE inline __m256 exponential(__m256 x) {
  const __m256 tiny = _mm256_cmp_ps(x, _mm256_set1_ps(-80.0F), _CMP_LT_OQ);
  x = _mm256_max_ps(_mm256_set1_ps(-80.0F), x);
  const __m256 power = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504088896341F)),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  x = _mm256_fnmadd_ps(power, _mm256_set1_ps(0.693359375F), x);
  x = _mm256_fnmadd_ps(power, _mm256_set1_ps(-2.12194440e-4F), x);
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(5.0000001201e-1F));
  p = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(p, x), x, x), _mm256_set1_ps(1.0F));
  const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(power), _mm256_set1_epi32(127)), 23);
  return _mm256_andnot_ps(tiny, _mm256_mul_ps(p, _mm256_castsi256_ps(exponent)));
}

// Lanes below `classes` of the eight that start at `first`.
RUBATO_DETAIL_AVX2_TILE inline __m256 lanes(std::size_t first, std::size_t classes) {
  const __m256i lane =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(first)));
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(classes)), lane));
}

RUBATO_DETAIL_AVX2 inline outcome softmax(float* row, std::size_t classes, std::size_t label, float scale) {
  const __m256 nothing = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
  const std::size_t padded = (classes + 15) / 16 * 16;

  __m256 highest = nothing;
  for (std::size_t i = 0; i < padded; i += 8)
    highest = _mm256_max_ps(highest, _mm256_blendv_ps(nothing, _mm256_loadu_ps(row + i), lanes(i, classes)));
  highest = _mm256_max_ps(highest, _mm256_permute2f128_ps(highest, highest, 1));
  highest = _mm256_max_ps(highest, _mm256_shuffle_ps(highest, highest, 0b01'00'11'10));
  highest = _mm256_max_ps(highest, _mm256_shuffle_ps(highest, highest, 0b10'11'00'01));
  const float own = row[label] - _mm256_cvtss_f32(highest);

  std::size_t best = padded;
  __m256 sum = _mm256_setzero_ps();
  for (std::size_t i = padded; i > 0;) {  // backwards, so that the first of equal logits is seen last
    i -= 8;
    const __m256 logit = _mm256_blendv_ps(nothing, _mm256_loadu_ps(row + i), lanes(i, classes));
    if (const int mask = _mm256_movemask_ps(_mm256_cmp_ps(logit, highest, _CMP_EQ_OQ)); mask != 0)
      best = i + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(mask)));
    const __m256 probability = exponential(_mm256_sub_ps(logit, highest));
    _mm256_storeu_ps(row + i, probability);
    sum = _mm256_add_ps(sum, probability);
  }
  sum = _mm256_add_ps(sum, _mm256_permute2f128_ps(sum, sum, 1));
  sum = _mm256_add_ps(sum, _mm256_shuffle_ps(sum, sum, 0b01'00'11'10));
  sum = _mm256_add_ps(sum, _mm256_shuffle_ps(sum, sum, 0b10'11'00'01));

  const __m256 factor = _mm256_div_ps(_mm256_set1_ps(scale), sum);
  for (std::size_t i = 0; i < padded; i += 8)
    _mm256_storeu_ps(row + i, _mm256_and_ps(lanes(i, classes), _mm256_mul_ps(factor, _mm256_loadu_ps(row + i))));
  row[label] -= scale;
  return {std::log(_mm256_cvtss_f32(sum)) - own, best == label && own == 0};
}

RUBATO_DETAIL_AVX2 inline void scale(float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_loadu_ps(x + i)));
}

RUBATO_DETAIL_AVX2 inline void add(float* y, const float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(y + i, _mm256_fmadd_ps(_mm256_set1_ps(factor), _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
}

/// For processors on which available() says so.
inline constexpr kernel_set set{"avx2+fma",          "avx2+fma", widen,         sparse_multiply, sparse_outer, multiply,
                                multiply_transposed, relu,       relu_gradient, softmax,         scale,        add};

/// The set if this processor can run it, else nullptr.
[[nodiscard]] inline const kernel_set* available() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &set : nullptr;
}

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::avx2::inline RUBATO_DETAIL_OF_UNIT
RUBATO_DETAIL_GNU_END

#undef RUBATO_DETAIL_AVX2
#undef RUBATO_DETAIL_AVX2_TILE

#else

namespace rubato::inline RUBATO_ABI::sim::kernels::avx2::inline RUBATO_DETAIL_OF_UNIT {

/// No such instructions on this architecture.
[[nodiscard]] inline const kernel_set* available() noexcept { return nullptr; }

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::avx2::inline RUBATO_DETAIL_OF_UNIT

#endif

#endif
