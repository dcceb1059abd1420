#include "log_stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rubato::lab {
namespace {

using event_kind = record::kind;

[[nodiscard]] std::string found(const std::string& what, const std::string& expected) {
  return "found " + what + ", expected " + expected;
}
[[nodiscard]] std::string worker_text(const record& r) { return "worker " + std::to_string(r.worker.index); }

[[nodiscard]] std::uint64_t sum_of(const reason_counts& counts) noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

[[nodiscard]] bool is_gone(whereabouts is) noexcept { return is >= whereabouts::left; }

// Whether the record says something of a worker that takes part. Refusals may be about anybody.
[[nodiscard]] bool is_about_member(const record& r) noexcept {
  return r.worker.index != no_worker && r.what != event_kind::refuse && r.what != event_kind::abandon &&
         r.what != event_kind::adjust;
}

// The median of sorted values without the one at `out`. Precondition: there are two or more.
[[nodiscard]] double median_of_others(const std::vector<double>& sorted, std::size_t out) noexcept {
  const auto other = [&](std::size_t i) { return sorted[i < out ? i : i + 1]; };
  const std::size_t n = sorted.size() - 1;
  return n % 2 == 1 ? other(n / 2) : (other(n / 2 - 1) + other(n / 2)) / 2;
}

}  // namespace

std::string_view name(whereabouts is) noexcept {
  constexpr std::array<std::string_view, 7> names{"unseen", "waiting",  "computing", "pushing",
                                                  "left",   "finished", "died"};
  return names[static_cast<std::size_t>(is)];
}

std::string_view name(missing_worker::why because) noexcept {
  constexpr std::array<std::string_view, 4> names{"died", "left", "silent", "never came"};
  return names[static_cast<std::size_t>(because)];
}

std::uint64_t gradient_counts::dropped() const noexcept { return sum_of(dropped_for); }

std::uint64_t log_stats::refused() const noexcept { return sum_of(refused_for_); }

void duration_stats::add(double duration) noexcept {
  ++count;
  const double before = duration - mean;
  mean += before / static_cast<double>(count);
  squares += before * (duration - mean);
  longest = std::max(longest, duration);
  recent = count == 1 ? duration : recent + 0.2 * (duration - recent);
}

double duration_stats::standard_error() const noexcept {
  if (count < 2) return 0;
  const auto n = static_cast<double>(count);
  return std::sqrt(squares / (n - 1) / n);
}

void staleness_stats::add(std::uint64_t staleness) noexcept {
  ++counts[staleness_histogram::bucket_of(staleness)];
  sum += static_cast<double>(staleness);
  largest = std::max(largest, staleness);
}

std::string staleness_range(std::size_t bucket, std::string_view beyond) {
  std::string text = std::to_string(staleness_histogram::lower_edge(bucket));
  if (bucket + 1 == staleness_histogram::buckets) return text.append(beyond);
  const std::uint64_t most = staleness_histogram::lower_edge(bucket + 1) - 1;
  return bucket < 2 ? text : text + "-" + std::to_string(most);
}

void log_stats::policy(std::string line, double now) {
  if (!policies_.empty()) ++policy_changes_;
  if (policies_.size() == most_policies) return;
  policies_.push_back({.policy = std::move(line), .from = std::isfinite(now) ? now : 0});
}

policy_actions& log_stats::actions() {
  if (policies_.empty()) policies_.emplace_back();
  return policies_.back();
}

