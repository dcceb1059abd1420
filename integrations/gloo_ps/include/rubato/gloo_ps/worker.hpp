#ifndef RUBATO_GLOO_PS_WORKER_HPP
#define RUBATO_GLOO_PS_WORKER_HPP

#include <algorithm>
#include <cstdint>
#include <optional>
#include <rubato/core/number_text.hpp>
#include <rubato/core/result.hpp>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "messages.hpp"
#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What a worker needs to know.
struct worker_options {
  std::uint64_t job = 1;    ///< must be the server's
  worker_id id{0, 0};       ///< its index, and the lowest incarnation to try
  shape model{};            ///< must be the server's
  double reply_limit = 10;  ///< seconds for a connection, and for each answer that needs no decision
  double give_up = 60;      ///< seconds without a server before begin() says so
  double retry = 0.05;      ///< seconds between two attempts at first; doubles up to 1, until a step has been granted
};

/// Under which terms a worker runs its step.
struct step_terms {
  std::uint64_t number = 0;   ///< of the step, from 1
  std::uint32_t samples = 0;  ///< to compute the gradient on
  grant terms{};              ///< as the policy gave them
  double limit = 0;           ///< seconds within which the push must be in
};

/// A worker's half of the conversation, for a training program:
///
///     gloo_ps::worker w{options, connect};        // connect(worker_id, deadline) -> std::optional<some Link>
///     std::vector<float> parameters(n), gradient(n);
///     while (auto step = w.begin(parameters)) {
///       if (!*step) break;                          // the job has ended
///       const float loss = compute(parameters, (*step)->samples, gradient);
///       w.push(gradient, (*step)->samples, loss);
///     }
///     w.leave();
///
/// Every wait is bounded: by what the server said with the last grant, by reply_limit, by give_up. When the connection
/// breaks, begin() comes back with a higher incarnation, to the same server or to one that was started in its place; a
/// gradient that was on its way is lost or counted, never counted twice.
/// Thread  not thread-safe
/// Tests   tests/integrations/gloo_ps/server_test.cpp; tests/integrations/gloo_ps/worker_test.cpp
template <class Connect>
class worker {
  using link = std::remove_cvref_t<decltype(*std::declval<Connect&>()(worker_id{}, steady::time_point{}))>;
  static_assert(Link<link>, "the connector must return an optional Link");

 public:
  /// Connects at the first begin().
  worker(worker_options options, Connect connect) : options_{options}, connect_{std::move(connect)}, id_{options.id} {}

  /// Waits until the next step may start, and fetches the parameters for it. Nothing if the job has ended, or goes on
  /// without this worker: farewell() says which.
  /// Errors  io: no server within give_up; what a server refuses for good, with its sentence
  result<std::optional<step_terms>> begin(std::span<float> parameters) {
    RUBATO_ASSERT(parameters.size() == options_.model.parameters, "begin: room for all parameters is needed");
    for (;;) {
      if (final_) return *final_;
      if (finished_) return std::optional<step_terms>{};
      if (!link_) {
        if (error stop = reach(); stop.code != errc::ok) return stop;
        continue;
      }
      if (!await_grant()) continue;
      const steady::time_point asked = steady::now();
      if (!fetch(parameters)) continue;
      begun_ = steady::now();
      fetching_ = seconds_between(asked, begun_);
      return std::optional{step_terms{.number = ++step_,
                                      .samples = granted_.terms.batch == 0 ? nominal_samples_ : granted_.terms.batch,
                                      .terms = granted_.terms,
                                      .limit = granted_.step_limit}};
    }
  }

  /// Sends the gradient of the step that begin() started. False if the connection broke on the way: then it is not
  /// known whether it counts, and begin() goes on. `measured` is for policies that ask for it, in seconds; where it has
  /// no times those are told that this class saw: from begin() to here, and of fetching these parameters and sending
  /// the gradient before.
  bool push(std::span<const float> gradient, std::uint32_t samples, float loss, step_metrics measured = {}) {
    RUBATO_ASSERT(gradient.size() == options_.model.parameters, "push: a gradient of all parameters is needed");
    if (!link_) return false;
    const steady::time_point begin = steady::now();
    if (rubato::pinned::is_nan(measured.compute_time)) measured.compute_time = seconds_between(begun_, begin);
    if (rubato::pinned::is_nan(measured.communication_time)) measured.communication_time = communication_time();
    for (std::uint32_t s = 0; s < options_.model.shards; ++s) {
      const auto part = gradient.subspan(static_cast<std::size_t>(options_.model.begin_of(s)),
                                         static_cast<std::size_t>(options_.model.size_of(s)));
      const push_message body{.version = versions_[s], .samples = samples, .loss = loss, .measured = measured};
      if (!link_->send(encode(head(s), body, part), after(options_.reply_limit))) return drop(), false;
    }
    sending_ = seconds_between(begin, steady::now());
    return true;
  }
  /// Seconds that fetching these parameters and sending the gradient before took.
  [[nodiscard]] float communication_time() const noexcept { return fetching_ + sending_; }

