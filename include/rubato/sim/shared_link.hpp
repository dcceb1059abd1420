#ifndef RUBATO_SIM_SHARED_LINK_HPP
#define RUBATO_SIM_SHARED_LINK_HPP

#include <cstdint>
#include <limits>

#include "burst_process.hpp"
#include "options.hpp"
#include "shared_resource.hpp"
#include "straggler.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// The link at the server: transfers of the model that share it in equal parts, and other traffic that leaves them less
/// of it at times. Latency is the host's to wait for.
///
/// Pre     problem(cluster_options) is empty; `now` never runs back
/// Random  the congestion, keyed by the seed alone
/// Cost    as shared_resource's, and an amortised O(1) for the congestion. No allocation after construction.
/// Tests   tests/sim/shared_link_test.cpp: OneTransferTakesItsTime, CongestionIsFeltDuringATransfer,
///         NothingIsDueWhileNothingIsUnderWay; tests/sim/cluster_timing_test.cpp
class shared_link {
 public:
  /// Nothing is under way. Allocates for so many workers.
  shared_link(const link_options& options, std::uint32_t workers, std::uint64_t seed)
      : transfers_{1.0, workers},
        congestion_{options.congestion.length, options.congestion.gap, seed,
                    stream_of(random_purpose::congestion_phase, 0), stream_of(random_purpose::congestion, 0)},
        share_{options.congestion.share},
        alone_{options.bandwidth > 0 ? options.model_size / options.bandwidth : 0} {}

  /// Of a transfer that is alone on a link free of other traffic, in units of time; 0: there is none to be waited for.
  [[nodiscard]] double transfer_time() const noexcept { return alone_; }
  /// The transfers under way, of which a host finishes the one that is due.
  [[nodiscard]] const shared_resource& transfers() const noexcept { return transfers_; }
  /// Whether other traffic comes and goes.
  [[nodiscard]] bool is_congested_at_times() const noexcept { return alone_ > 0 && share_ < 1; }
  /// When other traffic comes or goes next; infinity while nothing is under way, for which it does not matter.
  [[nodiscard]] double next_change() const noexcept {
    return transfers_.active() > 0 ? congestion_.end() : std::numeric_limits<double>::infinity();
  }

  /// The worker begins to transfer the model. Precondition: transfer_time() > 0, and it transfers nothing yet.
  void start(std::uint32_t worker, double now) noexcept {
    feel_congestion(now);
    transfers_.start(worker, alone_, now);
  }
  /// Ends the transfer that is due, and returns whose it was. Precondition: one is due.
  std::uint32_t finish(double now) noexcept { return transfers_.finish(now); }
  /// Gives up the worker's transfer, if there is one.
  void remove(std::uint32_t worker, double now) noexcept { transfers_.remove(worker, now); }
  /// To be called when next_change() has come.
  void feel_congestion(double now) noexcept {
    if (is_congested_at_times()) transfers_.slow_down(congestion_.at(now) ? share_ : 1.0, now);
  }

 private:
  shared_resource transfers_;
  burst_process congestion_;
  double share_;  // that other traffic leaves, when there is any
  double alone_;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
