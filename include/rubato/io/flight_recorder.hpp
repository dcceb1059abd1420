#ifndef RUBATO_IO_FLIGHT_RECORDER_HPP
#define RUBATO_IO_FLIGHT_RECORDER_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "decision_log.hpp"

namespace rubato::inline RUBATO_ABI {

/// Observer that keeps the latest things a controller did, to be written when somebody asks, or when the process goes
/// down: as a decision log, whose first line has a member more, `earlier`: how many records came before those.
///
///     flight_recorder recorder{4096, policy};
///     recorder(r);               // as the watcher of a controller, under its mutex
///     recorder.describe(other);  // there, after switch_to
///     recorder.write(sink);      // there, or in the handler of a signal
///
/// Each controller has a recorder of its own, which the threads that call it fill in turn. The first line has the
/// policy that was in force at the first record; one that took over later has a line where describe() was called, as in
/// a decision_log. Of more than `most_policies` the records under the earlier ones are left out.
///
/// write() allocates nothing, takes no lock, and calls nothing but the sink: it may run at any time, in any thread, and
/// in a signal handler that interrupts a record or a describe(), if the sink may. It writes what was recorded before it
/// began. Where others go on recording, a record that they replace before its turn is left out; each line that is
/// written is whole. While one write() runs, describe() may be called `most_policies` times.
///
/// Cost    O(1) a record: a copy of it. 80 bytes for each that is kept, allocated at construction.
/// Thread  records and describe(): one at a time; write(): at any time
/// Tests   tests/io/flight_recorder_test.cpp: KeepsTheLatest, WritesWhatALogHas, AllocatesNothingLater,
///         EachPolicyStandsWhereItTookOver, OfManyPoliciesTheLatestHaveTheirRecords, WhatIsReplacedMeanwhileIsLeftOut,
///         LinesAreWholeWhileOthersRecord;
///         tests/integrations/gloo_ps/flight_record_test.cpp: WrittenAtTheEndOnASignalAndOnAFault
class flight_recorder {
 public:
  static constexpr std::uint64_t most_policies = 8;  ///< that have a line

  /// Keeps `records`, at least 1; `policy` is the one in force.
  template <class Policy>
  flight_recorder(std::size_t records, const Policy& policy)
      : kept_{(std::max<std::size_t>)(records, 1)}, ring_(kept_ + 1) {
    describe(policy);
  }

  /// Another policy has taken over: to be called after switch_to.
  template <class Policy>
  void describe(const Policy& policy) {
    takeover& next = policies_.data()[described_ % policies_.size()];
    const auto text = policy.describe();
    next.text.clear();
    append to{&next.text};
    json_writer json{to};
    json.begin_object().member("policy", std::string_view{text.line}).key("describe").raw(text.json);
    next.from = made_;
    next.now = made_ == 0 ? 0 : copy_of(made_ - 1).now;
    std::atomic_ref{described_}.store(described_ + 1, std::memory_order_release);  // a fault before finds the others
  }

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    // Released word by word: who reads one of them sees the records that came before, and so that this one replaces.
    std::uint64_t* to = ring_[next_].data();
    each_word(r, [&to](std::uint64_t word) { std::atomic_ref{*to++}.store(word, std::memory_order_release); });
    if (++next_ == ring_.size()) next_ = 0;
    std::atomic_ref{made_}.store(made_ + 1, std::memory_order_release);
  }

  /// Records so far, those that it lost too.
  [[nodiscard]] std::uint64_t made() const noexcept { return std::atomic_ref{made_}.load(std::memory_order_acquire); }