std::string log_stats::add(const record& r) {
  if (std::string wrong = contradiction(r); !wrong.empty()) return wrong;
  ++records_;
  if (r.now >= now_ && std::isfinite(r.now)) {
    now_ = r.now;
    timed_ = true;
  }
  version_ = std::max(version_, r.version);
  policy_actions& act = actions();
  switch (r.what) {
    case event_kind::flush:
      ++act.flushes;
      break;
    case event_kind::discard:
      ++act.discards;
      break;
    case event_kind::refuse:
      ++refused_for_[static_cast<std::size_t>(r.because)];
      break;
    case event_kind::adjust:
      ++act.adjusted_for[static_cast<std::size_t>(r.because)];
      break;
    default:
      break;
  }
  if (r.what == event_kind::flush || r.what == event_kind::discard) end_round(r);
  if (r.what == event_kind::refuse && r.worker.index < workers_.size()) ++workers_[r.worker.index].refused;
  if (!is_about_member(r)) return {};

  worker_stats& w = come(r);
  w.last_event = now();
  switch (r.what) {
    case event_kind::join:
      w.incarnation = r.worker.incarnation;
      w.excluded = false;
      w.between = false;
      if (++w.lives > 1) w.returned = now();
      // The gradient of its former life may still be at the server; nothing but its commit will tell.
      move(w, whereabouts::waiting);
      break;
    case event_kind::depart:
      depart(w, r);
      break;
    case event_kind::release:
      release(w, r);
      break;
    case event_kind::admit:
      admit(w, r);
      break;
    case event_kind::commit:
      commit(w, r);
      break;
    case event_kind::cancel:
      ++act.cancels;
      break;
    case event_kind::exclude:
      ++act.excludes;
      w.excluded = true;
      break;
    case event_kind::readmit:
      ++act.readmits;
      w.excluded = false;
      break;
    default:
      break;
  }
  return {};
}

namespace {

// Whether the first commit of this worker is of a push that the log does not have.
[[nodiscard]] bool is_from_before(const worker_stats& w) noexcept {
  return (w.is == whereabouts::unseen || w.from_before) && !w.in_hand && w.gradients.pushed == 0;
}

}  // namespace

std::string log_stats::contradiction(const record& r) const {
  if (timed_ && !(r.now >= now_)) return found("a time before that of an earlier line", "times that do not run back");
  if (r.what == event_kind::flush || r.what == event_kind::discard) return contradiction_of_round(r);
  return is_about_member(r) ? contradiction_of_worker(r) : "";
}

std::string log_stats::contradiction_of_worker(const record& r) const {
  if (r.worker.index >= options_.workers) return found(worker_text(r), "0 to " + std::to_string(options_.workers - 1));
  static const worker_stats nobody;
  const worker_stats& w = r.worker.index < workers_.size() ? workers_[r.worker.index] : nobody;
  const bool here = w.is != whereabouts::unseen && !is_gone(w.is);
  switch (r.what) {
    case event_kind::join:
      if (here) return found("a join of " + worker_text(r) + ", which is there", "its departure first");
      return "";
    case event_kind::depart:
      if (is_gone(w.is)) return found("a departure of " + worker_text(r) + ", which has gone", "its join first");
      return "";
    case event_kind::release:
      if (is_gone(w.is)) return found("a release of " + worker_text(r) + ", which has gone", "its join first");
      if (w.is == whereabouts::computing || w.is == whereabouts::pushing)
        return found("a release of " + worker_text(r) + ", which is in a step", "its admission and commit first");
      return "";
    case event_kind::admit:
      if (is_gone(w.is)) return found("a push of " + worker_text(r) + ", which has gone", "its join first");
      if (w.in_hand) return found("a push of " + worker_text(r) + " before the last one's commit", "that commit first");
      if (r.decided > verdict::drop) return found("an admission that is none", "apply, accumulate or drop");
      if (r.decided == verdict::accumulate) {
        if (shares_ >= options_.shares) return found("too much in open rounds", "a flush now and then");
        const auto to = rounds_.find(r.round);
        if (to != rounds_.end() && to->second.is != round::state::open)
          return found("a gradient for round " + std::to_string(r.round) + ", which is over", "an open one");
      }
      return "";
    case event_kind::commit:
      if (is_from_before(w)) return "";
      if (!w.in_hand) return found("a commit of " + worker_text(r) + " without a push", "its admission first");
      if (r.decided != w.decided)
        return found("a commit that says " + std::string{rubato::name(r.decided)},
                     std::string{rubato::name(w.decided)} + ", as its admission says");
      return "";
    default:
      return "";
  }
}

std::string log_stats::contradiction_of_round(const record& r) const {
  const auto at = rounds_.find(r.round);
  const std::string which = "the end of round " + std::to_string(r.round);
  if (at != rounds_.end() && at->second.is != round::state::open) return found(which + " again", "one end");
  const std::uint64_t committed = at == rounds_.end() ? 0 : at->second.committed;
  const std::uint64_t in_hand = at == rounds_.end() ? 0 : at->second.in_hand;
  if (in_hand > 1) return found(which + " before the commits of its gradients", "at most the last commit to come");
  const bool too_many = r.count > committed + in_hand && !midway_ && seen_ > 0;
  if (r.count < committed || too_many)
    return found(which + " with " + std::to_string(r.count) + " gradients", std::to_string(committed + in_hand));
  return "";
}

