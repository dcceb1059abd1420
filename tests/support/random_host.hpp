#ifndef RUBATO_TESTS_SUPPORT_RANDOM_HOST_HPP
#define RUBATO_TESTS_SUPPORT_RANDOM_HOST_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "draw_source.hpp"
#include "promises.hpp"
#include "reference.hpp"
#include "schedule.hpp"
#include "unwatched_twin.hpp"

namespace rubato::test {

/// Runs one random schedule against a controller and, call by call, against the reference, and checks on its own
/// account: each ticket ends once, each gradient has one fate, somebody always runs or will, nobody starts beyond the
/// bound, no staleness is under-reported, no wait exceeds what the policy states, counts, minimum and maximum agree
/// with a scan, and a controller that nobody watches does the same.
class random_host {
 public:
  using controller_type = controller<spy, std::uint32_t, fingerprint>;

  random_host(const schedule_options& o, any_policy policy, std::function<void(const start&)> on_start = {})
      : o_{o}, random_{o.script, random_sequence{o.seed, 7}}, pristine_{policy}, on_start_{std::move(on_start)} {
    c_.capacity = o.workers != 0 ? o.workers : 1 + pick(9);
    c_.quorum = pick(3) == 0 ? 1 + pick(c_.capacity) : 0;
    c_.park = pick(3) == 0 ? park_on::pull : park_on::push;
    c_.guard = o.guard;
    c_.max_release_per_call = pick(3) == 0 ? 1 + pick(3) : no_worker;
    c_.seed = o.seed;
    twin_.emplace(c_, policy);
    control_ = std::make_unique<controller_type>(c_, spy{std::move(policy), log_}, fingerprint{&report_.log});
    model_.emplace(c_, control_->policy().clock_bound());
    hosts_.resize(c_.capacity);
    if (pick(4) == 0) return;  // all equally fast
    for (host_worker& h : hosts_) h.pace = 0.25 + random_.uniform() * (pick(4) == 0 ? 8.0 : 1.0);
  }

  schedule_report run() {
    for (std::uint32_t w = 0; w < c_.capacity && report_.problem.empty(); ++w)
      if (o_.fault_rate == 0.0 || pick(4) != 0) join(w, hosts_[w].life);
    for (std::uint32_t e = 0; e < o_.events && report_.problem.empty(); ++e) {
      act();
      if (o_.halfway && e == o_.events / 2) switch_to(*o_.halfway, o_.pending);
    }
    quiet_end();
    if (std::string last = twin_->difference_from({}, *control_, true); !last.empty()) fail(last);
    report_.overrides = control_->counts().overrides();
    if (!o_.overrides && report_.overrides > 0) fail("the guard had to step in");
    return report_;
  }

 private:
  struct host_worker {
    std::uint32_t life = 0;
    std::uint64_t step = 0;
    double pace = 1.0;
    double due = 0.0;
    std::uint32_t samples = 16;                  // of its step, as it was granted
    std::optional<std::uint32_t> computes_as{};  // incarnation
    bool free = false;                           // released, and yet to pull
    std::uint64_t applied_when_read = 0;
    std::uint32_t waited = 0;  // steps of the slowest while it was parked
  };
  struct sink {
    random_host& host;
    void release(std::uint32_t ticket, worker_id worker, const grant& terms) { host.released(ticket, worker, terms); }
    void flush(std::uint64_t round, float scale, std::uint32_t n) {
      host.round_ended(round, scale, n, entry::kind::flush);
    }
    void discard(std::uint64_t round, std::uint32_t n) { host.round_ended(round, 0.0F, n, entry::kind::discard); }
    void cancel(worker_id worker) { host.log_.push_back({.what = entry::kind::cancel, .worker = worker}); }
    void abandon(std::uint32_t ticket, worker_id worker, reason why) {
      host.end_ticket(ticket);
      host.log_.push_back({.what = entry::kind::abandon, .worker = worker, .ticket = ticket, .why = why});
    }
  };

  [[nodiscard]] std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  [[nodiscard]] bool faulty(double p) { return o_.fault_rate > 0.0 && chance(p); }
  [[nodiscard]] bool chance(double p) { return random_.uniform() < p; }
  [[nodiscard]] clock_type bound() const {
    const clock_type of_policy = control_->policy().clock_bound();
    return c_.guard.enabled ? std::min(of_policy, c_.guard.bound) : of_policy;
  }
  [[nodiscard]] worker_state state(std::uint32_t w) const { return control_->workers()[w].state; }
  [[nodiscard]] worker_id id(std::uint32_t w) const { return {w, hosts_[w].life}; }

