#ifndef RUBATO_ADAPT_GROWTH_LAYER_VOCABULARY_HPP
#define RUBATO_ADAPT_GROWTH_LAYER_VOCABULARY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "../../io/utf8.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// A layer, and the row of the table of embeddings that stands for it.
struct layer_word {
  std::string layer{};    ///< as its framework prints it
  std::uint32_t row = 0;  ///< several layers may share one
  friend bool operator==(const layer_word&, const layer_word&) = default;
};

/// The layers that an agent knows.
///
/// One of them may stand for all that it does not know: `unknown`. Without it a model with an unknown layer is an
/// error.
///
/// Cost    make() O(n log n); row_of() O(log n). make() allocates. Thread-safe, being constant.
/// Tests   tests/adapt/growth/layer_vocabulary_test.cpp: RowsOfLayers, SeveralMayShareARow, UnknownLayersHaveARow,
///         UnknownLayersAreAnErrorWithoutOne, RefusesWhatCannotBe,
///         NamesOfLayersAreEscaped
class layer_vocabulary {
 public:
  /// `rows` are those of the table of embeddings.
  /// Errors  invalid_option: no word, a layer twice, or a row (that of `unknown`, too) that is not below `rows`
  [[nodiscard]] static result<layer_vocabulary> make(std::vector<layer_word> words, std::uint32_t rows,
                                                     std::optional<std::uint32_t> unknown = std::nullopt) {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "layer_vocabulary: " + std::move(what)};
    };
    const auto beyond = [&](std::uint32_t row) {
      return "found row " + std::to_string(row) + ", expected one below " + std::to_string(rows);
    };
    if (words.empty()) return refusal("found no layer, expected at least 1");
    if (unknown && *unknown >= rows) return refusal("unknown layers: " + beyond(*unknown));
    for (const layer_word& word : words)
      if (word.row >= rows) return refusal(in_quotes(word.layer) + ": " + beyond(word.row));
    std::ranges::sort(words, {}, &layer_word::layer);
    const auto twice = std::ranges::adjacent_find(words, {}, &layer_word::layer);
    if (twice != words.end()) return refusal(in_quotes(twice->layer) + ": found twice, expected once");
    return layer_vocabulary{std::move(words), rows, unknown};
  }

  [[nodiscard]] std::span<const layer_word> words() const noexcept { return words_; }  ///< by layer
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }                  ///< of the table of embeddings
  /// The row for layers that are not among words(), if there is one.
  [[nodiscard]] std::optional<std::uint32_t> unknown() const noexcept { return unknown_; }

  /// The row of this layer, or that of all unknown ones; nothing where there is neither.
  [[nodiscard]] std::optional<std::uint32_t> row_of(std::string_view layer) const noexcept {
    const auto at = std::ranges::lower_bound(words_, layer, {}, &layer_word::layer);
    return at != words_.end() && at->layer == layer ? std::optional{at->row} : unknown_;
  }
  /// The rows of a model's layers.
  /// Errors  invalid_option, naming the first layer that has none
  [[nodiscard]] result<std::vector<std::uint32_t>> rows_of(std::span<const std::string> layers) const {
    std::vector<std::uint32_t> rows;
    rows.reserve(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto row = row_of(layers[i]);
      if (!row)
        return error{errc::invalid_option, "layer " + std::to_string(i) + ": found " + in_quotes(layers[i]) +
                                               ", expected one of the " + std::to_string(words_.size()) +
                                               " layers that the agent knows"};
      rows.push_back(*row);
    }
    return rows;
  }

 private:
  layer_vocabulary(std::vector<layer_word> words, std::uint32_t rows, std::optional<std::uint32_t> unknown)
      : words_{std::move(words)}, rows_{rows}, unknown_{unknown} {}

  std::vector<layer_word> words_;
  std::uint32_t rows_;
  std::optional<std::uint32_t> unknown_;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
