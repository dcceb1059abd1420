#ifndef RUBATO_TESTS_SUPPORT_REFERENCE_STATE_HPP
#define RUBATO_TESTS_SUPPORT_REFERENCE_STATE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <vector>

namespace rubato::test {

/// What a controller knows, kept naively: no lists, no cached counts; every question is answered by a scan.
class reference_state {
 public:
  using state = worker_state;
  using ticket = std::optional<std::uint32_t>;

  struct round {
    std::uint32_t out = 0, adds = 0, failures = 0;
    bool closed = false, flush = false;
    float scale = 1.0F;
  };
  struct worker {
    state is = state::absent;
    std::uint32_t incarnation = 0;
    bool excluded = false;
    reason doomed = reason::none;
    grant terms{};
    clock_type clock = 0;
    std::uint64_t step = 0;
    std::uint64_t highest_step = 0;
    ticket waits_with{};
    std::uint64_t parked = 0;  // place in the order of parking; 0: not parked
    double parked_at = 0;
    std::uint64_t contributed_to = worker_record::no_round;
    std::uint64_t serial = 0;  // of the admission that is out
    verdict verdict_out = verdict::drop;
    std::uint64_t round_out = 0;
    event event_out{};
    std::uint32_t freed_by_guard = 0;
    bool withheld = false;
  };

  reference_state(const controller_options& o, clock_type bound) : options_{o}, bound_{bound}, workers_(o.capacity) {}

  [[nodiscard]] const std::vector<worker>& workers() const { return workers_; }
  [[nodiscard]] bool counted(std::uint32_t i) const {
    return workers_[i].is >= state::running && workers_[i].is <= state::parked && !workers_[i].excluded;
  }
  [[nodiscard]] clock_type minimum() const {
    clock_type least = unbounded;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
      if (counted(i)) least = std::min(least, workers_[i].clock);
    return least == unbounded ? 0 : least;
  }
  [[nodiscard]] clock_type maximum() const {
    clock_type most = 0;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
      if (counted(i)) most = std::max(most, workers_[i].clock);
    return most;
  }
  [[nodiscard]] std::uint32_t in(state s) const {
    std::uint32_t n = 0;
    for (const worker& w : workers_) n += w.is == s && !w.excluded;
    return n;
  }
  [[nodiscard]] std::uint32_t busy() const { return in(state::running) + in(state::released) + in(state::admitted); }
  [[nodiscard]] std::uint32_t alive() const { return busy() + in(state::parked); }
  [[nodiscard]] std::uint32_t excluded() const {
    return static_cast<std::uint32_t>(std::ranges::count_if(workers_, [](const worker& w) { return w.excluded; }));
  }
  [[nodiscard]] std::vector<std::uint32_t> parked() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
      if (counted(i) && workers_[i].parked > 0) all.push_back(i);
    std::ranges::sort(all, {}, [this](std::uint32_t i) { return workers_[i].parked; });
    return all;
  }
  /// The round that takes gradients now.
  [[nodiscard]] round open() const {
    const auto place = rounds.find(open_round);
    return place == rounds.end() ? round{} : place->second;
  }

  std::uint64_t updates = 0;
  std::uint64_t version = 0;
  std::uint64_t open_round = 0;
  std::map<std::uint64_t, round> rounds;
  std::array<std::uint64_t, counters::reasons> counts{};

 protected:
  static constexpr double never = std::numeric_limits<double>::infinity();
  [[nodiscard]] static constexpr std::size_t index(reason r) { return static_cast<std::size_t>(r); }

  [[nodiscard]] static bool gone(const worker& w) { return w.is >= state::left; }

  [[nodiscard]] admission sane(admission a) {
    const bool can_drop = a.why >= reason::stale && a.why <= reason::unwanted;
    if (a.what > verdict::drop || !std::isfinite(a.weight) || (a.what == verdict::drop && !can_drop))
      return admission::drop(reason::unwanted);
    if (!std::isfinite(a.scale)) a.scale = 1.0F;
    return a;
  }

  void advance(double now) {
    if (now < now_) ++counts[index(reason::time_clamped)];
    now_ = std::max(now, now_);
  }

