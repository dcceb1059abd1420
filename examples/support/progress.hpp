#ifndef RUBATO_EXAMPLES_SUPPORT_PROGRESS_HPP
#define RUBATO_EXAMPLES_SUPPORT_PROGRESS_HPP

#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

namespace rubato::support {

/// Whether standard error is a terminal.
[[nodiscard]] bool standard_error_is_terminal();

/// Seconds of a clock that never runs back.
[[nodiscard]] double monotonic_seconds();

/// How progress is shown.
struct progress_options {
  bool quiet = false;                            ///< show nothing
  bool terminal = standard_error_is_terminal();  ///< a bar that is redrawn in place; else plain lines
  double line_interval = 5;                      ///< seconds; no plain line comes sooner after another
  std::function<double()> now = monotonic_seconds;
};

/// Shows how far a known number of equal jobs has come: a bar with the time left on a terminal, a plain line every few
/// seconds elsewhere.
///
/// The destructor ends the display where it is, so that an interrupted run leaves a clean line behind.
/// Thread  any thread may call any member at any time.
/// Tests   tests/examples/progress_test.cpp
class progress {
 public:
  /// `out` must outlive the object; only `print` and the display write to it.
  progress(std::ostream& out, std::string label, std::uint64_t total, progress_options options = {});
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// `jobs` are done because an earlier run did them: they count, but say nothing about the speed of this one.
  void skip(std::uint64_t jobs);

  /// `jobs` more are done.
  void advance(std::uint64_t jobs = 1);

  /// A line of its own above the bar; nothing when quiet.
  void print(std::string_view line);

  /// Shows the final state once; later calls do nothing.
  void finish();

 private:
  void count(std::uint64_t jobs);
  void show(bool final);
  [[nodiscard]] std::string state(bool final) const;

  std::ostream& out_;
  const std::string label_;
  const std::uint64_t total_;
  const progress_options options_;
  std::mutex mutex_;
  const double start_;
  double shown_ = 0;  ///< when the display was last written
  std::uint64_t done_ = 0;
  std::uint64_t skipped_ = 0;
  bool finished_ = false;
};

/// "0:07", "12:30", "3:05:00".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace rubato::support

#endif
