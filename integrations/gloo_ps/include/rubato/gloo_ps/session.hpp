#ifndef RUBATO_GLOO_PS_SESSION_HPP
#define RUBATO_GLOO_PS_SESSION_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "decision_maker.hpp"
#include "messages.hpp"
#include "refusals.hpp"
#include "registry.hpp"
#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// How a conversation with a worker ended.
enum class session_end : std::uint8_t {
  refused,     ///< it never came in
  done,        ///< it said that it has finished
  left,        ///< it said that it leaves
  died,        ///< the connection broke
  silent,      ///< no push in time
  misbehaved,  ///< it sent what nobody may send
  replaced,    ///< a higher incarnation of it has come
  closed,      ///< the job has ended
  evicted,     ///< it was taken out
  count_       ///< how many there are
};

/// The end as it appears in logs.
[[nodiscard]] constexpr std::string_view name(session_end end) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(session_end::count_)> names{
      "refused", "done", "left", "died", "silent", "misbehaved", "replaced", "closed", "evicted"};
  return names[static_cast<std::size_t>(end)];
}

/// What a session shares with the others of its server.
template <Observer Watcher>
struct session_context {
  decision_maker<Watcher>& decide;     ///< the job
  registry& connected;                 ///< the seats
  refusals& refused;                   ///< counters and log
  std::uint32_t life = 0;              ///< of the server
  std::chrono::milliseconds tick{20};  ///< see server_options
  /// The job is another server's: its workers are not told that it has ended, and look for that one.
  const std::atomic<bool>* abandoned = nullptr;
};

/// The server's half of the conversation with one worker: hello, then grant, pull, push, again and again.
///
/// Everything that a worker sends is checked in its place: who it says it is, which step, which shard, which size, and
/// that the versions are those that it was sent. What does not fit ends this conversation with a reason, and no other.
/// Thread  run() in a thread of its own; it alone uses the link
/// Tests   tests/integrations/gloo_ps/server_test.cpp
template <Link L, Observer Watcher>
class session {
 public:
  /// `link` and what is shared must outlive it. Says nothing yet.
  session(L& link, session_context<Watcher> shared)
      : link_{link}, shared_{shared}, decide_{shared.decide}, job_{shared.decide.options()} {}

  /// Talks until the end of it.
  session_end run() {
    const bool came_in = greet();
    while (came_in && !ended_)
      if (const auto terms = await_grant(); terms && send_grant(*terms)) collect_push();
    const session_end end = came_in ? *ended_ : session_end::refused;
    // First of all the others, who may wait for this worker.
    if (came_in && end != session_end::replaced && end != session_end::closed)
      decide_.depart(who_, end == session_end::done                                  ? cause::done
                           : end == session_end::left || end == session_end::evicted ? cause::leave
                                                                                     : cause::death);
    if (came_in) shared_.connected.leave(who_, fate_);
    const bool abandoned = shared_.abandoned != nullptr && *shared_.abandoned;
    if (end == session_end::closed && !abandoned) say_goodbye("the job has ended");
    if (end == session_end::evicted) say_goodbye(fate_->why);
    linger();
    link_.close();
    return end;
  }
  /// Whose conversation it is, once it has come in.
  [[nodiscard]] worker_id who() const noexcept { return who_; }

 private:
  using status = transfer::status;

  [[nodiscard]] envelope head(std::uint32_t s = 0) const {
    return {.job = job_.job, .worker = who_, .step = step_, .shard = s, .life = shared_.life};
  }
  template <class Body>
  bool send(const Body& body) {
    return send_bytes(encode(head(), body));
  }
  bool send_bytes(const bytes& encoded) {
    if (link_.send(encoded, soonest())) return true;
    lost();
    return false;
  }
  // One message may take so long, and no longer than the step that it belongs to.
  [[nodiscard]] steady::time_point soonest() const {
    const steady::time_point usual = after(job_.limits.hello);
    return in_step_ ? (std::min)(usual, deadline_) : usual;
  }
  // The connection is of no more use: it broke, or its worker hung in the middle of a message.
  void lost() {
    if (in_step_ && steady::now() >= deadline_)
      refuse(refusal::silent, "no push within the limit of its step");
    else
      end(session_end::died);
  }
  void end(session_end how) {
    if (!ended_) ended_ = how;
  }

  // Turns the peer away: counts, tells it, and ends.
  void refuse(refusal why, const std::string& sentence, std::uint32_t known_incarnation = 0, bool connected = false) {
    shared_.refused.add(why, who_.index, sentence);
    static_cast<void>(link_.send(
        encode(head(),
               reject_message{
                   .why = why, .connected = connected, .known_incarnation = known_incarnation, .sentence = sentence}),
        after((std::min)(job_.limits.hello, 1.0))));
    patience_ = 0.2;
    end(why == refusal::silent    ? session_end::silent
        : why == refusal::damaged ? session_end::died
                                  : session_end::misbehaved);
  }

