#ifndef RUBATO_EXAMPLES_LAB_STATES_HPP
#define RUBATO_EXAMPLES_LAB_STATES_HPP

#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <string>
#include <type_traits>

#include "support/user_error.hpp"

namespace rubato::lab {

/// What `use` makes of std::type_identity<E>, E being the encoder of policies of three actions that --state names.
/// Errors: user_error if there is none of that name
template <class Use>
auto with_state(const std::string& kind, const Use& use) {
  if (kind == rlp_state::kind) return use(std::type_identity<rlp_state>{});
  if (kind == rlp_normalised_state::kind) return use(std::type_identity<rlp_normalised_state>{});
  if (kind == cluster_state::kind) return use(std::type_identity<cluster_state>{});
  throw support::user_error{"--state: found \"" + kind + "\", expected rlp, rlp_normalised or cluster"};
}

}  // namespace rubato::lab

#endif
