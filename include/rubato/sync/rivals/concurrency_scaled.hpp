#ifndef RUBATO_SYNC_RIVALS_CONCURRENCY_SCALED_HPP
#define RUBATO_SYNC_RIVALS_CONCURRENCY_SCALED_HPP

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "../../pinned.hpp"
#include "treatment.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// How the learning rate follows the number of workers that compute at the same time, M: scale `reference` / M, kept
/// within [least, most], and by the guard within guard_options::max_lr_scale.
struct concurrency_scale {
  float reference = 1.0F;  ///< M at which the host's learning rate is right
  float least = 0.0F;      ///< of the scale
  float most = 1.0F;       ///< of the scale

  /// The scale while so many workers compute; 0 counts as 1.
  [[nodiscard]] constexpr float operator()(std::uint32_t workers) const noexcept {
    return std::clamp(reference / static_cast<float>(workers == 0 ? 1 : workers), least, most);
  }

  /// What is wrong with it, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    return detail::first_of(
        {detail::unless_above_0("concurrency_scale.reference", reference),
         detail::unless_from_0("concurrency_scale.least", least),
         detail::unless(pinned::is_finite(most) && most >= least, "concurrency_scale.most", most,
                        "a number of at least " + detail::text_of(least) + ", the least")});
  }
};

/// A treatment of any policy: the more workers compute at the same time, the smaller the learning rate of each.
///
/// In steady asynchronous training a gradient is stale by about M - 1 updates, and the largest stable learning rate
/// falls about as 1 / M. The factor multiplies what the policy's decision says and reaches the host as the grant's
/// lr_scale. M counts who is busy and whom the decision releases; `up_to_clock` and `contributors` are taken to release
/// everyone parked, as they do under the rules that use them but for workers that are left behind. A policy that *sets*
/// lr_scale in shape(), instead of multiplying it, has the last word. The paper divides the rate of each gradient by
/// that gradient's own staleness, which is about n under its n-softsync: that is scaled, with the law inverse().
/// Cost    O(1) per push. No allocation. Thread: as the policy.
/// Tests   tests/sync/rivals/concurrency_scaled_test.cpp: ScaleByHand, FollowsWhoRuns, MultipliesTheDecision,
///         RefusesBadOptions
/// Source  after Zhang et al., "Staleness-aware Async-SGD for Distributed Deep Learning", IJCAI 2016, §2.4
template <TreatablePolicy Policy>
struct concurrency_scaled : Policy {
  concurrency_scale scale{};  ///< the law, and its options

  /// This policy, under this law.
  concurrency_scaled(Policy policy, concurrency_scale by = {})  // NOLINT(*-explicit-*)
      : Policy(std::move(policy)), scale{by} {}

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    decision d = Policy::release(view, what);
    d.lr_scale *= scale(view.busy() + released_by(d, view.parked()));
    return d;
  }

  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = problem_of(static_cast<const Policy&>(*this), capacity);
    return wrong.empty() ? scale.problem() : wrong;
  }
  [[nodiscard]] description describe() const {
    const std::string formula = detail::text_of(scale.reference) + "/M in [" + detail::text_of(scale.least) + ", " +
                                detail::text_of(scale.most) + "]";
    return detail::treated(static_cast<const Policy&>(*this), "learning rate x " + formula + ", M workers running",
                           R"("lr_scale":")" + formula + R"(")");
  }

 private:
  [[nodiscard]] static constexpr std::uint32_t released_by(const decision& d, std::uint32_t parked) noexcept {
    switch (d.verb) {
      case release_verb::hold: return 0;
      case release_verb::submitter:
      case release_verb::only: return (std::min)(parked, 1U);
      case release_verb::up_to: return (std::min)(parked, d.count);
      default: return parked;
    }
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
