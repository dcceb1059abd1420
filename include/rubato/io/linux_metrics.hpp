#ifndef RUBATO_IO_LINUX_METRICS_HPP
#define RUBATO_IO_LINUX_METRICS_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../core/step_metrics.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

// Numbers out of the texts by which Linux tells what it counts. Nothing where they are not there.

inline constexpr std::string_view blanks = " \t";

/// Takes the text up to one of these characters off the front, and the character.
[[nodiscard]] inline std::string_view take_until(std::string_view& text, std::string_view ends) noexcept {
  const std::size_t end = (std::min)(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix((std::min)(end + 1, text.size()));
  return taken;
}
[[nodiscard]] inline std::string_view take_word(std::string_view& line) noexcept {
  line.remove_prefix((std::min)(line.find_first_not_of(blanks), line.size()));
  return take_until(line, blanks);
}
[[nodiscard]] inline std::optional<std::uint64_t> take_count(std::string_view& line) noexcept {
  const std::string_view word = take_word(line);
  std::uint64_t number = 0;
  const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (bad != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}
/// What follows `key` on the first line that begins with it.
[[nodiscard]] inline std::optional<std::string_view> line_of(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    if (take_word(line) == key) return line;
  }
  return std::nullopt;
}
[[nodiscard]] inline std::optional<std::uint64_t> count_of(std::string_view text, std::string_view key) noexcept {
  auto line = line_of(text, key);
  return line ? take_count(*line) : std::nullopt;
}

/// Time of all processors together since the start, and how much of it they were busy, or taken by another machine.
struct processor_ticks {
  std::uint64_t busy = 0, all = 0;
};
/// From /proc/stat.
[[nodiscard]] inline std::optional<processor_ticks> ticks_in(std::string_view stat) noexcept {
  auto line = line_of(stat, "cpu");
  if (!line) return std::nullopt;
  processor_ticks ticks;
  for (int column = 0; column < 8; ++column) {  // user nice system idle iowait irq softirq steal; guests are in user
    const auto count = take_count(*line);
    if (!count) return std::nullopt;
    ticks.all += *count;
    if (column != 3 && column != 4) ticks.busy += *count;
  }
  return ticks;
}

/// Bytes received and sent by this device, or by all but "lo" if none is named; from /proc/net/dev.
[[nodiscard]] inline std::optional<std::uint64_t> bytes_in(std::string_view devices,
                                                           std::string_view device) noexcept {
  std::optional<std::uint64_t> bytes;
  while (!devices.empty()) {
    std::string_view line = take_until(devices, "\n");
    if (line.find(':') == std::string_view::npos) continue;  // one of two headers
    std::string_view before = take_until(line, ":");
    const std::string_view name = take_word(before);
    if (device.empty() ? name == "lo" : name != device) continue;
    for (int column = 0; column < 9; ++column) {
      const auto count = take_count(line);
      if (!count) return std::nullopt;
      if (column == 0 || column == 8) bytes = bytes.value_or(0) + *count;
    }
  }
  return bytes;
}

/// TCP segments sent again, from /proc/net/snmp: a line of names, and one of numbers.
[[nodiscard]] inline std::optional<std::uint64_t> retransmissions_in(std::string_view snmp) noexcept {
  std::optional<std::string_view> names;
  while (!snmp.empty()) {
    std::string_view line = take_until(snmp, "\n");
    if (take_word(line) != "Tcp:") continue;
    if (!names) {
      names = line;
      continue;
    }
    while (!names->empty()) {
      const std::string_view name = take_word(*names);
      if (name == "RetransSegs") return take_count(line);
      static_cast<void>(take_word(line));
    }
    return std::nullopt;
  }
  return std::nullopt;
}

/// Share of the machine's memory that is not available; from /proc/meminfo.
[[nodiscard]] inline std::optional<double> memory_in(std::string_view meminfo) noexcept {
  const auto all = count_of(meminfo, "MemTotal:"), free = count_of(meminfo, "MemAvailable:");
  if (!all || !free || *all == 0 || *free > *all) return std::nullopt;
  return static_cast<double>(*all - *free) / static_cast<double>(*all);
}
/// Share of a control group's limit that is in use and could not be dropped at once. Nothing where there is no limit.
[[nodiscard]] inline std::optional<double> group_memory(std::optional<std::uint64_t> limit,
                                                        std::optional<std::uint64_t> used,
                                                        std::uint64_t cache) noexcept {
  if (!limit || !used || *limit == 0) return std::nullopt;
  return (std::min)(static_cast<double>(*used - (std::min)(cache, *used)) / static_cast<double>(*limit), 1.0);
}

}  // namespace detail

/// Options of linux_metrics.
struct linux_metrics_options {
  std::string root = "/";    ///< folder in which /proc and /sys are: another one where a host's are mounted elsewhere
  std::string device{};  ///< network device, such as "eth0"; empty: all but "lo"
  double link = 0;           ///< bytes that it can move per unit of time; 0: unknown, and so is the throughput
};

