#ifndef RUBATO_SYNC_RIVALS_BATCHED_HPP
#define RUBATO_SYNC_RIVALS_BATCHED_HPP

#include <string>
#include <utility>

#include "treatment.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// A treatment of any policy: every step has so many samples, whatever the policy or the host would have given it.
///
/// A host weighs a gradient by its samples (applied_weight), so that a smaller batch is a smaller step too.
/// Cost    O(1) per release. No allocation. Thread: as the policy.
/// Tests   tests/sync/rivals/batched_test.cpp: GrantsTheBatch, LeavesTheRestAlone, RefusesBadOptions
template <TreatablePolicy Policy>
struct batched : Policy {
  std::uint32_t samples = 1;  ///< of every step, at least 1

  /// This policy, with steps of so many samples.
  batched(Policy policy, std::uint32_t samples_of_a_step) : Policy(std::move(policy)), samples{samples_of_a_step} {}

  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    if constexpr (ShapingPolicy<Policy>) Policy::shape(view, worker, terms);
    terms.batch = samples;
  }

  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = problem_of(static_cast<const Policy&>(*this), capacity);
    return wrong.empty() ? detail::below("batched.samples", samples, 1) : wrong;
  }
  [[nodiscard]] description describe() const {
    const std::string number = std::to_string(samples);
    return detail::treated(static_cast<const Policy&>(*this), "batches of " + number, R"("batch":)" + number);
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
