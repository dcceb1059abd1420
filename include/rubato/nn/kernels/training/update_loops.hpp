// Clipping, SGD and Adam, in one instruction set: read by loops.hpp. Read alone, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

RUBATO_DETAIL_GNU_BEGIN
namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

template <std::floating_point T>
RUBATO_DETAIL_HELPER inline pack<double> load_doubles(const T* from) noexcept {
  if constexpr (sizeof(T) == sizeof(double)) {
    return load<pack<double>>(from);
  } else {
    typedef T narrow __attribute__((vector_size(RUBATO_DETAIL_PACK_BYTES * sizeof(T) / sizeof(double))));
    return __builtin_convertvector(load<narrow>(from), pack<double>);
  }
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL double sum_of_squares(std::size_t count, const T* x) noexcept {
  RUBATO_DETAIL_EXACT
  constexpr std::size_t w = width<double>;
  pack<double> packed[lane_packs<double>] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < lane_packs<double>; ++p) {
      const pack<double> value = load_doubles(x + i + p * w);
      packed[p] += value * value;
    }
  }
  double sum[lanes];
  __builtin_memcpy(sum, packed, sizeof(sum));
  for (std::size_t lane = 0; i < count; ++i, ++lane) sum[lane] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) total += sum[lane];
  return total;
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void scale(std::size_t count, T factor, T* x) noexcept {
  RUBATO_DETAIL_EXACT
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) store(x + i, factor * load<pack<T>>(x + i));
  for (; i < count; ++i) x[i] *= factor;
}

// One step of some parameters: V is a number or a pack.
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void sgd_at(T rate, const T* g, T* p) noexcept {
  RUBATO_DETAIL_EXACT
  store<V>(p, load<V>(p) - rate * load<V>(g));
}
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void momentum_at(T rate, T momentum, const T* g, T* v, T* p) noexcept {
  RUBATO_DETAIL_EXACT
  const V velocity = momentum * load<V>(v) + load<V>(g);
  store(v, velocity);
  store<V>(p, load<V>(p) - rate * velocity);
}
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void adam_at(const adam_step<T>& step, const T* g, T* m, T* v, T* p) noexcept {
  RUBATO_DETAIL_EXACT
  const V slope = load<V>(g);
  const V mean = step.first_decay * load<V>(m) + step.first_gain * slope;
  const V square = step.second_decay * load<V>(v) + step.second_gain * (slope * slope);
  store(m, mean);
  store(v, square);
  store<V>(p, step.keep * load<V>(p) - step.rate * (mean / (step.root_scale * square_root(square) + step.epsilon)));
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void sgd(std::size_t count, T rate, const T* g, T* p) noexcept {
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) sgd_at<pack<T>>(rate, g + i, p + i);
  for (; i < count; ++i) sgd_at<T>(rate, g + i, p + i);
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void momentum(std::size_t count, T rate, T momentum, const T* g, T* v, T* p) noexcept {
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) momentum_at<pack<T>>(rate, momentum, g + i, v + i, p + i);
  for (; i < count; ++i) momentum_at<T>(rate, momentum, g + i, v + i, p + i);
}

template <std::floating_point T>
RUBATO_DETAIL_KERNEL void adam(std::size_t count, const adam_step<T>& step, const T* g, T* m, T* v, T* p) noexcept {
  std::size_t i = 0;
  for (; i + width<T> <= count; i += width<T>) adam_at<pack<T>>(step, g + i, m + i, v + i, p + i);
  for (; i < count; ++i) adam_at<T>(step, g + i, m + i, v + i, p + i);
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET
RUBATO_DETAIL_GNU_END

#endif
