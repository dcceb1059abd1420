#ifndef RUBATO_ADAPT_GROWTH_GROWABLE_MODEL_HPP
#define RUBATO_ADAPT_GROWTH_GROWABLE_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "layer_widths.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Layers behind which more can be inserted that at first compute nothing new.
struct growable_block {
  std::uint32_t first = 0;               ///< its first layer, among those of the whole model
  std::uint32_t layers = 0;              ///< how many it has, at least 1
  std::vector<std::string> insertion{};  ///< what deepening inserts behind it, at least one layer
  bool widens = false;                   ///< doubling its outputs is an action, too
  /// How often it was deepened. Nothing: as often as what looks like its insertion is found right behind it, again and
  /// again, before the next block begins. So a model that was written down and made again, deeper, is the same.
  std::optional<std::uint32_t> insertions{};
};

/// What can be done to a block.
enum class growth_kind : std::uint8_t {
  deepen,  ///< insert layers behind it
  widen    ///< double its outputs
};
/// One of the ways in which a model can grow.
struct growth_action {
  growth_kind kind = growth_kind::deepen;  ///< see there
  std::uint32_t block = 0;                 ///< among those of the model
  friend bool operator==(const growth_action&, const growth_action&) noexcept = default;
};

/// A model as an agent sees it: a sequence of layers, each as its framework prints it, some of which are blocks that
/// can be deepened, and perhaps widened. No framework is needed for it, and none is asked.
///
///     auto model = growable_model::make({"Linear(in_features=8, out_features=4, bias=True)", "ReLU()"},
///                                       {{0, 2, {"Linear(in_features=4, out_features=4, bias=True)", "ReLU()"}}});
///     model->deepen(0);                      // four layers now
///
/// Only the blocks of the original model can grow, again and again: what is inserted goes right behind the original
/// block, before what was inserted earlier. So there are as many actions as before. They have numbers: deepening each
/// block, then widening each that can be, and last doing nothing.
///
/// Widening needs to know what layers read and make, so it is for those that layer_widths knows.
///
/// Cost    make() O(layers); deepen() and widen() O(layers). All allocate. Not thread-safe.
/// Tests   tests/adapt/growth/growable_model_test.cpp: DeepensBehindTheOriginalBlock, DeepensAgain, OtherBlocksMove,
///         InsertionsAreWhatLooksLikeThem, InsertionsCanBeTold, WidensABlockAndWhatReadsIt, WidensWhatWasInserted,
///         WhatIsInsertedLaterIsAsWide, WidensTheFactorsOfAFlattening, WideningMakesNoInsertion, ActionsHaveNumbers,
///         RefusesImpossibleBlocks, RefusesToWidenWhatDoesNotFit
/// Source  Chen, Goodfellow, Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", ICLR 2016, §2
class growable_model {
 public:
  /// A model of these layers. The blocks are in the order of the layers, and do not overlap.
  /// Errors  invalid_option: no layer, no block, or a block that is empty, beyond the layers, not behind the one before
  ///         it, without an insertion, or with more insertions than there are layers; or one that widens, but whose
  ///         outputs are not known (layer_widths), or read by no layer, or not those that its insertion and its reader
  ///         are for
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
      const std::size_t end = b + 1 < blocks.size() ? blocks[b + 1].first : layers.size();
      if (block.insertions && free <= end && *block.insertions > (end - free) / block.insertion.size())
        return refusal(which + "found " + std::to_string(*block.insertions) + " insertions, expected at most " +
                       std::to_string((end - free) / block.insertion.size()) + " before what follows");
    }
    growable_model made{std::move(layers), std::move(blocks)};
    for (std::size_t b = 0; b < made.blocks_.size(); ++b) {
      growable_block& block = made.blocks_[b];
      if (!block.insertions) block.insertions = made.insertions_seen_behind(b);
      if (!block.widens) continue;
      if (const std::string wrong = made.problem_of_widening(b); !wrong.empty())
        return refusal("block " + std::to_string(b) + ", which widens: " + wrong);
      made.widening_.push_back(static_cast<std::uint32_t>(b));
    }
    return made;
  }

  [[nodiscard]] std::span<const std::string> layers() const noexcept { return layers_; }  ///< as they are now
  /// The original blocks, where they are now, and how often each was deepened.
  [[nodiscard]] std::span<const growable_block> blocks() const noexcept { return blocks_; }
  /// Insertions in all blocks.
  [[nodiscard]] std::uint32_t insertions() const noexcept {
    std::uint32_t count = 0;
    for (const growable_block& block : blocks_) count += *block.insertions;
    return count;
  }

  /// How many numbers actions have, doing nothing among them.
  [[nodiscard]] std::size_t actions() const noexcept { return blocks_.size() + widening_.size() + 1; }
  /// What a number stands for; nothing: do nothing.
  /// Precondition: number < actions()
  [[nodiscard]] std::optional<growth_action> action(std::size_t number) const noexcept {
    RUBATO_ASSERT(number < actions(), "action: there is none of this number");
    if (number < blocks_.size()) return growth_action{growth_kind::deepen, static_cast<std::uint32_t>(number)};
    const std::size_t widening = number - blocks_.size();
    if (widening < widening_.size()) return growth_action{growth_kind::widen, widening_[widening]};
    return std::nullopt;
  }
  /// Does it.
  /// Precondition: number < actions()
  void grow(std::size_t number) {
    const std::optional<growth_action> what = action(number);
    if (!what) return;
    if (what->kind == growth_kind::deepen)
      deepen(what->block);
    else
      widen(what->block);
  }

  /// Inserts what there is to insert behind this block.
  /// Precondition: block < blocks().size()
  void deepen(std::size_t block) {
    RUBATO_ASSERT(block < blocks_.size(), "deepen: there is no such block");
    growable_block& at = blocks_[block];
    layers_.insert(layers_.begin() + static_cast<std::ptrdiff_t>(std::size_t{at.first} + at.layers),
                   at.insertion.begin(), at.insertion.end());
    for (std::size_t b = block + 1; b < blocks_.size(); ++b)
      blocks_[b].first += static_cast<std::uint32_t>(at.insertion.size());
    ++*at.insertions;
  }
  /// Doubles the outputs of this block, of what was inserted behind it, and of what will be; and the inputs of whatever
  /// reads them.
  /// Precondition: block < blocks().size(), and it widens
  void widen(std::size_t block) {
    RUBATO_ASSERT(block < blocks_.size() && blocks_[block].widens, "widen: there is no such block that widens");
    growable_block& of = blocks_[block];
    const std::size_t reader = reader_behind(block), behind = std::size_t{of.first} + of.layers;
    const std::size_t inserted = end_of_insertions(block);
    for (std::size_t l = maker_in(block); l < reader; ++l)
      layers_[l] = widened(layers_[l], l >= behind && l < inserted ? widened_part::both : widened_part::outputs);
    layers_[reader] = widened(layers_[reader], widened_part::inputs);
    for (std::string& each : of.insertion) each = widened(each, widened_part::both);
  }

 private:
  growable_model(std::vector<std::string> layers, std::vector<growable_block> blocks)
      : layers_{std::move(layers)}, blocks_{std::move(blocks)} {}

  [[nodiscard]] std::uint32_t insertions_seen_behind(std::size_t block) const noexcept {
    const growable_block& of = blocks_[block];
    const std::size_t behind = std::size_t{of.first} + of.layers, size = of.insertion.size();
    const std::size_t end = block + 1 < blocks_.size() ? blocks_[block + 1].first : layers_.size();
    std::uint32_t count = 0;
    for (auto left = layers().subspan(behind, end - behind);
         left.size() >= size && std::ranges::equal(left.first(size), of.insertion); left = left.subspan(size))
      ++count;
    return count;
  }
  [[nodiscard]] std::size_t end_of_insertions(std::size_t block) const noexcept {
    const growable_block& of = blocks_[block];
    return std::size_t{of.first} + of.layers + *of.insertions * of.insertion.size();
  }
  // The last layer of a block that makes its outputs, or the number of layers.
  [[nodiscard]] std::size_t maker_in(std::size_t block) const noexcept {
    const growable_block& of = blocks_[block];
    for (std::size_t l = std::size_t{of.first} + of.layers; l-- > of.first;)
      if (layer_widths{layers_[l]}.connects()) return l;
    return layers_.size();
  }
  // The first one behind a block, and behind what was inserted there, that reads its outputs, or the number of layers.
  [[nodiscard]] std::size_t reader_behind(std::size_t block) const noexcept {
    std::size_t l = end_of_insertions(block);
    while (l < layers_.size() && !layer_widths{layers_[l]}.connects()) ++l;
    return l;
  }
  // Why a block cannot be widened; empty if it can.
  [[nodiscard]] std::string problem_of_widening(std::size_t block) const {
    const std::size_t maker = maker_in(block), reader = reader_behind(block);
    if (maker == layers_.size()) return "found no layer whose outputs are known, expected one";
    if (reader == layers_.size()) return "found no layer behind it that reads its outputs, expected one";
    const std::uint64_t made = layer_widths{layers_[maker]}.outputs().value;
    const std::uint64_t read = layer_widths{layers_[reader]}.inputs().value;
    if (read % made != 0)
      return "found that layer " + std::to_string(reader) + " behind it reads " + std::to_string(read) + ", expected " +
             std::to_string(made) + ", or a multiple";
    for (const std::string& each : blocks_[block].insertion)
      if (const layer_widths widths{each}; widths.inputs().length > 0 && widths.inputs().value != made)
        return "found an insertion that reads " + std::to_string(widths.inputs().value) + ", expected " +
               std::to_string(made);
    return {};
  }

  std::vector<std::string> layers_;
  std::vector<growable_block> blocks_;
  std::vector<std::uint32_t> widening_;  // blocks that widen
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
