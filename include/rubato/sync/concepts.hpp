#ifndef RUBATO_SYNC_CONCEPTS_HPP
#define RUBATO_SYNC_CONCEPTS_HPP

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "../core/admission.hpp"
#include "../core/archive.hpp"
#include "../core/cluster_view.hpp"
#include "../core/decision.hpp"
#include "../core/record.hpp"
#include "../core/step_metrics.hpp"

namespace rubato::inline RUBATO_ABI {

/// Decides what happens with each arriving gradient. Without it every gradient is applied with weight 1.
template <class P>
concept AdmittingPolicy = requires(P& p, const cluster_view& view, const event& what) {
  { p.admit(view, what) } noexcept -> std::same_as<admission>;
};
/// Learns what became of each step, before it is asked.
template <class P>
concept ObservingPolicy = requires(P& p, const feedback& f) {
  { p.observe(f) } noexcept -> std::same_as<void>;
};
/// Is told what was measured of a step, where the host measures: before the push whose step it is.
template <class P>
concept MeasuringPolicy = requires(P& p, std::uint32_t worker, const step_metrics& step) {
  { p.measured(worker, step) } noexcept -> std::same_as<void>;
};
/// Sets batch size and learning-rate factor worker by worker, at the release.
template <class P>
concept ShapingPolicy = requires(P& p, const cluster_view& view, std::uint32_t worker, grant& g) {
  { p.shape(view, worker, g) } noexcept -> std::same_as<void>;
};
/// Says whether shape() is to be called, all its life the same: a class that has it for the sake of others may say that
/// it would do nothing. Not a static member, of which nobody could tell which class of a hierarchy it speaks for.
template <class P>
concept MaybeShapingPolicy = requires(const P& p) {
  { (p.*&P::shapes)() } noexcept -> std::same_as<bool>;
};
/// Works ahead, on what its next decision will need: called at the end of each commit, once all who may go were told.
template <class P>
concept PreparingPolicy = requires(P& p) {
  { p.prepare() } noexcept -> std::same_as<void>;
};
/// Keeps state per worker: resize() is called with the capacity once before use, and may allocate.
template <class P>
concept ResizablePolicy = requires(P& p, std::uint32_t capacity) { p.resize(capacity); };
/// Forgets a worker whose index is taken by a new incarnation.
template <class P>
concept ResettablePolicy = requires(P& p, std::uint32_t worker) {
  { p.reset(worker) } noexcept;
};
/// States the largest lead, in steps, of a starting worker over the slowest; `unbounded` if there is none.
template <class P>
concept BoundedPolicy = requires(const P& p) {
  { p.clock_bound() } noexcept -> std::same_as<clock_type>;
};
/// States how long a worker may wait, in times of the longest step, from grant to commit, of any counted worker, while
/// nobody comes, goes, fails or is switched; infinite if it may wait for ever. Time-outs follow from it.
template <class P>
concept WaitLimitingPolicy = requires(const P& p, std::uint32_t worker) {
  { p.max_legal_wait(worker) } noexcept -> std::same_as<double>;
};
/// Can say what is wrong with its options for so many workers, as a sentence; empty if nothing is.
template <class P>
concept CheckedPolicy = requires(const P& p, std::uint32_t capacity) {
  { p.problem(capacity) } -> std::same_as<std::string>;
};
/// Has state worth saving: one function for both directions.
template <class P>
concept StatefulPolicy = requires(P& p, archive& bytes) { p.state(bytes); };
/// Shows what its latest answer went by, for timelines.
template <class P>
concept ExplainingPolicy = requires(const P& p) {
  { p.explain() } noexcept -> std::same_as<insight>;
};
/// Presents itself.
template <class P>
concept DescribedPolicy = requires(const P& p) {
  { p.describe() } -> std::same_as<description>;
};

namespace detail {

struct optional_members {
  int admit, observe, measured, shape, shapes, prepare, resize, reset, clock_bound, max_legal_wait, problem, state,
      describe, explain;
};
struct nameless {};
// A name that P has too, whatever it stands for there, is ambiguous in this class. A final P cannot be looked into.
template <class P>
struct doubled : std::conditional_t<std::is_final_v<P>, nameless, P>, optional_members {};

}  // namespace detail

/// Who may run next: asked for every cause, and total over them. Satisfied by bsp, asp, ssp and any_policy.
///
/// A member that has the name of an optional one must have the signature, and the noexcept, that its concept asks for:
/// one that would never be called is refused. Tests: tests/compile_fail/policy_*.cpp
template <class P>
concept SyncPolicy = std::movable<P> && requires(P& p, const cluster_view& view, const event& what) {
  { p.release(view, what) } noexcept -> std::same_as<decision>;
} && (AdmittingPolicy<P> || requires { &detail::doubled<P>::admit; }) &&
    (ObservingPolicy<P> || requires { &detail::doubled<P>::observe; }) &&
    (MeasuringPolicy<P> || requires { &detail::doubled<P>::measured; }) &&
    (ShapingPolicy<P> || requires { &detail::doubled<P>::shape; }) &&
    (MaybeShapingPolicy<P> || requires { &detail::doubled<P>::shapes; }) &&
    (PreparingPolicy<P> || requires { &detail::doubled<P>::prepare; }) &&
    (ResizablePolicy<P> || requires { &detail::doubled<P>::resize; }) &&
    (ResettablePolicy<P> || requires { &detail::doubled<P>::reset; }) &&
    (BoundedPolicy<P> || requires { &detail::doubled<P>::clock_bound; }) &&
    (WaitLimitingPolicy<P> || requires { &detail::doubled<P>::max_legal_wait; }) &&
    (CheckedPolicy<P> || requires { &detail::doubled<P>::problem; }) &&
    (StatefulPolicy<P> || requires { &detail::doubled<P>::state; }) &&
    (DescribedPolicy<P> || requires { &detail::doubled<P>::describe; }) &&
    (ExplainingPolicy<P> || requires { &detail::doubled<P>::explain; });

/// The bound of any policy.
template <class P>
[[nodiscard]] constexpr clock_type clock_bound_of(const P& policy) noexcept {
  if constexpr (BoundedPolicy<P>) return policy.clock_bound();
  return unbounded;
}

namespace detail {

template <class Class, class Member>
Class* declarer(Member Class::*);
template <class P>
concept KnowsItsShape = requires {
  { declarer(&P::shapes) } -> std::same_as<decltype(declarer(&P::shape))>;
};
template <class P>
concept KnowsWhetherItMeasures = requires {
  { declarer(&P::measures) } -> std::same_as<decltype(declarer(&P::measured))>;
};

}  // namespace detail

/// Whether shape() is to be called. A shapes() that was inherited says nothing about a shape() that was not.
/// Tests: tests/sync/any_policy_test.cpp: ShapesWhereThePolicyDoes
template <class P>
[[nodiscard]] constexpr bool shapes_of([[maybe_unused]] const P& policy) noexcept {
  if constexpr (MaybeShapingPolicy<P> && detail::KnowsItsShape<P>)
    return policy.shapes();
  else
    return ShapingPolicy<P>;
}

/// Whether measured() does anything: measuring costs the host time. A measures() counts as a shapes() does.
template <class P>
[[nodiscard]] constexpr bool measures_of([[maybe_unused]] const P& policy) noexcept {
  if constexpr (detail::KnowsWhetherItMeasures<P>)
    return policy.measures();
  else
    return MeasuringPolicy<P>;
}

/// How long any policy may let this worker wait, in times of the longest step; infinite where it does not say.
template <class P>
[[nodiscard]] constexpr double max_legal_wait_of(const P& policy, [[maybe_unused]] std::uint32_t worker) noexcept {
  if constexpr (WaitLimitingPolicy<P>) return policy.max_legal_wait(worker);
  return std::numeric_limits<double>::infinity();
}

/// What any policy shows of its latest answer.
template <class P>
[[nodiscard]] insight insight_of([[maybe_unused]] const P& policy) noexcept {
  if constexpr (ExplainingPolicy<P>) return policy.explain();
  return {};
}

/// What is wrong with the options of any policy for so many workers; empty if nothing is.
template <class P>
[[nodiscard]] std::string problem_of(const P& policy, [[maybe_unused]] std::uint32_t capacity) {
  if constexpr (CheckedPolicy<P>) return policy.problem(capacity);
  return {};
}

/// The kind of any policy: the word that saved state begins with. A static member `kind`, or a function of that name.
template <class P>
[[nodiscard]] std::string_view kind_of(const P& policy) noexcept {
  if constexpr (requires { { policy.kind() } -> std::convertible_to<std::string_view>; })
    return policy.kind();
  else if constexpr (requires { std::string_view{P::kind}; })
    return P::kind;
  else
    return "custom";
}

/// Whether gradients may be kept for a round, so that the host must flush and discard. A policy with `admit` that only
/// weighs or drops them says `static constexpr bool accumulates = false`.
template <class P>
inline constexpr bool may_accumulate = AdmittingPolicy<P> && !requires { requires !P::accumulates; };

/// The description of any policy: its own, or its kind.
template <class P>
[[nodiscard]] description describe_of(const P& policy) {
  if constexpr (DescribedPolicy<P>) return policy.describe();
  description self;  // filled in place: GCC 12 warns about moved short strings
  self.line = kind_of(policy);
  self.json.append(R"({"kind":")").append(kind_of(policy)).append(R"("})");
  return self;
}

}  // namespace rubato::inline RUBATO_ABI

#endif
