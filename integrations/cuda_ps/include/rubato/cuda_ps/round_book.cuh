#ifndef RUBATO_CUDA_PS_ROUND_BOOK_CUH
#define RUBATO_CUDA_PS_ROUND_BOOK_CUH

#include <cstdint>
#include <rubato/config.hpp>
#include <rubato/core/admission.hpp>

#include "apply.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Turns what was decided into orders: whose gradient waits where, what is in the accumulator, how many updates were
/// made. On the device it lies beside the controller's state, on the host under its mutex.
///
///     book.begin();
///     book.admit(verdict, worker, slot, note);   // as the controller says, in its order
///     book.flush(scale);
///     book.finish(released);                     // bit w: worker w goes on
///     for (unsigned i = 0; i < book.count(); ++i) ... book[i], book.waiting() ...
///
/// A gradient that joins a round stays in its slot, and is summed at the flush, in the order of the workers. Only where
/// a worker comes again before that flush, it is added to the accumulator first, since there are two slots. So a
/// gradient's slot is free again when its worker's next but one step begins.
///
/// Orders are valid until the next begin(), and so is waiting().
/// Thread  not thread-safe. Cost O(1), but O(max_workers) for a flush. No allocation.
/// Tests   tests/integrations/cuda_ps/round_book_test.cpp: AnApplyIsOneOrder, AGradientWaitsForItsRound,
///         WhoComesAgainIsAddedFirst, AClearedSlotIsAdded, ADropIsNoOrder, ReleasesGoWithTheLastOrder,
///         ADiscardForgetsTheRound
class round_book {
 public:
  static constexpr unsigned most_orders = 6;  ///< of one decision

  round_book() = default;
  /// Before the first update, of this rule. Precondition: problem(rule) is empty.
  explicit round_book(const rule_options& rule) noexcept : rule_{rule} {}

  /// A decision begins: the orders of the one before are gone.
  RUBATO_DETAIL_SHARED void begin() noexcept { count_ = 0; }

  /// A gradient has come, in this slot of this worker, and has got this verdict.
  RUBATO_DETAIL_SHARED void admit(verdict decided, std::uint32_t worker, std::uint32_t slot,
                                  const gradient_note& note) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << worker;
    clear_slot(worker);
    if (decided == verdict::apply) {
      const rule_step step = next_step(rule_, state_, note.weight, 1.0F);
      ++version_;
      stage({.what = deed::apply, .worker = worker, .slot = slot, .gradient = note, .step = step});
    } else if (decided == verdict::accumulate) {
      waiting_.of[worker] = note;
      who_ |= bit;
      slots_ = (slots_ & ~bit) | (std::uint64_t{slot} << worker);
    }
  }
  /// The gradient of this worker, should one wait in its slot, joins the accumulator: the slot is written again.
  RUBATO_DETAIL_SHARED void clear_slot(std::uint32_t worker) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << worker;
    if ((who_ & bit) == 0) return;
    stage({.what = deed::add,
           .worker = worker,
           .slot = static_cast<std::uint32_t>(slots_ >> worker & 1),
           .gradient = waiting_.of[worker]});
    weight_ = exact::plus_product(weight_, 1.0F, waiting_.of[worker].weight);
    ++added_;
    who_ &= ~bit;
  }
  /// The open round is complete: one update by scale times the sum of its gradients, of zeros if it has none.
  RUBATO_DETAIL_SHARED void flush(float scale) noexcept {
    std::uint32_t gradients = added_;
    float weight = weight_;
    for (std::uint32_t w = 0; w < max_workers; ++w)
      if ((who_ >> w & 1) != 0) ++gradients, weight = exact::plus_product(weight, 1.0F, waiting_.of[w].weight);
    const rule_step step = next_step(rule_, state_, scale, weight);
    ++version_;
    end_round({.what = deed::flush, .count = gradients, .scale = scale, .step = step, .who = who_, .slots = slots_});
  }
  /// The gradients of the open round are thrown away.
  RUBATO_DETAIL_SHARED void discard() noexcept {
    if (who_ != 0 || added_ != 0) end_round({.what = deed::discard});
  }
  /// That was all, and these go on.
  RUBATO_DETAIL_SHARED void finish(std::uint64_t released) noexcept {
    if (released != 0 && count_ == 0) stage({});
    if (count_ > 0) orders_[count_ - 1].released = released;
  }

  [[nodiscard]] RUBATO_DETAIL_SHARED unsigned count() const noexcept { return count_; }  ///< orders
  /// The i-th order of the decision, to be carried out in turn.
  [[nodiscard]] RUBATO_DETAIL_SHARED const order& operator[](unsigned i) const noexcept { return orders_[i]; }
  /// What a flush among them reads.
  [[nodiscard]] RUBATO_DETAIL_SHARED const waiting_gradients& waiting() const noexcept { return waiting_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t version() const noexcept { return version_; }         ///< updates
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t entries() const noexcept { return next_entry_ - 1; }  ///< of the log
  /// Bit w: a gradient of worker w waits in its slot for the flush.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t who_waits() const noexcept { return who_; }
  /// Where the next gradient of a worker may go that has just come.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint32_t free_slot(std::uint32_t worker) const noexcept {
    return (who_ >> worker & 1) != 0 ? 1 - static_cast<std::uint32_t>(slots_ >> worker & 1) : 0;
  }

 private:
  RUBATO_DETAIL_SHARED void stage(order o) noexcept {
    // An admission makes two, and one call of a controller ends the open round, and at most two empty ones after it.
#if !RUBATO_DETAIL_DEVICE
    RUBATO_ASSERT(count_ < most_orders, "a decision with more orders than any makes");
#endif
    if (count_ == most_orders) return;
    o.version = version_;
    o.first_entry = next_entry_;
    next_entry_ += entries_of(o);
    orders_[count_++] = o;
  }
  RUBATO_DETAIL_SHARED void end_round(order o) noexcept {
    o.adds_up = added_ != 0;
    stage(o);
    who_ = 0;
    added_ = 0;
    weight_ = 0;
  }

  rule_options rule_{};
  rule_state state_{};
  std::uint64_t version_ = 0;
  std::uint64_t next_entry_ = 1;
  std::uint64_t who_ = 0;    // whose gradients wait,
  std::uint64_t slots_ = 0;  // and where
  std::uint32_t added_ = 0;  // gradients in the accumulator,
  float weight_ = 0;         // and their weights
  unsigned count_ = 0;
  order orders_[most_orders];
  waiting_gradients waiting_{};
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
