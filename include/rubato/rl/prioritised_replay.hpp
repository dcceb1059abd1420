#ifndef RUBATO_RL_PRIORITISED_REPLAY_HPP
#define RUBATO_RL_PRIORITISED_REPLAY_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/archive.hpp"
#include "../core/rng.hpp"
#include "../nn/saved_values.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::rl {

/// Numbers >= 0 whose sum and whose cumulative sums are at hand: a complete binary tree, each node the sum of its two
/// children. A node is always recomputed from its children, so that rounding errors do not pile up.
///
/// Cost    set() and find(): O(log size); total(): O(1). Memory for twice the next power of two, allocated by the
///         constructor.
/// Tests   tests/rl/prioritised_replay_test.cpp: FindsByCumulativeSum, MatchesPlainSums
class sum_tree {
 public:
  /// `size` zeros.
  explicit sum_tree(std::size_t size) : size_{size}, leaves_{std::bit_ceil(size)}, node_(2 * leaves_) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< numbers
  [[nodiscard]] double total() const noexcept { return node_[1]; }   ///< the sum of all
  /// One number. Precondition: index < size().
  [[nodiscard]] double operator[](std::size_t index) const noexcept { return node_[leaves_ + index]; }

  /// Precondition: index < size(), value finite and >= 0.
  void set(std::size_t index, double value) noexcept {
    RUBATO_ASSERT(index < size_ && value >= 0 && pinned::is_finite(value), "sum_tree: bad index or value");
    std::size_t at = leaves_ + index;
    node_[at] = value;
    while (at > 1) {
      at /= 2;
      node_[at] = node_[2 * at] + node_[2 * at + 1];
    }
  }

  /// The index at which the running sum first exceeds `sum`; never one whose value is 0, unless all are.
  /// Precondition: 0 <= sum < total().
  [[nodiscard]] std::size_t find(double sum) const noexcept {
    std::size_t at = 1;
    while (at < leaves_) {
      at *= 2;
      // Rounding can leave a sum that no child reaches: never turn into a branch that is empty.
      if (sum >= node_[at] && node_[at + 1] > 0) sum -= node_[at++];
    }
    return at - leaves_;
  }

 private:
  std::size_t size_;
  std::size_t leaves_;
  std::vector<double> node_;  // node 1 is the root; the children of i are 2i and 2i + 1
};

/// How much errors count in what is drawn, and how that is made up for.
struct priority_options {
  double alpha = 0.6;                    ///< exponent of the priority, >= 0; 0: uniform
  double beta = 0.4;                     ///< exponent of the importance weights at first, in [0, 1]
  double final_beta = 1;                 ///< and after `beta_updates`
  std::uint64_t beta_updates = 100'000;  ///< gradient steps from one to the other, linearly; 0: none
  double smallest = 1e-6;                ///< added to every error, > 0
};

/// Which slots of a replay buffer to learn from: slot i with probability p_i^alpha / sum p^alpha, where p_i is the
/// latest |error| of what it holds; what is new gets the largest priority so far. One draw from each of |batch| equal
/// segments of the sum.
///
/// Learn from slot i with weight (N P(i))^-beta, over the largest weight of the batch.
/// Thread  not thread-safe. Allocates at construction, later only in state() when it saves.
/// Tests   tests/rl/prioritised_replay_test.cpp: SamplesInProportion, WeightsByHand, NewItemsGetTheLargestPriority,
///         BetaGrowsToItsEnd, StateRoundTrip, WhatCannotBeDrawnByIsNoticed
/// Source  Schaul et al., "Prioritized Experience Replay", ICLR 2016, §3.3, §3.4 and algorithm 1
class priorities {
 public:
  /// Of a buffer of so many slots, to which nothing has been added.
  priorities(std::size_t capacity, const priority_options& options) : options_{options}, tree_{capacity} {}

  /// A slot has new content.
  void added(std::size_t slot) noexcept { tree_.set(slot, largest_); }

  /// Draws slots and their weights. Preconditions: something was added; spans of the same length.
  void sample(std::size_t stored, random_sequence& random, std::span<std::uint32_t> chosen,
              std::span<float> weights) const noexcept {
    const double segment = tree_.total() / static_cast<double>(chosen.size());
    const double exponent = -beta();
    double most = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const double sum = pinned::plus_product(0.0, static_cast<double>(i) + random.uniform(), segment);
      chosen[i] = static_cast<std::uint32_t>(tree_.find(sum));
      most = (std::max)(most, weight(stored, chosen[i], exponent));
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
      weights[i] = static_cast<float>(weight(stored, chosen[i], exponent) / most);
  }

  /// What was learned from a slot had this error (target minus prediction); one that is not finite changes nothing.
  void learned(std::size_t slot, double error) noexcept {
    if (!pinned::is_finite(error)) return;
    const double priority = std::pow(std::fabs(error) + options_.smallest, options_.alpha);
    largest_ = (std::max)(largest_, priority);
    tree_.set(slot, priority);
  }
  /// An update is over: beta moves on.
  void updated() noexcept { ++updates_; }

  /// The exponent of the importance weights now.
  [[nodiscard]] double beta() const noexcept {
    if (updates_ >= options_.beta_updates) return options_.final_beta;
    const double share = static_cast<double>(updates_) / static_cast<double>(options_.beta_updates);
    return pinned::plus_product(options_.beta, share, options_.final_beta - options_.beta);
  }
  /// P(slot).
  [[nodiscard]] double probability(std::size_t slot) const noexcept { return tree_[slot] / tree_.total(); }

  /// Whether slots can be drawn by them, of a buffer that holds so many: what it holds has some, nothing else has any.
  /// O(capacity).
  [[nodiscard]] bool fit(std::size_t stored) const noexcept {
    for (std::size_t i = stored; i < tree_.size(); ++i)
      if (tree_[i] > 0) return false;
    return pinned::is_finite(tree_.total()) && (tree_.total() > 0 || stored == 0);
  }

  /// Saves or loads all priorities; bytes of another capacity are bad, and numbers that cannot be. What was loaded may
  /// still belong to another buffer: see fit().
  void state(archive& bytes) {
    nn::detail::expect(bytes, tree_.size());
    bytes(largest_, updates_);
    if (!(largest_ >= 1 && pinned::is_finite(largest_))) bytes.fail();
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      double value = tree_[i];
      bytes(value);
      if (!(value >= 0 && pinned::is_finite(value))) bytes.fail();
      if (bytes.ok() && !bytes.saving()) tree_.set(i, value);
    }
  }

 private:
  [[nodiscard]] double weight(std::size_t stored, std::size_t slot, double exponent) const noexcept {
    return std::pow(static_cast<double>(stored) * probability(slot), exponent);
  }

  priority_options options_;
  sum_tree tree_;
  double largest_ = 1;
  std::uint64_t updates_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::rl

#endif
