#ifndef RUBATO_PS_LITE_REQUEST_HANDLER_HPP
#define RUBATO_PS_LITE_REQUEST_HANDLER_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rubato/pinned.hpp>
#include <rubato/sync.hpp>

#include "members.hpp"
#include "store.hpp"

namespace rubato::ps_lite {

/// What a handler is told at construction.
struct handler_options {
  std::uint32_t capacity = 0;  ///< as many workers (node and customer) as may ever come, the replaced counted once
  std::uint32_t quorum = 0;    ///< nobody starts before so many have come; 0: all of the capacity
  /// What waits for its release. push: the answer to a push, for workers that wait for it. pull: the answer to a pull,
  /// for workers that wait for nothing else.
  park_on park = park_on::push;
  std::uint32_t pushes_per_step = 1;  ///< more where a worker pushes each key by itself
  std::uint32_t nominal_samples = 1;  ///< of a step, in the unit of push_facts::samples
  /// Seconds that a pull waits for a push that it may have overtaken, where pulls park: ps-lite queues requests by
  /// priority, and those of one priority in no order. 0: not at all, for workers that order them by priorities.
  double patience = 1.0;
  guard_options guard{};   ///< times in seconds
  std::uint64_t seed = 0;  ///< for releases in random order
};

/// What is wrong with these options for this policy, as a sentence; empty if nothing is.
template <SyncPolicy Policy>
[[nodiscard]] std::string problem(const handler_options& o, const Policy& policy) {
  if (o.pushes_per_step == 0) return "pushes_per_step is 0, expected at least 1";
  if (o.nominal_samples == 0) return "nominal_samples is 0, expected at least 1";
  if (pinned::is_nan(o.patience) || o.patience < 0)
    return "patience is negative or not a number, expected 0 or more seconds";
  return rubato::problem(controller_options{.capacity = o.capacity, .quorum = o.quorum, .guard = o.guard}, policy);
}

/// How many requests came, and what became of them.
struct handler_counts {
  std::uint64_t requests = 0;    ///< that came; duplicates counted each time
  std::uint64_t answers = 0;     ///< that were sent
  std::uint64_t duplicates = 0;  ///< the same request once more: not answered again
  std::uint64_t kept = 0;        ///< now, of the duplicates: depart(.., cause::death) would answer them
  std::uint64_t unanswered = 0;  ///< of workers that died while they waited: nobody is there to be answered
  std::uint64_t strangers = 0;   ///< of workers beyond the capacity: answered, gradients not used
  std::uint64_t impatient = 0;   ///< pulls that were answered without a request that their worker sent before them
  std::uint64_t late = 0;        ///< steps of workers that were gone: answered, gradients not used
};

/// A request handler of a ps-lite server that answers when a policy says so.
///
///     rubato::ps_lite::request_handler<ps::KVServer<float>, parameters> sync{{.capacity = 8}, rubato::ssp{3}, store};
///     server.set_request_handle(std::ref(sync));
///
/// A worker joins by its first request. It is released by the answer to a push or to a pull (handler_options::park),
/// and its step ends with its next push. Every request is answered once, but for those of workers that died. Pass on
/// only what belongs to training: requests that initialise, save or end are for a handler around this one.
///
/// Restart  a node that takes the place of a dead one has its name and counts from 0. Say depart(.., cause::death)
///          before its first request (docs/ps_lite.md has how). Where it is quicker, its requests look like repeats of
///          the dead one's, however low their numbers are: no number alone is a death, as the network may repeat an
///          old request of a live worker. Those that came since the last new number are kept, and answered by that
///          depart(), no gradient used. Until then the successor waits: handler_counts::kept and describe() show it,
///          and repeats are no sign of life to silent_for().
/// First    a worker that begins with a push is taken to have computed it on version 0. One that comes back after
///          depart() is answered, but the gradient that it began with is not used.
/// Last     a worker that is done says so, by a request that you turn into depart(.., cause::done): ps-lite does not,
///          and others would wait for its next push. It may still read.
/// Thread   safe. ps-lite calls the handler from one thread, that of the server's customer; poll(), depart() and
///          switch_to() may come from others. One mutex is held throughout, arithmetic and answers included: ps-lite
///          itself handles one request of a server at a time, and sends from any thread.
/// Cost     that of the store, and of the controller's call; a look-up by node; the requests of a step are kept until
///          it is whole, without a copy of their values. Allocates when a worker waits for the first time, and for a
///          repeat that is kept: one of each number, without its values.
/// Life     it must outlive the server's requests: close() before the server goes.
/// Tests    tests/integrations/ps_lite, one file each: what a worker sees, membership, staleness, requests, threads
template <KeyValueServer Server, class Parameters, SyncPolicy Policy = any_policy, Observer Watcher = no_observer>
class request_handler {
 public:
  using meta_type = detail::meta_of<Server>;       ///< of a request: ps::KVMeta
  using pairs_type = detail::pairs_of<Server>;     ///< keys and values: ps::KVPairs
  using clock_function = std::function<double()>;  ///< seconds, from any origin
  static_assert(Store<Parameters, pairs_type>, "the store needs apply and read: see store.hpp");
  static_assert(RoundStore<Parameters, pairs_type> || !may_accumulate<Policy>,
                "this policy may accumulate gradients: the store needs add, flush and discard");

