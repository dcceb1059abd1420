#ifndef RUBATO_SYNC_SINK_HPP
#define RUBATO_SYNC_SINK_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../core/reason.hpp"
#include "../core/types.hpp"
#include "concepts.hpp"

namespace rubato::inline RUBATO_ABI {

/// Receives the effects of a controller's call, in order, inside the call. Members, of which only `release` is needed
/// where the policy never accumulates (see may_accumulate); a plain callable (ticket, worker, grant) may stand for it:
///
///     release(Ticket&&, worker_id, const grant&)   answer the worker: it may start its next step
///     flush(round, scale, n)      move the parameters by learning rate x scale x the sum of the round's n gradients
///     discard(round, n)           throw the round's n gradients away
///     cancel(worker_id)           stop the worker's running step, if you can; it pushes all the same
///     abandon(Ticket&&, worker_id, reason)   this ticket will never be released: close it
///     ready(worker_id)            released without a ticket: its step starts when it pulls
///
/// Callbacks must not throw, and must not call the controller.
template <class S, class Ticket>
concept ReleaseSink = requires(S& sink, Ticket ticket, worker_id worker, const grant& terms) {
  sink.release(std::move(ticket), worker, terms);
} || std::invocable<S&, Ticket, worker_id, const grant&>;

/// Can flush and discard rounds, as a policy that accumulates needs it.
template <class S>
concept RoundSink = requires(S& sink, std::uint64_t round, float scale, std::uint32_t n) {
  sink.flush(round, scale, n);
  sink.discard(round, n);
};

namespace detail {

/// A sink with every callback, over one that may lack the optional ones.
template <class Policy, class Ticket, class Sink>
struct full_sink {
  static_assert(ReleaseSink<Sink, Ticket>,
                "a sink is a callable, or has a member release, for (ticket, worker, grant)");
  static_assert(RoundSink<Sink> || !may_accumulate<Policy>,
                "this policy may accumulate gradients: the sink needs flush(round, scale, n) and discard(round, n)");
  using bare = std::remove_cvref_t<Sink>;
  Sink& host;

  void release(Ticket&& ticket, worker_id worker, const grant& terms) const {
    if constexpr (requires { host.release(std::move(ticket), worker, terms); })
      host.release(std::move(ticket), worker, terms);
    else
      host(std::move(ticket), worker, terms);
  }
  void flush(std::uint64_t round, float scale, std::uint32_t n) const {
    if constexpr (RoundSink<Sink>) host.flush(round, scale, n);
  }
  void discard(std::uint64_t round, std::uint32_t n) const {
    if constexpr (RoundSink<Sink>) host.discard(round, n);
  }
  void cancel(worker_id worker) const {
    if constexpr (requires { host.cancel(worker); })
      host.cancel(worker);
    else
      static_assert(!requires { &bare::cancel; }, "the sink's cancel must take (worker)");
  }
  void abandon(Ticket&& ticket, worker_id worker, reason why) const {
    if constexpr (requires { host.abandon(std::move(ticket), worker, why); })
      host.abandon(std::move(ticket), worker, why);
    else
      static_assert(!requires { &bare::abandon; }, "the sink's abandon must take (ticket, worker, reason)");
  }
  void ready(worker_id worker) const {
    if constexpr (requires { host.ready(worker); })
      host.ready(worker);
    else
      static_assert(!requires { &bare::ready; }, "the sink's ready must take (worker)");
  }
};

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI

#endif
