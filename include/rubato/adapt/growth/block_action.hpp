#ifndef RUBATO_ADAPT_GROWTH_BLOCK_ACTION_HPP
#define RUBATO_ADAPT_GROWTH_BLOCK_ACTION_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "growable_model.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// One of the ways in which a model can grow, with where its block is now.
struct block_action {
  std::uint32_t first = 0;                 ///< layer of the block
  std::uint32_t last = 0;                  ///< layer of the block, behind which an insertion goes; not before the first
  std::uint32_t insertions = 0;            ///< how often the block was deepened
  std::uint32_t block = 0;                 ///< which one it is
  growth_kind kind = growth_kind::deepen;  ///< what would be done to it
  friend bool operator==(const block_action&, const block_action&) noexcept = default;
};

/// The actions of a model in the order of their numbers, but for the last, which is to do nothing.
/// Tests   tests/adapt/growth/block_action_test.cpp: ActionsFollowTheModel, WideningIsAnActionOfItsOwn
[[nodiscard]] inline std::vector<block_action> block_actions(const growable_model& model) {
  std::vector<block_action> all;
  for (std::size_t number = 0; number + 1 < model.actions(); ++number) {
    const growth_action action = *model.action(number);
    const growable_block& block = model.blocks()[action.block];
    all.push_back({block.first, block.first + block.layers - 1, *block.insertions, action.block, action.kind});
  }
  return all;
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
