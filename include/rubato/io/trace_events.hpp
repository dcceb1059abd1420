#ifndef RUBATO_IO_TRACE_EVENTS_HPP
#define RUBATO_IO_TRACE_EVENTS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../core/decision.hpp"
#include "../core/event.hpp"
#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// One event of a timeline; which members mean something depends on `what` and `phase`.
struct trace_event {
  enum class kind : std::uint8_t { none, compute, apply, wait, round, mark, decision, gradient, counter };

  std::int64_t at = 0;                       // microseconds
  std::string_view name{};                   // of rounds, marks, decisions and counters; always a literal
  std::uint64_t number = 0;                  // compute: version of its grant; round: which; gradient: of the flow
  const std::string_view* names = nullptr;   // decision: of its values
  double value = 0.0;                        // compute: loss; round: scale; counter: value
  std::array<float, 4> values{};             // decision
  std::uint32_t worker = no_worker;          // whose thread; no_worker: the policy's
  std::uint32_t amount = 0;                  // compute, wait: clock; round: gradients; decision: how many values
  std::uint32_t step = 0;                    // end of compute; 0: it has not ended in a push
  std::uint32_t staleness = 0;               // likewise
  char phase = 'i';                          // as in the file
  kind what = kind::none;
  verdict decided = verdict::apply;          // apply
  reason because = reason::none;             // mark
  cause why = cause::push;                   // decision
  bool open = false;                         // an end that has not come yet
};

/// Makes the events of a timeline out of what a controller does, each track's in the order of time: `out` is called
/// with one after the other, and nothing is kept of those that it was called with. chrome_trace.hpp says what they are.
///
/// Cost    O(1) a record, and for the end of a round O(rounds' gradients that are open). No allocation after
///         construction.
class trace_events {
  using kind = trace_event::kind;

 public:
  /// The capacity; records of higher indices are left out, and counted.
  trace_events(std::uint32_t workers, double microseconds_per_unit, bool counters)
      : tracks_(workers), open_(2 * std::size_t{workers}), microseconds_per_unit_{microseconds_per_unit},
        counts_{counters} {}

  template <class Out>
  void operator()(const record& r, Out&& out) noexcept {
    if (!pinned::is_finite(r.now)) return;  // a refusal before the first valid time
    latest_ = (std::max)(latest_, microseconds(r.now));
    window_began_ = (std::min)(window_began_, latest_);
    const bool about_worker = r.worker.index != no_worker;
    if (about_worker && r.worker.index >= tracks_.size()) {
      ++left_out_;
      return;
    }
    if (about_worker) tracks_[r.worker.index].seen = true;
    draw(r, out);
    count(counter::waiting, static_cast<double>(r.parked), out);
    if (r.what != record::kind::release) count(counter::version, static_cast<double>(r.version), out);
  }

  template <class Out>
  void answered(const event& asked, const decision& answer, const insight& by, Out&& out) noexcept {
    constexpr std::array<std::string_view, 7> verbs{"hold",  "submitter",   "only",        "all",
                                                    "up_to", "up_to_clock", "contributors"};
    if (!pinned::is_finite(asked.now)) return;
    latest_ = (std::max)(latest_, microseconds(asked.now));
    trace_event e{.at = latest_, .name = verbs[static_cast<std::size_t>(answer.verb)], .what = kind::decision};
    e.number = asked.worker;
    e.why = asked.why;
    if (asked.why == cause::push) {  // else they are of an earlier one
      e.names = by.names.data();
      e.amount = static_cast<std::uint32_t>((std::min)(by.names.size(), by.values.size()));
      e.values = by.values;
    }
    out(e);
  }

  /// What would end everything that is open.
  template <class Out>
  void close(Out&& out) const noexcept {
    for (std::size_t w = 0; w < tracks_.size(); ++w) {
      track t = tracks_[w];
      if (t.is == kind::none) continue;
      begin_drawing(t, static_cast<std::uint32_t>(w), out);
      trace_event last = end_of(t, static_cast<std::uint32_t>(w));
      last.open = true;
      out(last);
    }
    for (const curve& c : curves_)
      if (c.waiting) out(c.latest);
  }