worker_stats& log_stats::come(const record& r) {
  if (r.worker.index >= workers_.size()) workers_.resize(std::size_t{r.worker.index} + 1);
  worker_stats& w = workers_[r.worker.index];
  if (w.is != whereabouts::unseen) return w;
  ++seen_;
  w.joined = now();
  w.incarnation = r.worker.incarnation;
  move(w, whereabouts::waiting);
  if (r.what == event_kind::join) {
    w.lives = r.worker.incarnation;
    w.late = begun_ && w.lives == 0;
    return w;
  }
  midway_ = w.from_before = true;
  w.lives = 1;
  return w;
}

void log_stats::move(worker_stats& w, whereabouts to) {
  w.is = to;
  w.since = now();
}

void log_stats::depart(worker_stats& w, const record& r) {
  if (w.is == whereabouts::computing) ++w.lost_steps;
  if (w.is == whereabouts::waiting) w.wait.add(now() - w.since);
  w.seen_releases = releases_;
  w.departed = now();
  w.excluded = false;
  move(w, r.why == cause::leave ? whereabouts::left : r.why == cause::done ? whereabouts::finished : whereabouts::died);
}

void log_stats::release(worker_stats& w, const record& r) {
  policy_actions& act = actions();
  ++act.releases;
  if (r.count != 0) ++act.with_batch;
  if (r.value != 1.0F) ++act.with_rate;
  if (w.is == whereabouts::waiting) {
    w.wait.add(now() - w.since);
    if (w.between && w.since == now()) ++act.at_once;
  }
  if (!std::exchange(begun_, true)) begin_ = now();
  ++releases_;
  ++w.releases;
  move(w, whereabouts::computing);
}

void log_stats::admit(worker_stats& w, const record& r) {
  policy_actions& act = actions();
  ++act.pushes;
  ++w.gradients.pushed;
  ++gradients_.pushed;
  ++w.gradients.in_hand;
  ++gradients_.in_hand;
  w.last_push = last_push_ = now();
  w.staleness.add(r.staleness);
  staleness_.add(r.staleness);
  if (w.is == whereabouts::computing && r.because != reason::cancelled) w.compute.add(now() - w.since);
  w.decided = r.decided;
  w.because = r.because;
  w.in_hand = true;
  if (r.decided != verdict::drop && r.value != 1.0F) {
    ++act.scaled;
    ++w.gradients.scaled;
    ++gradients_.scaled;
  }
  if (r.decided == verdict::accumulate) {
    ++act.accumulate;
    ++rounds_[r.round].in_hand;
    if (w.round != r.round) w.place = worker_stats::no_place;
    w.round = r.round;
  } else {
    ++(r.decided == verdict::apply ? act.apply : act.drop);
  }
  move(w, whereabouts::pushing);
}

void log_stats::commit(worker_stats& w, const record& r) {
  if (is_from_before(w)) {
    w.between = true;
    return move(w, whereabouts::waiting);
  }
  w.in_hand = false;
  --w.gradients.in_hand;
  --gradients_.in_hand;
  if (w.decided == verdict::accumulate) {
    join_round(w, r, r.because);
  } else if (w.decided == verdict::drop) {
    drop(w, w.because, 1);  // the commit of one that failed says only that
  } else if (r.because != reason::none) {
    drop(w, r.because, 1);
  } else {
    ++w.gradients.applied;
    ++gradients_.applied;
  }
  if (w.is != whereabouts::pushing) return;  // it has gone, or come back, meanwhile
  w.service.add(now() - w.since);
  w.between = true;
  move(w, whereabouts::waiting);
}

void log_stats::join_round(worker_stats& w, const record& r, reason why) {
  const auto at = rounds_.find(w.round);
  round& to = at->second;
  --to.in_hand;
  if (why != reason::none) {
    drop(w, why, 1);
  } else if (to.is == round::state::flushed) {
    ++w.gradients.flushed;
    ++gradients_.flushed;
  } else if (to.is == round::state::discarded) {
    drop(w, reason::switched, 1);
  } else {
    ++w.gradients.in_round;
    ++gradients_.in_round;
    ++to.committed;
    if (w.place == worker_stats::no_place) {
      w.place = to.shares.size();
      to.shares.push_back({.worker = r.worker.index});
      ++shares_;
    }
    ++to.shares[w.place].gradients;
  }
  if (to.in_hand == 0 && to.committed == 0) rounds_.erase(at);
}

