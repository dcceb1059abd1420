#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace rubato::support {
namespace {

constexpr double redraw_interval = 0.1;  // seconds; faster is not readable
constexpr std::uint64_t bar_width = 28;
constexpr std::string_view clear_line = "\r\x1b[K";

}  // namespace

bool standard_error_is_terminal() { return isatty(STDERR_FILENO) == 1; }

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(std::ceil(seconds), 0.0, 359'999.0));
  const auto two_digits = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string minutes_on = two_digits(whole % 60);
  if (whole < 3'600) return std::to_string(whole / 60) + ":" + minutes_on;
  return std::to_string(whole / 3'600) + ":" + two_digits(whole / 60 % 60) + ":" + minutes_on;
}

progress::progress(std::ostream& out, std::string label, std::uint64_t total, progress_options options)
    : out_{out}, label_{std::move(label)}, total_{total}, options_{std::move(options)}, start_{options_.now()} {
  shown_ = start_;
}

progress::~progress() { finish(); }

void progress::skip(std::uint64_t jobs) {
  const std::lock_guard lock{mutex_};
  skipped_ += jobs;
  count(jobs);
}

void progress::advance(std::uint64_t jobs) {
  const std::lock_guard lock{mutex_};
  count(jobs);
}

void progress::print(std::string_view line) {
  const std::lock_guard lock{mutex_};
  if (options_.quiet) return;
  if (options_.terminal && !finished_) out_ << clear_line;
  out_ << line << '\n';
  if (options_.terminal && !finished_) out_ << state(false);
  out_.flush();
}

void progress::finish() {
  const std::lock_guard lock{mutex_};
  if (!std::exchange(finished_, true)) show(true);
}

void progress::count(std::uint64_t jobs) {
  done_ += jobs;
  const double interval = options_.terminal ? redraw_interval : options_.line_interval;
  if (!finished_ && options_.now() - shown_ >= interval) show(false);
}

void progress::show(bool final) {
  if (options_.quiet) return;
  shown_ = options_.now();
  if (options_.terminal)
    out_ << clear_line << state(final) << (final ? "\n" : "");
  else
    out_ << state(final) << '\n';
  out_.flush();
}

std::string progress::state(bool final) const {
  const double elapsed = options_.now() - start_;
  const std::uint64_t done = std::min(done_, total_);
  std::string text = label_ + " ";
  if (options_.terminal) {
    const std::uint64_t filled = total_ == 0 ? bar_width : done * bar_width / total_;
    text += "[" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "] ";
  }
  text += std::to_string(done_) + "/" + std::to_string(total_);
  if (final) return text + " in " + clock_text(elapsed);
  const std::uint64_t measured = done_ - skipped_;
  if (measured == 0) return text;
  return text + ", " + clock_text(elapsed / static_cast<double>(measured) * static_cast<double>(total_ - done)) +
         " left";
}

}  // namespace rubato::support