  /// Without a clock of yours: std::chrono::steady_clock.
  /// Errors  invalid_option, with what problem(options, policy) says
  [[nodiscard]] static result<std::unique_ptr<request_handler>> make(const handler_options& o, Policy policy,
                                                                     Parameters& store, clock_function clock = {},
                                                                     Watcher watcher = {}) {
    if (std::string wrong = problem(o, policy); !wrong.empty()) return error{errc::invalid_option, std::move(wrong)};
    return std::make_unique<request_handler>(o, std::move(policy), store, std::move(clock), std::move(watcher));
  }
  /// Precondition: problem(options, policy) is empty.
  request_handler(const handler_options& o, Policy policy, Parameters& store, clock_function clock = {},
                  Watcher watcher = {})
      : options_{o},
        store_{store},
        clock_{clock ? std::move(clock) : clock_function{steady_seconds}},
        members_{o.capacity},
        sync_{{.capacity = o.capacity, .quorum = o.quorum, .park = o.park, .guard = o.guard, .seed = o.seed},
              std::move(policy),
              std::move(watcher)} {
    RUBATO_ASSERT(o.pushes_per_step > 0 && o.nominal_samples > 0, "options out of range: problem() says which");
  }

  /// A request has come: what ps-lite calls.
  void operator()(const meta_type& request, const pairs_type& data, Server* server) {
    const std::lock_guard lock{mutex_};
    ++counts_.requests;
    const std::optional<std::uint32_t> w = members_.find_or_add({request.sender, request.customer_id});
    if (w && !members_[*w].seen.first_time(request.timestamp)) return keep_repeat(*w, {request, keys_of(data), server});
    if (w) members_[*w].again.clear();  // it goes on: they were repeats
    if (!w || closed_) {
      if (!w) ++counts_.strangers;
      if (w && request.push) ++counts_.late;
      return answer({request, keys_of(data), server}, {.version = sync_.version()});
    }
    members_[*w].heard_at = now();
    poll_if_due();
    if (request.push)
      push(*w, {request, keys_of(data), server}, data);
    else if (request.pull)
      pull(*w, {request, keys_of(data), server});
    else
      answer({request, {}, server}, {});
    run_openings();
  }

