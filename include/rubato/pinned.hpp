#ifndef RUBATO_PINNED_HPP
#define RUBATO_PINNED_HPP

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "config.hpp"

// Arithmetic that gives the same bits in every unit, whatever flags the unit is built with, and that runs on every
// processor of the architecture, whichever unit's body the linker keeps:
//
//   RUBATO_DETAIL_PINNED         attributes of a function that is called from outside
//   RUBATO_DETAIL_PINNED_INLINE  attributes of a helper that only pinned functions call
//   RUBATO_DETAIL_APART          the part of the first that keeps a function out of its callers
//   RUBATO_DETAIL_EXACT          first statement of either: keeps clang to the written operations
//   RUBATO_DETAIL_ALONE(x)       statement before the C library is called with the variable x
//   RUBATO_DETAIL_BASELINE       attribute for the second half alone: no instruction that some processor lacks
//   RUBATO_DETAIL_GNU_BEGIN      before code in the dialect of GCC and clang, and
//   RUBATO_DETAIL_GNU_END        after it: nvcc passes it on to them as it stands, but warns of what it does not know
//
// A sum of products must not become a fused multiply-add, which rounds once instead of twice. On x86-64 the target has
// no such instruction (nor any other that was added after SSE2). Inlining would undo that, since the body then takes on
// the flags of its caller, hence `noinline`; on other architectures contraction is switched off by name. -ffast-math is
// switched off too, except for clang on other architectures, which cannot do that for one function. Nothing switches
// off the C library's vector variants of tanh, exp and their like, which have other bits: GCC takes them in any loop of
// a unit with -ffast-math. A number that has been through an assembler statement is not part of a vector.
//
// Pinned functions call nothing but each other and the C library: a wrapper of the standard library has the
// instructions of the unit, where it is not inlined. Hence __builtin_expf, not std::exp.
//
// Tests   tests/flags/flags_test.cpp: PinnedArithmeticHasTheSameBits; tests/flags/baseline.py
#if defined(__clang__)
#define RUBATO_DETAIL_PINNED_OPTIONS
#define RUBATO_DETAIL_APART __attribute__((noinline))
#if defined(__x86_64__)
#define RUBATO_DETAIL_EXACT _Pragma("float_control(precise, on)") _Pragma("clang fp contract(off)")
#else
#define RUBATO_DETAIL_EXACT _Pragma("clang fp contract(off)")
#endif
#else
#define RUBATO_DETAIL_PINNED_OPTIONS __attribute__((optimize("no-fast-math", "fp-contract=off")))
#define RUBATO_DETAIL_APART __attribute__((noinline, noclone))  // of a clone GCC 12 warns without a cause
#define RUBATO_DETAIL_EXACT
#endif
#define RUBATO_DETAIL_ALONE(x) __asm__("" : "+m"(x))

#if defined(__CUDACC__)
#define RUBATO_DETAIL_GNU_BEGIN _Pragma("nv_diag_suppress 68,186,1675")
#define RUBATO_DETAIL_GNU_END _Pragma("nv_diag_default 68,186,1675")
#else
#define RUBATO_DETAIL_GNU_BEGIN
#define RUBATO_DETAIL_GNU_END
#endif

#if defined(__x86_64__)
#define RUBATO_DETAIL_BASELINE_TARGET "no-sse3,no-avx,no-popcnt,no-lzcnt,no-bmi,no-bmi2,no-movbe"
#define RUBATO_DETAIL_BASELINE __attribute__((target(RUBATO_DETAIL_BASELINE_TARGET)))
#else
#define RUBATO_DETAIL_BASELINE
#endif

#define RUBATO_DETAIL_PINNED_INLINE RUBATO_DETAIL_PINNED_OPTIONS RUBATO_DETAIL_BASELINE
#define RUBATO_DETAIL_PINNED RUBATO_DETAIL_PINNED_INLINE RUBATO_DETAIL_APART

