#ifndef RUBATO_SYNC_RIVALS_SYNC_SWITCH_HPP
#define RUBATO_SYNC_RIVALS_SYNC_SWITCH_HPP

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "../../pinned.hpp"
#include "../asp.hpp"
#include "../bsp.hpp"
#include "switch_configuration.hpp"
#include "sync_switch_options.hpp"

namespace rubato::inline RUBATO_ABI {

/// Sync-Switch: one policy for the first share of a training, another one for the rest; synchronous, then asynchronous.
///
/// Each gradient that the first policy takes is a step of the share, so a barrier of n workers is n of them; what is
/// dropped or fails is none, nor is what a worker had admitted when it went. Once the share is done, the second policy
/// takes over at the next decision of the first that lets somebody go and leaves no gradient in an open round: under
/// bsp at the barrier. (Where rounds overlap, what is in the next one already makes an update of its own.) With a round
/// flushed all who wait start, within the second one's bound, and otherwise the second policy is asked with cause
/// enter. It has forgotten all workers; running steps go on under the terms that they have, and clocks are re-based to
/// a bound that they exceed. A share of 0 is the second policy, one of 1 the first.
///
/// Until the share is done, a straggler (see straggler_detector), with the reaction
/// - greedy: puts the second policy in charge, until there is none: both from the next such decision on. The second
///   one's steps are none of the share.
/// - elastic: is excluded until the switch. Two workers always stay; where others go, excluded ones come back. To the
///   first policy it is as if the excluded had never been there, and a return is a join.
///
/// The controller notes no change of its policy: hosts read phase(). Momentum is theirs: see switch_configuration.
/// Options  see sync_switch_options; sync_switch<>{{.share = 0.125}} is bsp, then asp
/// Cost     that of the policy in charge, and O(1) a push; O(workers) where members or policies change, and with a
///          reaction at the end of a window. Allocates in resize only. Not thread-safe.
/// Tests    tests/sync/rivals/sync_switch_test.cpp: SwitchesAtTheBarrierOnceTheShareIsDone,
///          WaitsForABarrierWithoutARound, DroppedAndFailedAreNoSteps, CutsNoRoundShort, WhatIsInTheNextRoundIsFlushed,
///          AsksTheSecondAfresh, AllStartWhereARoundIsFlushed, StartsOnlyWhomTheSecondBoundLetsGo,
///          RebasesToATighterBound, JoinsInEachPhase, SavesInEachPhase, RefusesWhatAnotherPairSaved,
///          EntersBeforeItIsWoken, WhatTheDeadHadAdmittedIsNoStep, AnyPair, FlushesAreWhatTheConfigurationSays,
///          WaitsNoLongerThanBoth, OnlyAPolicyThatMayBeInChargeMakesOthersWait, RefusesBadOptions, DescribesItself;
///          tests/sync/rivals/sync_switch_stragglers_test.cpp: GreedyGoesThereAndBack, StepsOfADetourAreNoneOfTheShare,
///          ElasticEvictsAndReadmitsAtTheSwitch, ElasticDropsWhatTheEvictedComputes, ToTheFirstTheEvictedHasGone,
///          WhatTheEvictedHadAdmittedIsNoMeasure, ElasticKeepsTwo, ElasticTakesBackWhereFewerThanTwoAreLeft,
///          AReturnIsAJoin, ElasticTakesBackAfterALoad, AnEvictedWorkerMayDie, AnEvictedOneMayRejoin,
///          StragglersAreIgnoredAfterwards, NeitherFormFindsHalf, ThePublishedFormFiresOnNoise, DeathsInEachPhase;
///          tests/properties/identities_test.cpp: SyncSwitchIsItsFirstOrItsSecondAtItsEnds;
///          tests/properties/schedule_test.cpp: AsEitherHalfOfASyncSwitch
/// Source   Li et al., "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning", ICDCS 2021
template <SyncPolicy First = bsp, SyncPolicy Second = asp>
class sync_switch {
 public:
  sync_switch_options options;  ///< not to be changed once it is in charge

  /// These policies.
  sync_switch(First first, Second second, const sync_switch_options& o = {})
      : options{o}, first_{std::move(first)}, second_{std::move(second)} {
    begin();
  }
  /// The policies as they are by default.
  sync_switch(const sync_switch_options& o = {})  // NOLINT(*-explicit-*)
      requires std::default_initializable<First> && std::default_initializable<Second>
      : sync_switch{First{}, Second{}, o} {}