void log_stats::end_round(const record& r) {
  round& ended = rounds_[r.round];
  const bool flushed = r.what == event_kind::flush;
  for (const share& each : ended.shares) {
    worker_stats& w = workers_[each.worker];
    w.gradients.in_round -= each.gradients;
    gradients_.in_round -= each.gradients;
    w.place = worker_stats::no_place;
    if (!flushed) {
      drop(w, reason::switched, each.gradients);
      continue;
    }
    w.gradients.flushed += each.gradients;
    gradients_.flushed += each.gradients;
  }
  if (flushed && r.count > ended.committed + ended.in_hand) from_before_ += r.count - ended.committed - ended.in_hand;
  shares_ -= ended.shares.size();
  ended = {.is = flushed ? round::state::flushed : round::state::discarded, .shares = {}, .in_hand = ended.in_hand};
  if (ended.in_hand == 0) rounds_.erase(r.round);
}

void log_stats::drop(worker_stats& w, reason why, std::uint64_t gradients) {
  w.gradients.dropped_for[static_cast<std::size_t>(why)] += gradients;
  gradients_.dropped_for[static_cast<std::size_t>(why)] += gradients;
}

double log_stats::push_rate() const noexcept {
  const double time = last_push_ - begin_;
  return begun_ && gradients_.pushed > 0 && time > 0 ? static_cast<double>(gradients_.pushed) / time : 0;
}

std::vector<double> log_stats::relative() const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t w = 0; w < workers_.size(); ++w)
    if (const duration_stats& steps = workers_[w].compute; steps.count > 0 && std::isfinite(steps.mean))
      order.emplace_back(steps.mean, w);
  std::sort(order.begin(), order.end());
  std::vector<double> sorted;
  for (const auto& [mean, worker] : order) sorted.push_back(mean);
  std::vector<double> times(workers_.size());
  if (sorted.size() < 2) return times;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double others = median_of_others(sorted, i);
    if (others > 0) times[order[i].second] = sorted[i] / others;
  }
  return times;
}

std::vector<slow_worker> log_stats::slow() const {
  const std::vector<double> times = relative();
  std::vector<slow_worker> found;
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const duration_stats& steps = workers_[w].compute;
    if (steps.count < options_.slow_steps || !(times[w] > options_.slow)) continue;
    const double surely = (steps.mean - 3 * steps.standard_error()) / steps.mean * times[w];
    if (surely > options_.slow) found.push_back({.worker = w, .times = times[w]});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const slow_worker& a, const slow_worker& b) { return a.times > b.times; });
  return found;
}

std::vector<missing_worker> log_stats::missing(double at) const {
  using why = missing_worker::why;
  double steps = 0, time = 0;
  for (const worker_stats& w : workers_) {
    steps += static_cast<double>(w.compute.count);
    time += w.compute.total();
  }
  std::vector<missing_worker> found;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const worker_stats& w = workers_[i];
    switch (w.is) {
      case whereabouts::died:
        found.push_back({.worker = i, .because = why::died, .since = w.since});
        break;
      case whereabouts::left:  // and not just because all was over
        if (releases_ > w.seen_releases) found.push_back({.worker = i, .because = why::left, .since = w.since});
        break;
      case whereabouts::unseen:
        if (!midway_) found.push_back({.worker = i, .because = why::never_came});
        break;
      case whereabouts::computing: {
        const double usual = w.compute.count > 0 ? w.compute.mean : steps > 0 ? time / steps : 0;
        const double running = at - w.since;
        if (usual > 0 && running > options_.silent * usual && running > options_.silent_longest * w.compute.longest)
          found.push_back({.worker = i, .because = why::silent, .since = w.since, .times = running / usual});
        break;
      }
      default:
        break;
    }
  }
  constexpr std::array<int, 4> rank{0, 2, 1, 3};  // of died, left, silent, never_came
  std::stable_sort(found.begin(), found.end(), [&](const missing_worker& a, const missing_worker& b) {
    const int first = rank[static_cast<std::size_t>(a.because)], second = rank[static_cast<std::size_t>(b.because)];
    return first != second ? first < second : a.since < b.since;
  });
  return found;
}

}  // namespace rubato::lab
