#ifndef RUBATO_SIM_KERNELS_AVX512_HPP
#define RUBATO_SIM_KERNELS_AVX512_HPP

#include "avx2.hpp"
#include "kernel_set.hpp"
#include "../../pinned.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

// As for avx2.hpp. Only what gains is here; every sum runs in the order of avx2.hpp, with the same fused operations.
#define RUBATO_DETAIL_AVX512 RUBATO_DETAIL_OPTIMISED __attribute__((target("avx512f,avx512dq")))
#define RUBATO_DETAIL_AVX512_TILE RUBATO_DETAIL_AVX512 __attribute__((__always_inline__))

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::sim::kernels::avx512::inline RUBATO_DETAIL_OF_UNIT {

// Sums of 64 * Panels columns.
template <int Panels>
struct panel_sums {
  __m512 of[static_cast<std::size_t>(Panels)][4];
};

template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline panel_sums<Panels> load_sums(const float* from, std::size_t step) {
  panel_sums<Panels> sum;
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum.of[p][v] = _mm512_loadu_ps(from + p * step + 16 * v);
  }
  return sum;
}
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline panel_sums<Panels> no_sums() {
  panel_sums<Panels> sum;
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum.of[p][v] = _mm512_setzero_ps();
  }
  return sum;
}
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline void store_sums(float* to, const panel_sums<Panels>& sum) {
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_ps(to + 64 * p + 16 * v, sum.of[p][v]);
  }
}
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline void add_sums(float* to, std::size_t step, const panel_sums<Panels>& sum,
                                               float scale) {
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p, to += step) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      _mm512_storeu_ps(to + 16 * v, _mm512_fmadd_ps(_mm512_set1_ps(scale), sum.of[p][v], _mm512_loadu_ps(to + 16 * v)));
  }
}

// Sums up the entries of a row from `at` on, and before `end`, while they are in columns below `limit`. Returns the
// first that it has left out.
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline std::size_t sum_up(panel_sums<Panels>& sum, sparse_view x, std::size_t at,
                                                    std::size_t end, std::size_t limit, panels<const float> y) {
  for (; at < end && x.index[at] < limit; ++at) {
    const __m512 factor = _mm512_set1_ps(x.value[at]);
    const float* from = y.data + x.index[at] * y.stride;
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p, from += y.step) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum.of[p][v] = _mm512_fmadd_ps(factor, _mm512_loadu_ps(from + 16 * v), sum.of[p][v]);
    }
  }
  return at;
}

// c[rows x 64 * Panels] += scale * x y, row by row: the more columns at a time, the fewer ends of short rows, which
// nobody can foretell.
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline void sparse_rows(panels<float> c, std::size_t rows, sparse_view x,
                                                  panels<const float> y, float scale) {
  constexpr std::size_t no_limit = 65'536;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = x.begin[row], end = x.begin[row + 1];
    if (first == end) continue;  // adding 0 would make -0 into 0
    panel_sums<Panels> sum = no_sums<Panels>();
    sum_up(sum, x, first, end, no_limit, y);
    add_sums(c.data + row * c.stride, c.step, sum, scale);
  }
}

// The same for long rows, in passes over parts of y that stay in the first-level cache meanwhile: to have all of them
// from the second-level cache for each row takes longer than to keep the sums of all rows in memory between the passes.
template <int Panels>
RUBATO_DETAIL_AVX512_TILE inline void sparse_passes(panels<float> c, std::size_t rows, sparse_view x,
                                                    panels<const float> y, float scale) {
  constexpr std::size_t block = 48, part = 112;  // rows of x, rows of y
  alignas(64) float sums[block * 64 * Panels];
  std::size_t next[block];
  for (; rows > 0; c.data += block * c.stride, x.begin += block) {
    const std::size_t count = (std::min)(rows, block);
    std::size_t open = 0;
    for (std::size_t row = 0; row < count; ++row) {
      next[row] = x.begin[row];
      open += x.begin[row] < x.begin[row + 1] ? 1 : 0;
    }
    for (std::size_t limit = part; open > 0; limit += part)
      for (std::size_t row = 0; row < count; ++row) {
        const std::size_t end = x.begin[row + 1];
        if (next[row] == end) continue;
        float* const kept = sums + row * 64 * Panels;
        panel_sums<Panels> sum = limit == part ? no_sums<Panels>() : load_sums<Panels>(kept, 64);
        next[row] = sum_up(sum, x, next[row], end, limit, y);
        if (next[row] < end)
          store_sums(kept, sum);
        else
          add_sums(c.data + row * c.stride, c.step, sum, scale), --open;
      }
    rows -= count;
  }
}

