#ifndef RUBATO_EXAMPLES_LAB_LOG_STATS_HPP
#define RUBATO_EXAMPLES_LAB_LOG_STATS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <rubato/core/record.hpp>
#include <rubato/sync/extras/scores.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rubato::lab {

/// How often, by reason.
using reason_counts = std::array<std::uint64_t, static_cast<std::size_t>(reason::count_)>;

/// Where gradients went. pushed = applied + flushed + dropped() + parked(), after every record.
struct gradient_counts {
  std::uint64_t pushed = 0;    ///< arrived
  std::uint64_t applied = 0;   ///< each an update of its own
  std::uint64_t flushed = 0;   ///< part of the update that a round became
  std::uint64_t in_round = 0;  ///< wait in a round that is still open
  std::uint64_t in_hand = 0;   ///< at the server, admitted and not yet committed
  std::uint64_t scaled = 0;    ///< of all, those that were admitted with a weight other than 1
  reason_counts dropped_for{};

  [[nodiscard]] std::uint64_t dropped() const noexcept;  ///< for whatever reason
  [[nodiscard]] std::uint64_t parked() const noexcept { return in_round + in_hand; }
  [[nodiscard]] bool adds_up() const noexcept { return pushed == applied + flushed + dropped() + parked(); }
};

/// Durations, without keeping them.
struct duration_stats {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0;  ///< of the deviations from the mean
  double longest = 0;
  double recent = 0;  ///< smoothed by 0.2 per duration

  void add(double duration) noexcept;
  [[nodiscard]] double total() const noexcept { return mean * static_cast<double>(count); }
  [[nodiscard]] double standard_error() const noexcept;  ///< of the mean; 0 below two durations
};

/// Staleness of gradients, the dropped ones too.
struct staleness_stats {
  std::array<std::uint64_t, staleness_histogram::buckets> counts{};  ///< see staleness_histogram
  double sum = 0;
  std::uint64_t largest = 0;
  void add(std::uint64_t staleness) noexcept;
};

/// What a bucket of theirs counts: "1", "4-7"; of the last one the least, followed by `beyond`.
[[nodiscard]] std::string staleness_range(std::size_t bucket, std::string_view beyond);

/// Where a worker is: `waiting` for its release, `computing` a step, `pushing` one that is admitted and not committed.
enum class whereabouts : std::uint8_t { unseen, waiting, computing, pushing, left, finished, died };

/// As it appears in reports.
[[nodiscard]] std::string_view name(whereabouts) noexcept;

/// One worker. Times are the log's.
struct worker_stats {
  whereabouts is = whereabouts::unseen;
  bool excluded = false;          ///< by the policy, and not readmitted
  bool from_before = false;       ///< first seen without a join
  bool late = false;              ///< first seen after somebody had begun to work
  std::uint32_t incarnation = 0;  ///< latest
  std::uint32_t lives = 0;        ///< joins; 2: it came back once
  double since = 0;               ///< when it began to be there
  std::optional<double> departed; ///< when it last did
  std::optional<double> returned; ///< likewise
  double joined = 0;              ///< first time
  double last_event = 0;
  double last_push = 0;          ///< without meaning before a push
  std::uint64_t releases = 0;    ///< of its steps
  std::uint64_t refused = 0;     ///< calls
  std::uint64_t lost_steps = 0;  ///< begun, and ended by its departure
  duration_stats compute;        ///< from release to arrival, transfers included; cancelled steps left out
  duration_stats wait;           ///< from join or commit to the next release
  duration_stats service;        ///< from arrival to commit
  gradient_counts gradients;
  staleness_stats staleness;

  std::uint64_t seen_releases = 0;  ///< of everybody, when it departed
  std::uint64_t round = 0;          ///< that its latest gradient joined, if `decided` says so
  std::size_t place = no_place;     ///< in that round
  verdict decided = verdict::drop;  ///< on its latest gradient
  reason because = reason::none;    ///< if that is drop
  bool in_hand = false;             ///< which is admitted and not committed
  bool between = false;             ///< it waits after a commit, not after a join

