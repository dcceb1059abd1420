// Whether the controller does only what shield.py allows: a policy and a host that may do anything, side by side with
// the model that checker.py makes of it.
//
// usage: conformance [SCALE]
//   SCALE   how much of the usual is done, 1 if it is not given
// Exit status 1 at the first call that the model forbids, or after which the two differ; and if a branch of an event
// was never taken, or there were fewer than 10,000,000 events.
#include "side_by_side.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <rubato/core/rng.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace proof {

using rubato::decision;
using rubato::release_order;
using shield::state_kind;

constexpr double never = std::numeric_limits<double>::infinity();

/// All sequences of choices, one after another.
class counted final : public choices {
 public:
  std::uint32_t pick(std::uint32_t n) override {
    if (n < 2) return 0;
    if (at_ == digits_.size()) digits_.push_back({0, n});
    return digits_[at_++].chosen;
  }
  /// To be called after a sequence; false if it was the last one.
  bool next() {
    at_ = 0;
    while (!digits_.empty() && digits_.back().chosen + 1 == digits_.back().of) digits_.pop_back();
    if (digits_.empty()) return false;
    ++digits_.back().chosen;
    return true;
  }
  [[nodiscard]] std::vector<std::uint8_t> chosen() const {
    std::vector<std::uint8_t> all;
    for (const digit& d : digits_) all.push_back(static_cast<std::uint8_t>(d.chosen));
    return all;
  }

 private:
  struct digit {
    std::uint32_t chosen, of;
  };
  std::vector<digit> digits_;
  std::size_t at_ = 0;
};

/// A sequence of choices once more.
class repeated final : public choices {
 public:
  explicit repeated(const std::vector<std::uint8_t>& all) : all_{all} {}
  std::uint32_t pick(std::uint32_t n) override { return n < 2 ? 0 : all_[at_++]; }

 private:
  const std::vector<std::uint8_t>& all_;
  std::size_t at_ = 0;
};

class drawn final : public choices {
 public:
  explicit drawn(std::uint64_t seed) : random_{seed, 0} {}
  std::uint32_t pick(std::uint32_t n) override { return n < 2 ? 0 : static_cast<std::uint32_t>(random_.below(n)); }
  [[nodiscard]] bool chance(std::uint32_t percent) { return pick(100) < percent; }
  [[nodiscard]] double uniform() { return random_.uniform(); }

 private:
  rubato::random_sequence random_;
};

// ------------------------------------------------------------------------------------------ every choice that there is

/// What is explored: all that can be done within these bounds. Clocks, versions, rounds and times count from the
/// slowest, the latest, the open one and now.
struct scope {
  std::uint32_t workers = 2;
  rubato::park_on park = rubato::park_on::push;
  std::uint32_t quorum = 1;
  integer bounds = 1;                  // the policy's bound is at most this
  integer spread = 2;                  // clocks of all workers, also those who have gone, differ by at most this
  std::uint32_t waiting = 1;           // gradients that wait in the open round
  std::uint32_t memberships = 1;       // exclusions and readmissions that a policy orders in a call
  std::size_t most = ~std::size_t{0};  // states that are looked at
};

inline scope within;  // what is being explored
inline std::uint32_t memberships_left = 0;
inline bool at_random = false;

