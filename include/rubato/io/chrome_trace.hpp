#ifndef RUBATO_IO_CHROME_TRACE_HPP
#define RUBATO_IO_CHROME_TRACE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "json_writer.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a chrome_trace keeps, and how it names things.
struct chrome_trace_options {
  std::uint32_t workers = 0;            ///< the controller's capacity; records of higher indices are left out, counted
  double microseconds_per_unit = 1e6;   ///< of the host's unit of time; the default: it counts seconds. Above 0
  std::size_t events = std::size_t{1} << 18;  ///< kept at most, the oldest go first; at least 1, 64 bytes each
  bool counters = true;                 ///< curves of parked workers, version and staleness; about half of all events
  std::string process = "rubato";       ///< name of the process in the viewer
  std::string policy{};                 ///< the policy in one line, for the trace's metadata
};

/// Draws a run as a timeline: Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open.
///
///     controller<ssp, reply, chrome_trace> sync{{.capacity = 8}, {}, chrome_trace{{.workers = 8}}};
///     ...
///     sync.watcher().write(file);  // any ByteSink, any number of times, also in the middle of a run
///
/// Process 1 has a thread for the policy and one per worker. Worker w is thread w + 1, with spans that never overlap:
///
///     step      release -> admit      args: version and clock it ran under; step, staleness, loss of its push
///     server    admit -> commit       args: verdict
///     wait      commit -> release, join -> release      args: clock
///
/// Marks on a worker's thread: dropped gradients, cancel, exclude, readmit, join, departures, refused, abandoned, and
/// what the guard or a clamp did to it. On the policy's thread, workers + 1: flush, discard, policy changes, and what
/// the guard did to nobody in particular. Spans that are open when it is written end at the latest time seen, with
/// "open": true.
///
/// Times are whole microseconds, so that a span ends exactly where the next begins (Perfetto drops overlapping ones);
/// shorter waits and server spans are left out.
/// Cost    O(1) a record. Allocates at construction and in write() only. Not thread-safe.
/// Tests   tests/io/chrome_trace_test.cpp: GoldenBytes, SpansOfAWorkerNeverOverlap, RingKeepsTheLatest, OpenSpansEnd
/// Source  "Trace Event Format", the document that Perfetto's page on external formats links to
class chrome_trace {
 public:
  /// Allocates all it will ever need for records: options.events x 64 bytes, and a track per worker.
  explicit chrome_trace(chrome_trace_options options)
      : options_{std::move(options)}, tracks_(options_.workers), ring_(std::max<std::size_t>(options_.events, 1)) {
    RUBATO_ASSERT(options_.microseconds_per_unit > 0, "microseconds_per_unit must be above 0");
  }

  /// One effect of the controller, which calls it as its watcher. A time that is not finite is passed over.
  void operator()(const record& r) noexcept {
    using kind = record::kind;
    if (!pinned::is_finite(r.now)) return;  // a refusal before the first valid time
    latest_ = (std::max)(latest_, microseconds(r.now));
    const bool about_worker = r.worker.index != no_worker;
    if (about_worker && r.worker.index >= tracks_.size()) {
      ++left_out_;
      return;
    }
    if (about_worker) tracks_[r.worker.index].seen = true;
    switch (r.what) {
      case kind::join:
        mark(r, "join");
        begin(r, span::wait);
        break;
      case kind::depart:
        end(r);
        mark(r, name(r.why));
        break;
      case kind::admit:
        annotate_step(r);
        end(r);
        if (r.decided == verdict::drop) mark(r, "drop", r.because);
        begin(r, span::server);
        tracks_[r.worker.index].open.decided = r.decided;
        count(counter::staleness, r.staleness);
        break;
      case kind::commit:
        if (is_open(r, span::server)) {  // else its worker has gone since the admission
          end(r);
          begin(r, span::wait);
        }
        if (r.because == reason::failed) mark(r, "failed");
        break;
      case kind::release:
        end(r);
        begin(r, span::step);
        tracks_[r.worker.index].open.number = r.version;
        break;
      case kind::flush:
      case kind::discard: push_round(name(r.what), r.count, r.round, r.value); break;
      case kind::cancel:
      case kind::exclude:
      case kind::readmit: mark(r, name(r.what)); break;
      case kind::abandon:
      case kind::refuse: mark(r, name(r.what), r.because); break;
      case kind::adjust: mark(r, is_guard(r.because) ? "guard" : "adjust", r.because); break;
      case kind::change_policy: mark(r, "policy change"); break;
    }
    count(counter::parked, r.parked);
    if (r.what != kind::release) count(counter::version, r.version);  // a release has that of its grant
  }

