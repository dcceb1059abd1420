#ifndef RUBATO_IO_CHROME_TRACE_HPP
#define RUBATO_IO_CHROME_TRACE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dynarray.hpp"
#include "json_writer.hpp"
#include "trace_events.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a timeline shows, and how it names things.
struct chrome_trace_options {
  std::uint32_t workers = 0;            ///< the controller's capacity; records of higher indices are left out, counted
  double microseconds_per_unit = 1e6;   ///< of the host's unit of time; the default: it counts seconds. Above 0
  std::size_t events = std::size_t{1} << 18;  ///< chrome_trace keeps so many, the oldest go first; at least 1
  bool counters = true;                 ///< curves: a third of all events
  std::string process = "rubato";       ///< name of the process in the viewer
  std::string policy{};                 ///< the policy in one line, for the trace's metadata
};

namespace detail {

[[nodiscard]] inline std::uint64_t thread_of(std::uint32_t worker, std::uint32_t workers) noexcept {
  return (worker == no_worker ? std::uint64_t{workers} : worker) + 1;  // Perfetto keeps thread 0 for itself
}

/// Writes the pieces of a trace; between head and tail, events and names, each of which begins a line.
template <ByteSink Sink>
class trace_writer {
 public:
  trace_writer(Sink& sink, std::uint32_t workers, bool is_first) noexcept
      : sink_{sink}, workers_{workers}, is_first_{is_first} {}

  void head(const chrome_trace_options& options) {
    sink_("{\"traceEvents\":[");
    name("process_name", no_worker, "name", std::string_view{options.process});
    name("thread_name", no_worker, "name", std::string_view{"policy"});
    name("thread_sort_index", no_worker, "sort_index", 0);
  }
  void worker_name(std::uint32_t worker) {
    name("thread_name", worker, "name", std::string_view{"worker " + std::to_string(worker)});
    name("thread_sort_index", worker, "sort_index", thread_of(worker, workers_));
  }
  void tail(const chrome_trace_options& options, std::uint64_t dropped, std::uint64_t left_out) {
    sink_("\n],\"displayTimeUnit\":\"ms\",\"otherData\":");
    json_writer json{sink_};
    json.begin_object().member("generator", "rubato").member("policy", std::string_view{options.policy});
    json.member("microseconds_per_unit", options.microseconds_per_unit);
    json.member("events_dropped", dropped).member("records_left_out", left_out).end_object();
    sink_("}\n");
  }

  void event(const trace_event& e) {
    using kind = trace_event::kind;
    new_line();
    json_writer json{sink_};
    json.begin_object().member("ph", std::string_view{&e.phase, 1}).member("pid", 1);
    if (e.what != kind::counter) json.member("tid", thread_of(e.worker, workers_));
    json.member("ts", e.at);
    if (e.phase == 'E') {
      if (e.step > 0 || e.open) end_of_span(json, e);
    } else {
      begin_of_span(json, e);
    }
    json.end_object();
  }

 private:
  void new_line() { sink_(std::exchange(is_first_, false) ? "\n" : ",\n"); }

  void name(std::string_view what, std::uint32_t worker, std::string_view key, auto value) {
    new_line();
    json_writer json{sink_};
    json.begin_object().member("ph", "M").member("pid", 1).member("tid", thread_of(worker, workers_));
    json.member("name", what).key("args").begin_object().member(key, value).end_object().end_object();
  }

  static void end_of_span(json_writer<Sink>& json, const trace_event& e) {
    json.key("args").begin_object();
    if (e.step > 0) json.member("step", e.step).member("staleness", e.staleness).member("loss", e.value);
    if (e.open) json.member("open", true);
    json.end_object();
  }

