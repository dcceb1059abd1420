// The gates of an LSTM, in one instruction set: read by loops.hpp and fused_loops.hpp, each having defined
// gate_pack, the floats that it works on at a time, and add_product(). Read alone, it is empty.
//
// Every operation is on one unit alone: packs of any width give the same bits, and what counts is whether a product and
// a sum are rounded once or twice.
#ifdef RUBATO_DETAIL_SET

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../../../pinned.hpp"
#include "training_kernels.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

inline constexpr std::size_t gate_width = sizeof(gate_pack) / sizeof(float);
typedef std::uint32_t gate_bits __attribute__((vector_size(sizeof(gate_pack))));

RUBATO_DETAIL_HELPER inline gate_pack gates(float x) noexcept { return x - gate_pack{}; }

template <class Mask>
RUBATO_DETAIL_HELPER inline gate_pack choose(const Mask& mask, const gate_pack& yes, const gate_pack& no) noexcept {
  const gate_bits where = __builtin_bit_cast(gate_bits, mask);
  return __builtin_bit_cast(gate_pack, (__builtin_bit_cast(gate_bits, yes) & where) |
                                           (__builtin_bit_cast(gate_bits, no) & ~where));
}

// e^x for x in [-87, 88]: 2^n e^r, where r = x - n ln 2 and |r| <= ln 2 / 2, and e^r = 1 + r + r^2 p(r), of least
// relative error. Added to 1.5 * 2^23, x log2(e) is rounded to a whole number, n, whose last bits are those of the sum.
RUBATO_DETAIL_HELPER inline gate_pack exponential(const gate_pack& x) noexcept {
  RUBATO_DETAIL_EXACT
  const gate_pack shift = gates(12582912.0F);
  const gate_pack shifted = add_product(shift, x, gates(1.44269504F));
  const gate_pack n = shifted - shift;
  gate_pack r = add_product(x, n, gates(-0.693359375F));  // ln 2 = 355/512 and a rest
  r = add_product(r, n, gates(2.12194440e-4F));
  gate_pack p = gates(0.0013814467F);
  p = add_product(gates(0.00836878084F), p, r);
  p = add_product(gates(0.0416683927F), p, r);
  p = add_product(gates(0.166665196F), p, r);
  p = add_product(gates(0.49999994F), p, r);
  const gate_pack y = add_product(r, p, r * r) + gates(1);
  return __builtin_bit_cast(gate_pack, __builtin_bit_cast(gate_bits, y) +
                                           (__builtin_bit_cast(gate_bits, shifted) << 23));
}

// NaN stays NaN in both.
RUBATO_DETAIL_HELPER inline gate_pack sigmoid(const gate_pack& x) noexcept {
  RUBATO_DETAIL_EXACT
  gate_pack away = choose(x > gates(87), gates(-87), -x);
  away = choose(x < gates(-88), gates(88), away);
  return choose(x == x, gates(1) / (gates(1) + exponential(away)), x);
}
// x + x^3 q(x^2) where that is exact, else 1 - 2 / (e^2|x| + 1) with the sign of x.
RUBATO_DETAIL_HELPER inline gate_pack hyperbolic_tangent(const gate_pack& x) noexcept {
  RUBATO_DETAIL_EXACT
  const gate_bits sign = __builtin_bit_cast(gate_bits, x) & __builtin_bit_cast(gate_bits, gates(-0.0F));
  const gate_pack size = __builtin_bit_cast(gate_pack, __builtin_bit_cast(gate_bits, x) ^ sign);
  const gate_pack square = x * x;
  gate_pack q = gates(-0.00571704516F);
  q = add_product(gates(0.020650588F), q, square);
  q = add_product(gates(-0.0537434965F), q, square);
  q = add_product(gates(0.133314908F), q, square);
  q = add_product(gates(-0.333332837F), q, square);
  const gate_pack inner = add_product(x, x * square, q);
  const gate_pack power = exponential(choose(size > gates(10), gates(20), size + size));
  const gate_pack outer = gates(1) - gates(2) / (power + gates(1));
  const gate_pack signed_outer = __builtin_bit_cast(gate_pack, __builtin_bit_cast(gate_bits, outer) | sign);
  return choose(size > gates(0.625F), signed_outer, inner);
}

