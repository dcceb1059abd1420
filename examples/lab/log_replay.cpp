#include "log_replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <rubato/sync/controller.hpp>
#include <utility>

#include "number_text.hpp"

namespace rubato::lab {
namespace {

using event_kind = record::kind;

// What a host tells the controller.
[[nodiscard]] bool is_input(event_kind what) noexcept {
  return what == event_kind::join || what == event_kind::depart || what == event_kind::admit ||
         what == event_kind::commit;
}
// What follows from calls that a log does not repeat: refused ones, tickets, a clock that ran back.
[[nodiscard]] bool is_of_no_matter(const record& r) noexcept {
  return r.what == event_kind::refuse || r.what == event_kind::abandon ||
         (r.what == event_kind::adjust && r.because == reason::time_clamped);
}

[[nodiscard]] bool same(float a, float b) noexcept { return a == b || (std::isnan(a) && std::isnan(b)); }

[[nodiscard]] bool same_in_all(const record& a, const record& b) noexcept {
  const bool commit = a.what == event_kind::commit;  // whose line has fewer members
  return a.what == b.what && a.why == b.why && a.decided == b.decided && a.because == b.because &&
         a.worker == b.worker && a.now == b.now && a.clock == b.clock && a.version == b.version &&
         (commit || a.staleness == b.staleness) && a.round == b.round && a.step == b.step && a.count == b.count &&
         same(a.value, b.value) && (commit || same(a.loss, b.loss)) && a.parked == b.parked;
}

// A record made by a controller, as its line in a log has it.
[[nodiscard]] record as_logged(record r) noexcept {
  if (r.what == event_kind::admit && r.decided == verdict::drop) r.value = 0;
  if (r.what != event_kind::admit || r.decided != verdict::accumulate)
    if (r.what != event_kind::flush && r.what != event_kind::discard) r.round = 0;
  if (r.what == event_kind::discard) r.value = 0;
  if (r.what == event_kind::join) r.clock = 0;
  if (!std::isfinite(r.loss)) r.loss = std::numeric_limits<float>::quiet_NaN();
  return r;
}

[[nodiscard]] std::string in_words(const record& r) {
  const std::string worker = r.worker.index == no_worker ? "" : " worker " + std::to_string(r.worker.index);
  std::string text{name(r.what)};
  switch (r.what) {
    case event_kind::admit:
      text = std::string{name(r.decided)};
      if (r.because != reason::none) text += " (" + std::string{name(r.because)} + ")";
      if (r.decided != verdict::drop && r.value != 1.0F) text += " x " + short_text(static_cast<double>(r.value));
      return text + worker;
    case event_kind::release:
      text += worker;
      if (r.count != 0) text += ", batch " + std::to_string(r.count);
      if (r.value != 1.0F) text += ", rate x " + short_text(static_cast<double>(r.value));
      return text;
    case event_kind::flush:
      return text + " " + std::to_string(r.count) + " x " + short_text(static_cast<double>(r.value));
    case event_kind::discard:
      return text + " " + std::to_string(r.count);
    case event_kind::adjust:
      return text + worker + " (" + std::string{name(r.because)} + ")";
    default:
      return text + worker;
  }
}

struct no_effects {
  void release(std::uint32_t&&, worker_id, const grant&) const noexcept {}
  void flush(std::uint64_t, float, std::uint32_t) const noexcept {}
  void discard(std::uint64_t, std::uint32_t) const noexcept {}
  void cancel(worker_id) const noexcept {}
};

}  // namespace

std::string_view name(difference_kind what) noexcept {
  constexpr std::array<std::string_view, 9> names{"verdict", "weight",    "held",       "let go", "terms",
                                                  "round",   "cancelled", "membership", "other"};
  return names[static_cast<std::size_t>(what)];
}

std::uint64_t replay_result::all() const noexcept {
  return std::accumulate(differences.begin(), differences.end(), std::uint64_t{0});
}

void quorum_finder::operator()(const record& r) {
  if (r.worker.index != no_worker && !is_of_no_matter(r)) workers_ = std::max(workers_, r.worker.index + 1);
  if (released_) return;
  if (r.what == event_kind::join) ++here_, last_join_ = r.now;
  if (r.what == event_kind::depart) --here_;
  if (r.what != event_kind::release) return;
  released_ = true;
  quorum_ = here_;
  late_ = r.now > last_join_;
}

replay_options quorum_finder::found() const {
  replay_options o{.workers = std::max(workers_, 1U), .quorum_late = late_};
  const std::int64_t quorum = released_ ? quorum_ : here_ + 1;  // nobody was let go: they were too few
  o.quorum = static_cast<std::uint32_t>(std::clamp<std::int64_t>(quorum, 1, o.workers));
  return o;
}

struct log_replay::state {
  struct recorder {
    std::vector<record>* to;
    void operator()(const record& r) const noexcept {
      if (!is_of_no_matter(r)) to->push_back(as_logged(r));
    }
  };
  using controller_type = controller<any_policy, std::uint32_t, recorder>;
  struct logged_record {
    record what;
    std::uint64_t line;
  };
  struct seat {
    token work{};
    std::uint32_t batch = 0;    // asked for, by the log
    bool log_ahead = false;     // the log has let it go and the policy has not, or
    bool policy_ahead = false;  // the other way round
  };