  // A message that has begun to arrive; nothing if it is none, and then the session has ended.
  std::optional<message> receive(std::size_t limit) {
    bytes raw;
    const transfer got = link_.recv(raw, limit, soonest());
    if (!got) {
      if (got.how == status::closed)
        lost();
      else
        refuse(got.how == status::oversized   ? refusal::oversized
               : got.how == status::timed_out ? refusal::silent
                                              : refusal::damaged,
               got.why);
      return std::nullopt;
    }
    decoded read = decode(raw, job_.job);
    if (!read) return refuse(read.why, read.sentence), std::nullopt;
    return std::move(read.what);
  }

  bool greet() {
    std::optional<message> first = receive(small_message);
    if (!first) return false;
    const auto* hello = std::get_if<hello_message>(&first->body);
    const worker_id who = first->head.worker;
    if (hello == nullptr)
      return refuse(refusal::out_of_turn, "a " + std::string{name(first->kind())} + " message, expected hello"), false;
    who_.index = who.index;
    if (who.index >= job_.workers)
      return refuse(refusal::unknown_rank,
                    "index " + std::to_string(who.index) + ", expected one below " + std::to_string(job_.workers)),
             false;
    if (hello->model != job_.model)
      return refuse(refusal::wrong_shape, "a model of " + text(hello->model) + ", expected " + text(job_.model)), false;
    if (const refusal no = shared_.connected.enter(who, fate_); no != refusal::none)
      return refuse(no,
                    no == refusal::duplicate_rank ? "this index and incarnation are connected already"
                                                  : "a higher incarnation is connected",
                    known_incarnation(who.index), true),
             false;
    who_ = who;
    if (hello->seen > 0 && first->head.life < shared_.life)
      if (const std::uint64_t lost = decide_.note_seen(hello->seen); lost > 0)
        shared_.refused.note("worker " + std::to_string(who.index) + " has seen version " +
                             std::to_string(hello->seen) + ": at least " + std::to_string(lost) +
                             " updates since the checkpoint were lost");
    if (const errc code = decide_.join(who_, box_); code != errc::ok) {
      shared_.connected.leave(who_, fate_);
      refuse(refusal::old_incarnation, "incarnation " + std::to_string(who.incarnation) + " has had its life",
             known_incarnation(who.index));
      return false;
    }
    send(welcome_message{.nominal_samples = job_.nominal_samples, .wait = 2 * job_.limits.ceiling});
    return true;
  }

  // When a session that waits looks around: with a thousand of them, the looks must not fill the machine. Twice as late
  // after one that found nothing, twice as soon after something came; where all wait for long, few looks are made.
  [[nodiscard]] steady::time_point next_look() const { return steady::now() + pause_; }
  void nothing_came() { pause_ = (std::min)(2 * pause_, 8 * shared_.tick); }
  void something_came() { pause_ = (std::max)(pause_ / 2, shared_.tick); }

  // Waits for the controller's answer, and meanwhile looks whether the worker is still there.
  std::optional<grant> await_grant() {
    while (!ended_) {
      if (const auto letter = box_->take(next_look())) {
        something_came();
        if (letter->granted) return letter->terms;
        // Without a grant there will be none: the job has ended, or this worker is no longer a member. Who waits is
        // told before the job counts as closed, but under the same lock.
        const bool over = decide_.inspect([this](const auto&) { return decide_.closed(); });
        end(over ? session_end::closed : lost_seat() ? *lost_seat() : session_end::died);
        continue;
      }
      nothing_came();
      if (const auto how = lost_seat()) {
        end(*how);
      } else if (!link_.alive()) {
        end(session_end::died);
      } else if (link_.poll(steady::now())) {
        between_steps();
      }
    }
    return std::nullopt;
  }

  // Who waits may say goodbye, and nothing else.
  void between_steps() {
    const std::optional<message> said = receive(small_message);
    if (!said) return;
    if (const auto* bye = std::get_if<bye_message>(&said->body))
      end(bye->done ? session_end::done : session_end::left);
    else
      refuse(refusal::out_of_turn, "a " + std::string{name(said->kind())} + " message while it has no grant");
  }

  bool send_grant(const grant& terms) {
    terms_ = terms;
    const step_limits limits = decide_.limits(who_.index);
    deadline_ = after(limits.step);
    in_step_ = true;
    sent_.assign(job_.model.shards, never);
    parts_.assign(job_.model.shards, {});
    return send(grant_message{.terms = terms, .step_limit = limits.step, .wait = limits.wait});
  }

  // Serves the worker during its step: pulls, the parts of its push, a goodbye.
  void collect_push() {
    while (goes_on()) {
      if (!link_.poll((std::min)(deadline_, next_look()))) {
        nothing_came();
        if (!link_.alive()) end(session_end::died);
        continue;
      }
      something_came();
      std::optional<message> said = receive(largest_message(job_.model));
      if (!said || !is_own(*said)) continue;
      if (std::holds_alternative<pull_message>(said->body)) {
        send_parameters();
      } else if (auto* part = std::get_if<push_message>(&said->body)) {
        if (take_part(said->head, std::move(*part))) return;
      } else if (const auto* bye = std::get_if<bye_message>(&said->body)) {
        end(bye->done ? session_end::done : session_end::left);
      } else {
        refuse(refusal::out_of_turn, "a " + std::string{name(said->kind())} + " message in the middle of a step");
      }
    }
  }

