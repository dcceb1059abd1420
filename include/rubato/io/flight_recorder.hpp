#ifndef RUBATO_IO_FLIGHT_RECORDER_HPP
#define RUBATO_IO_FLIGHT_RECORDER_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "json_writer.hpp"

namespace rubato::inline RUBATO_ABI {

/// Remembers the latest things that a controller did, 32 bytes each, for the day on which something goes wrong: cheap
/// enough to be always on. One per controller, whose calls one thread at a time makes.
///
///     controller<ssp, reply, flight_recorder> sync{{.capacity = 8}, {}, flight_recorder{4096}};
///     ...
///     sync.watcher().write(file);  // any ByteSink; on demand, or from a handler of a fatal signal
///
/// It writes JSON Lines: {"format":"rubato.flight","version":1,"records":N,"lost":M}, and then one object a record, the
/// oldest first, with `now`, `what`, `version`, `parked` and what means something: `worker`, `incarnation`, `clock`;
/// `verdict`, `staleness` (admit, commit); `why` (depart); `because`. Loss, round and factors are not kept: a
/// decision_log has them. `clock`, `version` and `staleness` are those of the record modulo 2^32, `incarnation` and
/// `parked` modulo 2^16.
///
/// Thread  write() may be called while another thread observes: records that it made meanwhile may be torn, all others
///         are whole. It allocates nothing and takes no lock, so that a signal handler may call it with a sink that may
///         be called there.
/// Cost    three to four records a push: docs/performance.md. Allocates at construction only.
/// Tests   tests/io/flight_recorder_test.cpp: KeepsTheLatest, GoldenLines, WritesFromASignalHandler
class flight_recorder {
 public:
  /// Keeps at least so many records: the next power of two.
  explicit flight_recorder(std::size_t records = 4096)
      : ring_{std::bit_ceil((std::max)(records, std::size_t{1}))}, mask_{ring_.size() - 1} {}

  /// Called by the controller. The time is that of the record: no clock is read.
  [[gnu::always_inline]] void operator()(const record& r) noexcept {
    entry& e = ring_[static_cast<std::size_t>(made_) & mask_];
    e.now = r.now;
    e.worker = r.worker.index;
    e.clock = static_cast<std::uint32_t>(r.clock);
    e.version = static_cast<std::uint32_t>(r.version);
    e.staleness = static_cast<std::uint32_t>(r.staleness);
    e.incarnation = static_cast<std::uint16_t>(r.worker.incarnation);
    e.parked = static_cast<std::uint16_t>(r.parked);
    e.what = r.what;
    e.why = r.why;
    e.decided = r.decided;
    e.because = r.because;
    std::atomic_ref{made_}.store(made_ + 1, std::memory_order_relaxed);
  }

  /// Records so far, those that newer ones have replaced included.
  [[nodiscard]] std::uint64_t made() const noexcept {
    return std::atomic_ref{made_}.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.size(); }  ///< records that it keeps

  /// Writes what it remembers.
  template <ByteSink Sink>
  void write(Sink& sink) const noexcept {
    const std::uint64_t end = made();
    const std::uint64_t kept = (std::min)(end, std::uint64_t{ring_.size()});
    json_writer head{sink};
    head.begin_object().member("format", "rubato.flight").member("version", 1);
    head.member("records", kept).member("lost", end - kept).end_object();
    sink("\n");
    for (std::uint64_t i = end - kept; i < end; ++i) {
      const entry e = ring_[static_cast<std::size_t>(i) & mask_];
      fixed_text<384> line;
      write_line(line, e);
      line("\n");
      sink(line.view());
    }
  }

 private:
  struct entry {
    double now;
    std::uint32_t worker, clock, version, staleness;
    std::uint16_t incarnation, parked;
    record::kind what;
    cause why;
    verdict decided;
    reason because;
  };
  static_assert(sizeof(entry) == 32);

  template <class Line>
  static void write_line(Line& line, const entry& e) noexcept {
    using kind = record::kind;
    json_writer json{line};
    json.begin_object().member("now", e.now).member("what", name(e.what));
    if (e.worker != no_worker)
      json.member("worker", e.worker).member("incarnation", e.incarnation).member("clock", e.clock);
    if (e.what == kind::depart) json.member("why", name(e.why));
    if (e.what == kind::admit || e.what == kind::commit)
      json.member("verdict", name(e.decided)).member("staleness", e.staleness);
    if (e.because != reason::none) json.member("because", name(e.because));
    json.member("version", e.version).member("parked", e.parked).end_object();
  }

  detail::dynarray<entry> ring_;
  std::size_t mask_;
  mutable std::uint64_t made_ = 0;  // mutable: std::atomic_ref reads through references to what is not const
};

}  // namespace rubato::inline RUBATO_ABI

#endif