namespace rubato::inline RUBATO_ABI::pinned {

// The root of a number, for pinned functions. On x86-64 by name: of the builtin clang makes an estimate where the unit
// has -ffast-math, RUBATO_DETAIL_EXACT or not. With one operand it is the same text in both dialects of assembler.
#if defined(__x86_64__)
RUBATO_DETAIL_PINNED_INLINE inline float square_root(float x) noexcept {
  __asm__("sqrtss %0, %0" : "+x"(x));
  return x;
}
RUBATO_DETAIL_PINNED_INLINE inline double square_root(double x) noexcept {
  __asm__("sqrtsd %0, %0" : "+x"(x));
  return x;
}
#else
RUBATO_DETAIL_PINNED_INLINE inline float square_root(float x) noexcept { return __builtin_sqrtf(x); }
RUBATO_DETAIL_PINNED_INLINE inline double square_root(double x) noexcept { return __builtin_sqrt(x); }
#endif

// What a number is, by its bits. In a unit with -ffast-math no number is infinite or NaN, so std::isnan is false, and
// whatever a comparison says of NaN may be turned round. Newer versions of clang know as much of the bits of a number,
// which after an assembler statement nobody knows anything of.
template <class T>
[[nodiscard]] constexpr auto bits_of(T x) noexcept {
  static_assert(std::numeric_limits<T>::is_iec559, "rubato: floating-point numbers are those of IEEE 754");
  auto bits = std::bit_cast<std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>>(x);
  if (std::is_constant_evaluated()) return bits;
  if constexpr (sizeof bits > sizeof(void*))
    __asm__("" : "+m"(bits));
  else
    __asm__("" : "+r"(bits));
  return bits;
}
// Neither infinite nor NaN.
template <class T>
[[nodiscard]] constexpr bool is_finite(T x) noexcept {
  constexpr auto infinite = bits_of((std::numeric_limits<T>::infinity)());
  return (bits_of(x) & infinite) != infinite;
}
template <class T>
[[nodiscard]] constexpr bool is_nan(T x) noexcept {
  constexpr auto infinite = bits_of((std::numeric_limits<T>::infinity)());
  return bits_of(x) << 1 > infinite << 1;
}
// From `least` to `most`, and not NaN.
template <class T>
[[nodiscard]] constexpr bool within(T x, std::type_identity_t<T> least, std::type_identity_t<T> most) noexcept {
  return !is_nan(x) && x >= least && x <= most;
}

// sum + a * b, of which a compiler may make one fused operation elsewhere: for the few places where a number that is
// kept for long depends on it. On x86-64 it has no body of its own, whose instructions could be those of one unit; what
// goes in and comes out is as opaque as that of a call, so that nothing around it is fused with it or put in another
// order.
#if defined(__x86_64__)
template <class T>
[[nodiscard, gnu::always_inline]] constexpr T plus_product(T sum, T a, T b) noexcept {
  if (std::is_constant_evaluated()) return sum + a * b;
  __asm__("" : "+x"(sum), "+x"(a), "+x"(b));
  T product = a * b;
  __asm__("" : "+x"(product));
  sum += product;
  __asm__("" : "+x"(sum));
  return sum;
}
#else
template <class T>
[[nodiscard]] RUBATO_DETAIL_PINNED constexpr T plus_product(T sum, T a, T b) noexcept {
  RUBATO_DETAIL_EXACT
  return sum + a * b;
}
#endif

}  // namespace rubato::inline RUBATO_ABI::pinned

namespace rubato::inline RUBATO_ABI::detail {

// std::min, max, clamp and exchange, for what nvcc compiles for the device as well: it has no functions of the standard
// library there.
template <class T>
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr T smaller(T a, T b) noexcept {
  return b < a ? b : a;
}
template <class T>
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr T larger(T a, T b) noexcept {
  return a < b ? b : a;
}
template <class T>
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr T clamped(T x, T least, T most) noexcept {
  return x < least ? least : most < x ? most : x;
}
template <class T>
RUBATO_DETAIL_SHARED constexpr T exchanged(T& x, T next) noexcept {
  const T before = x;
  x = next;
  return before;
}

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