  [[nodiscard]] switch_phase phase() const noexcept { return phase_; }               ///< which one is in charge
  [[nodiscard]] std::uint64_t steps_of_share() const noexcept { return done_; }      ///< taken by the first
  [[nodiscard]] std::uint64_t steps_in_phase() const noexcept { return in_phase_; }  ///< taken since the latest switch
  /// Whether the second policy is in charge for good, or will be from the next barrier on.
  [[nodiscard]] bool share_is_done() const noexcept {
    return options.share < 1 && static_cast<double>(done_) >= options.share * static_cast<double>(options.workload);
  }
  [[nodiscard]] const straggler_detector& stragglers() const noexcept { return detector_; }  ///< of capacity 0 for none

  void resize(std::uint32_t capacity) {
    if constexpr (ResizablePolicy<First>) first_.resize(capacity);
    if constexpr (ResizablePolicy<Second>) second_.resize(capacity);
    detector_ = straggler_detector{reacts() ? capacity : 0, reacts() ? options.stragglers : straggler_options{}};
    begin();
  }
  void reset(std::uint32_t worker) noexcept {
    forget(first_, worker);
    forget(second_, worker);
    detector_.forget(worker);
  }

  [[nodiscard]] admission admit(const cluster_view& view, const event& what) noexcept {
    admission verdict_on = in_charge([&]<class P>(P& policy) noexcept {
      if constexpr (AdmittingPolicy<P>) return policy.admit(view, what);
      return admission::apply();
    });
    if (options.scales_rate && verdict_on.completes)
      verdict_on.scale *= static_cast<float>(view.round_admissions() + 1);
    return verdict_on;
  }
  void observe(const feedback& f) noexcept {
    if (!f.what.dropped && f.succeeded) {
      ++in_phase_;
      if (phase_ == switch_phase::first) ++done_;
    }
    const bool evicted = is_elastic() && phase_ == switch_phase::first && !detector_.is_member(f.what.worker);
    if (evicted) return;  // to the first policy it has gone
    const bool whole = f.what.why_dropped != reason::cancelled && f.what.why_dropped != reason::excluded;
    if (reacts() && whole && !share_is_done()) detector_.note_step({f.what.worker, 0}, f.step_time, f.what.now);
    in_charge([&]<class P>([[maybe_unused]] P& policy) noexcept {
      if constexpr (ObservingPolicy<P>) policy.observe(f);
    });
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    in_charge([&]<class P>([[maybe_unused]] P& policy) noexcept {
      if constexpr (ShapingPolicy<P>) {
        if (shapes_of(policy)) policy.shape(view, worker, terms);
      }
    });
  }
  [[nodiscard]] bool shapes() const noexcept { return shapes_of(first_) || shapes_of(second_); }
  void prepare() noexcept {
    in_charge([]<class P>([[maybe_unused]] P& policy) noexcept {
      if constexpr (PreparingPolicy<P>) policy.prepare();
    });
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    event told = what;
    // Who is in charge hears of exclusions of its own, but not of those that were made here: it is asked as before.
    const bool goes_on = std::exchange(changed_members_, false);
    const bool theirs = !goes_on && (what.why == cause::exclude || what.why == cause::readmit);
    if (goes_on) {
      told.why = asked_;
    } else if (!theirs) {
      if (what.why == cause::deadline && std::exchange(enters_again_, false)) told.why = cause::enter;
      asked_ = told.why;
    }
    if (stage_ == stage::steady) {
      if (!theirs) {
        const decision change = mind_stragglers(view, told);
        if (changed_members_) return change;
      }
      const decision d = ask(view, told);
      const switch_phase next = due();
      if (changes_members(d) || next == phase_ || !is_between_rounds(view, what, d))
        return still_to_enter(at_its_rate(view, d), what.now);
      hand_over(view, next, d);
    }
    if (stage_ == stage::readmitting) {
      if (view.excluded() > 0) return ours(decision::hold().with_readmit(first_excluded(view)));
      stage_ = stage::entering;
      told = {.why = cause::enter, .now = what.now};
    }
    // No policy expects, when it enters, gradients that are about to be flushed: all who wait start, and it decides
    // next.
    const bool leaves_a_round = view.round_admissions() > 0;
    const decision d = leaves_a_round ? everybody(view) : ask(view, told);
    if (changes_members(d)) return d;
    stage_ = stage::steady;
    return taking_charge(view, d);
  }