  /// A worker goes: `why` is leave, death or done. Requests of it that wait are answered, those of a dead one are not:
  /// a node that replaces it counts its requests from 0, and would take the answer for its own. It may come back by a
  /// request.
  /// Errors  unknown_worker, departed_worker, invalid_option for another cause
  errc depart(worker_name name, cause why) {
    const std::lock_guard lock{mutex_};
    const std::optional<std::uint32_t> w = members_.find(name);
    return w ? depart_locked(*w, why) : errc::unknown_worker;
  }
  /// All customers of a node go.
  /// Errors  the first of theirs; unknown_worker if it never sent a request
  errc depart_node(int sender, cause why) {
    const std::lock_guard lock{mutex_};
    std::optional<errc> first;
    for (std::uint32_t w = 0; w < members_.size(); ++w) {
      if (members_[w].name.sender != sender) continue;
      const errc code = depart_locked(w, why);
      if (!first || *first == errc::ok) first = code;
    }
    return first.value_or(errc::unknown_worker);
  }
  /// Workers whose next request is waited for, and that were last heard of so many seconds ago or more. A repeat does
  /// not count: it may be the network's, or a successor's. No server of ps-lite is told that a worker died: the
  /// scheduler knows, and this list.
  [[nodiscard]] std::vector<worker_name> silent_for(double seconds) const {
    const std::lock_guard lock{mutex_};
    std::vector<worker_name> silent;
    for (std::uint32_t w = 0; w < members_.size(); ++w)
      if (goes(w) && now() - members_[w].heard_at >= seconds) silent.push_back(members_[w].name);
    return silent;
  }

  /// Does what is due. Call it from a timer, some times in what the policy's deadlines are; a request does it too.
  void poll() {
    const std::lock_guard lock{mutex_};
    poll_if_due();
  }
  /// Seconds until poll() has something to do: 0 for at once, infinity for nothing. A request may bring it forward.
  [[nodiscard]] double due_in() const {
    const std::lock_guard lock{mutex_};
    return (std::max)(0.0, (std::min)(sync_.next_deadline(), early_due_) - now());
  }

  /// Another policy from now on, while the job runs; see controller::switch_to.
  /// Errors  invalid_option if its options do not suit the capacity: nothing has changed
  errc switch_to(Policy policy, pending_gradients waiting = pending_gradients::flush) {
    const std::lock_guard lock{mutex_};
    const errc code = sync_.switch_to(std::move(policy), now(), waiting, effects{*this});
    run_openings();
    return code;
  }
  /// Fewer workers come than the quorum; see controller::set_quorum.
  errc set_quorum(std::uint32_t quorum) {
    const std::lock_guard lock{mutex_};
    const errc code = sync_.set_quorum(quorum, now(), effects{*this});
    run_openings();
    return code;
  }
  /// Training is over: all who wait are answered, and whatever comes is answered at once, its gradient not used.
  void close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    for (std::uint32_t w = 0; w < members_.size(); ++w) static_cast<void>(depart_locked(w, cause::done));
  }

  /// Since the construction.
  [[nodiscard]] handler_counts counts() const {
    const std::lock_guard lock{mutex_};
    return counted();
  }
  /// look(controller) under the mutex, to read what it counts: its result. It must not call the adapter.
  template <class Look>
  auto inspect(Look&& look) const {
    const std::lock_guard lock{mutex_};
    return look(sync_);
  }
  /// The rule, one line for each worker, and what was counted, for people.
  [[nodiscard]] std::string describe() const {
    const std::lock_guard lock{mutex_};
    std::string text = describe_of(sync_.policy()).line + "\n";
    for (std::uint32_t w = 0; w < members_.size(); ++w) {
      const member_type& who = members_[w];
      text += "worker " + std::to_string(w) + ": node " + std::to_string(who.name.sender) + ", customer " +
              std::to_string(who.name.customer_id) + ", " + std::string{name(sync_.workers()[w].state)} + ", clock " +
              std::to_string(sync_.workers().clock().clock(w)) + ", " + std::to_string(who.waiting.size()) +
              " requests wait" + (who.again.empty() ? "" : ", " + std::to_string(who.again.size()) + " kept") + "\n";
    }
    const handler_counts all = counted();
    text += "updates " + std::to_string(sync_.version()) + ", requests " + std::to_string(all.requests) + ", answers " +
            std::to_string(all.answers);
    for (std::size_t i = 1; i < counters::reasons; ++i)
      if (const auto why = static_cast<reason>(i); sync_.counts().total(why) > 0)
        text += ", " + std::string{name(why)} + " " + std::to_string(sync_.counts().total(why));
    for (const auto& [what, n] : {std::pair{"duplicates", all.duplicates},
                                  {"kept", all.kept},
                                  {"unanswered", all.unanswered},
                                  {"strangers", all.strangers},
                                  {"impatient", all.impatient},
                                  {"late", all.late}})
      if (n > 0) text += std::string{", "} + what + " " + std::to_string(n);
    return text + "\n";
  }

