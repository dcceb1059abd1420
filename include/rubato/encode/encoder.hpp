#ifndef RUBATO_ENCODE_ENCODER_HPP
#define RUBATO_ENCODE_ENCODER_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "../core/archive.hpp"
#include "../core/cluster_view.hpp"
#include "../core/event.hpp"
#include "../core/feature.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI {

/// Turns what a policy may know into the inputs of a network.
///
///   dim                       how many numbers
///   kind                      a word for saved state and cards: another list of features, another word
///   observe(feedback)         a step is over; called at every commit of a live worker, before encode()
///   encode(view, event, out)  the numbers now; out has dim of them. Asked once per push; asking twice changes nothing
///   state(archive)            saves and loads what it remembers; bad bytes change nothing
///   resize(capacity)          forgets everything; the only call that may allocate
///   features()                what the numbers are, in their order; always the same
///
/// A fresh encoder is one after resize(). If the policy is to serve other clusters, nothing it says may depend on the
/// workers' indices, and what it counts should be a share of the workers. Satisfied by rlp_state (whose staleness is in
/// pushes, as printed), rlp_normalised_state, cluster_state and progress_state.
/// Tests   tests/encode/encoder_test.cpp: WhatIsAnEncoder, ForgetsOnResize, StateRoundTrip,
///         BadStateChangesNothing, NeverAllocates
template <class E>
concept StateEncoder = std::copyable<E> && std::default_initializable<E> && E::dim > 0 &&
    requires(E& encoder, const E& fixed, const feedback& step, const cluster_view& view, const event& what,
             std::span<float, E::dim> out, archive& bytes, std::uint32_t capacity) {
  { E::dim } -> std::convertible_to<std::size_t>;
  { E::kind } -> std::convertible_to<std::string_view>;
  { encoder.observe(step) } noexcept -> std::same_as<void>;
  { encoder.encode(view, what, out) } noexcept -> std::same_as<void>;
  encoder.state(bytes);
  encoder.resize(capacity);
  { fixed.features() } -> std::same_as<std::vector<feature>>;
};

/// Follows each worker's step: started() when it may begin, forget() when the worker goes or its index is taken anew.
/// Satisfied by cluster_state.
template <class E>
concept StepFollowingEncoder = StateEncoder<E> && requires(E& encoder, const cluster_view& view, std::uint32_t worker) {
  { encoder.started(view, worker) } noexcept -> std::same_as<void>;
  { encoder.forget(worker) } noexcept -> std::same_as<void>;
};

/// Knows most of its next numbers before the next push.
///
///   newest                              how many numbers are not known before: the first of them
///   foretell(out)                       all others, out[dim - newest], as far as can be said now
///   encode_newest(view, event, out)     the first `newest` of encode()'s numbers; false if the others are not those
///                                       that the latest foretell() wrote
///
/// Satisfied by rlp_state and rlp_normalised_state. Tests: tests/encode/rlp_state_test.cpp: ForetellsAllButTheNewest
template <class E>
concept HistoryEncoder = StateEncoder<E> && (E::newest > 0 && E::newest < E::dim) &&
    requires(E& encoder, const cluster_view& view, const event& what, std::span<float, E::newest> newest,
             std::span<float, E::dim - E::newest> older) {
  { encoder.foretell(older) } noexcept -> std::same_as<void>;
  { encoder.encode_newest(view, what, newest) } noexcept -> std::same_as<bool>;
};

namespace detail {

/// Passes on what only some encoders want to hear.
template <StateEncoder Encoder>
void tell_started([[maybe_unused]] Encoder& encoder, [[maybe_unused]] const cluster_view& view,
                  [[maybe_unused]] std::uint32_t worker) noexcept {
  if constexpr (StepFollowingEncoder<Encoder>) encoder.started(view, worker);
}
template <StateEncoder Encoder>
void tell_gone([[maybe_unused]] Encoder& encoder, [[maybe_unused]] std::uint32_t worker) noexcept {
  if constexpr (requires { encoder.forget(worker); }) encoder.forget(worker);
}
/// The same for an event of which a policy is told: a worker that has gone.
template <StateEncoder Encoder>
void tell_event(Encoder& encoder, const event& what) noexcept {
  if (what.why == cause::leave || what.why == cause::death || what.why == cause::done) tell_gone(encoder, what.worker);
}

/// Moves a running average towards the newest value by this share; the first one counts in full.
inline void average(double& value, double newest, double share, bool first) noexcept {
  value = first ? newest : pinned::plus_product(value, share, newest - value);
}

/// The nearest float that is finite; 0 for NaN.
[[nodiscard]] constexpr float finite_float(double x) noexcept {
  constexpr double most = static_cast<double>((std::numeric_limits<float>::max)());
  if (pinned::is_nan(x)) return 0.0F;
  return static_cast<float>(x < -most ? -most : x > most ? most : x);
}

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI

#endif
