#ifndef RUBATO_GLOO_PS_REFUSALS_HPP
#define RUBATO_GLOO_PS_REFUSALS_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "messages.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Counts what was turned away, and has the first refusal of each kind and worker index written to a log, once.
///
/// Thread  any number
/// Tests   tests/integrations/gloo_ps/server_test.cpp: RefusalsAreCountedAndLoggedOnce
class refusals {
 public:
  using log_function = std::function<void(const std::string&)>;  ///< given one line, under a mutex, by any thread
  explicit refusals(log_function log) : log_{std::move(log)} {}  ///< an empty one: nothing is logged

  /// `index`: the worker's, or no_worker where it is not known; one beyond any capacity counts as not known.
  void add(refusal why, std::uint32_t index, const std::string& sentence) {
    const std::lock_guard lock{mutex_};
    ++counts_[static_cast<std::size_t>(why)];
    if (why == refusal::unknown_rank) index = no_worker;  // else a peer could make the log grow by counting
    if (!logged_.emplace(why, index).second || !log_) return;
    const std::string who = index == no_worker ? std::string{"a peer"} : "worker " + std::to_string(index);
    log_("refused " + who + ", " + std::string{name(why)} + ": " + sentence + " (further ones are counted only)");
  }
  /// How often that was the reason.
  [[nodiscard]] std::uint64_t of(refusal why) const {
    const std::lock_guard lock{mutex_};
    return counts_[static_cast<std::size_t>(why)];
  }
  /// Writes to the same log, and counts nothing.
  void note(const std::string& sentence) const {
    const std::lock_guard lock{mutex_};
    if (log_) log_(sentence);
  }

 private:
  mutable std::mutex mutex_;
  log_function log_;
  std::array<std::uint64_t, static_cast<std::size_t>(refusal::count_)> counts_{};
  std::set<std::pair<refusal, std::uint32_t>> logged_;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