  [[nodiscard]] std::uint32_t workers() const noexcept { return static_cast<std::uint32_t>(tracks_.size()); }
  [[nodiscard]] bool seen(std::uint32_t worker) const noexcept { return tracks_[worker].seen; }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  enum class counter : std::uint8_t { waiting, version, staleness, rate };

  struct track {
    std::int64_t since = 0;
    std::uint64_t version = 0;  // of the grant
    std::uint64_t flow = 0;     // of the gradient under way
    double loss = 0.0;
    std::uint32_t clock = 0;
    std::uint32_t step = 0;
    std::uint32_t staleness = 0;
    std::uint32_t incarnation = 0;
    kind is = kind::none;
    verdict decided = verdict::apply;
    bool drawn = false;  // its begin; what begins and ends in the same microsecond is not
    bool seen = false;
  };
  struct curve {
    trace_event latest{};
    bool waiting = false;  // not out yet: a later value of the same microsecond replaces it
  };
  struct open_gradient {
    std::uint64_t flow = 0;
    std::uint64_t round = 0;
  };

  // Rounded; limited to what a double, and so every reader of JSON, holds exactly.
  [[nodiscard]] std::int64_t microseconds(double time) const noexcept {
    constexpr double limit = 0x1p53;
    return static_cast<std::int64_t>(std::clamp(std::nearbyint(time * microseconds_per_unit_), -limit, limit));
  }
  [[nodiscard]] static constexpr std::uint32_t narrow(std::uint64_t n) noexcept {
    return static_cast<std::uint32_t>((std::min)(n, std::uint64_t{no_worker}));
  }
  [[nodiscard]] static constexpr bool is_guard(reason why) noexcept {
    return why >= reason::liveness && why <= reason::nobody_left;
  }

  template <class Out>
  void draw(const record& r, Out& out) noexcept {
    using is = record::kind;
    switch (r.what) {
      case is::join:
        mark(r, "join", reason::none, out);
        return begin(r, kind::wait);
      case is::depart:
        end(r, out);
        return mark(r, name(r.why), reason::none, out);
      case is::admit: return admit(r, out);
      case is::commit: return commit(r, out);
      case is::release:
        end(r, out);
        return begin(r, kind::compute);
      case is::flush:
      case is::discard: return end_round(r, out);
      case is::cancel:
      case is::exclude:
      case is::readmit: return mark(r, name(r.what), reason::none, out);
      case is::abandon:
      case is::refuse: return mark(r, name(r.what), r.because, out);
      case is::adjust: return mark(r, is_guard(r.because) ? "guard" : "adjust", r.because, out);
      case is::change_policy: return mark(r, "policy change", reason::none, out);
    }
  }

  void begin(const record& r, kind what) noexcept {
    track& t = tracks_[r.worker.index];
    t.is = what;
    t.since = latest_;
    t.drawn = false;
    t.incarnation = r.worker.incarnation;
    t.clock = narrow(r.clock);
    t.version = r.version;
    t.decided = r.decided;
    t.step = 0;
  }

  template <class Out>
  static void begin_drawing(track& t, std::uint32_t worker, Out& out) noexcept {
    if (t.is == kind::none || t.drawn) return;
    t.drawn = true;
    out(trace_event{.at = t.since, .number = t.version, .worker = worker, .amount = t.clock, .phase = 'B',
                    .what = t.is, .decided = t.decided});
  }
  [[nodiscard]] trace_event end_of(const track& t, std::uint32_t worker) const noexcept {
    return {.at = latest_, .value = t.loss, .worker = worker, .step = t.step, .staleness = t.staleness, .phase = 'E',
            .what = t.is};
  }

  template <class Out>
  void end(const record& r, Out& out) noexcept {
    track& t = tracks_[r.worker.index];
    if (t.is == kind::none) return;
    if (t.drawn || t.is != kind::wait || t.since < latest_) {
      begin_drawing(t, r.worker.index, out);
      out(end_of(t, r.worker.index));
    }
    t.is = kind::none;
  }

