#ifndef RUBATO_NN_MLP_HPP
#define RUBATO_NN_MLP_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include "aligned_vector.hpp"
#include "mlp_interface.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// A multi-layer perceptron whose shape is its type: inputs, hidden widths, outputs.
///
///     nn::mlp<40, 64, 32, 3> q;                                  // leaky ReLU inside, identity at the end, all zero
///     nn::initialise(q, {nn::initialiser_kind::xavier_uniform}, random);
///     q.evaluate(state, values);
///
/// The parameters lie in the object (19 KB for the one above): no call allocates, a copy is a copy of bytes. mlp is
/// basic_mlp of float; double is for tests. The members are those of mlp_interface.
///
/// Thread  const calls are thread-safe.
/// Tests   tests/nn/mlp_test.cpp: IsTriviallyCopyable, LayersTileTheParameters; see mlp_interface
template <std::floating_point T, std::size_t Inputs, std::size_t First, std::size_t... Rest>
class basic_mlp : public mlp_interface<basic_mlp<T, Inputs, First, Rest...>, T> {
  static constexpr std::size_t count = 1 + sizeof...(Rest);
  static_assert(count <= max_layers, "mlp: too many layers");

  static constexpr std::array<layer_shape, count> shapes = [] {
    const std::array<std::size_t, count + 1> width{Inputs, First, Rest...};
    std::array<layer_shape, count> shape{};
    for (std::size_t l = 0; l < count; ++l) shape[l] = {width[l], width[l + 1], l == 0 ? 0 : shape[l - 1].end()};
    return shape;
  }();
  static constexpr std::size_t widest = [] {
    std::size_t most = 0;
    for (std::size_t l = 0; l + 1 < count; ++l) most = shapes[l].outputs > most ? shapes[l].outputs : most;
    return most;
  }();
  static_assert(Inputs > 0 && First > 0 && ((Rest > 0) && ...), "mlp: a width is 0");
  static_assert(widest <= max_hidden_width, "mlp: a hidden layer is wider than max_hidden_width");

 public:
  static constexpr std::size_t scratch_width = widest;  ///< units per layer that the stack has room for

  /// All parameters 0. Precondition: problem(options) == nullptr.
  explicit basic_mlp(const mlp_options& options = {},
                     const kernels::kernel_set<T>& kernel = kernels::native<T>()) noexcept
      : mlp_interface<basic_mlp, T>{options, kernel} {
    RUBATO_ASSERT(problem(options) == nullptr, "mlp: bad options");
  }

  /// Their places in parameters(), from the inputs on.
  [[nodiscard]] static constexpr std::span<const layer_shape> layers() noexcept { return shapes; }
  [[nodiscard]] static constexpr std::size_t widest_hidden() noexcept { return widest; }  ///< units; 0: no hidden layer
  /// In the order of mlp_interface; they lie in the object.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  [[nodiscard]] std::span<const T> parameters() const noexcept { return parameters_; }  ///< to read

 private:
  friend mlp_interface<basic_mlp, T>;
  [[nodiscard]] static kernels::shape_functions<T> functions_of(const kernels::kernel_set<T>& kernel) noexcept {
    return kernels::compiled_for<T, Inputs, First, Rest...>(kernel);
  }

  alignas(cache_line) std::array<T, shapes.back().end()> parameters_{};
};

/// Of floats: what runs.
template <std::size_t Inputs, std::size_t First, std::size_t... Rest>
using mlp = basic_mlp<float, Inputs, First, Rest...>;

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