/// The policy's answer in the exploration.
decision any_decision(adversary& policy, const rubato::event& what) {
  side_by_side& at = *at_work;
  choices& dice = *side_by_side::dice;
  const shield::model& m = at.model();
  std::vector<place> parked;
  std::uint32_t running = 0;
  for (place w = 0; w < m.size_W; ++w) {
    running += at.is(w) == state_kind::running && m.doomed[w] == 0;
    if (at.counts(w) && at.is(w) == state_kind::parked) parked.push_back(w);
  }
  decision d;
  d.wakes = true, d.wake_at = at.now;  // poll() always asks
  std::vector<decision> members{d};
  if (memberships_left > 0)
    for (place w = 0; w < m.size_W; ++w) {
      if (at.counts(w)) members.push_back(d.with_exclude(w));
      if (m.excluded[w] != 0) members.push_back(d.with_readmit(w));
    }
  if (const std::uint32_t which = dice.pick(static_cast<std::uint32_t>(members.size())); which > 0) {
    --memberships_left;
    at.answered(members[which], policy, m.policy_bound);
    return members[which];
  }
  d.flushes = m.filled && dice.pick(2) == 1;
  d.cancels = running > 0 && dice.pick(2) == 1;
  d.cancel_below = ~std::uint64_t{0};
  integer bound = m.policy_bound;
  if (const std::uint32_t other = dice.pick(static_cast<std::uint32_t>(within.bounds) + 1); other > 0) {
    bound = (bound + other) % (within.bounds + 1);
    d.rebases = bound < m.policy_bound;
    d.rebase_bound = steps(bound);
  }
  std::vector<decision> verbs{decision::hold()};
  if (!parked.empty()) {
    verbs.insert(verbs.end(),
                 {decision::all(), decision::up_to(1), decision::up_to_clock(steps(m.m)), decision::contributors()});
    if (what.worker < m.size_W) verbs.push_back(decision::submitter());
    for (const place w : parked) verbs.push_back(decision::only(w));
  }
  const decision& verb = verbs[dice.pick(static_cast<std::uint32_t>(verbs.size()))];
  d.verb = verb.verb, d.count = verb.count, d.clock = verb.clock, d.worker = verb.worker;
  at.answered(d, policy, bound);
  return d;
}

rubato::admission any_admission() {
  choices& dice = *side_by_side::dice;
  const side_by_side& at = *at_work;
  const bool full = at.waiting_in(at.model().current) >= within.waiting;
  switch (dice.pick(full ? 2 : 4)) {
    case 0:
      return rubato::admission::apply();
    case 1:
      return rubato::admission::drop(rubato::reason::stale);
    case 2:
      return rubato::admission::accumulate();
    default:
      at_work->verdict_completes();
      return rubato::admission::accumulate_and_flush();
  }
}

/// One call of any kind.
void any_call(side_by_side& at) {
  choices& dice = *side_by_side::dice;
  enum class kind : std::uint8_t { join, depart, push, commit, pull, push_again, poll, change, force };
  struct action {
    kind what;
    place w = 0;
  };
  std::vector<action> all;
  const bool pulls = at.parks_on_pull();
  for (place w = 0; w < within.workers; ++w) {
    const state_kind is = at.is(w);
    const bool here = is != state_kind::absent && is != state_kind::gone;
    all.push_back({kind::join, w});
    if (here) all.push_back({kind::depart, w});
    if (is == state_kind::running) all.push_back({kind::push, w});
    if (here && pulls) all.push_back({kind::pull, w});
    if (is == state_kind::admitted && !pulls) all.push_back({kind::push_again, w});
    if (is == state_kind::parked) all.push_back({kind::force, w});
  }
  for (place i = 0; i < at.out.size(); ++i) all.push_back({kind::commit, i});
  if (at.model().started) all.push_back({kind::poll});
  all.push_back({kind::change});
  memberships_left = within.memberships;
  const action a = all[dice.pick(static_cast<std::uint32_t>(all.size()))];
  switch (a.what) {
    case kind::join:
      return at.join(a.w, !pulls);
    case kind::depart:
      return at.depart(a.w, rubato::cause::death);
    case kind::push:
      return at.push(a.w);
    case kind::commit: {
      const bool ok = dice.pick(2) == 0;
      return at.commit(a.w, ok, !pulls);
    }
    case kind::pull:
      return at.pull(a.w);
    case kind::push_again:
      return at.push_again(a.w);
    case kind::poll:
      return at.poll();
    case kind::force:
      return at.force_release(a.w);
    case kind::change: {
      const auto bound = static_cast<integer>(dice.pick(static_cast<std::uint32_t>(within.bounds) + 1));
      return at.switch_to(bound, !at.model().filled || dice.pick(2) == 0);
    }
  }
}