  /// Whether the server has cancelled the running step: its gradient will be dropped, so push what there is.
  bool cancelled() {
    while (link_ && !kept_ && link_->poll(steady::now())) {
      auto news = receive(after(options_.reply_limit));
      if (!news) break;
      if (std::holds_alternative<cancel_message>(news->body))
        cancelled_ = true;
      else
        kept_ = std::move(news);
    }
    return cancelled_;
  }

  /// Says goodbye: `done`, or that it leaves and may come back.
  void leave(bool done = true) {
    if (!link_) return;
    static_cast<void>(link_->send(encode(head(), bye_message{.done = done}), after(options_.reply_limit)));
    linger();
    link_.reset();
  }

  [[nodiscard]] worker_id id() const noexcept { return id_; }          ///< of the present connection, or the next one
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }  ///< the newest version of this server's life
  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }  ///< of the server
  [[nodiscard]] std::uint32_t connections() const noexcept { return connections_; }  ///< made so far
  /// Why the server has ended the conversation, where it has: the job has ended, or this worker was taken out of it.
  [[nodiscard]] const std::string& farewell() const noexcept { return farewell_; }

 private:
  [[nodiscard]] envelope head(std::uint32_t s = 0) const {
    return {.job = options_.job, .worker = id_, .step = step_, .shard = s, .life = life_};
  }

  static float seconds_between(steady::time_point begin, steady::time_point end) {
    return std::chrono::duration<float>(end - begin).count();
  }

  // The connection is of no more use; the next one is of a new incarnation, since the server may know this one.
  void drop() {
    link_.reset();
    kept_.reset();
    cancelled_ = false;
    ++id_.incarnation;
  }

  std::optional<message> receive(steady::time_point deadline) {
    if (kept_) return std::exchange(kept_, std::nullopt);
    bytes raw;
    if (!link_->recv(raw, largest_message(options_.model), deadline)) return std::nullopt;
    decoded read = decode(raw, options_.job);
    if (!read) return std::nullopt;
    return std::move(read.what);
  }

  // Connects and is welcomed, as often as it takes.
  error reach() {
    const steady::time_point until = after(options_.give_up);
    for (;;) {
      if (pause_ > 0) std::this_thread::sleep_until((std::min)(until, after(pause_)));
      pause_ = (std::max)(options_.retry, (std::min)(2 * pause_, 1.0));
      if (steady::now() >= until)
        return {errc::io, "no server of job " + std::to_string(options_.job) + " took worker " +
                              std::to_string(id_.index) + " within " + rubato::detail::text_of(options_.give_up) +
                              (connections_ == 0 ? " s; none was found" : " s") +
                              (turned_away_.empty() ? "" : "; the last one said: " + turned_away_)};
      link_.reset();
      if (auto made = connect_(id_, (std::min)(until, after(options_.reply_limit)))) link_.emplace(std::move(*made));
      if (!link_) continue;
      ++connections_;
      if (!link_->send(encode(head(), hello_message{.model = options_.model, .seen = seen_}),
                       after(options_.reply_limit))) {
        drop();
        continue;
      }
      const std::optional<message> answer = receive(after(options_.reply_limit));
      if (!answer) {
        drop();
        continue;
      }
      if (const auto* no = std::get_if<reject_message>(&answer->body)) {
        link_.reset();
        if (!comes_again(*no)) return *final_;
        continue;
      }
      if (const auto* bye = std::get_if<bye_message>(&answer->body)) return finish(*bye), error{};
      const auto* welcome = std::get_if<welcome_message>(&answer->body);
      if (welcome == nullptr) {
        drop();
        continue;
      }
      welcomed_ = true;
      nominal_samples_ = welcome->nominal_samples;
      granted_.wait = welcome->wait;
      if (answer->head.life != life_) seen_ = 0;  // versions of another life are not comparable
      life_ = answer->head.life;
      return {};
    }
  }

  // The server's last word, after which it waits for this side to hang up.
  void finish(const bye_message& bye) {
    link_.reset();
    finished_ = true;
    farewell_ = bye.why;
  }

  // Whether it makes sense to try again after a refusal; else final_ says why not.
  bool comes_again(const reject_message& no) {
    turned_away_ = no.sentence;
    const bool had_its_life = no.why == refusal::old_incarnation && !no.connected;
    if (had_its_life) id_.incarnation = (std::max)(id_.incarnation, no.known_incarnation) + 1;
    // Who holds the seat may be a dead predecessor of this process whose end has not been noticed yet. But a worker
    // that had the seat, and lost it to a higher incarnation, does not fight for it.
    const bool taken = no.why == refusal::duplicate_rank || (no.why == refusal::old_incarnation && !welcomed_);
    // The network's fault, or that of a slow machine.
    const bool chance = no.why == refusal::silent || no.why == refusal::damaged;
    if (had_its_life || taken || chance) return true;
    final_ = error{
        no.why == refusal::old_incarnation ? errc::old_incarnation : errc::invalid_option,
        "worker " + std::to_string(id_.index) + " was refused, " + std::string{name(no.why)} + ": " + no.sentence};
    return false;
  }

  // The next grant is in granted_; false: connect again, or the end.
  bool await_grant() {
    const steady::time_point until = after(granted_.wait);
    for (;;) {
      const std::optional<message> news = receive(until);
      if (!news) return drop(), false;
      if (const auto* terms = std::get_if<grant_message>(&news->body)) {
        granted_ = *terms;
        pause_ = 0;
        seen_ = (std::max)(seen_, terms->terms.version);
        cancelled_ = false;
        return true;
      }
      if (ends(*news)) return false;
    }
  }

  // Messages that may come at any time. True if the conversation is over.
  bool ends(const message& news) {
    if (const auto* bye = std::get_if<bye_message>(&news.body)) return finish(*bye), true;
    if (std::holds_alternative<cancel_message>(news.body)) return cancelled_ = true, false;
    if (const auto* no = std::get_if<reject_message>(&news.body); no != nullptr && !comes_again(*no))
      link_.reset();
    else
      drop();  // also a server that speaks out of turn
    return true;
  }

  bool fetch(std::span<float> to) {
    envelope pull = head();
    ++pull.step;  // the one that it is for
    if (!link_->send(encode(pull, pull_message{}), after(options_.reply_limit))) return drop(), false;
    versions_.assign(options_.model.shards, 0);
    std::vector<char> has(options_.model.shards, 0);
    for (std::uint32_t missing = options_.model.shards; missing > 0;) {
      const std::optional<message> news = receive(after(options_.reply_limit));
      if (!news) return drop(), false;
      const auto* part = std::get_if<parameters_message>(&news->body);
      if (part == nullptr) {
        if (ends(*news)) return false;
        continue;
      }
      const std::uint32_t s = news->head.shard;
      if (s >= options_.model.shards || has[s] != 0 || part->values.size() != options_.model.size_of(s))
        return drop(), false;
      std::copy(part->values.begin(), part->values.end(),
                to.begin() + static_cast<std::ptrdiff_t>(options_.model.begin_of(s)));
      versions_[s] = part->version;
      seen_ = (std::max)(seen_, part->version);
      has[s] = 1;
      --missing;
    }
    return true;
  }

  // Until the server hangs up: closing earlier might take back the goodbye.
  void linger() {
    const steady::time_point until = after((std::min)(options_.reply_limit, 2.0));
    bytes unread;
    while (steady::now() < until && link_->alive())
      if (link_->poll((std::min)(until, after(0.02))) && !link_->recv(unread, largest_message(options_.model), until))
        return;
  }

  worker_options options_;
  Connect connect_;
  std::optional<link> link_;
  worker_id id_;
  std::uint64_t step_ = 0, seen_ = 0;
  std::uint32_t life_ = 0, connections_ = 0, nominal_samples_ = 0;
  steady::time_point begun_{};        // the running step
  float fetching_ = 0, sending_ = 0;  // seconds, of its parameters and of the gradient before
  double pause_ = 0;  // before the next attempt to connect; grows until a step has been granted
  grant_message granted_{};
  std::vector<std::uint64_t> versions_;  // of the parameters that the running step has
  std::optional<message> kept_;          // came while cancelled() was looking
  bool welcomed_ = false, cancelled_ = false, finished_ = false;
  std::optional<error> final_;
  std::string turned_away_, farewell_;
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