  template <class Out>
  void admit(const record& r, Out& out) noexcept {
    track& t = tracks_[r.worker.index];
    const bool dropped = r.decided == verdict::drop;
    t.flow = 0;
    if (t.is != kind::none) {
      t.step = narrow(r.step);
      t.staleness = narrow(r.staleness);
      t.loss = static_cast<double>(r.loss);
      begin_drawing(t, r.worker.index, out);
      if (!dropped) out(arrow('s', t.flow = ++flows_, r.worker.index));
    }
    end(r, out);
    if (dropped) mark(r, "drop", r.because, out);
    begin(r, kind::apply);
    begin_drawing(t, r.worker.index, out);
    if (t.flow != 0) {
      const bool waits = r.decided == verdict::accumulate && opened_ < open_.size();
      if (waits) open_[opened_++] = {t.flow, r.round};
      out(arrow(waits ? 't' : 'f', t.flow, r.worker.index));
    }
    count(counter::staleness, static_cast<double>(r.staleness), out);
    if (++pushes_ % window() != 0) return;
    if (latest_ > window_began_)
      count(counter::rate, window() * 1e6 / static_cast<double>(latest_ - window_began_), out);
    window_began_ = latest_;
  }

  template <class Out>
  void commit(const record& r, Out& out) noexcept {
    const track& t = tracks_[r.worker.index];
    if (t.is == kind::apply && t.incarnation == r.worker.incarnation) {  // else its worker has gone meanwhile
      end(r, out);
      begin(r, kind::wait);
    }
    if (r.because != reason::failed) return;
    mark(r, "failed", reason::none, out);
    if (t.flow != 0) forget([&](const open_gradient& each) { return each.flow == t.flow; });
  }

  template <class Out>
  void end_round(const record& r, Out& out) noexcept {
    trace_event e{.at = latest_, .name = name(r.what), .number = r.round, .value = static_cast<double>(r.value),
                  .amount = r.count, .phase = 'B', .what = kind::round};
    out(e);
    forget([&](const open_gradient& each) {
      if (each.round == r.round) out(arrow('f', each.flow, no_worker));
      return each.round == r.round;
    });
    e.phase = 'E';
    out(e);
  }

  template <class Which>
  void forget(Which&& which) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < opened_; ++i)
      if (!which(open_[i])) open_[kept++] = open_[i];
    opened_ = kept;
  }

  [[nodiscard]] trace_event arrow(char phase, std::uint64_t flow, std::uint32_t worker) const noexcept {
    return {.at = latest_, .number = flow, .worker = worker, .phase = phase, .what = kind::gradient};
  }

  template <class Out>
  void mark(const record& r, std::string_view called, reason why, Out& out) noexcept {
    if (r.worker.index != no_worker) begin_drawing(tracks_[r.worker.index], r.worker.index, out);
    out(trace_event{.at = latest_, .name = called, .worker = r.worker.index, .what = kind::mark, .because = why});
  }

  template <class Out>
  void count(counter which, double value, Out& out) noexcept {
    if (!counts_) return;
    constexpr std::array<std::string_view, 4> names{"waiting", "version", "staleness", "pushes/s"};
    curve& c = curves_[static_cast<std::size_t>(which)];
    if (!c.latest.name.empty() && c.latest.value == value) return;
    if (c.waiting && c.latest.at != latest_) out(c.latest);
    const std::string_view called = names[static_cast<std::size_t>(which)];
    c.latest = {.at = latest_, .name = called, .value = value, .phase = 'C', .what = kind::counter};
    c.waiting = true;
  }

  [[nodiscard]] std::uint32_t window() const noexcept { return 2 * workers(); }  // pushes, of which the rate is that

  dynarray<track> tracks_;
  dynarray<open_gradient> open_;  // the first `opened_` wait for the end of their round
  std::size_t opened_ = 0;
  std::array<curve, 4> curves_{};
  double microseconds_per_unit_;
  bool counts_;
  std::uint64_t flows_ = 0;
  std::uint64_t pushes_ = 0;
  std::uint64_t left_out_ = 0;
  std::int64_t latest_ = -(std::int64_t{1} << 53);
  std::int64_t window_began_ = -latest_;  // at the first record
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