/// What there is to tell apart in a state; empty where it lies outside the scope.
std::string key_of(const side_by_side& at) {
  const shield::model& m = at.model();
  std::string key;
  const auto put = [&](auto n) { key.push_back(static_cast<char>(n)); };
  integer lowest = m.clock[0], highest = 0;
  for (place w = 0; w < m.size_W; ++w) lowest = std::min(lowest, m.clock[w]), highest = std::max(highest, m.clock[w]);
  if (highest - lowest > within.spread) return {};
  std::vector<place> rounds{m.current};  // numbered as they are met
  const auto number_of = [&](place r) {
    std::size_t i = 0;
    while (i < rounds.size() && rounds[i] != r) ++i;
    if (i == rounds.size()) rounds.push_back(r);
    return i;
  };
  for (place w = 0; w < m.size_W; ++w) {
    const rubato::worker_record& r = at.real().workers()[w];
    put(m.st[w]), put(m.clock[w] - lowest);
    put(m.excluded[w] | m.doomed[w] << 1 | m.has[w] << 2 | m.sent[w] << 3 | r.withheld << 4);
    put(r.round == at.round_number());
    std::uint32_t before = 0;  // whose step began earlier
    for (place v = 0; v < m.size_W; ++v)
      before += m.st[w] == state_kind::running && m.st[v] == m.st[w] && at.started_at(v) < at.started_at(w);
    put(before);
    if (m.sent[w] == 0) continue;
    put(m.verdict[m.token[w]]);
    put(m.verdict[m.token[w]] == shield::verdict_kind::accumulate ? number_of(m.round[m.token[w]]) : 0);
  }
  for (const place r : rounds) put(m.round_is[r]), put(at.waiting_in(r));
  for (place w = at.real().workers().parked().front(); w != nobody; w = at.real().workers().parked().after(w)) put(w);
  put(m.policy_bound), put(m.started | m.may_cancel << 1 | m.filled << 2);
  return key;
}

/// Makes every call with every answer from every state that is found; true if there was nothing wrong.
bool explore(const scope& s) {
  within = s;
  at_random = false;
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t calls = side_by_side::calls, events = side_by_side::events;
  struct node {
    std::uint32_t from = 0;
    std::vector<std::uint8_t> by;  // choices
  };
  std::vector<node> nodes(1);
  std::unordered_set<std::string> seen;
  const side_by_side start{{.capacity = s.workers, .quorum = s.quorum, .park = s.park}, 0};
  seen.insert(key_of(start));
  side_by_side from = start, to = start;
  std::size_t i = 0;
  for (; i < nodes.size() && i < s.most; ++i) {
    std::vector<std::uint32_t> way;
    for (std::uint32_t n = static_cast<std::uint32_t>(i); n != 0; n = nodes[n].from) way.push_back(n);
    from = start;
    const std::uint64_t calls_before = side_by_side::calls, events_before = side_by_side::events;
    for (auto n = way.rbegin(); n != way.rend(); ++n) {
      repeated again{nodes[*n].by};
      side_by_side::dice = &again;
      any_call(from);
    }
    side_by_side::calls = calls_before, side_by_side::events = events_before;  // the way there has been counted
    counted dice;
    do {
      to = from;
      side_by_side::dice = &dice;
      any_call(to);
      const std::string key = key_of(to);
      const bool is_new = !key.empty() && seen.insert(key).second;
      if (is_new && to.wrong.empty()) to.check_invariants();
      if (!to.wrong.empty()) {
        std::printf("rejected, %u workers, call %zu from the start: %s\n", s.workers, way.size() + 1, to.wrong.c_str());
        return false;
      }
      if (is_new) nodes.push_back({static_cast<std::uint32_t>(i), dice.chosen()});
    } while (dice.next());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%u workers, parking on %s, quorum %u, bounds to %d, clocks to %d apart, %u waiting, %u memberships: %zu "
      "states%s, %llu calls, "
      "%llu events, %.1f s\n",
      s.workers, s.park == rubato::park_on::push ? "push" : "pull", s.quorum, static_cast<int>(s.bounds),
      static_cast<int>(s.spread), s.waiting, s.memberships, i, i < nodes.size() ? " (of more)" : ", all there are",
      static_cast<unsigned long long>(side_by_side::calls - calls),
      static_cast<unsigned long long>(side_by_side::events - events), took.count());
  return true;
}

// ----------------------------------------------------------------------------------------------------------- at random

drawn* luck = nullptr;  // what is drawn from

