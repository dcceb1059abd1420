// Clipping and Adam, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// The square of a float is a double without rounding. 32 sums, whatever the width of a pack, and then the rest.
RUBATO_DETAIL_KERNEL inline double sum_of_squares(std::size_t count, const float* x) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t half = width / 2, sums = 32 / half;
  wide sum[sums] = {};
  std::size_t i = 0;
  for (; i + sums * half <= count; i += sums * half) {
#pragma GCC unroll 8
    for (std::size_t s = 0; s < sums; ++s) {
      const wide value = widened(load<half>(x + i + s * half));
      sum[s] = multiply_add(value, value, sum[s]);
    }
  }
#pragma GCC unroll 2
  for (std::size_t step = sums / 2; step * half >= 8; step /= 2) {  // down to eight
#pragma GCC unroll 4
    for (std::size_t s = 0; s < step; ++s) sum[s] += sum[s + step];
  }
  double all = 0;
  for (std::size_t lane = 0; lane < 8; ++lane) all += sum[lane / half][lane % half];
  for (; i < count; ++i) all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return all;
}

// 1 / x for numbers > 0, to a unit in the last place: a guess by the bits (an eighth off at most), and twice the error
// to its third power. Division takes turns with the roots; of multiply-adds there are enough. No estimate by an
// instruction: those differ from one make of processor to the other. What is beyond 1e-37 and 1e38 counts as these; NaN
// stays NaN.
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> reciprocal(const pack<N>& x) noexcept {
  using bits = typename pack_of<N>::bits;
  const pack<N> below = larger<N>(all<N>(1e-37F), smaller<N>(all<N>(1e38F), x)), one = all<N>(1.0F);
  pack<N> y = __builtin_bit_cast(pack<N>, 0x7EF311C7 - __builtin_bit_cast(bits, below));
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const pack<N> error = multiply_add<N>(-below, y, one);
    y = multiply_add<N>(y, multiply_add<N>(error, error, error), y);
  }
  return y;
}

template <bool Whole, std::size_t N>
RUBATO_DETAIL_HELPER inline void adam_at(const adam_step<float>& step, std::size_t count, const float* g, float* m,
                                         float* v, float* p) noexcept {
  RUBATO_DETAIL_EXACT
  const pack<N> slope = load_columns<Whole, N>(g, count);
  const pack<N> mean = multiply_add<N>(all<N>(step.first_decay), load_columns<Whole, N>(m, count),
                                       all<N>(step.first_gain) * slope);
  const pack<N> square = multiply_add<N>(all<N>(step.second_decay), load_columns<Whole, N>(v, count),
                                         all<N>(step.second_gain) * (slope * slope));
  store_columns<Whole, N>(m, mean, count);
  store_columns<Whole, N>(v, square, count);
  const pack<N> root = multiply_add<N>(all<N>(step.root_scale), square_root<N>(square), all<N>(step.epsilon));
  store_columns<Whole, N>(p, multiply_add<N>(all<N>(-step.rate) * mean, reciprocal<N>(root),
                                             all<N>(step.keep) * load_columns<Whole, N>(p, count)), count);
}
RUBATO_DETAIL_KERNEL inline void adam(std::size_t count, const adam_step<float>& step, const float* g, float* m,
                                      float* v, float* p) noexcept {
  const adam_step<float> constants = step;
  std::size_t i = 0;
  for (; i + width <= count; i += width) adam_at<true, width>(constants, width, g + i, m + i, v + i, p + i);
  for (; i + 8 <= count; i += 8) adam_at<true, 8>(constants, 8, g + i, m + i, v + i, p + i);
  if (i < count) adam_at<false, 8>(constants, count - i, g + i, m + i, v + i, p + i);
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
