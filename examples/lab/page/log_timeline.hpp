#ifndef RUBATO_EXAMPLES_LAB_PAGE_LOG_TIMELINE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_LOG_TIMELINE_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/record.hpp>
#include <vector>

namespace rubato::lab::page {

/// What happened when: a log in equal parts of its time, which get twice as long whenever they would be too many.
///
/// Memory  about 4 KiB for each of the first `most_workers`, however long the log is
/// Cost    amortised O(1) a record, O(parts) for what takes long
/// Tests   tests/examples/log_timeline_test.cpp
class log_timeline {
 public:
  static constexpr std::size_t most_parts = 96;  ///< at least half of them are used in the end
  static constexpr std::uint32_t most_workers = 1'024;
  static constexpr std::size_t stalest = 64;  ///< this and more are counted together

  /// A worker in a part. Times add up to the length of the part at most.
  struct stay {
    double waiting = 0;  ///< from joining or a commit to the next release
    double busy = 0;     ///< from a release to the commit
    double staleness = 0;
    std::uint32_t gradients = 0;
    [[nodiscard]] double there() const noexcept { return waiting + busy; }
  };

  /// Everybody in a part.
  struct moment {
    double busy = 0;  ///< time, of all workers together
    std::uint64_t apply = 0, accumulate = 0, drop = 0;
    std::uint64_t releases = 0;
    double batch = 0, rate = 0;  ///< sums over these
    std::uint64_t losses = 0;    ///< finite ones
    double loss = 0;             ///< their sum
    [[nodiscard]] std::uint64_t pushes() const noexcept { return apply + accumulate + drop; }
  };

  void add(const record&);
  /// Ends what has not ended. Nothing may be added afterwards.
  void finish();

  [[nodiscard]] double begin() const noexcept { return begin_; }
  [[nodiscard]] double end() const noexcept { return now_; }
  [[nodiscard]] double length() const noexcept { return length_; }  ///< of a part; 0: no time has passed
  /// Parts up to the end of the log.
  [[nodiscard]] std::size_t parts() const noexcept;
  [[nodiscard]] const std::vector<moment>& moments() const noexcept { return moments_; }
  /// By worker and part; workers that never came have no parts.
  [[nodiscard]] const std::vector<std::vector<stay>>& workers() const noexcept { return stays_; }
  [[nodiscard]] const std::vector<std::uint64_t>& staleness() const noexcept { return staleness_; }
  [[nodiscard]] bool asked_for_batch() const noexcept { return asked_for_batch_; }
  [[nodiscard]] bool changed_rate() const noexcept { return changed_rate_; }

 private:
  enum class state : std::uint8_t { absent, waiting, busy, serving };  // served is time that is busy, too
  struct worker {
    state is = state::absent;
    double since = 0;
  };

  void pass_time(double to);
  [[nodiscard]] std::size_t part_at(double time) const noexcept;
  void turn(std::uint32_t who, state to);
  void spend(std::uint32_t who, state how, double from, double to);

  bool begun_ = false;
  double begin_ = 0, now_ = 0, length_ = 0;
  std::vector<worker> who_;
  std::vector<std::vector<stay>> stays_;
  std::vector<moment> moments_ = std::vector<moment>(most_parts);
  std::vector<std::uint64_t> staleness_;
  bool asked_for_batch_ = false, changed_rate_ = false;
};

}  // namespace rubato::lab::page

#endif
