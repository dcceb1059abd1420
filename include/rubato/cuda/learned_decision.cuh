#ifndef RUBATO_CUDA_LEARNED_DECISION_CUH
#define RUBATO_CUDA_LEARNED_DECISION_CUH

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../encode/action_set.hpp"
#include "../encode/normaliser.hpp"
#include "lanes.cuh"
#include "rules.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// Statistics of a host's normaliser in the form that device_policy::statistics takes: means, then factors.
/// Precondition: it has seen something.
/// Tests   tests/cuda/controller_test.cpp: StatisticsScaleAsTheHostsDo
template <std::size_t Dim>
void statistics_of(const normaliser<Dim>& scale, double (&to)[2 * Dim]) noexcept {
  for (std::size_t i = 0; i < Dim; ++i) {
    const double variance = scale.variance(i);
    to[i] = scale.mean()[i];
    to[Dim + i] = variance > normaliser<Dim>::least_variance ? 1 / pinned::square_root(variance) : 0.0;
  }
}

namespace detail {

inline constexpr std::size_t numbers_of_push = 4, pushes_kept = rlp_state::dim / numbers_of_push;

[[nodiscard]] RUBATO_DETAIL_SHARED inline float nearest_float(double x) noexcept {  // detail::finite_float
  constexpr double most = 3.4028234663852886e38;
  if (x != x) return 0.0F;
  return static_cast<float>(x < -most ? -most : x > most ? most : x);
}

/// The first three numbers of a push, of which so many have been: its own number, the loss before, and the change.
RUBATO_DETAIL_SHARED inline void note_loss(loss_memory& m, rlp_scale scale, std::uint64_t pushes, float pushed_loss,
                                           float* to) noexcept {
  double before = m.loss, change = 0;
  if (const double loss = static_cast<double>(pushed_loss); is_finite(loss) && loss != 0) {
    if (m.measured == 0) before = m.first = loss;
    change = loss - before;
    m.loss = loss;
    if (m.measured++ > 0) m.squares = exact_double::plus_product(m.squares, change, change);
  }
  const auto n = static_cast<double>(pushes);
  if (scale == rlp_scale::raw) {
    to[0] = static_cast<float>(n);
    to[1] = nearest_float(before);
    to[2] = nearest_float(change);
    return;
  }
  const double rms = m.measured > 1 ? ::sqrt(m.squares / static_cast<double>(m.measured - 1)) : 0.0;
  const double ratio = m.measured > 0 ? before / ::fabs(m.first) : 0.0;
  to[0] = static_cast<float>(::log1p(n) / 10);
  to[1] = nearest_float(ratio < -100.0 ? -100.0 : ratio > 100.0 ? 100.0 : ratio);
  to[2] = rms > 0 ? nearest_float(::asinh(change / rms)) : 0.0F;
}
/// A staleness beside so many workers.
[[nodiscard]] RUBATO_DETAIL_SHARED inline float per_worker(float staleness, std::uint32_t workers) noexcept {
  return staleness * rounded_once::quotient(1.0F, static_cast<float>(larger(workers, 1U)));
}

/// rlp_state::observe: a push has been committed.
RUBATO_DETAIL_SHARED inline void observe(learned_memory& m, rlp_scale scale, float loss,
                                         std::uint64_t staleness) noexcept {
  ++m.pushes;
  m.latest = m.latest == 0 ? pushes_kept - 1 : m.latest - 1;
  float* const push = m.numbers + m.latest * numbers_of_push;
  note_loss(m.losses, scale, m.pushes, loss, push);
  push[3] = static_cast<float>(staleness);
}

/// Number i of the inputs of the network: rlp_state::encode, and then normaliser::apply.
template <class Shape>
[[nodiscard]] RUBATO_DETAIL_SHARED float input(const learned_memory& m, const device_policy<Shape>& policy,
                                               std::uint32_t alive, std::size_t i) noexcept {
  const std::size_t push = (m.latest + i / numbers_of_push) % pushes_kept;
  float x = m.numbers[push * numbers_of_push + i % numbers_of_push];
  if (policy.inputs == rlp_scale::normalised && i % numbers_of_push == numbers_of_push - 1) x = per_worker(x, alive);
  if (policy.statistics == nullptr) return x;
  constexpr double limit = normaliser<rlp_state::dim>::limit;
  const double scaled = (static_cast<double>(x) - policy.statistics[i]) * policy.statistics[rlp_state::dim + i];
  return scaled != scaled ? 0.0F : static_cast<float>(scaled < -limit ? -limit : scaled > limit ? limit : scaled);
}

/// rubato::greedy of the actions that are legal: hold where somebody is busy, all where somebody else waits.
[[nodiscard]] RUBATO_DETAIL_SHARED inline group_action greedy(const float* values, bool may_hold,
                                                              bool may_all) noexcept {
  const float hold = values[0], submitter = values[1], all = values[2];
  const bool holds = may_hold && hold == hold && !(submitter > hold);
  const bool starts_all = may_all && all == all && !((holds ? hold : submitter) >= all);
  return starts_all ? group_action::all : holds ? group_action::hold : group_action::submitter;
}

/// Is this an event at which the network is asked? Notes the time that passed; see q_policy::release.
RUBATO_DETAIL_SHARED inline bool begin_learned(learned_memory& m, const event& what, std::uint32_t parked,
                                               bool& first) noexcept {
  first = !m.started;
  m.waited += m.started && m.now < what.now ? what.now - m.now : 0.0;
  m.started = true;
  m.now = what.now;
  if (what.why != cause::push) return false;
  if (parked <= 1) m.waited = 0;  // nobody but the submitter
  return true;
}

/// The answer where there was no choice: rubato::between_pushes.
template <class View>
[[nodiscard]] RUBATO_DETAIL_SHARED decision between_pushes(const View& view, const event& what, bool first) noexcept {
  if (first || view.busy() == 0) return answer(release_verb::all);
  decision d = answer(what.why == cause::join ? release_verb::only : release_verb::hold);
  d.worker = what.worker;
  return d;
}

/// The answer to what the network values.
template <class Shape, class View>
[[nodiscard]] RUBATO_DETAIL_SHARED decision choose(learned_memory& m, const device_policy<Shape>& policy,
                                                   const View& view, const float* values) noexcept {
  const bool may_all = view.parked() > 1;
  group_action action = greedy(values, view.busy() > 0, may_all);
  const float value = values[static_cast<std::size_t>(action)];
  if (value != value) ++m.undecided;
  if (action != group_action::all && may_all && policy.max_idle < never) {
    const std::uint32_t slowest = view.slowest();
    const float behind = slowest < view.capacity() ? view.step_time_of(slowest) : 0.0F;
    const float step = larger(behind, view.median_step_time());
    if (step > 0 && m.waited > policy.max_idle * static_cast<double>(step)) {
      action = group_action::all;
      ++m.forced;
    }
  }
  if (action == group_action::all) m.waited = 0;
  return answer(action == group_action::all    ? release_verb::all
                : action == group_action::hold ? release_verb::hold
                                               : release_verb::submitter);
}

}  // namespace detail
}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