// The same for 16 columns of one row, four entries side by side.
RUBATO_DETAIL_AVX512_TILE inline void sparse_narrow(float* to, const std::uint16_t* index, const float* value,
                                                    std::size_t count, const float* y, std::size_t y_stride,
                                                    float scale) {
  __m512 sum[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) sum[e] = _mm512_setzero_ps();
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
#pragma GCC unroll 4
    for (std::size_t e = 0; e < 4; ++e)
      sum[e] = _mm512_fmadd_ps(_mm512_set1_ps(value[j + e]), _mm512_loadu_ps(y + index[j + e] * y_stride), sum[e]);
  }
  for (; j < count; ++j)
    sum[0] = _mm512_fmadd_ps(_mm512_set1_ps(value[j]), _mm512_loadu_ps(y + index[j] * y_stride), sum[0]);
  const __m512 total = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
  _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_set1_ps(scale), total, _mm512_loadu_ps(to)));
}

RUBATO_DETAIL_AVX512 inline void sparse_multiply(panels<float> c, std::size_t rows, std::size_t columns, sparse_view x,
                                                 panels<const float> y, float scale) {
  const bool long_rows = x.begin[rows] - x.begin[0] >= 16 * rows;
  std::size_t column = 0;
  for (; !long_rows && column + 256 <= columns; column += 256, c.data += 4 * c.step, y.data += 4 * y.step)
    sparse_rows<4>(c, rows, x, y, scale);
  for (; column + 128 <= columns; column += 128, c.data += 2 * c.step, y.data += 2 * y.step)
    long_rows ? sparse_passes<2>(c, rows, x, y, scale) : sparse_rows<2>(c, rows, x, y, scale);
  for (; column + 64 <= columns; column += 64, c.data += c.step, y.data += y.step)
    long_rows ? sparse_passes<1>(c, rows, x, y, scale) : sparse_rows<1>(c, rows, x, y, scale);
  for (; column < columns; column += 16, c.data += 16, y.data += 16)
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = x.begin[row];
      if (const std::size_t count = x.begin[row + 1] - first; count > 0)
        sparse_narrow(c.data + row * c.stride, x.index + first, x.value + first, count, y.data, y.stride, scale);
    }
}

RUBATO_DETAIL_AVX512 inline void sparse_outer(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                              sparse_view x, const float* y, std::size_t y_stride, float scale) {
  for (std::size_t column = 0; column < columns; column += 16)
    for (std::size_t row = 0; row < rows; ++row) {
      const __m512 from = _mm512_mul_ps(_mm512_set1_ps(scale), _mm512_loadu_ps(y + row * y_stride + column));
      const std::size_t end = x.begin[row + 1];
      for (std::size_t j = x.begin[row]; j < end; ++j) {
        float* to = c + x.index[j] * c_stride + column;
        _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_set1_ps(x.value[j]), from, _mm512_loadu_ps(to)));
      }
    }
}

// c[Rows x 16 * Vectors] += scale * x y.
template <int Rows, int Vectors>
RUBATO_DETAIL_AVX512_TILE inline void multiply_tile(float* c, std::size_t c_stride, strided_view x, std::size_t depth,
                                                    const float* y, std::size_t y_stride, float scale) {
  __m512 sum[static_cast<std::size_t>(Rows)][static_cast<std::size_t>(Vectors)];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  const float* at = x.data;
  for (std::size_t k = 0; k < depth; ++k, at += x.column_step, y += y_stride) {
    __m512 from[static_cast<std::size_t>(Vectors)];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) from[v] = _mm512_loadu_ps(y + 16 * v);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const __m512 factor = _mm512_set1_ps(at[r * x.row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_fmadd_ps(factor, from[v], sum[r][v]);
    }
  }
  const __m512 factor = _mm512_set1_ps(scale);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, c += c_stride) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      _mm512_storeu_ps(c + 16 * v, _mm512_fmadd_ps(factor, sum[r][v], _mm512_loadu_ps(c + 16 * v)));
  }
}

// c[Rows x columns] += scale * x y, in tiles that become narrower at the end.
template <int Rows, int Vectors>
RUBATO_DETAIL_AVX512_TILE inline void multiply_rows(float* c, std::size_t c_stride, std::size_t columns,
                                                    strided_view x, std::size_t depth, const float* y,
                                                    std::size_t y_stride, float scale) {
  std::size_t column = 0;
  for (; column + 16 * Vectors <= columns; column += 16 * Vectors)
    multiply_tile<Rows, Vectors>(c + column, c_stride, x, depth, y + column, y_stride, scale);
  if constexpr (Vectors > 1)
    multiply_rows<Rows, Vectors / 2>(c + column, c_stride, columns - column, x, depth, y + column, y_stride, scale);
}