 private:
  struct request_type {
    meta_type meta;
    pairs_type keys;  // what a pull asks for
    Server* server;
  };
  using member_type = member<request_type, pairs_type>;
  struct ticket {};  // the requests that wait are with the member

  struct effects {
    request_handler& self;
    void release(ticket&&, worker_id worker, const grant& terms) const { self.release(worker.index, terms); }
    void flush(std::uint64_t round, float scale, std::uint32_t n) const {
      if constexpr (RoundStore<Parameters, pairs_type>) self.store_.flush(round, scale, n);
    }
    void discard(std::uint64_t round, std::uint32_t n) const {
      if constexpr (RoundStore<Parameters, pairs_type>) self.store_.discard(round, n);
    }
    void abandon(ticket&&, worker_id worker, reason) const {
      self.members_[worker.index].asked = false;
      if (worker.index != self.departing_) self.answer_waiting(worker.index);
    }
  };

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  [[nodiscard]] double now() const { return clock_(); }
  [[nodiscard]] worker_id id(std::uint32_t w) const { return sync_.workers().id(w); }
  [[nodiscard]] worker_state state(std::uint32_t w) const { return sync_.workers()[w].state; }
  // It computes, or is free to.
  [[nodiscard]] bool goes(std::uint32_t w) const {
    return state(w) == worker_state::running || state(w) == worker_state::released;
  }
  static pairs_type keys_of(const pairs_type& data) {
    pairs_type keys;
    keys.keys = data.keys;
    keys.lens = data.lens;
    return keys;
  }

  void answer(const request_type& to, const grant& terms) {
    ++counts_.answers;
    if (to.meta.pull)
      to.server->Response(to.meta, store_.read(to.keys, terms));
    else
      to.server->Response(to.meta);
  }
  void answer_member(std::uint32_t w, const request_type& to) {
    if (to.meta.pull) members_[w].read_version = sync_.version();
    answer(to, members_[w].terms);
  }
  void answer_waiting(std::uint32_t w) {
    for (const request_type& r : members_[w].waiting) answer_member(w, r);
    members_[w].waiting.clear();
  }

  void release(std::uint32_t w, const grant& terms) {
    member_type& who = members_[w];
    who.terms = terms;
    who.asked = who.entering = false;
    if (who.opening)
      openings_.push_back(w);  // its first step is there already: it is taken in once this call has ended
    else
      answer_waiting(w);
  }
  void run_openings() {
    while (!openings_.empty()) {
      const std::uint32_t w = openings_.back();
      openings_.pop_back();
      if (!std::exchange(members_[w].opening, false)) continue;
      take_in(w);
      if (!parks_pushes() && !members_[w].waiting.empty()) ask(w);
    }
  }
  void poll_if_due() {
    if (sync_.next_deadline() <= now()) sync_.poll(now(), effects{*this});
    run_openings();
    if (early_due_ <= now()) lose_patience();
  }
  [[nodiscard]] bool parks_pushes() const noexcept { return options_.park == park_on::push; }