  void fail(const std::string& what) {
    if (report_.problem.empty())
      report_.problem = what + " (seed " + std::to_string(o_.seed) + ", call " + std::to_string(report_.calls) + ": " +
                        std::string{call_} + ", policy " + std::string{control_->policy().kind()} + ")";
  }

  // --- what the sink hears

  [[nodiscard]] std::uint32_t new_ticket() {
    ticket_ended_.push_back(false);
    return static_cast<std::uint32_t>(ticket_ended_.size() - 1);
  }
  [[nodiscard]] std::optional<std::uint32_t> push_ticket() {
    return c_.park == park_on::push ? std::optional{new_ticket()} : std::nullopt;
  }
  void end_ticket(std::uint32_t ticket) {
    if (ticket >= ticket_ended_.size() || ticket_ended_[ticket]) return fail("a ticket ended twice");
    ticket_ended_[ticket] = true;
  }
  void released(std::uint32_t ticket, worker_id worker, const grant& terms) {
    end_ticket(ticket);
    log_.push_back({.what = entry::kind::release, .worker = worker, .terms = terms, .ticket = ticket});
    host_worker& h = hosts_[worker.index];
    if (h.computes_as == worker.incarnation) return;  // the answer to a repeated message
    h.computes_as = worker.incarnation;
    h.samples = terms.batch == 0 ? 16 : terms.batch;
    h.due = now_ + h.pace * (0.8 + 0.4 * random_.uniform());
    h.applied_when_read = applied_;
    ++report_.starts;
    const vector_clock& clock = control_->workers().clock();
    const start s{worker.index, clock.clock(worker.index), clock.minimum(), o_.seed, report_.calls};
    // Who was freed earlier starts under the bound of that time.
    if (!h.free && s.clock - s.minimum_clock > bound()) fail("a start beyond the bound: " + s.describe());
    if (on_start_) on_start_(s);
  }
  void round_ended(std::uint64_t round, float scale, std::uint32_t n, entry::kind how) {
    log_.push_back({.what = how, .round = round, .scale = scale, .gradients = n});
    if (added_[round] != n || out_of_[round] != 0) fail("a round ended with other gradients than were added to it");
    if (how == entry::kind::flush && n == 0) fail("a flush of nothing");
    added_.erase(round);
    out_of_.erase(round);
    if (how == entry::kind::flush) ++applied_;
  }

  // --- one call, on the controller and on the reference

  template <class Real, class Model>
  void call(const char* what, Real&& real, Model&& model) {
    if (!report_.problem.empty()) return;
    call_ = what;
    ++report_.calls;
    log_.clear();
    const clock_type minimum_before = control_->workers().clock().minimum(), bound_before = bound();
    const auto got = real();
    model_->begin(log_, control_->workers(), control_->counts());
    const auto expected = model();
    if (model_->problem.empty()) model_->end();
    if (!model_->problem.empty()) return fail(model_->problem);
    if constexpr (!std::same_as<decltype(got), const bool>)
      if (got != expected)
        return fail(std::string{"answered "} + std::string{name(got)} + ", expected " + std::string{name(expected)});
    compare();
    follow_waits(minimum_before, bound_before);
  }

  void compare() {
    if (std::string difference = difference_from(*model_, *control_); !difference.empty()) return fail(difference);
    if (std::string broken = broken_promise(control_->workers(), control_->next_deadline(), c_.guard.enabled);
        !broken.empty())
      fail(broken);
    const bool saved = report_.calls % o_.saved_every == 0;
    if (std::string difference = twin_->difference_from(log_, *control_, saved); !difference.empty()) fail(difference);
    if (tokens_.empty() && total_added() != control_->pending()) fail("pending() against what was added");
  }

