#ifndef RUBATO_EXAMPLES_LAB_DECISION_HISTORY_HPP
#define RUBATO_EXAMPLES_LAB_DECISION_HISTORY_HPP

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rubato::lab {

/// One step of one worker, from the release that began it to the admission of its gradient. Times are the log's.
struct logged_step {
  std::uint32_t worker = 0;
  double start = 0;         ///< release
  double end = 0;           ///< admission; commit if `serves_at_once`
  double served = 0;        ///< commit; `end` if the log stops before
  std::uint32_t batch = 0;  ///< samples that were asked for, at most sim::largest_batch; 0: the host's number
  bool whole = true;        ///< false: cancelled or excluded on the way, so its length says nothing
  [[nodiscard]] double length() const noexcept { return end - start; }
};

/// What changed a model: enough to train another one in the same order.
struct logged_effect {
  enum class kind : std::uint8_t { release, apply, accumulate, drop, lose, flush, discard };
  kind what = kind::release;
  std::uint32_t worker = 0;  ///< but for flush and discard
  std::uint32_t batch = 0;   ///< release, at most sim::largest_batch
  float factor = 1;          ///< release: lr_scale; apply, accumulate: weight; flush: scale
  std::uint64_t round = 0;   ///< accumulate, flush, discard
  float loss = 0;            ///< apply, accumulate, drop: as reported with the push; NaN if it is not finite
};

/// A time that a worker was there without a step that ended: its last one, cut off by its departure or by the end of
/// the log.
struct unfinished_step {
  std::uint32_t worker = 0;
  double start = 0;
  double end = 0;
};

/// A decision log, as far as times and the order of updates go.
struct decision_history {
  std::string source;              ///< the file
  std::string policy;              ///< in one line
  std::string description;         ///< the policy's JSON, in canonical form
  std::uint32_t policies = 1;      ///< more than 1 if it was changed on the way; `policy` is the last one
  std::uint32_t workers = 0;       ///< 1 + the largest index
  double first = 0;                ///< time of the first release
  double last = 0;                 ///< time of the last line
  std::vector<logged_step> steps;  ///< in the order of their ends
  std::vector<unfinished_step> unfinished;
  std::vector<logged_effect> effects;  ///< in the order in which they happened
  std::uint64_t departures = 0;  ///< by death or leave, after which somebody was released: not those at the end
  std::uint64_t late_joins = 0;  ///< after the first release
  std::uint64_t not_whole = 0;   ///< steps
  std::uint64_t overlaps = 0;    ///< admissions before the commit of an earlier one
  std::uint64_t too_large = 0;   ///< releases that ask for a batch above sim::largest_batch, which is taken instead
  bool serves_at_once = false;   ///< more than 1 % of the steps overlap: the server is none that serves one at a time
  std::string cut_off;           ///< what is missing at the end, as a sentence; empty if nothing is
};

/// Reads a decision log, as read_log does; what is kept is about 100 bytes a push. A last line that is cut off, as a
/// crash leaves it, is left out and said.
///
/// Where admissions come before the commits of earlier ones, the host works on several gradients at a time. A server of
/// the simulator does not; so what such a host does until the commit is taken for a part of the worker's step.
///
/// Errors  user_error that begins with FILE:LINE for the first line that is not sound, for a time that runs back, a
///         worker above `largest_worker`, a second release in a step; with FILE if it cannot be read, or has no step
///         that began and ended in it
/// Tests   tests/examples/decision_history_test.cpp
[[nodiscard]] decision_history read_decision_history(const std::filesystem::path& file);

inline constexpr std::uint32_t largest_worker = 9'999;  ///< what a scenario can have

}  // namespace rubato::lab

#endif