  /// Writes the first line and the records that are kept, oldest first.
  template <ByteSink Sink>
  void write(Sink& sink) const noexcept {
    const std::uint64_t made = this->made(), described = std::atomic_ref{described_}.load(std::memory_order_acquire);
    std::uint64_t which = described - (std::min)(described, most_policies);
    const std::uint64_t first = (std::max)(made - (std::min)(made, std::uint64_t{kept_}), policy(which).from);
    while (which + 1 < described && policy(which + 1).from <= first) ++which;
    fixed_text<64> number;
    json_writer{number}.value(first);
    sink("{\"format\":\"rubato.decisions\",\"version\":1,"), sink(policy(which).members());
    sink(",\"earlier\":"), sink(number.view()), sink("}\n");
    for (std::uint64_t i = first;; ++i) {
      for (; which + 1 < described && policy(which + 1).from <= i; ++which) write_takeover(sink, policy(which + 1));
      if (i >= made) return;
      const record r = copy_of(i);
      if (this->made() - i <= kept_) write_decision(sink, r);  // else it was replaced meanwhile
    }
  }

 private:
  using words = std::array<std::uint64_t, 10>;
  static_assert(sizeof(record) <= sizeof(words));  // one member more has to go through each_word, too

  // By member, each word at once to its place: a copy of whole words waits until the narrow stores to their parts have
  // left the core, and takes twice as long.
  template <class Sink>
  static void each_word(const record& r, Sink&& put) noexcept {
    const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
    put(static_cast<std::uint64_t>(r.what) | static_cast<std::uint64_t>(r.why) << 8 |
        static_cast<std::uint64_t>(r.decided) << 16 | static_cast<std::uint64_t>(r.because) << 24 |
        std::uint64_t{r.worker.index} << 32);
    put(r.worker.incarnation);
    put(std::bit_cast<std::uint64_t>(r.now));
    put(r.clock);
    put(r.version);
    put(r.staleness);
    put(r.round);
    put(r.step);
    put(r.count | std::uint64_t{bits(r.value)} << 32);
    put(bits(r.loss) | std::uint64_t{r.parked} << 32);
  }
  [[nodiscard]] static record unpacked(const words& from) noexcept {
    const auto byte = [&from](int shift) { return static_cast<std::uint8_t>(from[0] >> shift); };
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
    return {.what = static_cast<record::kind>(byte(0)),
            .why = static_cast<cause>(byte(8)),
            .decided = static_cast<verdict>(byte(16)),
            .because = static_cast<reason>(byte(24)),
            .worker = {high(from[0]), low(from[1])},
            .now = std::bit_cast<double>(from[2]),
            .clock = from[3],
            .version = from[4],
            .staleness = from[5],
            .round = from[6],
            .step = from[7],
            .count = low(from[8]),
            .value = std::bit_cast<float>(high(from[8])),
            .loss = std::bit_cast<float>(low(from[9])),
            .parked = high(from[9])};
  }

  struct append {
    std::string* to;
    void operator()(std::string_view bytes) noexcept { *to += bytes; }
  };
  struct takeover {
    std::string text{};      // an object that is still open
    std::uint64_t from = 0;  // its first record
    double now = 0;          // of the one before
    [[nodiscard]] std::string_view members() const noexcept { return std::string_view{text}.substr(1); }
  };

  [[nodiscard]] const takeover& policy(std::uint64_t which) const noexcept {
    return policies_.data()[which % policies_.size()];
  }
  [[nodiscard]] record copy_of(std::uint64_t number) const noexcept {
    words to, &from = ring_.data()[number % ring_.size()];
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::atomic_ref{from[i]}.load(std::memory_order_acquire);
    return unpacked(to);
  }
  template <ByteSink Sink>
  static void write_takeover(Sink& sink, const takeover& of) noexcept {
    fixed_text<64> begin;
    json_writer{begin}.begin_object().member("now", of.now).member("what", "policy");
    sink(begin.view()), sink(","), sink(of.members()), sink("}\n");
  }

  // Mutable is what write() reads through std::atomic_ref, which takes nothing const.
  std::array<takeover, 2 * most_policies> policies_{};  // half of them may be written while the others are read
  mutable std::uint64_t described_ = 0;
  std::size_t kept_;
  mutable detail::dynarray<words> ring_;  // one more than are kept: that which is being written
  std::size_t next_ = 0;                  // made_, modulo its size
  mutable std::uint64_t made_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