  [[nodiscard]] clock_type clock_bound() const noexcept {
    return phase_ == switch_phase::first ? clock_bound_of(first_) : clock_bound_of(second_);
  }
  /// Who waits at a switch may have to wait under the other policy as well; the excluded wait for the switch.
  [[nodiscard]] double max_legal_wait(std::uint32_t worker) const noexcept {
    if (is_elastic()) return std::numeric_limits<double>::infinity();
    const bool one = options.share > 0, other = options.share < 1 || options.reaction == straggler_reaction::greedy;
    return (one ? max_legal_wait_of(first_, worker) : 0.0) + (other ? max_legal_wait_of(second_, worker) : 0.0);
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return detail::first_of({options.problem(), problem_of(first_, capacity), problem_of(second_, capacity)});
  }
  void state(archive& bytes) {
    expect_these_options(bytes);
    if constexpr (StatefulPolicy<First>) first_.state(bytes);
    if constexpr (StatefulPolicy<Second>) second_.state(bytes);
    bytes(phase_, done_, in_phase_, enters_again_);
    if (phase_ > switch_phase::second) bytes.fail();
    detector_.state(bytes);
  }
  [[nodiscard]] description describe() const {
    return {detail::sentence_of("syncswitch: ", kind_of(first_), options.until(), kind_of(second_), options.besides()),
            detail::sentence_of(R"({"kind":"syncswitch",)", options.json(), R"(,"first":)", describe_of(first_).json,
                                R"(,"second":)", describe_of(second_).json, "}")};
  }

  static constexpr std::string_view kind = "syncswitch";
  static constexpr bool accumulates = may_accumulate<First> || may_accumulate<Second>;  ///< for may_accumulate

 private:
  enum class stage : std::uint8_t { steady, readmitting, entering };  // the latter two within one call only
  void begin() noexcept {
    phase_ = options.share > 0 ? switch_phase::first : switch_phase::second;
    done_ = in_phase_ = 0, enters_again_ = changed_members_ = false;
    stage_ = stage::steady;
  }
  [[nodiscard]] bool reacts() const noexcept { return options.reaction != straggler_reaction::none; }
  [[nodiscard]] bool is_elastic() const noexcept { return options.reaction == straggler_reaction::elastic; }
  // What another pair, or one of another share, has saved means something else.
  void expect_these_options(archive& bytes) const {
    const std::string pair = std::string{kind_of(first_)} + " " + std::string{kind_of(second_)};
    std::string saved_pair = pair;
    sync_switch_options saved = options;
    bytes.text(saved_pair);
    bytes(saved.share, saved.workload, saved.reaction);
    if (saved_pair != pair || pinned::bits_of(saved.share) != pinned::bits_of(options.share) ||
        saved.workload != options.workload || saved.reaction != options.reaction)
      bytes.fail();
  }
  [[nodiscard]] switch_phase due() const noexcept {
    const bool flees = options.reaction == straggler_reaction::greedy && detector_.count() > 0;
    return share_is_done() || flees ? switch_phase::second : switch_phase::first;
  }
  template <class Use>
  decltype(auto) in_charge(Use&& use) noexcept {
    if (phase_ == switch_phase::first) return use(first_);
    return use(second_);
  }
  decision ask(const cluster_view& view, const event& told) noexcept {
    return in_charge([&](auto& policy) noexcept { return policy.release(view, told); });
  }
  template <class P>
  static void forget([[maybe_unused]] P& policy, [[maybe_unused]] std::uint32_t worker) noexcept {
    if constexpr (ResettablePolicy<P>) policy.reset(worker);
  }
  [[nodiscard]] static bool changes_members(const decision& d) noexcept {
    return d.exclude != no_worker || d.readmit != no_worker;
  }
  [[nodiscard]] decision ours(const decision& d) noexcept { return changed_members_ = true, d; }
  // Precondition: there is one.
  [[nodiscard]] static std::uint32_t first_excluded(const cluster_view& view) noexcept {
    std::uint32_t w = 0;
    while (!view.is_excluded(w)) ++w;
    return w;
  }