// Row by row, so that c is met in the order of memory; 16 sums hide the latency of the addition.
RUBATO_DETAIL_AVX512 inline void multiply(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns,
                                          strided_view x, std::size_t depth, const float* y, std::size_t y_stride,
                                          float scale) {
  for (; rows >= 8; rows -= 8, c += 8 * c_stride, x.data += 8 * x.row_step)
    multiply_rows<8, 2>(c, c_stride, columns, x, depth, y, y_stride, scale);
  if (rows >= 4) {
    multiply_rows<4, 4>(c, c_stride, columns, x, depth, y, y_stride, scale);
    rows -= 4, c += 4 * c_stride, x.data += 4 * x.row_step;
  }
  if (rows >= 2) {
    multiply_rows<2, 8>(c, c_stride, columns, x, depth, y, y_stride, scale);
    rows -= 2, c += 2 * c_stride, x.data += 2 * x.row_step;
  }
  if (rows >= 1) multiply_rows<1, 8>(c, c_stride, columns, x, depth, y, y_stride, scale);
}

// Eight terms of one row of a matrix and the same eight of the next.
RUBATO_DETAIL_AVX512_TILE inline __m512 pair(const float* low, std::size_t stride) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(low + stride), 1);
}

// Sums of neighbours, of the lower half and then of the upper one. GCC 12 warns of the plain forms, masks being absent.
RUBATO_DETAIL_AVX512_TILE inline __m256 add_neighbours(__m512 x) {
  return _mm256_hadd_ps(_mm512_maskz_extractf32x8_ps(0xFF, x, 0), _mm512_maskz_extractf32x8_ps(0xFF, x, 1));
}

// c[Rows x 4] += x y^T. Two columns share a vector, so every lane sums what it does in avx2.hpp.
template <int Rows>
RUBATO_DETAIL_AVX512_TILE inline void transposed_tile(float* c, std::size_t c_stride, const float* x,
                                                      std::size_t x_stride, std::size_t depth, const float* y,
                                                      std::size_t y_stride) {
  __m512 low[static_cast<std::size_t>(Rows)], high[static_cast<std::size_t>(Rows)];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) low[r] = high[r] = _mm512_setzero_ps();
  for (std::size_t k = 0; k < depth; k += 8) {
    const __m512 left = pair(y + k, y_stride);
    const __m512 right = pair(y + 2 * y_stride + k, y_stride);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const __m512 factor = _mm512_maskz_broadcast_f32x8(0xFFFF, _mm256_loadu_ps(x + r * x_stride + k));
      low[r] = _mm512_fmadd_ps(factor, left, low[r]);
      high[r] = _mm512_fmadd_ps(factor, right, high[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, c += c_stride) {
    const __m256 halves = _mm256_hadd_ps(add_neighbours(low[r]), add_neighbours(high[r]));
    const __m128 total = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
    _mm_storeu_ps(c, _mm_add_ps(_mm_loadu_ps(c), total));
  }
}

RUBATO_DETAIL_AVX512 inline void multiply_transposed(float* c, std::size_t c_stride, std::size_t rows,
                                                     std::size_t columns, const float* x, std::size_t x_stride,
                                                     std::size_t depth, const float* y, std::size_t y_stride) {
  for (std::size_t column = 0; column < columns; column += 4) {
    const float* from = y + column * y_stride;
    std::size_t row = 0;
    for (; row + 6 <= rows; row += 6)
      transposed_tile<6>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
    for (; row + 4 <= rows; row += 4)
      transposed_tile<4>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
    for (; row < rows; ++row)
      transposed_tile<1>(c + row * c_stride + column, c_stride, x + row * x_stride, x_stride, depth, from, y_stride);
  }
}

/// For processors on which available() says so.
inline constexpr kernel_set set{
    "avx512",   avx2::set.arithmetic, avx2::widen,   sparse_multiply, sparse_outer, multiply, multiply_transposed,
    avx2::relu, avx2::relu_gradient,  avx2::softmax, avx2::scale,     avx2::add};

/// The set if this processor can run it, else nullptr.
[[nodiscard]] inline const kernel_set* available() noexcept {
  const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return found && avx2::available() != nullptr ? &set : nullptr;
}

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::avx512::inline RUBATO_DETAIL_OF_UNIT
RUBATO_DETAIL_GNU_END

#undef RUBATO_DETAIL_AVX512
#undef RUBATO_DETAIL_AVX512_TILE

#else

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::sim::kernels::avx512::inline RUBATO_DETAIL_OF_UNIT {

/// No such instructions on this architecture.
[[nodiscard]] inline const kernel_set* available() noexcept { return nullptr; }

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::avx512::inline RUBATO_DETAIL_OF_UNIT
RUBATO_DETAIL_GNU_END

#endif

#endif
