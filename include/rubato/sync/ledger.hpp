#ifndef RUBATO_SYNC_LEDGER_HPP
#define RUBATO_SYNC_LEDGER_HPP

#include <cstddef>
#include <cstdint>

#include "../core/archive.hpp"
#include "../dynarray.hpp"

namespace rubato::inline RUBATO_ABI {

/// Which gradients are where: versions, the open round, and completed rounds that wait for their last commits.
///
/// `updates` counts updates that were decided (an apply, a flush), `version` those whose commit is in; one that failed
/// still counts, as a gap. A completed round with n admissions out is flushed by the last of their commits. Such rounds
/// cannot outnumber the admissions out, so a slot a worker and one more suffice.
///
/// Cost    O(1) each. No allocation after construction. Not thread-safe.
/// Tests   tests/sync/ledger_test.cpp
class ledger {
 public:
  /// A round that is ready: flush it, or discard it (by wish, or because no add succeeded).
  struct finished_round {
    bool ready = false;       ///< false: no round is, and the rest means nothing
    bool flushed = false;     ///< false: discarded
    std::uint64_t round = 0;  ///< its number, from 0
    float scale = 0.0F;       ///< factor on the sum of its gradients: already divided by `adds`
    std::uint32_t adds = 0;   ///< gradients in it
  };

  explicit ledger(std::uint32_t capacity) : slots_(std::size_t{capacity} + 1) {
    for (std::uint32_t s = 0; s <= capacity; ++s) slots_[s].next_free = s + 1;
  }  ///< version 0, round 0 open

  [[nodiscard]] std::uint64_t updates() const noexcept { return updates_; }                ///< decided
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }                ///< updates that are in
  [[nodiscard]] std::uint64_t open_round() const noexcept { return slots_[open_].round; }  ///< its number
  [[nodiscard]] std::uint32_t open_slot() const noexcept { return open_; }                 ///< for commit_add()
  [[nodiscard]] std::uint32_t adds() const noexcept { return slots_[open_].adds; }         ///< in the open round
  /// Gradients in the open round, and those admitted to it whose commit is still out.
  [[nodiscard]] std::uint32_t admissions() const noexcept { return slots_[open_].adds + slots_[open_].out; }

  void decide_apply() noexcept { ++updates_; }  ///< a gradient is admitted that is applied at once
  void commit_apply() noexcept { ++version_; }  ///< its commit has come, failed or not
  /// One more gradient is admitted to the open round.
  void admit() noexcept { ++slots_[open_].out; }

  /// Completes the open round, to be flushed with scale x mean; nothing happens if no gradient was admitted to it.
  finished_round complete(float scale) noexcept {
    if (slots_[open_].out + slots_[open_].adds + slots_[open_].failures == 0) return {};
    ++updates_;
    return close(scale, true);
  }
  /// The same, but its gradients are thrown away.
  finished_round abandon() noexcept {
    if (slots_[open_].out + slots_[open_].adds + slots_[open_].failures == 0) return {};
    return close(0.0F, false);
  }

  /// The add of a gradient that was admitted to the round in `slot` is over.
  finished_round commit_add(std::uint32_t slot, bool succeeded) noexcept {
    round_slot& s = slots_[slot];
    --s.out;
    ++(succeeded ? s.adds : s.failures);
    return slot == open_ || s.out > 0 ? finished_round{} : finish(slot);
  }

  /// Saves or loads. Precondition: no admission is out.
  void state(archive& bytes) {
    round_slot& s = slots_[open_];
    bytes(updates_, version_, s.round, s.adds, s.failures);
    if (version_ > updates_) bytes.fail();
  }

 private:
  struct round_slot {
    std::uint64_t round = 0;
    std::uint32_t out = 0;       // admitted, not committed
    std::uint32_t adds = 0;      // committed and in the accumulator
    std::uint32_t failures = 0;  // committed, but the add failed
    std::uint32_t next_free = 0;
    float scale = 0.0F;
    bool flush = false;
  };

  finished_round close(float scale, bool flush) noexcept {
    const std::uint32_t closing = open_;
    slots_[closing].scale = scale;
    slots_[closing].flush = flush;
    open_ = free_;
    free_ = slots_[open_].next_free;
    slots_[open_] = {.round = slots_[closing].round + 1};
    return slots_[closing].out > 0 ? finished_round{} : finish(closing);
  }

  finished_round finish(std::uint32_t slot) noexcept {
    const round_slot s = slots_[slot];
    slots_[slot].next_free = free_;
    free_ = slot;
    if (s.flush) ++version_;
    const bool flushed = s.flush && s.adds > 0;
    return {.ready = true,
            .flushed = flushed,
            .round = s.round,
            .scale = flushed ? s.scale / static_cast<float>(s.adds) : 0.0F,
            .adds = s.adds};
  }

  detail::dynarray<round_slot> slots_;
  std::uint32_t open_ = 0;
  std::uint32_t free_ = 1;
  std::uint64_t updates_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
