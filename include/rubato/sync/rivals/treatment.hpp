#ifndef RUBATO_SYNC_RIVALS_TREATMENT_HPP
#define RUBATO_SYNC_RIVALS_TREATMENT_HPP

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

#include "../concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// A policy that a treatment can be put on: scaled, concurrency_scaled, loss_decayed.
///
/// A treatment *is* the policy, with some members hidden by its own: it derives from it. So every optional member that
/// the policy has is forwarded, and none that it lacks appears; treatments can be put on treatments, and on any_policy.
/// Tests   tests/sync/rivals/treatment_test.cpp: ForwardsWhatThePolicyHasAndNothingElse, DecidesAsThePolicy,
///         SavesWhatThePolicySaves, StacksInAnyOrder, WorksOnAnyPolicy
template <class P>
concept TreatablePolicy = SyncPolicy<P> && !std::is_final_v<P>;

namespace detail {

/// The description of a policy under a treatment: `words` for people; `json`, a member, for machines, and the policy's
/// own object as "of".
template <SyncPolicy P>
[[nodiscard]] description treated(const P& policy, std::string_view words, std::string_view json) {
  description inner;
  if constexpr (DescribedPolicy<P>)
    inner = policy.describe();
  else
    inner.line.append(kind_of(policy)), inner.json.append(R"({"kind":")").append(kind_of(policy)).append(R"("})");
  description whole;
  whole.line.append(inner.line).append("; ").append(words);
  whole.json.append(R"({"kind":")").append(kind_of(policy)).append(R"(",)").append(json);
  whole.json.append(R"(,"of":)").append(inner.json).append("}");
  return whole;
}

/// A number as JSON and people read it, of six significant digits.
[[nodiscard]] inline std::string decimal(float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr;
  return {digits, end};
}

/// The running average of the losses that workers report. The first counts in full, each newer one moves the average
/// by `newest` of the way. Losses that a host did not measure (0), or that are not finite, are left out.
struct running_loss {
  double average = 0.0;
  bool measured = false;

  void add(float loss, double newest) noexcept {
    if (!std::isfinite(loss) || loss == 0.0F) return;
    average = measured ? average + newest * (static_cast<double>(loss) - average) : static_cast<double>(loss);
    measured = true;
  }
  void state(archive& bytes) {
    bytes(average, measured);
    if (!std::isfinite(average)) bytes.fail();
  }
};

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI

#endif