  // How long the parked have waited, in steps of the slowest (a weaker look than that of legal_wait_test.cpp); and under
  // which bound workers were freed.
  void follow_waits(clock_type minimum_before, clock_type bound_before) {
    const roster& all = control_->workers();
    const bool slowest_stepped = call_ == "commit" && all.clock().minimum() > minimum_before;
    const bool others = call_ == "join" || call_ == "depart" || call_ == "load";  // another one is the slowest now
    for (std::uint32_t w = 0; w < c_.capacity; ++w) {
      const bool waits = all[w].state == worker_state::parked && all.counted(w);
      hosts_[w].waited = waits && !others ? hosts_[w].waited + slowest_stepped : 0;
      if (!o_.overrides && hosts_[w].waited > control_->policy().max_legal_wait(w))
        fail("a longer wait than the policy states");
      const bool free = all[w].state == worker_state::released;
      if (free && !std::exchange(hosts_[w].free, free) && all.counted(w) &&
          all.clock().clock(w) - all.clock().minimum() > std::max(bound(), bound_before))
        fail("a worker freed beyond the bound");  // what an earlier call left over is released before the bound falls
      hosts_[w].free = free;
    }
  }
  [[nodiscard]] std::uint64_t total_added() const {
    std::uint64_t n = 0;
    for (const auto& [round, adds] : added_) n += adds;
    return n;
  }

  // --- the messages

  void join(std::uint32_t w, std::uint32_t incarnation) { join_id({w, incarnation}, now_); }
  void join_id(worker_id who, double now) {
    const auto ticket = push_ticket();
    call(
        "join",
        [&] {
          const bool known = who.index < c_.capacity;
          const errc result = control_->join(who, now, ticket, sink{*this});
          twin_->join(who, now, ticket);
          if (result == errc::ok && known) {
            hosts_[who.index].life = who.incarnation;
            hosts_[who.index].step = 0;
          }
          return result;
        },
        [&] { return model_->join(who, now, ticket); });
  }
  void depart(worker_id who, double now, cause why) {
    call(
        "depart",
        [&] {
          const errc result = control_->depart(who, now, why, sink{*this});
          twin_->depart(who, now, why);
          if (result == errc::ok) hosts_[who.index].computes_as.reset();
          return result;
        },
        [&] { return model_->depart(who, now, why); });
  }

  // Admits a push, and remembers the token if something is outstanding.
  [[nodiscard]] admitted admit(const push_event& push) {
    admitted got{};
    call(
        "admit",
        [&] {
          const bool in_range = push.worker.index < c_.capacity;
          got = control_->admit(push);
          twin_->admit(push);
          if (got.work.serial != 0 && in_range) {
            host_worker& h = hosts_[push.worker.index];
            h.computes_as.reset();
            ++report_.gradients;
            if (got.staleness + h.applied_when_read < applied_) fail("an under-reported staleness");
            if (got.what.what == verdict::accumulate) ++out_of_[got.round];
            tokens_.push_back(got);
          }
          return true;
        },
        [&] {
          const admitted expected = model_->admit(push);
          if (expected.work.worker != got.work.worker || expected.work.serial != got.work.serial ||
              expected.work.what != got.work.what || expected.work.why != got.work.why || expected.round != got.round ||
              expected.staleness != got.staleness || expected.what.what != got.what.what ||
              expected.what.weight != got.what.weight || expected.what.why != got.what.why)
            fail("an admission");
          return true;
        });
    return got;
  }
  void commit(const admitted& a, double now, outcome how) {
    const auto ticket = push_ticket();
    if (a.work.serial != 0 && std::isfinite(now)) {
      const auto place = std::ranges::find(tokens_, a.work.serial, [](const admitted& t) { return t.work.serial; });
      if (place != tokens_.end()) {
        tokens_.erase(place);
        if (a.what.what == verdict::apply && how == outcome::done) ++applied_;
        if (a.what.what == verdict::accumulate) {
          --out_of_[a.round];
          added_[a.round] += how == outcome::done;
        }
      }
    }
    call(
        "commit",
        [&] {
          const errc result = control_->commit(a.work, now, how, ticket, sink{*this});
          twin_->commit(a.work, now, how, ticket);
          return result;
        },
        [&] { return model_->commit(a.work, now, how, ticket); });
  }
  void pull(worker_id who, double now) {
    const std::uint32_t ticket = new_ticket();
    call(
        "pull",
        [&] {
          const errc result = control_->pull(who, now, ticket, sink{*this});
          twin_->pull(who, now, ticket);
          return result;
        },
        [&] { return model_->pull(who, now, ticket); });
  }
  void poll(double now) {
    call(
        "poll", [&] { return control_->poll(now, sink{*this}), twin_->poll(now), true; },
        [&] { return model_->poll(now), true; });
  }
  void switch_to(const any_policy& next, pending_gradients pending) {
    call(
        "switch_to",
        [&] {
          pristine_ = next;
          for (host_worker& h : hosts_) h.waited = 0;
          const errc result = control_->switch_to(spy{next, log_}, now_, pending, sink{*this});
          twin_->switch_to(next, now_, pending);
          return result;
        },
        [&] { return model_->switch_to(next.clock_bound(), now_, pending); });
    const roster& all = control_->workers();
    for (std::uint32_t w = 0; w < c_.capacity && report_.problem.empty(); ++w)
      if (all.counted(w) && all.clock().clock(w) - all.clock().minimum() > saturating_add(next.clock_bound(), 1))
        fail("the spread after a switch");
  }
  void reload() {
    archive saved;
    const errc result = control_->save(saved);
    if (result != (model_->may_save() ? errc::ok : errc::busy)) fail("save said " + std::string{name(result)});
    if (result != errc::ok) return;
    if (peek_kind(saved.bytes()) != control_->policy().kind()) fail("peek_kind");
    auto fresh = std::make_unique<controller_type>(c_, spy{pristine_, log_}, fingerprint{&report_.log});
    std::vector<std::uint32_t> lost;
    archive bytes{saved.bytes()};
    call(
        "load",
        [&] {
          const errc loaded = fresh->load(bytes, [&](worker_id who) -> std::optional<std::uint32_t> {
            if (chance(0.2)) {
              lost.push_back(who.index);
              return std::nullopt;
            }
            return model_->workers()[who.index].waits_with;
          });
          control_ = std::move(fresh);
          twin_->load(saved.bytes(), pristine_, [&](worker_id who) -> std::optional<std::uint32_t> {
            if (std::ranges::find(lost, who.index) != lost.end()) return std::nullopt;
            return model_->workers()[who.index].waits_with;
          });
          return loaded;
        },
        [&] { return model_->reload(lost), errc::ok; });
    poll(now_);
  }

