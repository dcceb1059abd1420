#ifndef RUBATO_NN_KERNELS_PORTABLE_HPP
#define RUBATO_NN_KERNELS_PORTABLE_HPP

#include <concepts>
#include <cstddef>

#include "kernel_set.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::portable {

/// What one instruction works on, as a type: 16 bytes of T, by an extension of both compilers.
template <std::floating_point T>
struct pack_of {
  /// 16 bytes of T.
  typedef T type __attribute__((vector_size(16)));
};
/// The same, by itself.
template <std::floating_point T>
using pack = typename pack_of<T>::type;

using pinned::square_root;
#if defined(__x86_64__)
RUBATO_DETAIL_PINNED_INLINE inline pack<float> square_root(pack<float> x) noexcept {
  __asm__("sqrtps %0, %0" : "+x"(x));
  return x;
}
RUBATO_DETAIL_PINNED_INLINE inline pack<double> square_root(pack<double> x) noexcept {
  __asm__("sqrtpd %0, %0" : "+x"(x));
  return x;
}
#else
template <class Pack>
RUBATO_DETAIL_PINNED_INLINE inline Pack square_root(const Pack& x) noexcept {
  Pack y = x;
  for (std::size_t i = 0; i < sizeof(x) / sizeof(x[0]); ++i) y[i] = square_root(x[i]);
  return y;
}
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::portable

#define RUBATO_DETAIL_SET portable
#define RUBATO_DETAIL_SET_NAME "portable"
#define RUBATO_DETAIL_PACK_BYTES 16
#define RUBATO_DETAIL_KERNEL RUBATO_DETAIL_PINNED
#define RUBATO_DETAIL_HELPER RUBATO_DETAIL_PINNED_INLINE
#include "loops.hpp"

#endif
