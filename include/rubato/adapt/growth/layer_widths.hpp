#ifndef RUBATO_ADAPT_GROWTH_LAYER_WIDTHS_HPP
#define RUBATO_ADAPT_GROWTH_LAYER_WIDTHS_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "../../config.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How many features or channels a layer reads and makes, by what PyTorch prints for it.
///
/// Known are `Linear(in_features=8, out_features=4, ...)`, `Conv1d(3, 32, ...)` to `Conv3d` and `BatchNorm1d(32, ...)`
/// to `BatchNorm3d`. Any other passes on what it reads, as an activation or a pooling does.
///
/// Cost    O(length). Thread-safe. Only doubled() allocates.
/// Tests   tests/adapt/growth/layer_widths_test.cpp: ReadsWhatPyTorchPrints, OthersPassOnWhatTheyRead, Doubles,
///         NoWidthThatCannotBe
class layer_widths {
 public:
  /// Of this layer, which is read and forgotten.
  explicit layer_widths(std::string_view layer) noexcept {
    if (layer.starts_with("Linear(")) {
      inputs_ = after(layer, "in_features=");
      outputs_ = after(layer, "out_features=");
    } else if (is_one_of(layer, "Conv")) {
      inputs_ = at(layer, layer.find('(') + 1);
      if (inputs_.length > 0 && layer.substr(inputs_.end()).starts_with(", ")) outputs_ = at(layer, inputs_.end() + 2);
    } else if (is_one_of(layer, "BatchNorm")) {
      inputs_ = outputs_ = at(layer, layer.find('(') + 1);
      norm_ = true;
    }
    if (inputs_.length == 0 || outputs_.length == 0) inputs_ = outputs_ = {}, norm_ = false;
  }

  /// It has weights for each pair of an input and an output.
  [[nodiscard]] bool connects() const noexcept { return inputs_.length > 0 && !norm_; }
  [[nodiscard]] std::uint64_t inputs() const noexcept { return inputs_.value; }    ///< 0: any
  [[nodiscard]] std::uint64_t outputs() const noexcept { return outputs_.value; }  ///< 0: as many as it reads

  /// The text of the layer that this was made of, with twice as many inputs, outputs or both.
  [[nodiscard]] std::string doubled(std::string_view layer, bool inputs, bool outputs) const {
    std::string text{layer};
    const auto put = [&](const number& what) {
      if (what.length > 0) text.replace(what.first, what.length, std::to_string(2 * what.value));
    };
    if (outputs && !norm_) put(outputs_);  // the later one first: the other one stays where it is
    if (inputs || (outputs && norm_)) put(inputs_);
    return text;
  }

 private:
  struct number {
    std::size_t first = 0, length = 0;  // no number: length 0
    std::uint64_t value = 0;
    [[nodiscard]] std::size_t end() const noexcept { return first + length; }
  };

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
    constexpr std::uint64_t most = std::uint64_t{1} << 40U;  // far more than a layer can have
    number found{first};
    const char* const begin = layer.data() + first;
    const auto [end, wrong] = std::from_chars(begin, layer.data() + layer.size(), found.value);
    if (wrong != std::errc{} || found.value == 0 || found.value > most) return {};
    found.length = static_cast<std::size_t>(end - begin);
    return found;
  }

  number inputs_, outputs_;
  bool norm_ = false;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