  /// Events that newer ones have replaced: with them, `options.events` was too few.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return made_ > ring_.size() ? made_ - ring_.size() : 0; }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }  ///< records of unknown worker indices

  /// Writes the whole trace as one JSON object, one event per line.
  template <ByteSink Sink>
  void write(Sink& sink) const {
    json_writer json{sink};
    json.begin_object().key("traceEvents").begin_array();
    write_names(json);
    const std::uint64_t kept = std::min<std::uint64_t>(made_, ring_.size());
    for (std::uint64_t i = made_ - kept; i < made_; ++i) write_event(json, ring_[i % ring_.size()], false);
    for (std::uint32_t w = 0; w < tracks_.size(); ++w) {
      item open = tracks_[w].open;
      if (open.what == span::none) continue;
      open.duration = latest_ - open.start;
      write_event(json, open, true);
    }
    for (const curve& c : curves_)
      if (c.waiting) write_event(json, c.latest, false);
    json.new_line().end_array().member("displayTimeUnit", "ms").key("otherData").begin_object();
    json.member("generator", "rubato").member("policy", std::string_view{options_.policy});
    json.member("microseconds_per_unit", options_.microseconds_per_unit);
    json.member("events_dropped", dropped()).member("records_left_out", left_out_).end_object().end_object();
    sink("\n");
  }

 private:
  enum class span : std::uint8_t { none, step, server, wait, mark, round, counter };
  enum class counter : std::uint8_t { parked, version, staleness };

  // One event; which members mean something depends on `what`.
  struct item {
    std::int64_t start = 0;     // microseconds
    std::int64_t duration = 0;  // of spans
    std::string_view name{};    // of marks, rounds and counters; always a literal
    std::uint64_t number = 0;   // step: version of its grant; round: which; counter: value
    std::uint32_t worker = no_worker;
    std::uint32_t amount = 0;   // step, server, wait: clock; round: gradients
    float value = 0.0F;         // step: loss; round: scale
    std::uint32_t step = 0;  // 0: it has not ended in a push
    std::uint32_t staleness = 0;
    span what = span::none;
    verdict decided = verdict::apply;
    reason because = reason::none;
  };
  struct track {
    item open{};
    std::uint32_t incarnation = 0;
    bool seen = false;
  };
  struct curve {
    item latest{};
    bool waiting = false;  // not in the ring yet: a later value of the same microsecond replaces it
  };

  // Rounded; limited to what a double, and so every reader of JSON, holds exactly.
  [[nodiscard]] std::int64_t microseconds(double time) const noexcept {
    constexpr double limit = 0x1p53;
    return static_cast<std::int64_t>(std::clamp(std::nearbyint(time * options_.microseconds_per_unit), -limit, limit));
  }