/// What Linux knows about the steps of a worker, for controller::measured.
///
///     linux_metrics machine{{.link = 1.25e9}};                 // ten gigabits a second
///     step_metrics step{.compute_time = ..., .communication_time = ...};
///     machine.measure(now, step);                              // once a step
///
/// measure() fills in what happened since the call before: `processor`, the share of all processors' time that was not
/// idle; `retransmissions`, of TCP segments per unit of time; `throughput`, bytes of the device over those that the
/// link could have moved in `communication_time`, or since the call before where that is not known, at most 1; and
/// `memory`, the share that is in use, of the machine or of the control group (version 2), whichever is closer to its
/// limit. All of that is of the whole machine or container, and not of a process: a worker is slow because of others,
/// too. Network counters are those of its namespace.
///
/// What the system does not say, as everywhere but on Linux, stays as it was in `step`; so do processor,
/// retransmissions and throughput at the first call, and where a counter went back or no time has passed.
/// Cost    reads seven files, 70 us. Allocates a buffer when it is made. Not thread-safe.
/// Tests   tests/io/linux_metrics_test.cpp: ReadsWhatTheSystemSays, TheFirstCallKnowsOnlyMemory, TheTighterLimitCounts,
///         WhatIsMissingStaysUnknown, CountersThatGoBackAreUnknown, OnlyTheNamedInterface, ThisMachine
/// Source  proc(5): /proc/stat, /proc/meminfo, /proc/net/dev; /proc/net/snmp; the kernel's cgroup-v2 documentation
class linux_metrics {
 public:
  /// Reads nothing yet.
  explicit linux_metrics(linux_metrics_options options = {}) : options_{std::move(options)} {
    if (options_.root.empty() || options_.root.back() != '/') options_.root += '/';
  }

  /// A step has ended; `now` in the host's unit.
  void measure(double now, step_metrics& step) noexcept {
    if (const auto share = memory()) step.memory = static_cast<float>(*share);
    const counters seen{detail::ticks_in(read("proc/stat")), detail::bytes_in(read("proc/net/dev"), options_.device),
                        detail::retransmissions_in(read("proc/net/snmp")), now};
    if (before_) compare(*before_, seen, step);
    before_ = seen;
  }

 private:
  struct close {
    void operator()(std::FILE* of) const noexcept { static_cast<void>(std::fclose(of)); }
  };
  struct counters {
    std::optional<detail::processor_ticks> ticks{};
    std::optional<std::uint64_t> bytes{}, retransmissions{};
    double at = 0;
  };

  [[nodiscard]] std::optional<double> memory() noexcept {
    const auto number_in = [this](std::string_view file) noexcept {
      std::string_view text = read(file);
      std::string_view line = detail::take_until(text, "\n");
      return detail::take_count(line);
    };
    const auto machine = detail::memory_in(read("proc/meminfo"));
    const auto limit = number_in("sys/fs/cgroup/memory.max"), used = number_in("sys/fs/cgroup/memory.current");
    const auto cache = detail::count_of(read("sys/fs/cgroup/memory.stat"), "inactive_file");
    const auto group = detail::group_memory(limit, used, cache.value_or(0));
    return machine && group ? std::optional{(std::max)(*machine, *group)} : machine ? machine : group;
  }

  void compare(const counters& before, const counters& now, step_metrics& step) const noexcept {
    if (before.ticks && now.ticks && now.ticks->all > before.ticks->all && now.ticks->busy >= before.ticks->busy) {
      const std::uint64_t busy = now.ticks->busy - before.ticks->busy, all = now.ticks->all - before.ticks->all;
      if (busy <= all) step.processor = static_cast<float>(static_cast<double>(busy) / static_cast<double>(all));
    }
    const double time = now.at - before.at;
    if (!(time > 0)) return;
    const auto grown = [](const std::optional<std::uint64_t>& was, const std::optional<std::uint64_t>& is) {
      return was && is && *is >= *was ? std::optional{static_cast<double>(*is - *was)} : std::nullopt;
    };
    if (const auto again = grown(before.retransmissions, now.retransmissions))
      step.retransmissions = static_cast<float>(*again / time);
    const double moving = step.communication_time > 0 ? static_cast<double>(step.communication_time) : time;
    if (const auto moved = grown(before.bytes, now.bytes); moved && options_.link > 0)
      step.throughput = static_cast<float>((std::min)(*moved / (options_.link * moving), 1.0));
  }

  // Whole lines of a file, until the next call; empty where there is none.
  [[nodiscard]] std::string_view read(std::string_view file) noexcept {
    if (options_.root.size() + file.size() >= buffer_.size()) return {};
    *std::copy(file.begin(), file.end(), std::copy(options_.root.begin(), options_.root.end(), buffer_.data())) = '\0';
    const std::unique_ptr<std::FILE, close> opened{std::fopen(buffer_.c_str(), "rb")};
    if (!opened) return {};
    static_cast<void>(std::setvbuf(opened.get(), nullptr, _IONBF, 0));
    const std::string_view text{buffer_.data(), std::fread(buffer_.data(), 1, buffer_.size(), opened.get())};
    return text.size() < buffer_.size() ? text : text.substr(0, text.rfind('\n') + 1);
  }

  linux_metrics_options options_;
  std::string buffer_ = std::string(std::size_t{1} << 18, '\0');  // thousands of network interfaces
  std::optional<counters> before_{};
};

}  // namespace rubato::inline RUBATO_ABI

#endif