  state(const replay_options& o, const any_policy& policy)
      : options{o},
        sync{{.capacity = o.workers, .quorum = o.quorum_late ? o.workers : o.quorum, .seed = o.seed},
             policy,
             recorder{&decided}},
        seats(o.workers) {}

  void note(difference_kind what, std::uint64_t line, std::string in_log, std::string here) {
    ++result.differences[static_cast<std::size_t>(what)];
    same_event = false;
    if (result.first.size() < replay_result::most_listed)
      result.first.push_back({line, at, what, std::move(in_log), std::move(here)});
  }

  // The event is over: what followed from it in the log, and here?
  void settle() {
    if (!open) return;
    poll_at_once();
    open = false;
    ++result.events;
    same_event = true;
    options.exact ? compare_all() : compare_decisions();
    if (same_event) ++result.same_events;
    logged.clear();
    decided.clear();
  }

  void compare_all() {
    const std::size_t both = std::min(logged.size(), decided.size());
    for (std::size_t i = 0; i < both; ++i)
      if (!same_in_all(logged[i].what, decided[i]))
        note(kind_of(logged[i].what, decided[i]), logged[i].line, in_words(logged[i].what), in_words(decided[i]));
    for (std::size_t i = both; i < logged.size(); ++i)
      note(kind_of(logged[i].what, true), logged[i].line, in_words(logged[i].what), "nothing");
    for (std::size_t i = both; i < decided.size(); ++i)
      note(kind_of(decided[i], false), line_of_event, "nothing", in_words(decided[i]));
  }
  // Of two records that differ.
  [[nodiscard]] static difference_kind kind_of(const record& log, const record& here) {
    if (log.what != here.what || log.worker != here.worker) return difference_kind::other;
    if (log.what == event_kind::admit && (log.decided != here.decided || log.because != here.because))
      return difference_kind::verdict;
    if (log.what == event_kind::admit && !same(log.value, here.value)) return difference_kind::weight;
    if (log.what == event_kind::release && !same_terms(log, here)) return difference_kind::terms;
    return difference_kind::other;
  }
  // Of one that only one side has.
  [[nodiscard]] static difference_kind kind_of(const record& r, bool in_log) {
    switch (r.what) {
      case event_kind::release:
        return in_log ? difference_kind::held : difference_kind::let_go;
      case event_kind::flush:
      case event_kind::discard:
        return difference_kind::round;
      case event_kind::cancel:
        return difference_kind::cancelled;
      case event_kind::exclude:
      case event_kind::readmit:
        return difference_kind::membership;
      default:
        return difference_kind::other;
    }
  }
  [[nodiscard]] static bool same_terms(const record& a, const record& b) noexcept {
    return a.count == b.count && same(a.value, b.value);
  }