  [[nodiscard]] static constexpr std::uint32_t narrow(std::uint64_t n) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, no_worker));
  }

  [[nodiscard]] static constexpr bool is_guard(reason why) noexcept {
    return why >= reason::liveness && why <= reason::nobody_left;
  }

  void push(const item& event) noexcept { ring_[static_cast<std::size_t>(made_++ % ring_.size())] = event; }

  [[nodiscard]] bool is_open(const record& r, span what) const noexcept {
    const track& t = tracks_[r.worker.index];
    return t.open.what == what && t.incarnation == r.worker.incarnation;
  }

  void begin(const record& r, span what) noexcept {
    track& t = tracks_[r.worker.index];
    t.incarnation = r.worker.incarnation;
    t.open = {.start = microseconds(r.now), .worker = r.worker.index, .amount = narrow(r.clock), .what = what};
  }

  void end(const record& r) noexcept {
    item& open = tracks_[r.worker.index].open;
    if (open.what == span::none) return;
    open.duration = std::max<std::int64_t>(microseconds(r.now) - open.start, 0);
    if (open.duration > 0 || open.what == span::step) push(open);
    open.what = span::none;
  }

  void annotate_step(const record& r) noexcept {
    item& open = tracks_[r.worker.index].open;
    open.step = narrow(r.step);
    open.staleness = narrow(r.staleness);
    open.value = r.loss;
  }

  void mark(const record& r, std::string_view name, reason why = reason::none) noexcept {
    push({.start = microseconds(r.now), .name = name, .worker = r.worker.index, .what = span::mark, .because = why});
  }

  void push_round(std::string_view name, std::uint32_t gradients, std::uint64_t round, float scale) noexcept {
    push({.start = latest_, .name = name, .number = round, .amount = gradients, .value = scale, .what = span::round});
  }

  void count(counter which, std::uint64_t value) noexcept {
    if (!options_.counters) return;
    constexpr std::array<std::string_view, 3> names{"parked", "version", "staleness"};
    curve& c = curves_[static_cast<std::size_t>(which)];
    if (!c.latest.name.empty() && c.latest.number == value) return;
    if (c.waiting && c.latest.start != latest_) push(c.latest);
    const std::string_view name = names[static_cast<std::size_t>(which)];
    c.latest = {.start = latest_, .name = name, .number = value, .what = span::counter};
    c.waiting = true;
  }

  [[nodiscard]] std::uint64_t thread_of(std::uint32_t worker) const noexcept {
    return (worker == no_worker ? std::uint64_t{options_.workers} : worker) + 1;  // Perfetto keeps thread 0 for itself
  }

  template <class Json>
  static void write_name(Json& json, std::string_view what, std::uint64_t thread, std::string_view key, auto value) {
    json.new_line().begin_object().member("ph", "M").member("pid", 1).member("tid", thread).member("name", what);
    json.key("args").begin_object().member(key, value).end_object().end_object();
  }

  template <class Json>
  void write_names(Json& json) const {
    write_name(json, "process_name", thread_of(no_worker), "name", std::string_view{options_.process});
    write_name(json, "thread_name", thread_of(no_worker), "name", std::string_view{"policy"});
    write_name(json, "thread_sort_index", thread_of(no_worker), "sort_index", 0);
    for (std::uint32_t w = 0; w < tracks_.size(); ++w) {
      if (!tracks_[w].seen) continue;
      write_name(json, "thread_name", thread_of(w), "name", std::string_view{"worker " + std::to_string(w)});
      write_name(json, "thread_sort_index", thread_of(w), "sort_index", thread_of(w));
    }
  }

  template <class Json>
  void write_event(Json& json, const item& e, bool still_open) const {
    const bool is_span = e.what == span::step || e.what == span::server || e.what == span::wait;
    json.new_line().begin_object().member("ph", is_span ? "X" : e.what == span::counter ? "C" : "i");
    json.member("pid", 1);
    if (e.what != span::counter) json.member("tid", thread_of(e.worker));
    json.member("ts", e.start);
    if (is_span) json.member("dur", e.duration);
    switch (e.what) {
      case span::none: break;
      case span::step:
        json.member("name", "step").key("args").begin_object();
        json.member("version", e.number).member("clock", e.amount);
        if (e.step > 0) json.member("step", e.step).member("staleness", e.staleness).member("loss", e.value);
        break;
      case span::server:
        json.member("name", "server").key("args").begin_object().member("verdict", rubato::name(e.decided));
        break;
      case span::wait: json.member("name", "wait").key("args").begin_object().member("clock", e.amount); break;
      case span::mark:
        json.member("s", "t").member("name", e.name).key("args").begin_object();
        if (e.because != reason::none) json.member("because", rubato::name(e.because));
        break;
      case span::round:
        json.member("s", "t").member("name", e.name).key("args").begin_object().member("round", e.number);
        json.member("gradients", e.amount).member("scale", e.value);
        break;
      case span::counter: json.member("name", e.name).key("args").begin_object().member(e.name, e.number); break;
    }
    if (still_open) json.member("open", true);
    json.end_object().end_object();
  }

  chrome_trace_options options_;
  detail::dynarray<track> tracks_;
  detail::dynarray<item> ring_;
  std::array<curve, 3> curves_{};
  std::uint64_t made_ = 0;  // events, those that the ring has lost included
  std::uint64_t left_out_ = 0;
  std::int64_t latest_ = -(std::int64_t{1} << 53);
};

}  // namespace rubato::inline RUBATO_ABI

#endif
