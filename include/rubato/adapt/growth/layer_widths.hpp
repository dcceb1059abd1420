#ifndef RUBATO_ADAPT_GROWTH_LAYER_WIDTHS_HPP
#define RUBATO_ADAPT_GROWTH_LAYER_WIDTHS_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "../../config.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How many features or channels a layer reads and makes, by what PyTorch prints for it.
///
/// Known are `Linear(in_features=8, out_features=4, ...)`, `Conv1d(3, 32, ...)` to `Conv3d` and `BatchNorm1d(32, ...)`
/// to `BatchNorm3d`. Any other is taken for one that passes on what it reads, as an activation or a pooling does: which
/// is wrong for one with weights, such as an LSTM.
///
/// Cost    O(length). Thread-safe.
/// Tests   tests/adapt/growth/layer_widths_test.cpp: ReadsWhatPyTorchPrints, OthersPassOnWhatTheyRead,
///         NoWidthThatCannotBe
class layer_widths {
 public:
  /// Where a number stands in the text.
  struct number {
    std::size_t first = 0;    ///< its first digit
    std::size_t length = 0;   ///< digits; 0: there is no number
    std::uint64_t value = 0;  ///< above 0, if there is one
  };

  /// Of this layer, which is read and forgotten.
  explicit layer_widths(std::string_view layer) noexcept {
    if (layer.starts_with("Linear(")) {
      inputs_ = after(layer, "in_features=");
      outputs_ = after(layer, "out_features=");
    } else if (is_one_of(layer, "Conv")) {
      inputs_ = at(layer, layer.find('(') + 1);
      const std::size_t behind = inputs_.first + inputs_.length;
      if (inputs_.length > 0 && layer.substr(behind).starts_with(", ")) outputs_ = at(layer, behind + 2);
    } else if (is_one_of(layer, "BatchNorm")) {
      inputs_ = outputs_ = at(layer, layer.find('(') + 1);
    }
    if (inputs_.length == 0 || outputs_.length == 0) inputs_ = outputs_ = {};
  }

  [[nodiscard]] const number& inputs() const noexcept { return inputs_; }  ///< none: any
  /// The same place as the inputs where it has as many; none: as many as it reads.
  [[nodiscard]] const number& outputs() const noexcept { return outputs_; }
  /// It has a weight for each pair of an input and an output.
  [[nodiscard]] bool connects() const noexcept { return inputs_.length > 0 && inputs_.first != outputs_.first; }

 private:
  [[nodiscard]] static bool is_one_of(std::string_view layer, std::string_view kind) noexcept {
    if (!layer.starts_with(kind)) return false;
    const std::string_view rest = layer.substr(kind.size());
    return rest.starts_with("1d(") || rest.starts_with("2d(") || rest.starts_with("3d(");
  }
  [[nodiscard]] static number after(std::string_view layer, std::string_view name) noexcept {
    const std::size_t found = layer.find(name);
    return found == layer.npos ? number{} : at(layer, found + name.size());
  }
  [[nodiscard]] static number at(std::string_view layer, std::size_t first) noexcept {
    number found{first};
    const char* const begin = layer.data() + first;
    const auto [end, wrong] = std::from_chars(begin, layer.data() + layer.size(), found.value);
    if (wrong != std::errc{} || found.value == 0) return {};
    found.length = static_cast<std::size_t>(end - begin);
    return found;
  }

  number inputs_, outputs_;
};

/// What a layer becomes when a model is widened.
enum class widened_part : std::uint8_t {
  outputs,  ///< it makes twice as many; a normalisation, which reads as many as it makes, reads twice as many too
  inputs,   ///< it reads twice as many
  both      ///< both
};

/// A layer's text with that; as it is where it has no such number, or one that could not be doubled.
///
/// Cost    O(length). Allocates. Thread-safe.
/// Tests   tests/adapt/growth/layer_widths_test.cpp: Doubles, DoublesInWhateverOrder, WhatIsTooLargeStays
[[nodiscard]] inline std::string widened(std::string_view layer, widened_part which) {
  const layer_widths widths{layer};
  const layer_widths::number &inputs = widths.inputs(), &outputs = widths.outputs();
  std::string text{layer};
  const auto put = [&](const layer_widths::number& what) {
    if (what.length > 0 && what.value <= (std::numeric_limits<std::uint64_t>::max)() / 2)
      text.replace(what.first, what.length, std::to_string(2 * what.value));
  };
  if (inputs.first == outputs.first) return put(outputs), text;
  const bool both = which == widened_part::both;
  // The later one first, so that the other stays where it is.
  if (outputs.first > inputs.first && (both || which == widened_part::outputs)) put(outputs);
  if (both || which == widened_part::inputs) put(inputs);
  if (outputs.first < inputs.first && (both || which == widened_part::outputs)) put(outputs);
  return text;
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