  static constexpr std::size_t no_place = ~std::size_t{0};
};

/// What one policy did, from its line on.
struct policy_actions {
  std::string policy;  ///< in one line, as the log has it: text that others wrote
  double from = 0;
  std::uint64_t pushes = 0;  ///< apply + accumulate + drop
  std::uint64_t apply = 0;
  std::uint64_t accumulate = 0;
  std::uint64_t drop = 0;
  std::uint64_t scaled = 0;      ///< with a weight other than 1
  std::uint64_t at_once = 0;     ///< commits whose worker went on at the same time
  std::uint64_t releases = 0;    ///< all, first ones too
  std::uint64_t with_batch = 0;  ///< of these: asked for a batch size
  std::uint64_t with_rate = 0;   ///< of these: changed the learning rate
  std::uint64_t flushes = 0;
  std::uint64_t discards = 0;
  std::uint64_t cancels = 0;
  std::uint64_t excludes = 0;
  std::uint64_t readmits = 0;
  reason_counts adjusted_for{};
};

/// A worker that is clearly slower than the others.
struct slow_worker {
  std::uint32_t worker = 0;
  double times = 0;  ///< its mean time to compute a step / the median of the others' means
};

/// A worker that is not there, or not heard of.
struct missing_worker {
  enum class why : std::uint8_t { died, left, silent, never_came };
  std::uint32_t worker = 0;
  why because = why::died;
  double since = 0;  ///< departure; silent: its last release. never_came: without meaning
  double times = 0;  ///< silent: time in this step / mean time of its steps (of everybody's, in its first one)
};

[[nodiscard]] std::string_view name(missing_worker::why) noexcept;

/// Where the lines are drawn.
struct log_stats_options {
  double slow = 1.25;              ///< times the others' median, beyond three standard errors of the worker's mean
  std::uint64_t slow_steps = 5;    ///< fewer say nothing
  double silent = 5;               ///< times the mean of its steps, and
  double silent_longest = 2;       ///< times the longest of them
  std::uint32_t workers = 16'384;  ///< most
  std::size_t shares = std::size_t{1} << 20;  ///< most parts of open rounds, one for each worker that is in one
};

/// Answers from the records of a run, one after another, of a log or of a controller: who is slow, who is missing, what
/// happened to my gradients?
///
///     log_stats stats;
///     stats.policy("asp: ...", 0);
///     if (const std::string wrong = stats.add(r); !wrong.empty()) ...
///
/// A log may begin in the middle of a run, after a controller was loaded or as the latest records of a flight recorder:
/// workers are then first seen without a join, gradients are committed and rounds flushed whose pushes it does not have,
/// and nobody knows of the unseen whether they ever came.
///
/// Memory  about 1 KiB for each worker up to the highest index, and 16 bytes for each worker with gradients in an open
///         round: none of it grows with the log
/// Cost    O(1) a record, O(workers of the round) at a flush; slow() and missing() O(workers log workers)
/// Thread  none is safe
/// Tests   tests/examples/log_stats_test.cpp
class log_stats {
 public:
  explicit log_stats(const log_stats_options& o = {}) : options_{o} {}

  /// So many records came before the first that add() is given.
  void begin_after(std::uint64_t records) noexcept {
    earlier_ = records;
    midway_ = records > 0;
  }
  /// A policy takes charge, the first one or another. Of more than `most_policies` the last counts for all later ones.
  void policy(std::string line, double now);

  /// Takes in a record. What contradicts the ones before, as "found ..., expected ..."; then nothing has changed.
  [[nodiscard]] std::string add(const record&);

