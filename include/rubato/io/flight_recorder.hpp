#ifndef RUBATO_IO_FLIGHT_RECORDER_HPP
#define RUBATO_IO_FLIGHT_RECORDER_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../core/record.hpp"
#include "../dynarray.hpp"
#include "decision_log.hpp"

namespace rubato::inline RUBATO_ABI {

/// Observer that keeps the latest things a controller did, to be written when somebody asks, or when the process goes
/// down: as a decision log, whose first line has a member more, `earlier`: how many lines came before those.
///
///     flight_recorder recorder{4096, policy};
///     recorder(r);            // as the watcher of a controller, under its mutex
///     recorder.write(sink);   // there, or in the handler of a signal
///
/// Each controller has a recorder of its own, which the threads that call it fill in turn. write() allocates nothing,
/// takes no lock, and calls nothing but the sink: it may run in the handler of a fault, in any thread, if the sink may.
/// A record that another thread is writing meanwhile is left out.
///
/// Cost    O(1) a record: a copy of it. 80 bytes for each that is kept, allocated at construction.
/// Thread  records and describe(): one at a time; write(): at any time
/// Tests   tests/io/flight_recorder_test.cpp: KeepsTheLatest, WritesWhatALogHas, AllocatesNothingLater;
///         tests/integrations/gloo_ps/flight_record_test.cpp: WrittenAtTheEndOnASignalAndOnAFault
class flight_recorder {
 public:
  /// Keeps `records`, at least 1; `policy` is described in the first line.
  template <class Policy>
  flight_recorder(std::size_t records, const Policy& policy)
      : kept_{(std::max<std::size_t>)(records, 1)}, ring_(kept_ + 1) {
    describe(policy);
  }

  /// The first line describes another policy from now on: to be called after switch_to.
  template <class Policy>
  void describe(const Policy& policy) {
    const std::size_t next = 1 - head_;
    const auto text = policy.describe();
    heads_[next].clear();
    append first{&heads_[next]};
    json_writer json{first};
    json.begin_object().member("format", "rubato.decisions").member("version", std::uint32_t{1});
    json.member("policy", std::string_view{text.line}).key("describe").raw(text.json);
    std::atomic_ref{head_}.store(next);  // a fault between these lines finds the other one
  }

  /// Called by the controller.
  void operator()(const record& r) noexcept {
    ring_[next_] = r;
    if (++next_ == ring_.size()) next_ = 0;
    std::atomic_ref{made_}.store(made_ + 1, std::memory_order_release);
  }

  /// Records so far, those that it lost too.
  [[nodiscard]] std::uint64_t made() const noexcept { return std::atomic_ref{made_}.load(std::memory_order_acquire); }

  /// Writes the first line and the records that are kept, oldest first.
  template <ByteSink Sink>
  void write(Sink& sink) const noexcept {
    const std::uint64_t made = this->made();
    const std::uint64_t kept = (std::min)(made, std::uint64_t{kept_});
    fixed_text<32> earlier;
    json_writer json{earlier};
    json.value(made - kept);
    sink(heads_[std::atomic_ref{head_}.load()]), sink(",\"earlier\":"), sink(earlier.view()), sink("}\n");
    for (std::uint64_t i = made - kept; i < made; ++i)
      write_decision(sink, ring_[static_cast<std::size_t>(i % ring_.size())]);
  }

 private:
  struct append {
    std::string* to;
    void operator()(std::string_view bytes) noexcept { *to += bytes; }
  };
  // Mutable is what write() reads through std::atomic_ref, which takes nothing const.
  std::array<std::string, 2> heads_{};  // objects that are still open
  mutable std::size_t head_ = 0;        // which of them it is
  std::size_t kept_;
  detail::dynarray<record> ring_;  // one more than are kept: that which is being written
  std::size_t next_ = 0;           // made_, modulo its size
  mutable std::uint64_t made_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
