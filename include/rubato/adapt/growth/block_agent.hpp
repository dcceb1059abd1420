#ifndef RUBATO_ADAPT_GROWTH_BLOCK_AGENT_HPP
#define RUBATO_ADAPT_GROWTH_BLOCK_AGENT_HPP

#include "block_network.hpp"
#include "growth_agent.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// A growth agent for models of any number of blocks: one for all of them.
/// Tests   tests/adapt/growth/block_agent_test.cpp: AdvisesModelsOfAnyNumberOfBlocks
using block_agent = basic_growth_agent<block_network>;

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