  // Keeps the detector's members, and those of the cluster where it is elastic: then changed_members_ is set. Makes the
  // event what the first policy is to see of it.
  [[nodiscard]] decision mind_stragglers(const cluster_view& view, event& told) noexcept {
    const bool went = told.why == cause::leave || told.why == cause::death || told.why == cause::done;
    const bool enters = told.why == cause::enter;  // everybody is looked at anyway
    if (!reacts() || (phase_ == switch_phase::second && share_is_done())) return {};
    if (went) detector_.forget(told.worker);
    if (detector_.members() != view.alive())  // at the start, and after a load some may be gone without a word
      for (std::uint32_t w = 0; w < view.capacity(); ++w)
        view.counts(w) ? detector_.enter({w, 0}) : detector_.forget(w);
    if (!is_elastic() || phase_ == switch_phase::second) return {};

    if (const std::uint32_t back = std::exchange(came_back_, no_worker); back != no_worker && !enters) {
      told.why = cause::join;
      told.worker = back;
    } else if (view.excluded() > 0 && view.alive() < 2 && (went || enters || view.alive() == 0)) {
      if (went) forget(first_, told.worker);  // it hears of the other one
      came_back_ = first_excluded(view);
      forget(first_, came_back_);
      return ours(decision::hold().with_readmit(came_back_));
    }
    while (!share_is_done() && view.alive() > 2 && detector_.count() > 0) {
      const std::uint32_t slowest = detector_.worst()->who.index;
      detector_.forget(slowest);
      if (!view.counts(slowest)) continue;
      forget(first_, slowest);
      return ours(decision::hold().with_exclude(slowest));
    }
    // As a controller says it of a worker that went before its commit.
    if (told.why == cause::push && view.is_excluded(told.worker)) told.why = cause::death;
    return {};
  }

  // Does this decision of the policy in charge, on which the other one could follow, leave no gradient behind?
  [[nodiscard]] static bool is_between_rounds(const cluster_view& view, const event& what, const decision& d) noexcept {
    return d.verb != release_verb::hold && (d.flushes || what.flushed || view.round_admissions() == 0);
  }
  [[nodiscard]] decision at_its_rate(const cluster_view& view, decision d) const noexcept {
    if (options.scales_rate && d.flushes) d.flush_scale *= static_cast<float>((std::max)(view.round_admissions(), 1U));
    return d;
  }

  void hand_over(const cluster_view& view, switch_phase next, const decision& last) noexcept {
    last_scale_ = at_its_rate(view, last.flushes ? last : last.with_flush()).flush_scale;
    phase_ = next, in_phase_ = 0, enters_again_ = false;
    stage_ = stage::readmitting;
    in_charge([&](auto& policy) noexcept {
      for (std::uint32_t w = 0; w < view.capacity(); ++w) forget(policy, w);
    });
  }
  // A policy that has still to enter is to be woken at once, whatever it wishes before that.
  [[nodiscard]] decision still_to_enter(const decision& d, double now) const noexcept {
    return enters_again_ && d.wakes ? d.with_wake_at(now) : d;
  }
  // Whoever waits and may start under the bound. The policy in charge enters when it is polled.
  [[nodiscard]] decision everybody(const cluster_view& view) noexcept {
    enters_again_ = true;
    const clock_type most = saturating_add(view.minimum_clock(), clock_bound());
    return decision::up_to_clock(most).with_flush(last_scale_).with_wake_at(view.now());
  }
  // The first decision under a policy, and the end of what the other one left: its wish to be woken, its clocks. A
  // policy that remembers clocks enters once more when they are re-based.
  [[nodiscard]] decision taking_charge(const cluster_view& view, decision d) noexcept {
    if (!d.wakes) d = d.with_wake_at(std::numeric_limits<double>::infinity());
    const clock_type lowest = view.minimum_clock(), bound = clock_bound();
    if (view.maximum_clock() - lowest <= bound) return d;
    if (d.verb == release_verb::up_to_clock && d.clock != unbounded) d.clock -= (std::min)(d.clock, lowest);
    enters_again_ = true;
    return d.with_rebase(bound).with_wake_at(view.now());
  }

  First first_;
  Second second_;
  straggler_detector detector_{0};
  std::uint64_t done_ = 0;      // steps of the share
  std::uint64_t in_phase_ = 0;  // steps since the latest switch
  switch_phase phase_ = switch_phase::first;
  bool enters_again_ = false;  // at the next deadline
  // Within one call of the controller, which asks again after each change of members:
  bool changed_members_ = false;  // by the latest answer, on our own account
  stage stage_ = stage::steady;
  cause asked_ = cause::enter;           // why it asked first
  std::uint32_t came_back_ = no_worker;  // whom the first policy is to see join
  float last_scale_ = 1.0F;              // of the round that the policy leaves
};

}  // namespace rubato::inline RUBATO_ABI

#endif