  // Of a worker that parks on pull: it asks to be released.
  void ask(std::uint32_t w) {
    if (!std::exchange(members_[w].asked, true)) static_cast<void>(sync_.pull(id(w), now(), ticket{}, effects{*this}));
  }
  // Answers at once, or when the worker is released.
  void settle(std::uint32_t w, request_type request, bool parks) {
    if (!parks || state(w) == worker_state::running) return answer_member(w, request);
    members_[w].waiting.push_back(std::move(request));
    if (!parks_pushes()) ask(w);
  }

  // Whoever does not take part does so from now on. Its request is not yet among those that wait.
  void join(std::uint32_t w, bool by_push) {
    const worker_state before = state(w);
    const bool returns = roster::is_gone(before);
    if (!returns && before != worker_state::absent) return;
    member_type& who = members_[w];
    who.discards = returns && by_push;
    who.entering = true;
    who.asked = parks_pushes();
    const worker_id back{w, returns ? id(w).incarnation + 1 : 0};
    static_cast<void>(sync_.join(back, now(), who.asked ? std::optional{ticket{}} : std::nullopt, effects{*this}));
  }

  void pull(std::uint32_t w, request_type request) {
    if (state(w) == worker_state::done) return answer_member(w, request);
    member_type& who = members_[w];
    const int last = std::exchange(who.last_pull, (std::max)(who.last_pull, request.meta.timestamp));
    if (!parks_pushes() && state(w) == worker_state::running && options_.patience > 0 &&
        !who.seen.complete(last, request.meta.timestamp)) {
      if (who.early.empty()) who.early_at = now();
      early_due_ = (std::min)(early_due_, who.early_at + options_.patience);
      return who.early.push_back(std::move(request));
    }
    join(w, false);
    settle(w, std::move(request), !parks_pushes() || members_[w].entering);
  }

  void push(std::uint32_t w, request_type request, const pairs_type& data) {
    join(w, true);
    member_type& who = members_[w];
    const bool pulls = request.meta.pull;
    if (!who.discards && !who.opening) who.parts.push_back(data);
    if (++who.pushes < options_.pushes_per_step) return settle(w, std::move(request), !parks_pushes() && pulls);
    who.pushes = 0;
    if (std::exchange(who.discards, false)) {
      ++counts_.late;
      return settle(w, std::move(request), parks_pushes() || pulls);
    }
    if (!parks_pushes() && state(w) == worker_state::released) ask(w);  // free to go, and went without a pull
    if (state(w) == worker_state::running) {
      who.facts = facts_of(request.meta, data);
      if (parks_pushes()) who.waiting.push_back(request);
      take_in(w);
      if (parks_pushes()) return;
      settle(w, std::move(request), pulls);
      for (request_type& r : std::exchange(who.early, {})) settle(w, std::move(r), true);
    } else if (who.entering && !who.opening) {
      who.facts = facts_of(request.meta, data);
      who.opening = true;
      if (!parks_pushes()) ask(w);  // so that its step starts when it may
      settle(w, std::move(request), parks_pushes() || pulls);
    } else {  // it waits, and pushes once more
      if (!who.opening) who.parts.clear();
      static_cast<void>(sync_.push({.worker = id(w), .now = now()}, std::nullopt, effects{*this}));  // counts it
      settle(w, std::move(request), parks_pushes() || pulls);
    }
  }

  // One of each number, the last.
  void keep_repeat(std::uint32_t w, request_type request) {
    ++counts_.duplicates;
    const int number = request.meta.timestamp;
    members_[w].again.insert_or_assign(number, std::move(request));
  }
  // The worker is dead: so they may be of its successor, which joins by what it sends next.
  void answer_repeats(std::uint32_t w) {
    for (const auto& [number, r] : std::exchange(members_[w].again, {})) {
      --counts_.duplicates;
      if (r.meta.push) ++counts_.late;
      answer(r, {.version = sync_.version()});
    }
  }

