#ifndef RUBATO_EXAMPLES_LAB_LOG_REPLAY_HPP
#define RUBATO_EXAMPLES_LAB_LOG_REPLAY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <rubato/core/record.hpp>
#include <rubato/sync/any_policy.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// How a decision differs from the logged one.
enum class difference_kind : std::uint8_t {
  verdict,     ///< another verdict on a gradient, or for another reason
  weight,      ///< another weight of the gradient
  held,        ///< the log let a worker go, and this policy holds it
  let_go,      ///< the other way round
  terms,       ///< another batch size or learning rate for the next step
  round,       ///< a round that is flushed or discarded in one of the two, or with another scale or number of gradients
  cancelled,   ///< a step that is cancelled in one of the two
  membership,  ///< an exclusion or readmission in one of the two
  other,       ///< only where all must be the same: clocks, versions, staleness, corrections, order
  count_
};
[[nodiscard]] std::string_view name(difference_kind) noexcept;

/// One of them. `line` is that of the log; where the log has nothing, that of the event which was decided on.
struct decision_difference {
  std::uint64_t line = 0;
  double now = 0;
  difference_kind what = difference_kind::other;
  std::string logged;   ///< in words; "nothing" if only the other has it
  std::string decided;  ///< likewise
};

/// What a replay found.
struct replay_result {
  std::uint64_t events = 0;       ///< joins, departures, pushes, commits, polls and switches that were decided again
  std::uint64_t same_events = 0;  ///< of these: every decision is the logged one
  std::uint64_t pushes = 0;       ///< of the events
  std::uint64_t forced = 0;       ///< workers that pushed while this policy would have held them
  std::array<std::uint64_t, static_cast<std::size_t>(difference_kind::count_)> differences{};
  std::vector<decision_difference> first;  ///< at most `most_listed`
  static constexpr std::size_t most_listed = 10;

  [[nodiscard]] std::uint64_t all() const noexcept;  ///< differences
};

/// What a log does not say of the controller that wrote it.
struct replay_options {
  std::uint32_t workers = 1;  ///< capacity
  std::uint32_t quorum = 1;   ///< joins before the first release, see quorum_finder
  bool quorum_late = false;   ///< it was lowered to that, when the first worker was let go
  std::uint64_t seed = 1;
  bool exact = false;  ///< all numbers must be the same, not just decisions
};

/// Finds workers and quorum in a log, from its records.
class quorum_finder {
 public:
  void operator()(const record&);
  /// With the seed and `exact` to be filled in.
  [[nodiscard]] replay_options found() const;

 private:
  std::uint32_t workers_ = 0;
  std::int64_t here_ = 0, quorum_ = 0;
  double last_join_ = 0;
  bool released_ = false, late_ = false;
};

/// Decides the events of a log again: joins, departures, pushes and commits happen when and as they did, and a policy
/// in a controller of its own, with a guard of default options, says what follows. After each event its decisions are
/// compared with the logged ones.
///
/// Where the policy holds a worker that pushed in the log, the difference is noted, and the worker is released by
/// force: so each decision is about the log's course of events, not about the one that this policy would have led to.
/// A log has no sample counts; a policy that goes by them sees the batch that was asked for.
///
/// Pre     records are those of log_stats without a contradiction, from the first join on; policy.problem(workers) is
///         empty
/// Memory  that of the controller, and the records of one event
/// Tests   tests/examples/log_replay_test.cpp
class log_replay {
 public:
  log_replay(const replay_options&, const any_policy&);
  ~log_replay();

  /// The next record, and its line in the log. For change_policy: who takes over, null to leave things as they are.
  void operator()(const record&, std::uint64_t line, const any_policy* taken_over = nullptr);

  /// After the last one.
  [[nodiscard]] const replay_result& finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace rubato::lab

#endif