  static void begin_of_span(json_writer<Sink>& json, const trace_event& e) {
    using kind = trace_event::kind;
    switch (e.what) {
      case kind::none: return;
      case kind::compute:
        json.member("name", "compute").key("args").begin_object();
        json.member("version", e.number).member("clock", e.amount);
        break;
      case kind::apply:
        json.member("name", "apply").key("args").begin_object().member("verdict", rubato::name(e.decided));
        break;
      case kind::wait: json.member("name", "wait").key("args").begin_object().member("clock", e.amount); break;
      case kind::round:
        json.member("name", e.name).key("args").begin_object().member("round", e.number);
        json.member("gradients", e.amount).member("scale", e.value);
        break;
      case kind::mark:
        json.member("s", "t").member("name", e.name).key("args").begin_object();
        if (e.because != reason::none) json.member("because", rubato::name(e.because));
        break;
      case kind::decision:
        json.member("s", "t").member("name", e.name).key("args").begin_object().member("asked", rubato::name(e.why));
        if (e.number != no_worker) json.member("worker", e.number);
        for (std::uint32_t i = 0; i < e.amount; ++i) json.member(e.names[i], e.values[i]);
        break;
      case kind::gradient:
        json.member("cat", "gradient").member("name", "gradient").member("id", e.number);
        if (e.phase == 'f') json.member("bp", "e");
        return;
      case kind::counter: json.member("name", e.name).key("args").begin_object().member(e.name, e.value); break;
    }
    json.end_object();
  }

  Sink& sink_;
  std::uint32_t workers_;
  bool is_first_;
};

}  // namespace detail

/// Draws a run as a timeline: Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open. The latest events are
/// kept in memory, and written when somebody asks for them.
///
///     controller<ssp, reply, chrome_trace> sync{{.capacity = 8}, {}, chrome_trace{{.workers = 8}}};
///     ...
///     sync.watcher().write(file);  // any ByteSink, any number of times, also in the middle of a run
///
/// Process 1 has a thread for the policy and one per worker. Worker w is thread w + 1, with spans that never overlap:
///
///     compute   release -> admit      args: version and clock it ran under; step, staleness, loss of its push
///     apply     admit -> commit       args: verdict
///     wait      commit -> release, join -> release      args: clock
///
/// An arrow for each gradient that is not dropped goes from its `compute` to its `apply`, and on to the `flush` or
/// `discard` of its round; it ends at `apply` where rounds that are open have 2 x workers gradients already. Marks on a
/// worker's thread: dropped gradients, cancel, exclude, readmit, join, departures, refused, abandoned, and what the
/// guard or a clamp did to it.
///
/// On the policy's thread, workers + 1: each answer, by its verb, with what it was asked and what it went by (insight:
/// the values of a learned policy's actions, the level of knee); flush and discard; policy changes, and what the guard
/// did to nobody in particular. Curves: waiting workers, version, staleness of each gradient, and pushes a second (of
/// the host's time, over twice as many pushes as there are workers).
///
/// Each track's events stand in the order of time. Times are whole microseconds, so that a span ends exactly where the
/// next begins; shorter waits are left out. Spans that are open when it is written end at the latest time seen, with
/// "open": true.
/// Cost    O(1) a record. Allocates at construction, options.events x 88 bytes and a track per worker, and in write().
///         Not thread-safe.
/// Tests   tests/io/chrome_trace_test.cpp: GoldenBytes, IsWhatPerfettoReads, SpansFillTheTimeOfAMember,
///         RingKeepsTheLatest, ARingThatWasCutStaysBalanced, OpenSpansEnd, EveryGradientIsAnArrow,
///         DecisionsShowWhatTheyWentBy; tests/sim/timeline_test.cpp;
///         tests/integrations/threads_ps/timeline_test.cpp: OfRealThreadsIsWhole
/// Source  "Trace Event Format", the document that Perfetto's page on external formats links to
class chrome_trace {
 public:
  /// Allocates all it will ever need for records.
  explicit chrome_trace(chrome_trace_options options)
      : options_{std::move(options)}, events_{options_.workers, options_.microseconds_per_unit, options_.counters},
        ring_((std::max)(options_.events, std::size_t{1})) {
    RUBATO_ASSERT(options_.microseconds_per_unit > 0, "microseconds_per_unit must be above 0");
  }

  /// One effect of the controller, which calls it as its watcher. A time that is not finite is passed over.
  void operator()(const record& r) noexcept {
    events_(r, [this](const detail::trace_event& e) { keep(e); });
  }
  /// One answer of its policy; likewise.
  void answered(const event& asked, const decision& answer, const insight& by) noexcept {
    events_.answered(asked, answer, by, [this](const detail::trace_event& e) { keep(e); });
  }

