#ifndef RUBATO_SIM_OPEN_ROUNDS_HPP
#define RUBATO_SIM_OPEN_ROUNDS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "objective.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The host's accumulators: gradients that wait for the flush of their round.
///
/// Gradients are kept one by one and added by the flush, so a round costs no more than its updates. Only the open round
/// and those whose last commit is out are here at a time.
///
/// Cost    add, take: O(rounds here). Allocates only while growing. Not thread-safe.
/// Tests   tests/sim/open_rounds_test.cpp: KeepsRoundsApart, ReusedRoundsStartEmpty
class open_rounds {
 public:
  /// One more gradient for a round, which the first one opens.
  void add(std::uint64_t round, const contribution& part) {
    std::size_t at = 0;
    while (at < used_ && rounds_[at].number != round) ++at;
    if (at == used_) {
      if (used_ == rounds_.size()) rounds_.emplace_back();
      rounds_[used_++].number = round;
    }
    rounds_[at].parts.push_back(part);
    ++waiting_;
  }

  /// The gradients of a round, which is closed by this. Valid until the next add().
  [[nodiscard]] std::vector<contribution>& take(std::uint64_t round) {
    taken_.clear();
    for (std::size_t at = 0; at < used_; ++at) {
      if (rounds_[at].number != round) continue;
      std::swap(taken_, rounds_[at].parts);
      std::swap(rounds_[at], rounds_[--used_]);
      break;
    }
    waiting_ -= taken_.size();
    return taken_;
  }

  [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_; }  ///< gradients, over all rounds
  /// Number of some round that is here. Precondition: waiting() > 0.
  [[nodiscard]] std::uint64_t any() const noexcept { return rounds_.front().number; }

 private:
  struct accumulator {
    std::uint64_t number = 0;
    std::vector<contribution> parts{};
  };
  std::vector<accumulator> rounds_;  // the first `used_` of them
  std::size_t used_ = 0;
  std::vector<contribution> taken_;
  std::uint64_t waiting_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