  [[nodiscard]] reason stranger(worker_id who) const {
    if (who.index >= workers_.size() || workers_[who.index].is == state::absent) return reason::unknown_worker;
    if (who.incarnation != workers_[who.index].incarnation) return reason::old_incarnation;
    return gone(workers_[who.index]) ? reason::departed_worker : reason::none;
  }

  [[nodiscard]] static errc code_of(reason why) {
    for (const errc code : {errc::unknown_worker, errc::departed_worker, errc::old_incarnation, errc::invalid_time,
                            errc::no_pulls, errc::repeated})
      if (rubato::name(code) == rubato::name(why)) return code;
    return errc::invalid_token;
  }

  void seat(std::uint32_t i) {
    worker& w = workers_[i];
    const clock_type own = w.clock;
    if (alive() > 0) w.clock = std::clamp(own, minimum(), saturating_add(minimum(), bound_));
    if (w.clock != own) ++counts[index(reason::clock_clamped)];
    w.is = state::parked;
    park(i);
  }

  void park(std::uint32_t i) {
    if (i >= workers_.size() || !counted(i) || workers_[i].is != state::parked || workers_[i].parked > 0) return;
    workers_[i].parked = ++parkings_;
    workers_[i].parked_at = now_;
  }

  void take_out(std::uint32_t i, state how) {
    workers_[i].is = how;
    workers_[i].excluded = false;
    workers_[i].parked = 0;
    workers_[i].withheld = false;
  }

  void readmit(std::uint32_t i) {
    worker& w = workers_[i];
    const clock_type own = w.clock, least = minimum();
    const clock_type lead = options_.guard.enabled ? std::min(bound_, options_.guard.bound) : bound_;
    const clock_type most = saturating_add(least, saturating_add(lead, w.is == state::parked ? 1 : 0));
    if (alive() > 0) w.clock = std::clamp(own, least, most);
    if (w.clock != own) ++counts[index(reason::clock_clamped)];
    w.excluded = false;
    park(i);
  }

  bool change_membership(const decision& d) {
    bool changed = false;
    if (d.exclude < workers_.size() && counted(d.exclude)) {
      worker& w = workers_[d.exclude];
      if (alive() > 1) {
        w.excluded = changed = true;
        w.parked = 0;
        w.withheld = false;
        if (w.is == state::running) w.doomed = reason::excluded;
        if (w.is == state::released) w.is = state::parked;
      } else {
        ++counts[index(reason::nobody_left)];
        for (std::uint32_t i = 0; i < workers_.size(); ++i)
          if (workers_[i].excluded) readmit(i), changed = true;
      }
    }
    if (d.readmit < workers_.size() && workers_[d.readmit].excluded) readmit(d.readmit), changed = true;
    return changed;
  }

  void rebase(clock_type to) {
    const clock_type least = minimum();
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
      worker& w = workers_[i];
      w.clock -= std::min(w.clock, least);
      const clock_type limit = w.is == state::parked ? saturating_add(to, 1) : to;
      if (counted(i) && w.clock > limit) w.clock = limit, ++counts[index(reason::clock_clamped)];
    }
  }

  [[nodiscard]] bool covers(const decision& d, std::uint32_t i, std::uint64_t contributed) const {
    switch (d.verb) {
      case release_verb::all:
        return true;
      case release_verb::up_to:
        return d.count > 0;
      case release_verb::up_to_clock:
        return workers_[i].clock <= d.clock;
      case release_verb::contributors:
        return workers_[i].contributed_to == contributed;
      case release_verb::submitter:
      case release_verb::only:
        return i == d.worker;
      default:
        return false;
    }
  }

  [[nodiscard]] bool allowed(std::uint32_t i) const {
    return !options_.guard.enabled || workers_[i].clock - minimum() <= std::min(bound_, options_.guard.bound);
  }

  controller_options options_;
  clock_type bound_;  // of the policy
  std::vector<worker> workers_;
  double now_ = -never;
  std::uint64_t parkings_ = 0;
};

}  // namespace rubato::test

#endif
