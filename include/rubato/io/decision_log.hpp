#ifndef RUBATO_IO_DECISION_LOG_HPP
#define RUBATO_IO_DECISION_LOG_HPP

#include <cstdint>
#include <string_view>
#include <utility>

#include "../core/record.hpp"
#include "json_writer.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

template <class Json>
void write_specifics(Json& json, const record& r) noexcept {
  using kind = record::kind;
  const bool dropped = r.decided == verdict::drop;
  switch (r.what) {
    case kind::join: break;
    case kind::depart: json.member("why", name(r.why)).member("clock", r.clock); break;
    case kind::admit:
      json.member("step", r.step).member("clock", r.clock).member("verdict", name(r.decided));
      if (dropped) json.member("because", name(r.because));
      if (r.decided == verdict::accumulate) json.member("round", r.round);
      if (!dropped) json.member("weight", r.value);
      json.member("staleness", r.staleness).member("loss", r.loss);
      break;
    case kind::commit:
      json.member("step", r.step).member("clock", r.clock).member("verdict", name(r.decided));
      if (r.because != reason::none) json.member("because", name(r.because));
      break;
    case kind::release: json.member("clock", r.clock).member("batch", r.count).member("lr_scale", r.value); break;
    case kind::flush: json.member("round", r.round).member("count", r.count).member("scale", r.value); break;
    case kind::discard:
      json.member("round", r.round).member("count", r.count).member("because", name(r.because));
      break;
    case kind::cancel:
    case kind::exclude:
    case kind::readmit: json.member("clock", r.clock); break;
    case kind::abandon:
    case kind::refuse: json.member("because", name(r.because)); break;
    case kind::adjust:
      if (r.worker.index != no_worker) json.member("clock", r.clock);
      json.member("because", name(r.because));
      break;
    case kind::change_policy: break;
  }
}

}  // namespace detail

/// Writes one record as a line of a decision log, in one call of the sink. No allocation.
template <ByteSink Sink>
void write_decision(Sink& sink, const record& r) noexcept {
  fixed_text<768> line;  // 15 members, names of at most 11 and values of at most 24 characters, quotes, colons, commas
  json_writer json{line};
  json.begin_object().member("now", r.now).member("what", name(r.what));
  if (r.worker.index != no_worker) json.member("worker", r.worker.index).member("incarnation", r.worker.incarnation);
  detail::write_specifics(json, r);
  json.member("version", r.version).member("parked", r.parked).end_object();
  line("\n");
  RUBATO_ASSERT(!line.full(), "a line of the decision log is longer than was thought possible");
  sink(line.view());
}

/// Writes everything a controller does as JSON Lines: one object per line, in the order of the effects.
///
///     const ssp policy{.staleness = 3};
///     decision_log log{std::move(*atomic_file::create("run.jsonl")), policy};
///     controller<ssp, reply, decision_log<atomic_file>> sync{{.capacity = 8}, policy, std::move(log)};
///     ...
///     auto bytes = sync.watcher().sink().commit();
///
/// The first line is {"format":"rubato.decisions","version":1,"policy":"ssp: ...","describe":{...}}. Each other one has
/// `now` (the host's time; null before the first), `what`, and what means something for that kind:
///
///     join               worker, incarnation
///     depart             worker, incarnation, why (leave | death | done), clock
///     admit              worker, incarnation, step, clock, verdict, because (drop), round (accumulate),
///                        weight (not drop), staleness, loss
///     commit             worker, incarnation, step, clock, verdict, because (drop, or failed)
///     release            worker, incarnation, clock, batch (0: the host's), lr_scale
///     flush, discard     round, count (gradients), scale (flush), because (discard)
///     cancel             worker, incarnation, clock
///     abandon, refuse    worker, incarnation, because
///     exclude, readmit   worker, incarnation, clock
///     adjust             worker, incarnation, clock (all three if it is about one), because
///     change_policy      nothing more; policy() adds a line {"now":...,"what":"policy","policy":...,"describe":...}
///
/// and, in every kind, `version` (updates that are in; of a release: that of its grant) and `parked` (how many wait).
/// Readers should accept further members; `version` of the first line grows when a meaning changes.
///
/// Bytes   the same for the same calls on every machine. About 150 bytes a line, two to four lines a push.
/// Cost    O(1) a record: one line formatted, one call of the sink. No allocation. Not thread-safe.
/// Tests   tests/io/decision_log_test.cpp: GoldenLines, OnlyMeaningfulFields, EveryLineIsJson, SameRunSameBytes
template <ByteSink Sink>
class decision_log {
 public:
  /// `policy` is described in the first line; anything whose describe() has a `line` and a `json`.
  template <class Policy>
  decision_log(Sink sink, const Policy& policy) : sink_{std::move(sink)} {
    const auto text = policy.describe();
    json_writer json{sink_};
    json.begin_object().member("format", "rubato.decisions").member("version", std::uint32_t{1});
    json.member("policy", std::string_view{text.line}).key("describe").raw(text.json).end_object();
    sink_("\n");
  }

  /// Notes which policy has taken over: to be called after switch_to.
  template <class Policy>
  void policy(const Policy& taken_over, double now) {
    const auto text = taken_over.describe();
    json_writer json{sink_};
    json.begin_object().member("now", now).member("what", "policy").member("policy", std::string_view{text.line});
    json.key("describe").raw(text.json).end_object();
    sink_("\n");
  }

  /// One line: the controller calls it as its watcher.
  void operator()(const record& r) noexcept { write_decision(sink_, r); }

  /// Where the lines go: for the commit() of a file.
  [[nodiscard]] Sink& sink() noexcept { return sink_; }

 private:
  Sink sink_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
