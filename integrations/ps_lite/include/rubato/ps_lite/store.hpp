#ifndef RUBATO_PS_LITE_STORE_HPP
#define RUBATO_PS_LITE_STORE_HPP

#include <concepts>
#include <cstdint>
#include <functional>

#include <rubato/core/event.hpp>
#include <rubato/core/types.hpp>

namespace rubato::ps_lite {

namespace detail {

// The types of a ps-lite are those of its server's request handle: any namespace, any Val, forks included.
template <class Handle>
struct handle_types;
template <class Meta, class Pairs, class Server>
struct handle_types<std::function<void(const Meta&, const Pairs&, Server*)>> {
  using meta = Meta;
  using pairs = Pairs;
};

template <class Server>
using meta_of = typename handle_types<typename Server::ReqHandle>::meta;
template <class Server>
using pairs_of = typename handle_types<typename Server::ReqHandle>::pairs;

}  // namespace detail

/// What ps::KVServer<Val> is to the adapter: a request handle, and Response() to answer with or without values.
template <class S>
concept KeyValueServer = requires(S& server, const detail::meta_of<S>& request, const detail::pairs_of<S>& values) {
  { request.sender } -> std::convertible_to<int>;
  { request.customer_id } -> std::convertible_to<int>;
  { request.timestamp } -> std::convertible_to<int>;
  { request.push } -> std::convertible_to<bool>;
  { request.pull } -> std::convertible_to<bool>;
  server.Response(request);
  server.Response(request, values);
};

/// The parameters of a server that answers as decided. Called under the adapter's mutex: never two members at once.
/// They must not throw, and must not call the adapter.
///
///     outcome apply(const Pairs& gradient, float weight)      parameters move by learning rate x weight x gradient
///     Pairs read(const Pairs& request, const grant& terms)    request.keys and their values, in this order;
///                                                             terms: what the worker may be told of its next step
template <class S, class Pairs>
concept Store = requires(S& store, const Pairs& pairs, float weight, const grant& terms) {
  { store.apply(pairs, weight) } -> std::same_as<outcome>;
  { store.read(pairs, terms) } -> std::same_as<Pairs>;
};

/// A store that can also collect rounds, which policies that accumulate need: bsp, any_policy and others.
///
///     outcome add(std::uint64_t round, const Pairs& gradient, float weight)   sum of the round += weight x gradient
///     void flush(std::uint64_t round, float scale, std::uint32_t n)           parameters move by learning rate x
///                                                                             scale x sum; the sum is forgotten
///     void discard(std::uint64_t round, std::uint32_t n)                      the sum is forgotten
template <class S, class Pairs>
concept RoundStore = Store<S, Pairs> &&
    requires(S& store, const Pairs& pairs, std::uint64_t round, float x, std::uint32_t n) {
  { store.add(round, pairs, x) } -> std::same_as<outcome>;
  store.flush(round, x, n);
  store.discard(round, n);
};

/// What a push says of itself besides the gradient, where the host knows it.
struct push_facts {
  std::uint32_t samples = 0;  ///< 0: the nominal number
  float loss = 0.0F;          ///< 0: none measured; NaN or infinite: the gradient is dropped
  float grad_norm = 0.0F;     ///< likewise
};

/// A store that knows more of a push, from its cmd or from values under keys of its own:
///
///     push_facts facts(const Meta& request, const Pairs& gradient)      of the last push of a step
template <class S, class Meta, class Pairs>
concept FactualStore = requires(S& store, const Meta& request, const Pairs& gradient) {
  { store.facts(request, gradient) } -> std::same_as<push_facts>;
};

}  // namespace rubato::ps_lite

#endif
