#ifndef RUBATO_ADAPT_GROWTH_GROWABLE_MODEL_HPP
#define RUBATO_ADAPT_GROWTH_GROWABLE_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/result.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Layers behind which more can be inserted that at first compute nothing new.
struct growable_block {
  std::uint32_t first = 0;               ///< its first layer, among those of the whole model
  std::uint32_t layers = 0;              ///< how many it has, at least 1
  std::vector<std::string> insertion{};  ///< what deepening inserts behind it, at least one layer
};

/// A model as an agent sees it: a sequence of layers, each as its framework prints it, some of which are blocks that
/// can be deepened. No framework is needed for it, and none is asked.
///
///     auto model = growable_model::make({"Linear(in_features=8, out_features=4, bias=True)", "ReLU()"},
///                                       {{0, 2, {"Linear(in_features=4, out_features=4, bias=True)", "ReLU()"}}});
///     model->deepen(0);                      // four layers now
///
/// Only the blocks of the original model can be deepened, again and again: what is inserted goes right behind the
/// original block, before what was inserted earlier. So there are as many actions as before.
///
/// Cost    make() O(layers); deepen() O(layers). Both allocate. Not thread-safe.
/// Tests   tests/adapt/growth/growable_model_test.cpp: DeepensBehindTheOriginalBlock, TheNewestInsertionIsFirst,
///         OtherBlocksMove, RefusesImpossibleBlocks
class growable_model {
 public:
  /// A model of these layers. The blocks are in the order of the layers, and do not overlap.
  /// Errors  invalid_option: no layer, no block, or a block that is empty, beyond the layers, not behind the one before
  ///         it, or without an insertion
  [[nodiscard]] static result<growable_model> make(std::vector<std::string> layers,
                                                   std::vector<growable_block> blocks) {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "growable_model: " + std::move(what)};
    };
    if (layers.empty()) return refusal("found no layer, expected at least 1");
    if (blocks.empty()) return refusal("found no block that can be deepened, expected at least 1");
    std::size_t free = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const growable_block& block = blocks[b];
      const std::string which = "block " + std::to_string(b) + ": ";
      if (block.layers == 0) return refusal(which + "found no layer, expected at least 1");
      if (block.insertion.empty()) return refusal(which + "found no layer to insert, expected at least 1");
      if (block.first < free)
        return refusal(which + "found layer " + std::to_string(block.first) + " as its first, expected " +
                       std::to_string(free) + " or later");
      if (block.layers > layers.size() || block.first > layers.size() - block.layers)
        return refusal(which + "found layers " + std::to_string(block.first) + " to " +
                       std::to_string(std::uint64_t{block.first} + block.layers - 1) + ", expected layers below " +
                       std::to_string(layers.size()));
      free = std::size_t{block.first} + block.layers;
    }
    return growable_model{std::move(layers), std::move(blocks)};
  }

  [[nodiscard]] std::span<const std::string> layers() const noexcept { return layers_; }  ///< as they are now
  /// The original blocks, where they are now.
  [[nodiscard]] std::span<const growable_block> blocks() const noexcept { return blocks_; }
  /// Insertions so far.
  [[nodiscard]] std::uint32_t insertions() const noexcept { return insertions_; }

  /// Inserts what there is to insert behind this block.
  /// Precondition: block < blocks().size()
  void deepen(std::size_t block) {
    RUBATO_ASSERT(block < blocks_.size(), "deepen: there is no such block");
    const growable_block& at = blocks_[block];
    layers_.insert(layers_.begin() + static_cast<std::ptrdiff_t>(std::size_t{at.first} + at.layers),
                   at.insertion.begin(), at.insertion.end());
    for (std::size_t b = block + 1; b < blocks_.size(); ++b)
      blocks_[b].first += static_cast<std::uint32_t>(at.insertion.size());
    ++insertions_;
  }

 private:
  growable_model(std::vector<std::string> layers, std::vector<growable_block> blocks)
      : layers_{std::move(layers)}, blocks_{std::move(blocks)} {}

  std::vector<std::string> layers_;
  std::vector<growable_block> blocks_;
  std::uint32_t insertions_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