  [[nodiscard]] push_event next_step(std::uint32_t w) {
    return {.worker = id(w),
            .now = now_,
            .step = ++hosts_[w].step,
            .samples = hosts_[w].samples,
            .loss = 1.0F + static_cast<float>(w),
            .grad_norm = 1.0F,
            .read = {}};
  }

  // --- the actions

  void act() {
    now_ += 0.02 * random_.uniform();
    if (chance(o_.fault_rate)) return chance(0.5) ? misbehave() : change_members();
    if (!o_.switches.empty() && chance(0.02))
      return switch_to(o_.switches[pick(static_cast<std::uint32_t>(o_.switches.size()))],
                       pick(2) == 0 ? pending_gradients::flush : pending_gradients::discard);
    if (chance(o_.reloads)) return reload();
    if (control_->next_deadline() <= now_ && chance(0.5)) return poll(now_);
    if (c_.park == park_on::pull && chance(0.5) && pull_someone()) return;
    if (!tokens_.empty() && chance(0.4)) return commit_some();
    step_someone();
  }

  bool pull_someone() {
    const std::uint32_t first = pick(c_.capacity);
    for (std::uint32_t n = 0; n < c_.capacity; ++n) {
      const std::uint32_t w = (first + n) % c_.capacity;
      if (model_->workers()[w].waits_with || !(roster::is_member(state(w)) || state(w) == worker_state::joining))
        continue;
      if (state(w) != worker_state::running) return pull(id(w), now_), true;
    }
    return false;
  }
  void commit_some() {
    const admitted a = tokens_[pick(static_cast<std::uint32_t>(tokens_.size()))];
    commit(a, now_, faulty(0.1) ? outcome::failed : outcome::done);
  }
  // The step that is over first.
  void step_someone() {
    std::uint32_t next = no_worker;
    for (std::uint32_t w = 0; w < c_.capacity; ++w)
      if (state(w) == worker_state::running && (next == no_worker || hosts_[w].due < hosts_[next].due)) next = w;
    if (next == no_worker) return wait_for_something();
    now_ = std::max(now_, hosts_[next].due);
    push_event push = next_step(next);
    if (faulty(0.03)) push.loss = std::numeric_limits<float>::quiet_NaN();
    if (faulty(0.02)) push.grad_norm = std::numeric_limits<float>::infinity();
    if (chance(0.3)) push.read.include(model_->workers()[next].terms.version + pick(3));
    if (chance(0.1))
      push.read.lowest = model_->workers()[next].terms.version -
                         std::min<std::uint64_t>(pick(4), model_->workers()[next].terms.version);
    const admitted a = admit(push);
    if (!chance(0.5)) commit(a, now_, faulty(0.05) ? outcome::failed : outcome::done);
  }
  // Nobody runs: the time passes until something else happens.
  void wait_for_something() {
    if (!tokens_.empty()) return commit_some();
    if (c_.park == park_on::pull && pull_someone()) return;
    if (control_->next_deadline() < std::numeric_limits<double>::infinity()) {
      now_ = std::max(now_, control_->next_deadline());
      return poll(now_);
    }
    const std::uint32_t w = pick(c_.capacity);
    join(w, hosts_[w].life + 1);
  }

