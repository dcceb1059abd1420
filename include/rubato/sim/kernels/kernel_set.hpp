#ifndef RUBATO_SIM_KERNELS_KERNEL_SET_HPP
#define RUBATO_SIM_KERNELS_KERNEL_SET_HPP

#include <cstddef>
#include <cstdint>

#include "../../config.hpp"

// Of a kernel that several units have, the linker keeps any one body, even that of a unit with little optimisation; and
// below -O2 GCC leaves the sums of a tile on the stack, at half the speed or less.
#if defined(__clang__)
#define RUBATO_DETAIL_OPTIMISED
#else
#define RUBATO_DETAIL_OPTIMISED __attribute__((optimize("O2")))
#endif

// To the instructions that a function is declared for, the compiler adds those that its unit is compiled for. So vector
// kernels have other names in units that are compiled for more: the linker never keeps such a body for all of them.
#if defined(__AVX512VL__)
#define RUBATO_DETAIL_OF_UNIT in_avx512vl_units
#elif defined(__AVX512F__)
#define RUBATO_DETAIL_OF_UNIT in_avx512f_units
#elif defined(__AVX2__)
#define RUBATO_DETAIL_OF_UNIT in_avx2_units
#else
#define RUBATO_DETAIL_OF_UNIT in_plain_units
#endif

namespace rubato::inline RUBATO_ABI::sim::kernels {

/// Rows of a sparse matrix: row r holds value[j] in column index[j] for j in [begin[r], begin[r + 1]).
struct sparse_view {
  const std::uint32_t* begin = nullptr;  ///< one more than rows
  const std::uint16_t* index = nullptr;  ///< column of each entry
  const float* value = nullptr;          ///< of each entry
};

/// A dense matrix whose element (row, column) is data[row * row_step + column * column_step].
struct strided_view {
  const float* data = nullptr;  ///< element (0, 0)
  std::size_t row_step = 0;     ///< floats
  std::size_t column_step = 1;  ///< floats
};

/// A dense matrix in panels of 64 columns: column 64 p + q of row r is data[p * step + r * stride + q].
template <class Float>
struct panels {
  Float* data = nullptr;   ///< element (0, 0)
  std::size_t stride = 0;  ///< floats from row to row of a panel
  std::size_t step = 64;   ///< floats from panel to panel; 64: rows are in one piece
};

/// One sample's outcome.
struct outcome {
  float loss = 0;        ///< cross-entropy
  bool correct = false;  ///< the label is the first of the largest logits; false for NaN
};

/// The arithmetic of training, in one instruction set. Every sum runs in a fixed order, whatever the number of rows.
///
/// Matrices are row-major with a row stride in floats. `columns` is a multiple of 16 (multiply_transposed: 4 and
/// `depth` 16): callers pad with zeros. No aliasing between outputs and inputs, no alignment demanded.
/// Tests   tests/sim/kernels_test.cpp: every function of every set against a plain loop in double;
///         tests/sim/kernel_bits_test.cpp: sets of the same arithmetic against each other
struct kernel_set {
  const char* name;        ///< of the instructions, such as "avx512"
  const char* arithmetic;  ///< sets that name the same give the same bits

  /// out[i] = scale * bytes[i].
  void (*widen)(const std::uint8_t* bytes, std::size_t count, float scale, float* out);

  /// c[rows x columns] += scale * x y, x sparse with `rows` rows.
  void (*sparse_multiply)(panels<float> c, std::size_t rows, std::size_t columns, sparse_view x, panels<const float> y,
                          float scale);

  /// c += scale * x^T y, x sparse with `rows` rows, y[rows x columns]; quick for few columns.
  void (*sparse_outer)(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns, sparse_view x,
                       const float* y, std::size_t y_stride, float scale);

  /// c[rows x columns] += scale * x y, x of rows x depth, y[depth x columns].
  void (*multiply)(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns, strided_view x,
                   std::size_t depth, const float* y, std::size_t y_stride, float scale);

  /// c[rows x columns] += x y^T, x[rows x depth], y[columns x depth].
  void (*multiply_transposed)(float* c, std::size_t c_stride, std::size_t rows, std::size_t columns, const float* x,
                              std::size_t x_stride, std::size_t depth, const float* y, std::size_t y_stride);

  /// x = max(x, 0), keeping NaN. count is a multiple of 16.
  void (*relu)(float* x, std::size_t count);

  /// Zeroes delta where the activation is not positive. count is a multiple of 16.
  void (*relu_gradient)(float* delta, const float* activation, std::size_t count);

  /// Replaces the logits in row[0, classes) by scale * (softmax - one-hot label), and fills up to a multiple of 16
  /// with zeros. Probabilities under e^-80 count as 0, which keeps subnormal numbers out of the gradients.
  outcome (*softmax)(float* row, std::size_t classes, std::size_t label, float scale);

  /// x *= factor. count is a multiple of 16.
  void (*scale)(float* x, std::size_t count, float factor);

  /// y += factor * x. count is a multiple of 16.
  void (*add)(float* y, const float* x, std::size_t count, float factor);
};

}  // namespace rubato::inline RUBATO_ABI::sim::kernels

#endif