decision random_decision(adversary& policy, const rubato::event& what) {
  side_by_side& at = *at_work;
  drawn& dice = *luck;
  const shield::model& m = at.model();
  const auto somebody = [&] { return dice.chance(3) ? m.size_W + dice.pick(2) : dice.pick(m.size_W); };
  decision d;
  if (dice.chance(dice.pick(8) == 0 ? 40 : 3)) {
    if (dice.chance(50)) d.exclude = somebody();
    if (d.exclude == nobody || dice.chance(10)) d.readmit = somebody();
    if (d.readmit == d.exclude) d.readmit = nobody;
  }
  const std::uint32_t verb = dice.pick(100);
  if (verb < 25) d = d.exclude == nobody && d.readmit == nobody ? decision::submitter() : d;
  if (verb >= 25 && verb < 35) d.verb = rubato::release_verb::all;
  if (verb >= 35 && verb < 45) d.verb = rubato::release_verb::only, d.worker = somebody();
  if (verb >= 45 && verb < 65)
    d.verb = rubato::release_verb::up_to, d.count = dice.pick(4), d.order = static_cast<release_order>(dice.pick(3));
  if (verb >= 65 && verb < 75) d.verb = rubato::release_verb::up_to_clock, d.clock = steps(m.m + dice.pick(4));
  if (verb >= 75 && verb < 80) d.verb = rubato::release_verb::contributors;
  d.flushes = dice.chance(15), d.flush_scale = dice.chance(5) ? std::nanf("") : 1.0F;
  d.cancels = dice.chance(5),
  d.cancel_below = at.real().version() + 1 - std::min<std::uint64_t>(dice.pick(3), at.real().version());
  d.wakes = dice.chance(20), d.wake_at = dice.chance(10) ? never : at.now + dice.uniform();
  d.lr_scale = dice.chance(90) ? 1.0F : dice.chance(50) ? 100.0F : std::nanf("");
  integer bound = m.policy_bound;
  if (d.exclude == nobody && d.readmit == nobody) {
    if (dice.chance(2)) {
      d.rebases = true;
      const integer limit = dice.chance(10) ? endless : static_cast<integer>(dice.pick(5));
      d.rebase_bound = steps(limit);
      bound = std::max<integer>(std::min(limit, m.policy_bound), static_cast<integer>(dice.pick(6)));
    } else if (dice.chance(2)) {
      bound = std::min(endless, bound + 1 + dice.pick(3));
    }
  }
  static_cast<void>(what);
  at.answered(d, policy, bound);
  return d;
}

rubato::admission random_admission() {
  switch (luck->pick(6)) {
    case 0:
      return rubato::admission::apply();
    case 1:
      return rubato::admission::drop(rubato::reason::stale);
    case 2:
      at_work->verdict_completes();
      return rubato::admission::accumulate_and_flush();
    default:
      return rubato::admission::accumulate(luck->chance(10) ? 0.5F : 1.0F);
  }
}

integer random_bound(drawn& dice) { return dice.chance(20) ? endless : static_cast<integer>(dice.pick(5)); }

void random_call(side_by_side& at, std::vector<side_by_side::gradient>& old) {
  drawn& dice = *luck;
  const shield::model& m = at.model();
  const place w = dice.pick(m.size_W);
  const bool here = at.is(w) != state_kind::absent && at.is(w) != state_kind::gone;
  at.now += dice.chance(2) ? -0.1 : 0.01 * dice.uniform();
  if (!m.started && dice.chance(80)) return at.join(w, dice.chance(70));
  const std::uint32_t what = dice.pick(1000);
  if (what < 380 && !at.out.empty()) {
    const std::size_t which = dice.pick(static_cast<std::uint32_t>(at.out.size()));
    if (dice.chance(5)) old.push_back(at.out[which]);
    return at.commit(which, !dice.chance(10), dice.chance(at.parks_on_pull() ? 10 : 90));
  }
  if (what < 830) {  // the next one that runs
    for (place n = 0, v = w; n < m.size_W; ++n, v = v + 1 == m.size_W ? 0 : v + 1)
      if (at.is(v) == state_kind::running) return at.push(v, dice.chance(2) ? std::nanf("") : 1.0F);
    return at.poll();
  }
  if (what < 900 && (at.parks_on_pull() || dice.chance(5))) return at.pull(w);
  if (what < 920) return at.poll();
  if (what < 940 && here)
    return at.depart(w, std::array{rubato::cause::leave, rubato::cause::death, rubato::cause::done}[dice.pick(3)]);
  if (what < 970) return here && dice.chance(80) ? at.join_again(w) : at.join(w, dice.chance(50));
  if (what < 980 && at.is(w) != state_kind::running) return at.push_again(w);
  if (what < 985) return at.switch_to(random_bound(dice), dice.chance(50));
  if (what < 990) return at.force_release(w);
  if (what < 992) return at.set_quorum(1 + dice.pick(m.size_W));
  if (!old.empty()) {
    const side_by_side::gradient g = old.back();
    old.pop_back();
    return at.commit_twice(g);
  }
  at.poll();
}

