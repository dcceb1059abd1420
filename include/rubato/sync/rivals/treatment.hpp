#ifndef RUBATO_SYNC_RIVALS_TREATMENT_HPP
#define RUBATO_SYNC_RIVALS_TREATMENT_HPP

#include <string>
#include <string_view>
#include <type_traits>

#include "../../core/number_text.hpp"
#include "../concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// A policy that a treatment can be put on: scaled, concurrency_scaled, loss_decayed, batched.
///
/// A treatment *is* the policy, with some members hidden by its own: it derives from it. So every optional member that
/// the policy has is forwarded, and none that it lacks appears but those that the treatment is made of; treatments can
/// be put on treatments, and on any_policy.
/// scaled{scaled{policy, a}, b} is treated twice; scaled{treated} alone is a copy, as for every class template.
/// Tests   tests/sync/rivals/treatment_test.cpp: ForwardsWhatThePolicyHasAndNothingElse, DecidesAsThePolicy,
///         SavesWhatThePolicySaves, StacksInAnyOrder, TwiceTheSameIsTwice, WorksOnAnyPolicy
template <class P>
concept TreatablePolicy = SyncPolicy<P> && !std::is_final_v<P>;

namespace detail {

/// The description of a policy under a treatment: `words` for people; `json`, a member, for machines, and the policy's
/// own object as "of".
template <SyncPolicy P>
[[nodiscard]] description treated(const P& policy, std::string_view words, std::string_view json) {
  const description inner = describe_of(policy);
  description whole;
  whole.line.append(inner.line).append("; ").append(words);
  whole.json.append(R"({"kind":")").append(kind_of(policy)).append(R"(",)").append(json);
  whole.json.append(R"(,"of":)").append(inner.json).append("}");
  return whole;
}

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI

#endif
