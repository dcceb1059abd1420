#ifndef RUBATO_IO_METRICS_HPP
#define RUBATO_IO_METRICS_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../core/number_text.hpp"
#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "byte_sink.hpp"

namespace rubato::inline RUBATO_ABI {

/// Counts what a controller does, and writes it as the text that Prometheus reads (exposition format 0.0.4).
///
///     controller<ssp, reply, metrics> sync{{.capacity = 8}, {}, metrics{8}};
///     ...
///     sync.watcher().write(answer);  // any ByteSink, under the mutex of the calls
///
///     rubato_records_total{what}             counter    things that it did, by the kinds of a decision_log
///     rubato_gradients_total{verdict}        counter    apply, accumulate, drop
///     rubato_reasons_total{what,reason}      counter    why gradients were dropped, calls refused, inputs adjusted ...
///     rubato_staleness                       histogram  of admitted gradients, in updates
///     rubato_wait_seconds                    histogram  from commit or join to the next start
///     rubato_waiting_workers                 gauge
///     rubato_version                         gauge      updates that are in
///
/// Series that are 0 are left out of those with labels; there are none by worker, of whom there may be thousands: see
/// scores.
/// Cost    O(1) a record. 16 bytes a worker, made at construction; no other allocation. Not thread-safe.
/// Tests   tests/io/metrics_test.cpp: GoldenText, HistogramsAddUp
class metrics {
 public:
  /// The controller's capacity, and how many seconds the host's unit of time is.
  explicit metrics(std::uint32_t workers, double seconds_per_unit = 1.0)
      : waiting_since_(workers), seconds_per_unit_{seconds_per_unit} {}

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    using kind = record::kind;
    ++kinds_[static_cast<std::size_t>(r.what)];
    parked_ = r.parked;
    if (r.what != kind::release) version_ = r.version;
    if (r.because != reason::none && r.what != kind::commit) count_reason(r);
    const std::uint32_t w = r.worker.index;
    if (w >= waiting_since_.size()) return;
    wait& since = waiting_since_[w];
    if (r.what == kind::admit) {
      ++verdicts_[static_cast<std::size_t>(r.decided)];
      staleness_.add(r.staleness, static_cast<double>(r.staleness));
    } else if (r.what == kind::commit || r.what == kind::join) {
      since = {r.now, true};
    } else if (r.what == kind::depart) {
      since.waits = false;
    } else if (r.what == kind::release && since.waits) {
      since.waits = false;
      const double seconds = (r.now - since.from) * seconds_per_unit_;
      waits_.add(static_cast<std::uint64_t>((std::min)(seconds * 1e6, 1e18)), seconds);
    }
  }

  /// Writes all of it.
  template <ByteSink Sink>
  void write(Sink& sink) const {
    const text<Sink> out{sink};
    out.head("rubato_records_total", "counter", "Things that the controller did.");
    for (std::size_t k = 0; k < kinds; ++k)
      out.labelled("rubato_records_total", "what", name(static_cast<record::kind>(k)), kinds_[k]);
    out.head("rubato_gradients_total", "counter", "Gradients by what was to be done with them.");
    for (const verdict each : {verdict::apply, verdict::accumulate, verdict::drop})
      out.labelled("rubato_gradients_total", "verdict", name(each), verdicts_[static_cast<std::size_t>(each)]);
    out.head("rubato_reasons_total", "counter", "Why something was dropped, refused or corrected.");
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::size_t why = 1; why < reasons; ++why) {
        if (reasons_[k][why] == 0) continue;
        sink("rubato_reasons_total{what=\"");
        sink(name(static_cast<record::kind>(k)));
        sink("\",reason=\"");
        sink(name(static_cast<reason>(why)));
        sink("\"} ");
        out.number(static_cast<double>(reasons_[k][why]));
      }
    out.histogram("rubato_staleness", "Updates between what a gradient was computed from and its arrival.", staleness_,
                  1.0);
    out.histogram("rubato_wait_seconds", "From a commit or a join to the next start.", waits_, 1e6);
    out.head("rubato_waiting_workers", "gauge", "Workers that wait.");
    out.plain("rubato_waiting_workers", static_cast<double>(parked_));
    out.head("rubato_version", "gauge", "Updates that are in.");
    out.plain("rubato_version", static_cast<double>(version_));
  }

 private:
  static constexpr std::size_t kinds = 14, reasons = static_cast<std::size_t>(reason::count_), buckets = 26;

  struct wait {
    double from = 0.0;
    bool waits = false;
  };
  // Bucket b counts what is below 2^b, and not in one before; the last one counts the rest.
  struct powers {
    std::array<std::uint64_t, buckets> counts{};
    double sum = 0.0;
    void add(std::uint64_t whole, double value) noexcept {
      ++counts[(std::min)(static_cast<std::size_t>(std::bit_width(whole)), buckets - 1)];
      sum += value;
    }
  };

  void count_reason(const record& r) noexcept {
    ++reasons_[static_cast<std::size_t>(r.what)][static_cast<std::size_t>(r.because)];
  }

  template <class Sink>
  struct text {
    Sink& sink;
    void head(std::string_view called, std::string_view type, std::string_view help) const {
      sink("# HELP "), sink(called), sink(" "), sink(help), sink("\n# TYPE "), sink(called), sink(" "), sink(type);
      sink("\n");
    }
    void number(double value) const { sink(detail::text_of(value)), sink("\n"); }
    void plain(std::string_view called, double value) const { sink(called), sink(" "), number(value); }
    void labelled(std::string_view called, std::string_view label, std::string_view is, std::uint64_t value) const {
      if (value == 0) return;
      sink(called), sink("{"), sink(label), sink("=\""), sink(is), sink("\"} "), number(static_cast<double>(value));
    }
    void histogram(std::string_view called, std::string_view help, const powers& of, double in_one) const {
      head(called, "histogram", help);
      std::uint64_t all = 0;
      double above = 1.0;
      for (std::size_t b = 0; b < buckets; ++b, above *= 2) {
        all += of.counts[b];
        sink(called), sink("_bucket{le=\"");
        sink(b + 1 < buckets ? detail::text_of((above - 1) / in_one) : std::string{"+Inf"});
        sink("\"} "), number(static_cast<double>(all));
      }
      sink(called), sink("_sum "), number(of.sum);
      sink(called), sink("_count "), number(static_cast<double>(all));
    }
  };

  std::array<std::uint64_t, kinds> kinds_{};
  std::array<std::uint64_t, 8> verdicts_{};
  std::array<std::array<std::uint64_t, reasons>, kinds> reasons_{};
  powers staleness_{}, waits_{};
  detail::dynarray<wait> waiting_since_;
  double seconds_per_unit_;
  std::uint64_t version_ = 0;
  std::uint32_t parked_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