// What the loops below work on: packs of floats, or one double, whose functions are the C library's.
RUBATO_DETAIL_HELPER inline double sigmoid(double x) noexcept { return 1 / (1 + __builtin_exp(-x)); }
RUBATO_DETAIL_HELPER inline double hyperbolic_tangent(double x) noexcept { return __builtin_tanh(x); }
RUBATO_DETAIL_HELPER inline double add_product(double sum, double a, double b) noexcept {
  RUBATO_DETAIL_EXACT
  return sum + a * b;
}
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline V load_units(const T* from, std::size_t count) noexcept {
  V x{};
  if (count * sizeof(T) >= sizeof(V))
    __builtin_memcpy(&x, from, sizeof(V));
  else if constexpr (sizeof(V) > sizeof(T))
    for (std::size_t k = 0; k < count; ++k) x[k] = from[k];
  return x;
}
template <class V, std::floating_point T>
RUBATO_DETAIL_HELPER inline void store_units(T* to, const V& x, std::size_t count) noexcept {
  if (count * sizeof(T) >= sizeof(V))
    __builtin_memcpy(to, &x, sizeof(V));
  else if constexpr (sizeof(V) > sizeof(T))
    for (std::size_t k = 0; k < count; ++k) to[k] = x[k];
}

template <std::floating_point T, class V = std::conditional_t<std::same_as<T, float>, gate_pack, double>>
RUBATO_DETAIL_KERNEL void lstm_step(std::size_t units, T* gate, const T* before, T* cell, T* squashed,
                                    T* out) noexcept {
  RUBATO_DETAIL_EXACT
  for (std::size_t u = 0; u < units; u += sizeof(V) / sizeof(T)) {
    const std::size_t left = units - u;
    const V input = sigmoid(load_units<V>(gate + u, left));
    const V forget = sigmoid(load_units<V>(gate + units + u, left));
    const V candidate = hyperbolic_tangent(load_units<V>(gate + 2 * units + u, left));
    const V output = sigmoid(load_units<V>(gate + 3 * units + u, left));
    const V now = add_product(input * candidate, forget, load_units<V>(before + u, left));
    const V flat = hyperbolic_tangent(now);
    store_units(gate + u, input, left);
    store_units(gate + units + u, forget, left);
    store_units(gate + 2 * units + u, candidate, left);
    store_units(gate + 3 * units + u, output, left);
    store_units(cell + u, now, left);
    store_units(squashed + u, flat, left);
    store_units<V>(out + u, output * flat, left);
  }
}

template <std::floating_point T, class V = std::conditional_t<std::same_as<T, float>, gate_pack, double>>
RUBATO_DETAIL_KERNEL void lstm_step_gradient(std::size_t units, const T* gate, const T* before, const T* squashed,
                                             const T* out_gradient, T* cell_gradient, T* gate_gradient) noexcept {
  RUBATO_DETAIL_EXACT
  const V one = V{} + T{1};
  for (std::size_t u = 0; u < units; u += sizeof(V) / sizeof(T)) {
    const std::size_t left = units - u;
    const V input = load_units<V>(gate + u, left), forget = load_units<V>(gate + units + u, left);
    const V candidate = load_units<V>(gate + 2 * units + u, left), output = load_units<V>(gate + 3 * units + u, left);
    const V flat = load_units<V>(squashed + u, left), slope = load_units<V>(out_gradient + u, left);
    const V cell = load_units<V>(cell_gradient + u, left) + slope * output * ((one - flat) * (one + flat));
    store_units<V>(gate_gradient + u, cell * candidate * (input * (one - input)), left);
    store_units<V>(gate_gradient + units + u, cell * load_units<V>(before + u, left) * (forget * (one - forget)), left);
    store_units<V>(gate_gradient + 2 * units + u, cell * input * ((one - candidate) * (one + candidate)), left);
    store_units<V>(gate_gradient + 3 * units + u, slope * flat * (output * (one - output)), left);
    store_units<V>(cell_gradient + u, cell * forget, left);
  }
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#endif
