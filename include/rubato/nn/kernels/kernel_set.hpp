#ifndef RUBATO_NN_KERNELS_KERNEL_SET_HPP
#define RUBATO_NN_KERNELS_KERNEL_SET_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "../../pinned.hpp"
#include "../activation.hpp"
#include "../layer.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels {

/// out = f(bias + in * weight): `weight` is input-major, weight[i * outputs + o] leads from input i to output o.
template <std::floating_point T>
struct dense_layer {
  std::size_t inputs = 0;     ///< numbers in
  std::size_t outputs = 0;    ///< numbers out
  const T* weight = nullptr;  ///< inputs x outputs
  const T* bias = nullptr;    ///< outputs
  activation f{};             ///< what the sums go through
};

/// Identity, ReLU and leaky ReLU as the larger of slope * x and x, for slopes in (0, 1], and of 0 where nothing is kept
/// below it. NaN stays NaN. What is none of these is left to a second pass.
struct bend {
  float slope = 1;       ///< on what is below 0
  int keep = -1;         ///< all bits, or none: of what is below 0, and of its gradient
  bool complete = true;  ///< false: `f` is none of the three, and takes a second pass
};
/// How fused kernels compute `f`.
[[nodiscard]] RUBATO_DETAIL_PINNED_INLINE constexpr bend bend_of(const activation& f) noexcept {
  if (f.kind == activation_kind::relu) return {.keep = 0};
  if (f.kind == activation_kind::leaky_relu && f.slope > 0 && f.slope <= 1)
    return {.slope = static_cast<float>(f.slope)};
  return {.complete = f.kind == activation_kind::identity};
}

/// What layers end with, and what fused kernels make of it: worked out once for a network, not in each decision.
struct ending {
  activation f{};        ///< as asked for
  bend as = bend_of(f);  ///< of the same
};
/// The identity.
inline constexpr ending no_activation{};

/// A network as its kernels see it: dense layers, one after another, whose parameters lie in one piece.
template <std::floating_point T>
struct network {
  const layer_shape* shapes = nullptr;    ///< `layers` of them; the caller's, as all here
  std::size_t layers = 0;                 ///< at least 1
  std::size_t width = 0;                  ///< of the widest hidden layer
  const T* parameters = nullptr;          ///< in the order of mlp_interface
  const ending* hidden = &no_activation;  ///< of every layer but the last
  const ending* output = &no_activation;  ///< of the last

  /// What layer `l` ends with; l < layers.
  [[nodiscard]] constexpr const ending& ending_of(std::size_t l) const noexcept {
    return l + 1 == layers ? *output : *hidden;
  }
  /// Layer `l` on its own; l < layers.
  [[nodiscard]] constexpr dense_layer<T> layer(std::size_t l) const noexcept {
    const layer_shape& shape = shapes[l];
    return {shape.inputs, shape.outputs, parameters + shape.first, parameters + shape.bias(), ending_of(l).f};
  }
};

/// One sample through a whole network: out[outputs of the last layer]. `scratch` has room for 2 * net.width numbers.
template <std::floating_point T>
using evaluate_function = void (*)(const network<T>& net, const T* in, T* scratch, T* out) noexcept;

/// The rest of it, for inputs of which all but the first `newest` went into `sums` by begin(); the bits of evaluate.
template <std::floating_point T>
using finish_function = void (*)(const network<T>& net, std::size_t newest, const T* in, const T* sums, T* scratch,
                                 T* out) noexcept;

/// How many numbers begin() leaves, at most, for a first layer of so many outputs.
[[nodiscard]] constexpr std::size_t history_size(std::size_t outputs) noexcept { return 2 * outputs + 384; }

/// The instruction sets that there are kernels for. What else belongs to a set is found by this: compiled_for(),
/// training_for().
enum class instruction_set : std::uint8_t {
  portable,  ///< the compiler's vectors of 16 bytes; every processor
  avx2,      ///< x86-64 with AVX2; the bits of `portable`
  fma,       ///< AVX2 with fused operations; floats only
  avx512     ///< AVX-512, fused; floats only; the bits of `fma`
};

/// The arithmetic of small dense networks that decide, in one instruction set. What trains them is apart, see
/// training_kernels: a unit that does not train compiles none of it.
///
/// Inputs and outputs do not overlap; no alignment is demanded. Every sum runs in a fixed order and every operation is
/// rounded, so results depend on nothing but the arguments (which NaN a NaN is, apart). An output is the sum of its
/// bias and of the inputs from the last to the first: encoders put what is newest first, so that all but the newest
/// inputs can be summed before the newest are known.
/// Thread  stateless: thread-safe on distinct outputs. No allocation.
/// Tests   tests/nn/kernels_test.cpp: every function of every set against a plain loop; EqualSetsGiveTheSameBits
template <std::floating_point T>
struct kernel_set {
  instruction_set instructions;  ///< which set it is
  const char* name;              ///< for people, such as "avx2+fma"

  /// See evaluate_function.
  evaluate_function<T> evaluate;

  /// The first layer's sums without its first `newest` inputs, which are not read: sums[history_size(outputs)].
  void (*begin)(const dense_layer<T>& first, std::size_t newest, const T* in, T* sums) noexcept;
  /// See finish_function.
  finish_function<T> finish;
};

// The functions of a set by name: their instances, or that another unit has them. See instances.hpp.
#define RUBATO_DETAIL_INSTANCES(EXTERN, T)                                                                       \
  EXTERN template void evaluate(const network<T>& net, const T* in, T* scratch, T* out) noexcept;                \
  EXTERN template void begin(const dense_layer<T>& first, std::size_t newest, const T* in, T* sums) noexcept;    \
  EXTERN template void finish(const network<T>& net, std::size_t newest, const T* in, const T* sums, T* scratch, \
                              T* out) noexcept;

}  // namespace rubato::inline RUBATO_ABI::nn::kernels

#endif