  void change_members() {
    const std::uint32_t w = pick(c_.capacity);
    const worker_state s = state(w);
    if (s == worker_state::absent) return join(w, hosts_[w].life);
    if (roster::is_gone(s) || chance(0.3)) return join(w, hosts_[w].life + 1 + pick(2));
    constexpr std::array ways{cause::leave, cause::death, cause::done};
    if (chance(0.6)) depart(id(w), now_, ways[pick(3)]);
  }

  // Messages that are late, doubled, or nonsense.
  void misbehave() {
    const std::uint32_t w = pick(c_.capacity);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinite = std::numeric_limits<double>::infinity();
    push_event push{.worker = id(w), .now = now_, .step = hosts_[w].step, .samples = 1};
    switch (pick(16)) {
      case 0:
        return commit(admit(push), now_, outcome::done);  // the same step again (or a worker that has none)
      case 1:
        push.worker.incarnation += 1 + pick(2);
        return commit(admit(push), now_, outcome::done);
      case 2:
        push.worker.index = c_.capacity + pick(2);
        return commit(admit(push), now_, outcome::done);
      case 3:
        push.now = pick(2) == 0 ? nan : infinite;
        return commit(admit(push), now_, outcome::done);
      case 4:
        return join(w, hosts_[w].life);
      case 5:
        return join_id({w, hosts_[w].life - std::min(hosts_[w].life, 1U)}, now_ - 1.0);
      case 6:
        return join_id({c_.capacity + pick(3), 0}, now_);
      case 7:
        return join_id({w, hosts_[w].life + 1}, nan);
      case 8:
        return depart({w, hosts_[w].life + 1}, now_, cause::death);
      case 9:
        return depart(id(w), -infinite, cause::leave);
      case 10:
        return pull(id(w), now_ - 0.5);
      case 11:
        return pull({w, hosts_[w].life + 1}, now_);
      case 12:
        return poll(pick(2) == 0 ? nan : now_ - 2.0);
      case 13:
        if (tokens_.empty()) return;
        return commit(tokens_.front(), nan, outcome::done);  // refused; the token stays good
      case 14: {
        if (tokens_.empty()) return;
        const admitted twice = tokens_[pick(static_cast<std::uint32_t>(tokens_.size()))];
        commit(twice, now_ - 0.1, outcome::done);
        return commit(twice, now_, outcome::done);
      }
      default:
        return commit({.work = {.worker = id(w), .serial = 1'000'000, .what = verdict::apply}}, now_, outcome::done);
    }
  }

  // No more faults: all that is out comes in, and then steps go on as long as anybody is there.
  void quiet_end() {
    o_.fault_rate = 0.0;
    o_.reloads = 0.0;
    o_.switches.clear();
    const std::uint64_t enough = report_.gradients + 4 * c_.capacity;
    for (std::uint32_t n = 0; n < 60 * c_.capacity && report_.problem.empty() && report_.gradients < enough; ++n) act();
    if (report_.problem.empty() && report_.gradients < enough) fail("no progress without faults");
  }

  schedule_options o_;
  draw_source random_;
  any_policy pristine_;
  std::function<void(const start&)> on_start_;
  controller_options c_{};
  journal log_;
  schedule_report report_;
  std::unique_ptr<controller_type> control_;
  std::optional<unwatched_twin> twin_;
  std::optional<reference> model_;
  std::vector<host_worker> hosts_;
  std::vector<admitted> tokens_;
  std::vector<bool> ticket_ended_;
  std::map<std::uint64_t, std::uint32_t> added_;
  std::map<std::uint64_t, std::uint32_t> out_of_;
  std::uint64_t applied_ = 0;
  double now_ = 0.0;
  std::string_view call_ = "construction";
};

}  // namespace rubato::test

#endif
