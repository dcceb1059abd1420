#ifndef RUBATO_SYNC_RIVALS_LOSS_DECAYED_HPP
#define RUBATO_SYNC_RIVALS_LOSS_DECAYED_HPP

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "../../pinned.hpp"
#include "running_loss.hpp"
#include "treatment.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// The learning-rate factor for the running loss, as a share of what it was in the beginning: `slope` times that share,
/// from `least` to `most`.
struct loss_decay {
  float slope = 5.0F;        ///< above 0; the factor is `most` while the share is at least most / slope
  float least = 0.35F;       ///< of the factor, above 0
  float most = 1.0F;         ///< of the factor
  float newest = 0.1F;       ///< how far each loss moves the running one, in (0, 1]
  std::uint32_t first = 10;  ///< losses after which the running one is that of the beginning

  /// The factor, for a running loss that is this share of that of the beginning.
  [[nodiscard]] float operator()(double share) const noexcept {
    return std::clamp(slope * static_cast<float>(share), least, most);
  }

  /// What is wrong with it, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    return detail::first_of(
        {detail::unless_above_0("loss_decay.slope", slope), detail::unless_above_0("loss_decay.least", least),
         detail::unless(pinned::is_finite(most) && most >= least, "loss_decay.most", most,
                        "a number of at least " + detail::text_of(least) + ", the least"),
         detail::unless_a_share("loss_decay.newest", newest), detail::below("loss_decay.first", first, 1)});
  }
};

/// A treatment of any policy: the learning rate falls with the training loss, once that is a fraction of the first.
///
/// The factor multiplies what the policy's decision says and reaches the host as the grant's lr_scale. It is 1 as long
/// as no loss has been reported, so also at a host that reports none. The law is for losses above 0: where the running
/// one was not above 0 in the beginning, the factor stays 1. The losses of dropped gradients count as the others do,
/// unless they are not finite. A policy that *sets* lr_scale in shape() has the last word.
/// Cost    O(1) per push. No allocation. Thread: as the policy.
/// Tests   tests/sync/rivals/loss_decayed_test.cpp: FactorByHand, FollowsTheRunningLoss, OneWithoutLosses,
///         OneWhereTheFirstLossesAreNotAbove0, AUsedOneStartsAfresh, SavesTheAverage, RefusesBadOptions
template <TreatablePolicy Policy>
struct loss_decayed : Policy {
  loss_decay decay{};  ///< the law, and its options

  /// This policy, under this law.
  loss_decayed(Policy policy, loss_decay by = {}) : Policy(std::move(policy)), decay{by} {}  // NOLINT(*-explicit-*)

  void observe(const feedback& f) noexcept {
    if (loss_.add(f.what.loss, static_cast<double>(decay.newest)) && losses_ < decay.first) {
      ++losses_;
      beginning_ = loss_.average;
    }
    if constexpr (ObservingPolicy<Policy>) Policy::observe(f);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    decision d = Policy::release(view, what);
    if (beginning_ > 0.0) d.lr_scale *= decay(loss_.average / beginning_);
    return d;
  }

  /// Forgets the losses.
  void resize(std::uint32_t capacity) {
    if constexpr (ResizablePolicy<Policy>) Policy::resize(capacity);
    loss_ = {};
    beginning_ = 0.0;
    losses_ = 0;
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    std::string wrong = problem_of(static_cast<const Policy&>(*this), capacity);
    return wrong.empty() ? decay.problem() : wrong;
  }
  void state(archive& bytes) {
    if constexpr (StatefulPolicy<Policy>) Policy::state(bytes);
    loss_.state(bytes);
    bytes(beginning_, losses_);
    if (!pinned::is_finite(beginning_)) bytes.fail();
  }
  [[nodiscard]] description describe() const {
    const std::string slope = detail::text_of(decay.slope);
    const std::string least = detail::text_of(decay.least);
    const std::string most = detail::text_of(decay.most);
    return detail::treated(static_cast<const Policy&>(*this),
                           "learning rate x " + slope + " x loss / first loss, from " + least + " to " + most,
                           R"("loss_decay":[)" + slope + "," + least + "," + most + "," +
                               detail::text_of(decay.newest) + "," + std::to_string(decay.first) + "]");
  }

 private:
  detail::running_loss loss_{};
  double beginning_ = 0.0;
  std::uint32_t losses_ = 0;  // so far, up to decay.first
};

}  // namespace rubato::inline RUBATO_ABI

#endif