  // How the conversation ends if the seat is no longer this one's.
  [[nodiscard]] std::optional<session_end> lost_seat() const {
    switch (fate_->fate.load()) {
      case seat_fate::replaced:
        return session_end::replaced;
      case seat_fate::evicted:
        return session_end::evicted;
      default:
        return std::nullopt;
    }
  }

  // Whether this step has a reason to go on: asked before each message, since a busy worker leaves no gap to wait in.
  bool goes_on() {
    if (ended_) return false;
    if (const auto how = lost_seat())
      end(*how);
    else if (decide_.closed())
      end(session_end::closed);
    else if (steady::now() >= deadline_)
      refuse(refusal::silent, "no push within the limit of its step");
    else if (box_->take_cancel())
      send(cancel_message{});
    return !ended_;
  }

  // Whether the message is of the worker whose connection this is.
  bool is_own(const message& said) {
    if (said.head.worker == who_) return true;
    const bool older = said.head.worker.index == who_.index && said.head.worker.incarnation < who_.incarnation;
    refuse(older ? refusal::old_incarnation : refusal::out_of_turn,
           "a message of worker " + std::to_string(said.head.worker.index) + ", incarnation " +
               std::to_string(said.head.worker.incarnation) + ", on the connection of another");
    return false;
  }

  void send_parameters() {
    std::vector<bytes> replies(job_.model.shards);
    decide_.visit([&](std::uint32_t s, shard& here) {
      sent_[s] = here.version();
      replies[s] = encode(head(s), parameters_message{.version = here.version()}, here.parameters());
    });
    for (const bytes& reply : replies)
      if (!send_bytes(reply)) return;
  }

  // One part of a push; true once the gradient was complete and has gone to the controller.
  bool take_part(const envelope& from, push_message part) {
    const auto wrong = [&](refusal why, const std::string& sentence) { return refuse(why, sentence), false; };
    const std::uint32_t s = from.shard;
    if (s >= job_.model.shards) return wrong(refusal::wrong_shape, "a part for shard " + std::to_string(s));
    if (part.gradient.size() != job_.model.size_of(s))
      return wrong(refusal::wrong_shape, "a part of " + std::to_string(part.gradient.size()) + " values, expected " +
                                             std::to_string(job_.model.size_of(s)));
    if (sent_[s] == never || part.version != sent_[s])
      return wrong(refusal::out_of_turn,
                   "a gradient for version " + std::to_string(part.version) + " of a shard, which it was not sent");
    const bool begins = std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p.empty(); });
    if (begins ? from.step <= step_ : from.step != step_ || !parts_[s].empty())
      return wrong(refusal::out_of_turn,
                   "a part of step " + std::to_string(from.step) + " after step " + std::to_string(step_));
    if (part.samples == 0) return wrong(refusal::malformed, "a gradient of no samples");
    step_ = from.step;
    parts_[s] = std::move(part.gradient);
    const auto read = decide_.part(who_, step_, s, part.version);
    if (!read) return false;
    in_step_ = false;
    double squares = 0;
    for (const auto& p : parts_)
      for (const float g : p) squares += double{g} * double{g};
    decide_.push({.worker = who_,
                  .step = step_,
                  .samples = part.samples,
                  .loss = part.loss,
                  .grad_norm = static_cast<float>(std::sqrt(squares)),
                  .read = *read},
                 terms_, std::move(parts_), box_, part.measured);
    return true;
  }

  void say_goodbye(const std::string& why) {
    patience_ = (std::min)(job_.limits.hello, 2.0);
    static_cast<void>(link_.send(encode(head(), bye_message{.done = true, .why = why}), after(patience_)));
  }

  // Takes what the peer still sends until it hangs up: closing over unread bytes would take back what was sent last.
  void linger() {
    const steady::time_point until = after(patience_);
    bytes unread;
    while (steady::now() < until && link_.alive())
      if (link_.poll((std::min)(until, steady::now() + shared_.tick)) &&
          !link_.recv(unread, largest_message(job_.model), until))
        return;
  }

  std::uint32_t known_incarnation(std::uint32_t index) {
    return decide_.inspect([index](const auto& sync) { return sync.workers()[index].incarnation; });
  }
  static std::string text(const shape& model) {
    return std::to_string(model.parameters) + " parameters in " + std::to_string(model.shards) + " shards";
  }

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  L& link_;
  session_context<Watcher> shared_;
  decision_maker<Watcher>& decide_;
  const job_options& job_;
  worker_id who_{};
  const ticket box_ = std::make_shared<mailbox>();
  const registry::fate fate_ = std::make_shared<seat_state>();
  std::optional<session_end> ended_;
  grant terms_{};
  steady::time_point deadline_{};
  bool in_step_ = false;
  std::chrono::milliseconds pause_ = shared_.tick;
  double patience_ = 0;  // seconds that the last word needs to arrive
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> sent_;        // the version of each shard that this worker was sent, or never
  std::vector<std::vector<float>> parts_;  // of the push that is under way; empty: not yet here
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
