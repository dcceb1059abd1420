#ifndef RUBATO_SIM_EXPERT_TRACE_HPP
#define RUBATO_SIM_EXPERT_TRACE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../encode/action_set.hpp"
#include "../encode/encoder.hpp"
#include "../sync/any_policy.hpp"
#include "cluster.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// What a rule did in one run, push by push, in the words of a learned policy: what it saw, which group_action its
/// decision came to, and how much time was left.
struct expert_trace {
  std::size_t width = 0;                ///< numbers of one observation
  std::vector<float> observations{};    ///< size() x width
  std::vector<group_action> actions{};  ///< that were carried out
  std::vector<std::uint32_t> legal{};   ///< masks, see legal_actions()
  std::vector<double> times{};          ///< of the pushes
  std::vector<double> time_left{};      ///< until the end of the run; of max_time if it did not arrive
  std::uint64_t approximated = 0;       ///< actions that are not exactly what the rule did

  [[nodiscard]] std::size_t size() const noexcept { return actions.size(); }  ///< pushes
  /// What the rule saw at a push. Precondition: i < size().
  [[nodiscard]] std::span<const float> observation(std::size_t i) const noexcept {
    return std::span{observations}.subspan(i * width, width);
  }
};

namespace detail {

/// A policy that does what another one says, and writes down what became of it.
template <StateEncoder Encoder>
class recorded_expert {
 public:
  recorded_expert(any_policy expert, Encoder encoder, expert_trace& trace)
      : expert_{std::move(expert)}, encoder_{std::move(encoder)}, trace_{&trace} {}

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) noexcept {
    return expert_.admit(view, what);
  }
  void observe(const feedback& step) noexcept {
    encoder_.observe(step);
    expert_.observe(step);
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    close();
    if (is_choice(view, what)) {
      std::array<float, Encoder::dim> seen{};
      encoder_.encode(view, what, seen);
      trace_->observations.insert(trace_->observations.end(), seen.begin(), seen.end());
      trace_->times.push_back(what.now);
      trace_->legal.push_back(legal_actions(view));
      submitter_ = what.worker;
      others_waiting_ = view.parked() - 1;
    } else {
      rubato::detail::tell_event(encoder_, what);
    }
    return expert_.release(view, what);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    ++(worker == submitter_ ? itself_ : others_);
    rubato::detail::tell_started(encoder_, view, worker);
    expert_.shape(view, worker, terms);
  }
  void resize(std::uint32_t capacity) {
    encoder_.resize(capacity);
    expert_.resize(capacity);
  }
  void reset(std::uint32_t worker) noexcept {
    rubato::detail::tell_gone(encoder_, worker);
    expert_.reset(worker);
  }
  void state(archive& bytes) {
    encoder_.state(bytes);
    expert_.state(bytes);
  }
  [[nodiscard]] clock_type clock_bound() const noexcept { return expert_.clock_bound(); }
  [[nodiscard]] double max_legal_wait(std::uint32_t worker) const noexcept { return expert_.max_legal_wait(worker); }
  [[nodiscard]] description describe() const { return expert_.describe(); }
  [[nodiscard]] std::string_view kind() const noexcept { return expert_.kind(); }

  /// Gives the latest push its action: by who has started since.
  void close() noexcept {
    if (trace_->times.size() > trace_->actions.size()) {
      trace_->actions.push_back(others_ > 0   ? group_action::all
                                : itself_ > 0 ? group_action::submitter
                                              : group_action::hold);
      if (others_ > 0 && (itself_ == 0 || others_ != others_waiting_)) ++trace_->approximated;
    }
    submitter_ = no_worker;
    itself_ = others_ = 0;
  }

 private:
  any_policy expert_;
  Encoder encoder_;
  expert_trace* trace_;
  std::uint32_t submitter_ = no_worker;
  std::uint32_t itself_ = 0;
  std::uint32_t others_ = 0;
  std::uint32_t others_waiting_ = 0;
};

}  // namespace detail

/// simulate() with a rule, and what it did as a trace, for pre-training: of bsp{bsp::sum}, asp or ssp, say.
///
/// A push is `hold` if nobody started after it, `submitter` if only its worker did, else `all`. Where only some of
/// those who waited started, or the submitter did not, `all` is merely the nearest; `approximated` counts that. The
/// latest push of a run has an action too.
///
///     expert_trace trace;
///     const run_result run = record_expert<rlp_state>(machines, options, ssp_rlp(3), goal, trace);
///
/// Pre      as for simulate(); the trace is overwritten
/// Cost     that of simulate(), and memory of (dim + 6) x 4 bytes per push
/// Tests    tests/sim/expert_trace_test.cpp: ExpertsInTheirOwnWords, TimeLeftCountsDown, SameRunAsSimulate,
///          UnreachedCountsFromMaxTime, InvalidOptionsRunNothing, CountsWhatIsApproximate
/// Source   Zhu et al. (ICLR 2020), section 3.3: pre-training from BSP, ASP and SSP
template <StateEncoder Encoder, Objective Goal>
run_result record_expert(const cluster_options& machines, const run_options& run, any_policy expert, Goal& goal,
                         expert_trace& trace, Encoder encoder = {}) {
  trace = {.width = Encoder::dim};
  if (!can_run(machines, run, expert)) return {.end = run_end::invalid, .time = run.max_time};
  no_observer nobody;
  detail::recorded_expert<Encoder> recorded{std::move(expert), std::move(encoder), trace};
  cluster<detail::recorded_expert<Encoder>, Goal> all{machines, run, std::move(recorded), goal, nobody};
  while (all.advance()) continue;
  detail::recorded_expert<Encoder>{all.sync().policy()}.close();  // a copy, of the same trace
  for (const double at : trace.times) trace.time_left.push_back(all.result().time - at);
  return all.result();
}

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