  /// Events that newer ones have replaced: with them, `options.events` was too few.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return made_ > ring_.size() ? made_ - ring_.size() : 0; }
  /// Records of unknown worker indices.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return events_.left_out(); }

  /// Writes the whole trace as one JSON object, one event per line. Ends of spans and of arrows whose begins the ring
  /// has lost are left out.
  template <ByteSink Sink>
  void write(Sink& sink) const {
    detail::trace_writer writer{sink, options_.workers, true};
    writer.head(options_);
    for (std::uint32_t w = 0; w < options_.workers; ++w)
      if (events_.seen(w)) writer.worker_name(w);
    std::vector<char> in_span(std::size_t{options_.workers} + 1);
    std::uint64_t first_arrow = (std::numeric_limits<std::uint64_t>::max)();
    const auto put = [&](const detail::trace_event& e) {
      char& within = in_span[detail::thread_of(e.worker, options_.workers) - 1];
      if (e.phase == 'B') within = 1;
      if (e.phase == 'E' && std::exchange(within, char{0}) == 0) return;
      if (e.what == detail::trace_event::kind::gradient) {
        if (within == 0 || (e.phase != 's' && e.number < first_arrow)) return;
        if (e.phase == 's') first_arrow = (std::min)(first_arrow, e.number);
      }
      writer.event(e);
    };
    const std::uint64_t kept = (std::min)(made_, std::uint64_t{ring_.size()});
    for (std::uint64_t i = made_ - kept; i < made_; ++i) put(ring_.data()[i % ring_.size()]);
    events_.close(put);
    writer.tail(options_, dropped(), left_out());
  }

 private:
  void keep(const detail::trace_event& e) noexcept { ring_.data()[made_++ % ring_.size()] = e; }

  chrome_trace_options options_;
  detail::trace_events events_;
  detail::dynarray<detail::trace_event> ring_;
  std::uint64_t made_ = 0;  // events, those that the ring has lost included
};

/// The same timeline, written while the run goes on: whole, however long it is, in memory for a track per worker.
///
///     chrome_trace_stream seen{std::move(*atomic_file::create("trace.json")), {.workers = 8}};
///     ... as the observer of a controller; then
///     seen.finish();
///     auto bytes = seen.sink().commit();
///
/// Cost    O(1) a record, ten events of about 80 bytes a push. Allocates at construction and when a worker is first
///         seen. Not thread-safe.
/// Tests   tests/io/chrome_trace_test.cpp: AStreamIsTheSameTrace
template <ByteSink Sink>
class chrome_trace_stream {
 public:
  /// Writes the head. options.events means nothing here.
  chrome_trace_stream(Sink sink, chrome_trace_options options)
      : sink_{std::move(sink)}, options_{std::move(options)},
        events_{options_.workers, options_.microseconds_per_unit, options_.counters} {
    RUBATO_ASSERT(options_.microseconds_per_unit > 0, "microseconds_per_unit must be above 0");
    detail::trace_writer{sink_, options_.workers, true}.head(options_);
  }

  /// One effect of the controller, which calls it as its watcher. A time that is not finite is passed over.
  void operator()(const record& r) noexcept {
    const std::uint32_t w = r.worker.index;
    const bool is_new = w < options_.workers && !events_.seen(w);
    events_(r, [this](const detail::trace_event& e) { writer().event(e); });
    if (is_new && events_.seen(w)) writer().worker_name(w);
  }
  /// One answer of its policy; likewise.
  void answered(const event& asked, const decision& answer, const insight& by) noexcept {
    events_.answered(asked, answer, by, [this](const detail::trace_event& e) { writer().event(e); });
  }

  /// Ends what is open, and the file. Once; nothing is to be observed afterwards.
  void finish() {
    events_.close([this](const detail::trace_event& e) { writer().event(e); });
    writer().tail(options_, 0, events_.left_out());
  }
  /// Where the bytes go: for the commit() of a file.
  [[nodiscard]] Sink& sink() noexcept { return sink_; }

 private:
  [[nodiscard]] detail::trace_writer<Sink> writer() noexcept { return {sink_, options_.workers, false}; }

  Sink sink_;
  chrome_trace_options options_;
  detail::trace_events events_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