  // Matches what both have, whatever the order, and whatever numbers differ because other things went before.
  void compare_decisions() {
    std::sort(decided.begin(), decided.end(), before);
    std::stable_sort(logged.begin(), logged.end(),
                     [](const logged_record& a, const logged_record& b) { return before(a.what, b.what); });
    auto here = decided.begin();
    for (const logged_record& each : logged) {
      while (here != decided.end() && before(*here, each.what)) only_here(*here++);
      if (here == decided.end() || before(each.what, *here))
        only_in_log(each);
      else
        in_both(each, *here++);
    }
    while (here != decided.end()) only_here(*here++);
  }
  [[nodiscard]] static bool before(const record& a, const record& b) noexcept {
    return a.what != b.what ? a.what < b.what : a.worker.index < b.worker.index;
  }

  void in_both(const logged_record& log, const record& here) {
    const record& r = log.what;
    std::optional<difference_kind> what;
    if (r.what == event_kind::admit || (r.what == event_kind::release && !same_terms(r, here))) what = kind_of(r, here);
    if ((r.what == event_kind::flush || r.what == event_kind::discard) && !same_terms(r, here))
      what = difference_kind::round;
    if (what && *what != difference_kind::other) note(*what, log.line, in_words(r), in_words(here));
  }
  void only_in_log(const logged_record& log) {
    const record& r = log.what;
    if (r.what == event_kind::adjust || r.what == event_kind::change_policy || is_input(r.what)) return;
    if (r.what == event_kind::release) {
      seat& s = seats[r.worker.index];
      if (std::exchange(s.policy_ahead, false)) return;  // said when it was let go
      s.log_ahead = true;
    }
    note(kind_of(r, true), log.line, in_words(r), "nothing");
  }
  void only_here(const record& r) {
    if (r.what == event_kind::adjust || is_input(r.what)) return;
    if (r.what == event_kind::release) {
      seat& s = seats[r.worker.index];
      if (std::exchange(s.log_ahead, false)) return;
      s.policy_ahead = true;
    }
    note(kind_of(r, false), line_of_event, "nothing", in_words(r));
  }

  void begin(double now, std::uint64_t line) {
    settle();
    open = true;
    at = now;
    line_of_event = line;
  }

  // As hosts do: what is due at once, and deadlines that pass before something happens.
  void poll_at_once() {
    if (sync.next_deadline() <= at && std::exchange(may_poll, false)) sync.poll(at, no_effects{});
  }
  void pass_time(double to, std::uint64_t line) {
    for (int n = 0; n < most_polls && sync.next_deadline() < to; ++n) {
      const double due = std::max(sync.next_deadline(), at);
      if (!(due < to)) break;
      begin(due, line);
      sync.poll(due, no_effects{});
      may_poll = true;
    }
  }

  void input(const record& r, std::uint64_t line) {
    settle();
    pass_time(r.now, line);
    begin(r.now, line);
    may_poll = true;
    const std::uint32_t w = r.worker.index;
    seat& s = seats[w];
    switch (r.what) {
      case event_kind::join:
        s = {};
        static_cast<void>(sync.join(r.worker, r.now, w, no_effects{}));
        break;
      case event_kind::depart:
        s.log_ahead = s.policy_ahead = false;
        static_cast<void>(sync.depart(r.worker, r.now, r.why, no_effects{}));
        break;
      case event_kind::admit:
        admit(r, s);
        break;
      default:
        static_cast<void>(
            sync.commit(s.work, r.now, r.because == reason::failed ? outcome::failed : outcome::done, w, no_effects{}));
        s.work = {};
    }
  }

