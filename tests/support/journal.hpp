#ifndef RUBATO_TESTS_SUPPORT_JOURNAL_HPP
#define RUBATO_TESTS_SUPPORT_JOURNAL_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/counters.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rubato::test {

/// What the policy was shown.
struct view_numbers {
  std::uint32_t alive, running, in_flight, parked, excluded, pending, round_admissions, submitter;
  std::uint64_t version, updates;
  clock_type minimum, maximum, clock_of_submitter;
  bool minimum_moved;
  double now;
  friend bool operator==(const view_numbers&, const view_numbers&) = default;
};

[[nodiscard]] inline view_numbers numbers_of(const cluster_view& v) {
  return {v.alive(),         v.running(),          v.in_flight(),          v.parked(),        v.excluded(),
          v.pending(),       v.round_admissions(), v.submitter(),          v.version(),       v.updates(),
          v.minimum_clock(), v.maximum_clock(),    v.clock_of_submitter(), v.minimum_moved(), v.now()};
}

/// One thing that a controller did, as its policy or its sink saw it.
struct entry {
  enum class kind : std::uint8_t { ask, admit, observe, shape, release, flush, discard, cancel, abandon };
  kind what = kind::ask;
  event about{};
  view_numbers view{};
  decision answer{};
  admission verdict{};
  clock_type bound = unbounded;     // ask: of the policy, afterwards
  std::vector<float> step_times{};  // ask: smoothed, by worker
  worker_id worker{};
  grant terms{};  // release; shape: as asked
  grant shaped{};
  std::uint32_t ticket = 0;
  std::uint64_t round = 0;
  float scale = 0.0F;
  std::uint32_t gradients = 0;
  reason why = reason::none;
};

using journal = std::vector<entry>;

/// A policy that writes down all that passes between it and the controller.
class spy {
 public:
  spy(any_policy policy, journal& log) : policy_{std::move(policy)}, log_{&log} {}

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const view_numbers shown = numbers_of(view);
    entry e{.what = entry::kind::ask, .about = what, .view = shown, .answer = policy_.release(view, what)};
    e.bound = policy_.clock_bound();
    for (std::uint32_t w = 0; w < view.capacity(); ++w) e.step_times.push_back(view.step_time_of(w));
    const decision answer = e.answer;
    log_->push_back(std::move(e));
    return answer;
  }
  [[nodiscard]] admission admit(const cluster_view& view, const event& what) noexcept {
    const view_numbers shown = numbers_of(view);
    log_->push_back({.what = entry::kind::admit, .about = what, .view = shown, .verdict = policy_.admit(view, what)});
    return log_->back().verdict;
  }
  void observe(const feedback& f) noexcept {
    log_->push_back({.what = entry::kind::observe, .about = f.what});
    policy_.observe(f);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    entry e{.what = entry::kind::shape, .view = numbers_of(view), .worker = {worker, 0}, .terms = terms};
    policy_.shape(view, worker, terms);
    e.shaped = terms;
    log_->push_back(std::move(e));
  }
  void resize(std::uint32_t capacity) { policy_.resize(capacity); }
  void reset(std::uint32_t worker) noexcept { policy_.reset(worker); }
  void state(archive& bytes) { policy_.state(bytes); }
  [[nodiscard]] clock_type clock_bound() const noexcept { return policy_.clock_bound(); }
  [[nodiscard]] double max_legal_wait(std::uint32_t worker) const noexcept { return policy_.max_legal_wait(worker); }
  [[nodiscard]] std::string_view kind() const noexcept { return policy_.kind(); }

 private:
  any_policy policy_;
  journal* log_;
};

/// Follows a journal entry by entry, and remembers the first thing in it that was not expected.
class journal_reader {
 public:
  using kind = entry::kind;

  std::string problem;  ///< empty while all is as expected

  /// Starts with a call, of which the controller's journal, and its workers and counters afterwards, are these.
  void begin(const journal& log, const roster& after, const counters& counted) {
    log_ = &log, next_ = 0, after_ = &after, counted_ = &counted;
  }
  void end() {
    if (next_ != log_->size()) fail("the controller did more than expected: " + describe((*log_)[next_]));
  }

 protected:
  void fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }

  void require(bool holds, const char* what) {
    if (!holds) fail(std::string{"unexpected: "}.append(what));  // GCC 12 warns about moved short strings
  }

  [[nodiscard]] static std::string describe(const entry& e) {
    constexpr std::array names{"ask", "admit", "observe", "shape", "release", "flush", "discard", "cancel", "abandon"};
    return std::string{names[static_cast<std::size_t>(e.what)]} + " worker " + std::to_string(e.worker.index) +
           " event " + std::string{name(e.about.why)} + "/" + std::to_string(e.about.worker) + " verb " +
           std::to_string(static_cast<int>(e.answer.verb)) + " reason " + std::string{name(e.why)} + " round " +
           std::to_string(e.round);
  }

  [[nodiscard]] bool comes(kind what) const { return next_ < log_->size() && (*log_)[next_].what == what; }

  const entry& take(kind what) {
    static const entry nothing{};
    if (comes(what)) return (*log_)[next_++];
    fail("expected entry of kind " + std::to_string(static_cast<int>(what)) + ", found " +
         (next_ < log_->size() ? describe((*log_)[next_]) : std::string{"nothing"}));
    return nothing;
  }

  [[nodiscard]] static bool same(const event& a, const event& b) {
    return a.why == b.why && a.worker == b.worker && a.pending == b.pending && a.dropped == b.dropped &&
           a.flushed == b.flushed && a.why_dropped == b.why_dropped && a.staleness == b.staleness && a.now == b.now &&
           (a.loss == b.loss || (std::isnan(a.loss) && std::isnan(b.loss))) && a.samples == b.samples;
  }

  const journal* log_ = nullptr;
  std::size_t next_ = 0;
  const roster* after_ = nullptr;
  const counters* counted_ = nullptr;
};

}  // namespace rubato::test

#endif
