#ifndef RUBATO_SIM_AT_LEISURE_HPP
#define RUBATO_SIM_AT_LEISURE_HPP

#include <type_traits>

#include "../sync/concepts.hpp"

namespace rubato::inline RUBATO_ABI::sim::detail {

/// A policy that does not work ahead. Nobody waits for a decision in virtual time, and work in two parts is more of it.
template <class Policy>
struct unhurried : Policy {
  void prepare() noexcept {}
};

/// Policy, unhurried if it would work ahead. It decides the same: prepare() changes no answer.
/// Tests   tests/sim/cluster_test.cpp: PoliciesDoNotWorkAhead
template <SyncPolicy Policy>
using at_leisure =
    std::conditional_t<PreparingPolicy<Policy> && !std::is_final_v<Policy>, unhurried<Policy>, Policy>;

}  // namespace rubato::inline RUBATO_ABI::sim::detail

#endif
