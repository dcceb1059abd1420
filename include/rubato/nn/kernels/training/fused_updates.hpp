// Clipping and Adam, in an instruction set with fused multiply-adds: read by fused_loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

RUBATO_DETAIL_GNU_BEGIN
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
RUBATO_DETAIL_KERNEL double sum_of_squares(std::size_t count, const T* x) noexcept {
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

// reciprocal_scale / -x for x <= -1e-37, to a unit or two in the last place. Division takes turns with the roots; of
// multiply-adds there are enough. No estimate by an instruction: those differ from one make of processor to the other.
// By its bits a guess y has -x * y from 1 to 9/8; y * ((51/32 + x * y)^2 + 27/32) is the polynomial of three operations
// that differs least, by 5e-5, from a constant over -x, which a step of Newton's then squares. What is beyond -1e38
// counts as that; NaN stays NaN.
inline constexpr double reciprocal_constant = 1.19635009765625;
inline constexpr double reciprocal_scale = reciprocal_constant * reciprocal_constant;
template <std::size_t N>
RUBATO_DETAIL_HELPER inline pack<N> scaled_reciprocal(const pack<N>& x) noexcept {
  RUBATO_DETAIL_EXACT
  using bits = typename pack_of<N>::bits;
  const pack<N> inside = larger<N>(all<N>(-1e38F), x);
  const pack<N> guess = __builtin_bit_cast(pack<N>, -0x0100'0000 - __builtin_bit_cast(bits, inside));
  const pack<N> offset = multiply_add<N>(inside, guess, all<N>(1.59375F));
  const pack<N> nearly = guess * multiply_add<N>(offset, offset, all<N>(0.84375F));
  return nearly * multiply_add<N>(inside, nearly, all<N>(static_cast<float>(2 * reciprocal_constant)));
}

// The means, and the roots of the second; and then the parameters. The first mean is moved by a share of what it is
// off; that of squares is not: it may be infinite.
struct adam_means {
  const adam_step<float>& step;
  const float* g;
  float* m;
  float* v;
  float* root;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    RUBATO_DETAIL_EXACT
    const pack<N> slope = load_columns<Whole, N>(g + i, count), before = load_columns<Whole, N>(m + i, count);
    const pack<N> mean = multiply_add<N>(all<N>(step.first_gain), slope - before, before);
    const pack<N> square = multiply_add<N>(all<N>(step.second_decay), load_columns<Whole, N>(v + i, count),
                                           all<N>(step.second_gain) * (slope * slope));
    store_columns<Whole, N>(m + i, mean, count);
    store_columns<Whole, N>(v + i, square, count);
    store<N>(root + i, square_root<N>(square));
  }
};
struct adam_moves {
  float root_scale;  // both as in adam_step, times -reciprocal_scale / rate
  float epsilon;
  const float* m;
  const float* root;
  float* p;

  template <bool Whole, std::size_t N>
  RUBATO_DETAIL_HELPER inline void at(std::size_t i, std::size_t count) const noexcept {
    RUBATO_DETAIL_EXACT
    const pack<N> below = multiply_add<N>(all<N>(root_scale), load<N>(root + i), all<N>(epsilon));
    store_columns<Whole, N>(p + i, multiply_add<N>(-load_columns<Whole, N>(m + i, count), scaled_reciprocal<N>(below),
                                                   load_columns<Whole, N>(p + i, count)), count);
  }
};
// The roots of a block are begun before what the block before it has waited for: a root takes long, and all that waits
// for it keeps the next ones from beginning.
inline constexpr std::size_t adam_block = 8 * width;
RUBATO_DETAIL_HELPER inline void move_block(const adam_moves& op) noexcept {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < adam_block; i += width) op.at<true, width>(i, width);
}
RUBATO_DETAIL_HELPER inline void begin_block(const adam_means& op) noexcept {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < adam_block; i += width) op.at<true, width>(i, width);
  __asm__("" : : : "memory");  // what was stored is not kept in registers, of which there are too few
}
template <std::same_as<float> T>
RUBATO_DETAIL_KERNEL void adam(std::size_t count, const adam_step<T>& step, const T* g, T* m, T* v, T* p) noexcept {
  RUBATO_DETAIL_EXACT
  const adam_step<T> constants = step;
  if (constants.keep != 1) avx2::training<T>.scale(count, constants.keep, p);
  const T per_rate = static_cast<T>(reciprocal_scale / static_cast<double>(constants.rate));
  const T scale = constants.root_scale * per_rate, epsilon = constants.epsilon * per_rate;
  const T root_scale = scale < 1e38F ? -scale : -1e38F;
  const T least = epsilon < 1e-37F ? -1e-37F : epsilon < 1e38F ? -epsilon : -1e38F;
  const bool moves = constants.rate > 0;
  alignas(64) T roots[2][adam_block], still[adam_block];
  std::size_t i = 0;
  if (count >= adam_block) begin_block({constants, g, m, v, roots[0]});
  for (; i + adam_block <= count; i += adam_block) {
    const std::size_t next = i + adam_block, odd = i / adam_block % 2;
    if (next + adam_block <= count) begin_block({constants, g + next, m + next, v + next, roots[1 - odd]});
    if (moves) move_block({root_scale, least, m + i, roots[odd], p + i});
  }
  each_pack(count - i, adam_means{constants, g + i, m + i, v + i, still});
  if (moves) each_pack(count - i, adam_moves{root_scale, least, m + i, still, p + i});
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#endif
