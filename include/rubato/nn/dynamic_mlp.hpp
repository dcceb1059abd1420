#ifndef RUBATO_NN_DYNAMIC_MLP_HPP
#define RUBATO_NN_DYNAMIC_MLP_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "../core/result.hpp"
#include "aligned_vector.hpp"
#include "mlp_interface.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// A multi-layer perceptron whose shape is known at run time, say from a file.
///
///     auto q = nn::dynamic_mlp::make({40, 64, 32, 3});
///     if (!q) return q.error();
///     q->evaluate(state, values);
///
/// make() and copies allocate, once; nothing else does. evaluate() takes 16 KB of stack, whatever the shape.
/// dynamic_mlp is basic_dynamic_mlp of float. The members are those of mlp_interface; a moved-from object can only be
/// assigned to.
///
/// Thread  const calls are thread-safe.
/// Tests   tests/nn/dynamic_mlp_test.cpp: EqualsStaticBitForBit, ImpossibleShapesAreRefused,
/// ParametersStartOnACacheLine
template <std::floating_point T>
class basic_dynamic_mlp : public mlp_interface<basic_dynamic_mlp<T>, T> {
 public:
  static constexpr std::size_t scratch_width = max_hidden_width;  ///< units per layer that the stack has room for

  /// A network of these widths (inputs, hidden layers, outputs), all parameters 0.
  /// Errors  invalid_option: fewer than 2 or more than max_layers + 1 widths, a width of 0, a hidden width over
  ///         max_hidden_width, more than max_parameters parameters, problem(options).
  [[nodiscard]] static result<basic_dynamic_mlp> make(std::span<const std::size_t> widths,
                                                      const mlp_options& options = {},
                                                      const kernels::kernel_set<T>& kernel = kernels::native<T>()) {
    if (const char* what = problem(options)) return refusal(what);
    if (widths.size() < 2 || widths.size() > max_layers + 1)
      return refusal(std::to_string(widths.size()) + " widths, expected 2 to " + std::to_string(max_layers + 1));
    std::size_t size = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool hidden = i > 0 && i + 1 < widths.size();
      const std::size_t most = hidden ? max_hidden_width : max_parameters;
      if (widths[i] == 0 || widths[i] > most)
        return refusal("width " + std::to_string(i) + " is " + std::to_string(widths[i]) + ", expected 1 to " +
                       std::to_string(most));
      if (i == 0) continue;
      if (widths[i] > (max_parameters - size) / (widths[i - 1] + 1))
        return refusal("more than " + std::to_string(max_parameters) + " parameters");
      size += (widths[i - 1] + 1) * widths[i];
    }
    return basic_dynamic_mlp{widths, size, options, kernel};
  }
  /// The same, with the widths written down: make({40, 64, 32, 3}).
  [[nodiscard]] static result<basic_dynamic_mlp> make(std::initializer_list<std::size_t> widths,
                                                      const mlp_options& options = {},
                                                      const kernels::kernel_set<T>& kernel = kernels::native<T>()) {
    return make(std::span<const std::size_t>{widths.begin(), widths.size()}, options, kernel);
  }

  /// Their places in parameters(), from the inputs on.
  [[nodiscard]] std::span<const layer_shape> layers() const noexcept { return {shapes_.data(), count_}; }
  [[nodiscard]] std::size_t widest_hidden() const noexcept { return widest_hidden_; }  ///< units; 0: no hidden layer
  /// In the order of mlp_interface. A span stays valid until the network is moved from, assigned to or destroyed.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  [[nodiscard]] std::span<const T> parameters() const noexcept { return parameters_; }  ///< to read

 private:
  friend mlp_interface<basic_dynamic_mlp, T>;
  [[nodiscard]] static kernels::shape_functions<T> functions_of(const kernels::kernel_set<T>& kernel) noexcept {
    return {kernel.evaluate, kernel.finish};
  }

  basic_dynamic_mlp(std::span<const std::size_t> widths, std::size_t size, const mlp_options& options,
                    const kernels::kernel_set<T>& kernel)
      : mlp_interface<basic_dynamic_mlp, T>{options, kernel}, count_{widths.size() - 1}, parameters_(size) {
    for (std::size_t l = 0; l < count_; ++l) {
      shapes_[l] = {widths[l], widths[l + 1], l == 0 ? 0 : shapes_[l - 1].end()};
      if (l + 1 < count_) widest_hidden_ = (std::max)(widest_hidden_, widths[l + 1]);
    }
  }

  [[nodiscard]] static error refusal(const std::string& what) { return {errc::invalid_option, "dynamic_mlp: " + what}; }

  std::array<layer_shape, max_layers> shapes_{};
  std::size_t count_;
  std::size_t widest_hidden_ = 0;
  aligned_vector<T> parameters_;
};

/// Of floats: what runs.
using dynamic_mlp = basic_dynamic_mlp<float>;

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
