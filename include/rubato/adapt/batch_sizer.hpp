#ifndef RUBATO_ADAPT_BATCH_SIZER_HPP
#define RUBATO_ADAPT_BATCH_SIZER_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include "../core/archive.hpp"
#include "../core/record.hpp"
#include "../core/step_metrics.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What a period of steps showed of one worker. Means are over its steps in the period; where there was none, or nobody
/// measured, they are not_measured. Times are in the host's unit.
struct batch_worker {
  bool counts = false;                      ///< it is one of those alive; else of no matter
  std::uint32_t batch = 0;                  ///< samples that its steps are to have
  std::uint32_t least = 0;                  ///< that they may have
  std::uint32_t most = 0;                   ///< likewise; fewer since it ran out of memory
  std::uint32_t steps = 0;                  ///< in the period
  float samples = not_measured;             ///< mean of its steps, whatever was asked for
  float step_time = not_measured;           ///< mean, from grant to arrival
  float loss = not_measured;                ///< mean, as pushed
  step_metrics metrics{};                   ///< means
  float accuracy_deviation = not_measured;  ///< standard deviation of its batches' accuracies
};

/// What a BatchSizer is told at the end of a period.
struct batch_period {
  std::span<const batch_worker> workers;  ///< by index, of all that there can be
  std::uint32_t alive = 0;                ///< how many count, at least 1
  std::uint32_t usual = 0;                ///< samples of a step that the learning rate was chosen for
  std::uint32_t initial = 0;              ///< that a step had at first
  std::uint64_t number = 0;               ///< of the period, from 0
  double time = 0;                        ///< that it took, in the host's unit
};

/// Says how many samples the steps of each worker are to have, period by period.
///
///   resize(capacity)          room for so many workers, nothing known of any. May allocate
///   forget(worker)            it has gone, or its index is taken anew
///   operator()(seen, batches) `batches` has the present ones, by worker, and takes those wanted: they are clipped to
///                             what each worker may have, and those of workers that do not count are of no matter
///   state(archive)            saves what it knows, or loads it into one of the same capacity
///   problem()                 what is wrong with its options, as a sentence; empty if nothing is
///   describe()                its options
template <class S>
concept BatchSizer = std::copyable<S> &&
    requires(S& sizer, const S& same, const batch_period& seen, std::span<std::uint32_t> batches, std::uint32_t worker,
             archive& bytes) {
  sizer.resize(worker);
  { sizer.forget(worker) }
  noexcept;
  { sizer(seen, batches) }
  noexcept;
  sizer.state(bytes);
  { same.problem() } -> std::same_as<std::string>;
  { same.describe() } -> std::same_as<description>;
};

/// Leaves all batches as they are: a static batch.
struct same_batches {
  void resize(std::uint32_t) noexcept {}
  void forget(std::uint32_t) noexcept {}
  void operator()(const batch_period&, std::span<std::uint32_t>) noexcept {}
  void state(archive&) noexcept {}
  [[nodiscard]] std::string problem() const { return {}; }
  [[nodiscard]] description describe() const { return {"static batches", R"({"kind":"static"})"}; }
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