  [[nodiscard]] const std::vector<worker_stats>& workers() const noexcept { return workers_; }  ///< by index
  [[nodiscard]] std::uint32_t seen() const noexcept { return seen_; }  ///< workers that were ever there
  [[nodiscard]] const gradient_counts& gradients() const noexcept { return gradients_; }  ///< of all workers
  [[nodiscard]] const staleness_stats& staleness() const noexcept { return staleness_; }  ///< likewise
  [[nodiscard]] const std::vector<policy_actions>& policies() const noexcept { return policies_; }
  [[nodiscard]] std::uint64_t policy_changes() const noexcept { return policy_changes_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] std::uint64_t refused() const noexcept;                              ///< calls, of whomever
  [[nodiscard]] const reason_counts& refused_for() const noexcept { return refused_for_; }
  [[nodiscard]] std::uint64_t from_before() const noexcept { return from_before_; }  ///< flushed, push not in the log
  [[nodiscard]] std::uint64_t updates() const noexcept { return version_; }          ///< version of the parameters
  [[nodiscard]] bool midway() const noexcept { return midway_; }  ///< the log begins in the middle of a run
  [[nodiscard]] std::uint64_t earlier() const noexcept { return earlier_; }  ///< records before it; 0 if that is unsaid
  [[nodiscard]] double begin() const noexcept { return begun_ ? begin_ : now(); }    ///< the first release
  [[nodiscard]] double now() const noexcept { return timed_ ? now_ : 0; }            ///< of the last record
  [[nodiscard]] double push_rate() const noexcept;  ///< pushes per unit of time, from begin() to the last push

  /// For each worker, its mean time to compute / the median of the others' means; 0 where there is nothing to compare,
  /// as where times leapt so far that a mean is not finite.
  [[nodiscard]] std::vector<double> relative() const;
  /// Worst first; nobody is a valid answer.
  [[nodiscard]] std::vector<slow_worker> slow() const;
  /// At a time that is not before now(). The dead first, then the silent, those who left while work went on, and, of
  /// a log that is whole, those below the highest index who never came; in each group the earliest first.
  [[nodiscard]] std::vector<missing_worker> missing(double at) const;
  [[nodiscard]] std::vector<missing_worker> missing() const { return missing(now()); }

  static constexpr std::size_t most_policies = 64;

 private:
  struct share {
    std::uint32_t worker = 0;
    std::uint64_t gradients = 0;
  };
  struct round {
    enum class state : std::uint8_t { open, flushed, discarded };  // ended, it lasts until its last commit
    state is = state::open;
    std::vector<share> shares;
    std::uint64_t committed = 0;
    std::uint32_t in_hand = 0;
  };

  [[nodiscard]] std::string contradiction(const record&) const;
  [[nodiscard]] std::string contradiction_of_worker(const record&) const;
  [[nodiscard]] std::string contradiction_of_round(const record&) const;
  worker_stats& come(const record&);
  void move(worker_stats&, whereabouts);
  void depart(worker_stats&, const record&);
  void release(worker_stats&, const record&);
  void admit(worker_stats&, const record&);
  void commit(worker_stats&, const record&);
  void join_round(worker_stats&, const record&, reason why);
  void end_round(const record&);
  void drop(worker_stats&, reason, std::uint64_t gradients);
  [[nodiscard]] policy_actions& actions();

  log_stats_options options_;
  std::vector<worker_stats> workers_;
  std::unordered_map<std::uint64_t, round> rounds_;
  std::size_t shares_ = 0;
  std::vector<policy_actions> policies_;
  std::uint64_t policy_changes_ = 0;
  gradient_counts gradients_;
  reason_counts refused_for_{};
  staleness_stats staleness_;
  std::uint64_t records_ = 0, releases_ = 0, from_before_ = 0, version_ = 0, earlier_ = 0;
  std::uint32_t seen_ = 0;
  double now_ = -std::numeric_limits<double>::infinity();
  double begin_ = 0, last_push_ = 0;
  bool timed_ = false, begun_ = false;
  bool midway_ = false;  // the log begins in the middle of a run
};

}  // namespace rubato::lab

#endif