  [[nodiscard]] handler_counts counted() const {
    handler_counts all = counts_;
    for (std::uint32_t w = 0; w < members_.size(); ++w) all.kept += members_[w].again.size();
    return all;
  }

  // What was missing has not come: it was not for this server, or not for this handler.
  void lose_patience() {
    early_due_ = std::numeric_limits<double>::infinity();
    for (std::uint32_t w = 0; w < members_.size(); ++w) {
      member_type& who = members_[w];
      if (who.early.empty()) continue;
      if (who.early_at + options_.patience > now()) {
        early_due_ = (std::min)(early_due_, who.early_at + options_.patience);
        continue;
      }
      counts_.impatient += who.early.size();
      for (request_type& r : std::exchange(who.early, {})) settle(w, std::move(r), true);
    }
  }

  [[nodiscard]] push_facts facts_of(const meta_type& meta, const pairs_type& data) {
    if constexpr (FactualStore<Parameters, meta_type, pairs_type>)
      return store_.facts(meta, data);
    else
      return {};
  }

  // A step is there whole, and its worker runs: verdict, arithmetic, commit.
  void take_in(std::uint32_t w) {
    member_type& who = members_[w];
    const std::uint32_t samples = who.facts.samples != 0 ? who.facts.samples : options_.nominal_samples;
    const admitted what = sync_.admit({.worker = id(w),
                                       .now = now(),
                                       .samples = samples,
                                       .loss = who.facts.loss,
                                       .grad_norm = who.facts.grad_norm,
                                       .read = {who.read_version, who.read_version}});
    const float weight = applied_weight(who.terms, what.what.weight, samples, options_.nominal_samples);
    outcome how = outcome::done;
    for (const pairs_type& part : who.parts)
      if (how == outcome::done) how = carry_out(what, part, weight);
    who.parts.clear();
    who.asked = parks_pushes();
    static_cast<void>(
        sync_.commit(what.work, now(), how, who.asked ? std::optional{ticket{}} : std::nullopt, effects{*this}));
  }
  [[nodiscard]] outcome carry_out(const admitted& what, const pairs_type& gradient, float weight) {
    if (what.what.what == verdict::apply) return store_.apply(gradient, weight);
    if constexpr (RoundStore<Parameters, pairs_type>)
      if (what.what.what == verdict::accumulate) return store_.add(what.round, gradient, weight);
    return outcome::done;  // a drop
  }

  errc depart_locked(std::uint32_t w, cause why) {
    departing_ = w;
    const errc code = sync_.depart(id(w), now(), why, effects{*this});
    departing_ = no_worker;
    if (code == errc::ok) {
      member_type& who = members_[w];
      for (request_type& r : std::exchange(who.early, {})) who.waiting.push_back(std::move(r));
      if (why == cause::death) {
        counts_.unanswered += who.waiting.size();
        who.waiting.clear();
      }
      answer_waiting(w);
      who.parts.clear();
      who.pushes = 0;
      who.asked = who.entering = who.opening = who.discards = false;
      who.read_version = 0;
    }
    if (code == errc::ok || why == cause::death) {  // also of one that was done, and read on
      members_[w].seen = {};
      members_[w].last_pull = -1;
      if (why == cause::death) answer_repeats(w);
      members_[w].again.clear();
    }
    run_openings();
    return code;
  }

  handler_options options_;
  Parameters& store_;
  clock_function clock_;
  mutable std::mutex mutex_;  // guards all below, and the store
  member_list<member_type> members_;
  controller<Policy, ticket, Watcher> sync_;
  handler_counts counts_;
  std::vector<std::uint32_t> openings_;                         // released, and their first step is there
  double early_due_ = std::numeric_limits<double>::infinity();  // not after the first pull that loses its patience
  std::uint32_t departing_ = no_worker;
  bool closed_ = false;
};

}  // namespace rubato::ps_lite

#endif
