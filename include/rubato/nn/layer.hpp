#ifndef RUBATO_NN_LAYER_HPP
#define RUBATO_NN_LAYER_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::nn {

inline constexpr std::size_t max_layers = 16;                        ///< of a network
inline constexpr std::size_t max_hidden_width = 2048;                ///< units of a hidden layer
inline constexpr std::size_t max_parameters = std::size_t{1} << 28;  ///< of a network

/// One dense layer's place in a network's parameters: inputs x outputs weights, input-major, then `outputs` biases.
struct layer_shape {
  std::size_t inputs = 0;   ///< numbers that it is given
  std::size_t outputs = 0;  ///< numbers that it answers: its units
  std::size_t first = 0;    ///< index of the first weight

  [[nodiscard]] constexpr std::size_t weights() const noexcept { return inputs * outputs; }  ///< without biases
  [[nodiscard]] constexpr std::size_t bias() const noexcept { return first + weights(); }  ///< index of the first bias
  [[nodiscard]] constexpr std::size_t end() const noexcept { return bias() + outputs; }    ///< index past the layer

  friend constexpr bool operator==(const layer_shape&, const layer_shape&) = default;
};

/// What becomes of the numbers that a gradient is written to.
enum class gradient_mode : std::uint8_t {
  accumulate,  ///< it is added to them
  overwrite,   ///< they are not read
};

/// A layer's weights: (i, o) leads from input i to output o; outputs lie side by side in memory.
/// T is const for a view that only reads.
template <class T>
struct matrix_view {
  std::span<T> values;      ///< inputs x outputs, input-major; the network's own
  std::size_t inputs = 0;   ///< rows
  std::size_t outputs = 0;  ///< columns

  /// Precondition: i < inputs, o < outputs.
  [[nodiscard]] constexpr T& operator()(std::size_t i, std::size_t o) const noexcept { return values[i * outputs + o]; }
};

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
