// Clipping and Adam, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// The square of a float is a double without rounding: eight sums, and then the rest.
RUBATO_DETAIL_HELPER inline double sum_of_squares_in_double(std::size_t count, const float* x) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t half = width / 2;
  wide sum[8 / half] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
#pragma GCC unroll 2
    for (std::size_t k = 0; k < 8 / half; ++k) {
      const wide value = widened(load<half>(x + i + k * half));
      sum[k] = multiply_add(value, value, sum[k]);
    }
  }
  double all = 0;
  for (std::size_t lane = 0; lane < 8; ++lane) all += sum[lane / half][lane % half];
  for (; i < count; ++i) all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return all;
}
// 64 sums of floats, whatever the width of a pack; all of it in double where squares may be too large or too small for
// a float.
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline double sum_of_squares(std::size_t count, const T* x) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t together = 64, sums = together / width;
  pack<width> sum[sums];
#pragma GCC unroll 8
  for (std::size_t s = 0; s < sums; ++s) sum[s] = pack<width>{};
  std::size_t i = 0;
  for (; i + together <= count; i += together) {
#pragma GCC unroll 8
    for (std::size_t s = 0; s < sums; ++s) {
      const pack<width> value = load<width>(x + i + s * width);
      sum[s] = multiply_add<width>(value, value, sum[s]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t s = 0; s < sums / 2; ++s) sum[s] += sum[s + sums / 2];
#pragma GCC unroll 2
  for (std::size_t s = 0; s < sums / 4; ++s) sum[s] += sum[s + sums / 4];
  float of[16];
  store<width>(of, sum[0]);
  if constexpr (width == 8) store<width>(of + 8, sum[1]);
  double all = 0;
  for (const float lane : of) all += static_cast<double>(lane);
  if (!(all > 1e-24 && all < 1e30)) return sum_of_squares_in_double(count, x);
  for (; i < count; ++i) all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return all;
}

// -1 / x for numbers < 0, to a unit in the last place: a guess by the bits (an eighth off at most), and twice the error
// to its third power. Division takes turns with the roots; of multiply-adds there are enough. No estimate by an
// instruction: those differ from one make of processor to the other. What is beyond -1e-37 and -1e38 counts as these;
// NaN stays NaN. Of -x the error is one multiply-add; of x it would have to be negated first.
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> negative_reciprocal(const pack<N>& x) noexcept {
  using bits = typename pack_of<N>::bits;
  const pack<N> inside = smaller<N>(all<N>(-1e-37F), larger<N>(all<N>(-1e38F), x)), one = all<N>(1.0F);
  pack<N> y = __builtin_bit_cast(pack<N>, (0x7EF311C7 - 0x7FFFFFFF - 1) - __builtin_bit_cast(bits, inside));
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const pack<N> error = multiply_add<N>(inside, y, one);
    y = multiply_add<N>(y, multiply_add<N>(error, error, error), y);
  }
  return y;
}

// The means, and the roots of the second; and then the parameters.
struct adam_means {
  const adam_step<float>& step;
  const float* g;
  float* m;
  float* v;
  float* root;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    RUBATO_DETAIL_EXACT
    const pack<N> slope = load_columns<Whole, N>(g + i, count);
    const pack<N> mean = multiply_add<N>(all<N>(step.first_decay), load_columns<Whole, N>(m + i, count),
                                         all<N>(step.first_gain) * slope);
    const pack<N> square = multiply_add<N>(all<N>(step.second_decay), load_columns<Whole, N>(v + i, count),
                                           all<N>(step.second_gain) * (slope * slope));
    store_columns<Whole, N>(m + i, mean, count);
    store_columns<Whole, N>(v + i, square, count);
    store<N>(root + i, square_root<N>(square));
  }
};
struct adam_moves {
  const adam_step<float>& step;
  const float* m;
  const float* root;
  float* p;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    RUBATO_DETAIL_EXACT
    const pack<N> below = multiply_add<N>(all<N>(-step.root_scale), load<N>(root + i), all<N>(-step.epsilon));
    store_columns<Whole, N>(p + i, multiply_add<N>(all<N>(-step.rate) * load_columns<Whole, N>(m + i, count),
                                                   negative_reciprocal<N>(below),
                                                   all<N>(step.keep) * load_columns<Whole, N>(p + i, count)), count);
  }
};
// Eight packs at a time: a root takes long, and what waits for it keeps the next ones from beginning.
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL inline void adam(std::size_t count, const adam_step<T>& step, const T* g, T* m, T* v,
                                      T* p) noexcept {
  constexpr std::size_t together = 8 * width;
  const adam_step<T> constants = step;
  alignas(64) float root[together];
  for (; count >= together; count -= together, g += together, m += together, v += together, p += together) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < together; i += width)
      adam_means{constants, g, m, v, root}.template at<true, width>(i, width);
    __asm__("" : : : "memory");  // what was stored is not kept in registers, of which there are too few
#pragma GCC unroll 8
    for (std::size_t i = 0; i < together; i += width)
      adam_moves{constants, m, root, p}.template at<true, width>(i, width);
  }
  each_pack(count, adam_means{constants, g, m, v, root});
  each_pack(count, adam_moves{constants, m, root, p});
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