  void admit(const record& r, seat& s) {
    ++result.pushes;
    s.log_ahead = s.policy_ahead = false;
    if (sync.workers()[r.worker.index].state == worker_state::parked) {
      ++result.forced;
      const std::size_t made = decided.size();
      static_cast<void>(sync.force_release(r.worker, r.now, no_effects{}));
      decided.resize(std::min(made, decided.size()));
    }
    push_event push{.worker = r.worker, .now = r.now, .step = r.step, .samples = s.batch, .loss = r.loss};
    if (r.decided == verdict::drop && r.because == reason::non_finite && std::isfinite(r.loss))
      push.grad_norm = std::numeric_limits<float>::infinity();
    // A host may have known that the worker read an older version than its grant had.
    const std::uint64_t granted = sync.workers()[r.worker.index].granted.version;
    if (options.exact && r.staleness <= sync.updates() && sync.updates() - r.staleness < granted)
      push.read.include(sync.updates() - r.staleness);
    s.work = sync.admit(push).work;
  }

  void effect(const record& r, std::uint64_t line, const any_policy* taken_over) {
    if (!open || r.now > at) {
      pass_time(r.now, line);
      begin(r.now, line);
      if (!std::exchange(any_release, any_release || r.what == event_kind::release) && options.quorum_late &&
          r.what == event_kind::release)
        static_cast<void>(sync.set_quorum(options.quorum, r.now, no_effects{}));
      if (r.what == event_kind::adjust && r.because == reason::liveness && r.worker.index < seats.size())
        static_cast<void>(sync.force_release(r.worker, r.now, no_effects{}));  // as its host must have done
      else if (sync.next_deadline() <= r.now)
        sync.poll(r.now, no_effects{});
      may_poll = true;
    }
    if (r.what == event_kind::change_policy && taken_over != nullptr) {
      const bool flushed = !logged.empty() && logged.back().what.what == event_kind::flush;
      static_cast<void>(sync.switch_to(*taken_over, r.now,
                                       flushed ? pending_gradients::flush : pending_gradients::discard, no_effects{}));
    }
  }

  void take_effect(const logged_record& r, const any_policy* taken_over) {
    effect(r.what, r.line, taken_over);
    if (r.what.what == event_kind::release) seats[r.what.worker.index].batch = r.what.count;
    logged.push_back({as_logged(r.what), r.line});
  }
  // Whether the policy has ended this round since the event.
  [[nodiscard]] bool has_ended(std::uint64_t round) const {
    return std::any_of(decided.begin(), decided.end(), [&](const record& r) {
      return (r.what == event_kind::flush || r.what == event_kind::discard) && r.round == round;
    });
  }

  static constexpr int most_polls = 1000;  // without anything that happens

  replay_options options;
  std::vector<record> decided;        // since the event, by the policy
  std::vector<logged_record> logged;  // by the log
  std::optional<logged_record> held;  // the end of a round, until it is known what brought it about
  controller_type sync;
  std::vector<seat> seats;
  replay_result result;
  double at = -std::numeric_limits<double>::infinity();
  std::uint64_t line_of_event = 0;
  bool open = false, may_poll = false, same_event = true, any_release = false;
};

log_replay::log_replay(const replay_options& o, const any_policy& policy) : state_{new state{o, policy}} {}
log_replay::~log_replay() = default;

void log_replay::operator()(const record& r, std::uint64_t line, const any_policy* taken_over) {
  state& s = *state_;
  if (is_of_no_matter(r) || (r.worker.index != no_worker && r.worker.index >= s.seats.size())) return;
  // The flush that a commit brings about comes before its line.
  const bool ends_round = r.what == event_kind::flush || r.what == event_kind::discard;
  const std::optional<state::logged_record> held = std::exchange(s.held, std::nullopt);
  const bool of_commit = held && r.what == event_kind::commit && r.now == held->what.now;
  if (held && !of_commit) s.take_effect(*held, nullptr);
  if (ends_round && !s.has_ended(r.round)) {
    s.held = state::logged_record{r, line};
    return;
  }
  if (!is_input(r.what)) return s.take_effect({r, line}, taken_over);
  s.input(r, line);
  if (of_commit) s.logged.push_back({as_logged(held->what), held->line});
  s.logged.push_back({as_logged(r), line});
}

const replay_result& log_replay::finish() {
  if (state_->held) state_->take_effect(*state_->held, nullptr);
  state_->held.reset();
  state_->settle();
  return state_->result;
}

}  // namespace rubato::lab