/// Runs of that many calls, under options of every kind; true if there was nothing wrong.
bool roam(std::uint32_t workers, std::uint32_t runs, std::uint32_t length) {
  at_random = true;
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t calls = side_by_side::calls, events = side_by_side::events;
  for (std::uint32_t run = 0; run < runs; ++run) {
    drawn dice{(std::uint64_t{workers} << 32) + run};
    luck = &dice;
    rubato::controller_options o{.capacity = workers, .quorum = 1 + dice.pick(workers), .seed = run};
    if (dice.chance(50)) o.park = rubato::park_on::pull;
    if (dice.chance(40)) o.guard.bound = dice.pick(4);
    if (dice.chance(40)) o.guard.max_wait = 0.1 * dice.pick(3);
    if (dice.chance(40)) o.max_release_per_call = 1 + dice.pick(3);
    side_by_side at{o, random_bound(dice)};
    std::vector<side_by_side::gradient> old;
    for (std::uint32_t n = 0; n < length; ++n) {
      random_call(at, old);
      if (at.wrong.empty() && n % (1 + workers / 4) == 0) at.check_invariants();
      if (at.wrong.empty()) continue;
      std::printf("rejected, %u workers, run %u, call %u: %s\n", workers, run, n, at.wrong.c_str());
      return false;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%u workers at random: %u runs, %llu calls, %llu events, %.1f s\n", workers, runs,
              static_cast<unsigned long long>(side_by_side::calls - calls),
              static_cast<unsigned long long>(side_by_side::events - events), took.count());
  return true;
}

rubato::admission adversary::admit(const rubato::cluster_view&, const rubato::event&) noexcept {
  return at_random ? random_admission() : any_admission();
}
rubato::decision adversary::release(const rubato::cluster_view&, const rubato::event& what) noexcept {
  at_work->asked(what);
  return at_random ? random_decision(*this, what) : any_decision(*this, what);
}

bool all(double scale) {
  using rubato::park_on;
  const auto runs = [&](double n) { return static_cast<std::uint32_t>(std::ceil(n * scale)); };
  if (!roam(63, runs(300), 3000) || !roam(64, runs(300), 3000) || !roam(65, runs(300), 3000) ||
      !roam(1000, runs(10), 20000) || !roam(2, runs(100), 3000) || !roam(3, runs(100), 3000))
    return false;
  const std::size_t most = scale < 1 ? runs(2000) : ~std::size_t{0};
  for (const park_on park : {park_on::push, park_on::pull}) {
    const std::uint32_t quorum = park == park_on::push ? 2 : 1;
    const scope members{.park = park, .quorum = quorum, .waiting = 0, .most = most};
    const scope rounds{.park = park, .quorum = quorum, .bounds = 0, .spread = 1, .memberships = 0, .most = most};
    if (!explore(members) || !explore(rounds) || (scale > 1 && !explore({.park = park, .quorum = quorum})) ||
        !explore({.workers = 3, .park = park, .quorum = 2, .most = runs(1000)}))
      return false;
  }
  return true;
}

}  // namespace proof

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const double scale = argc > 1 ? std::atof(argv[1]) : 1.0;
  if (!(scale > 0) || argc > 2) return std::fputs("usage: conformance [SCALE]\n", stderr), 2;
  if (!proof::all(scale)) return 1;
  std::printf("%llu calls, %llu events\n", static_cast<unsigned long long>(proof::side_by_side::calls),
              static_cast<unsigned long long>(proof::side_by_side::events));
  int missing = 0;
  for (std::size_t i = 0; i < shield::taken.size(); ++i)
    if (shield::taken[i] == 0) std::printf("never taken: %s\n", shield::branches[i]), ++missing;
  return scale >= 1 && (missing > 0 || proof::side_by_side::events < 10'000'000) ? 1 : 0;
}
