#ifndef RUBATO_LEARNED_STIGMERGIC_RULE_HPP
#define RUBATO_LEARNED_STIGMERGIC_RULE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "../core/number_text.hpp"
#include "../dynarray.hpp"
#include "../pinned.hpp"
#include "../sync/concepts.hpp"
#include "../sync/rivals/wording.hpp"
#include "../sync/rivals/worker_heap.hpp"
#include "activity_trace.hpp"

namespace rubato::inline RUBATO_ABI {

/// Workers that decide for themselves: each goes by its own steps, and by the traces of others at the server.
///
/// A worker whose push was answered looks how many are under way. If they are fewer than the level, it starts; if not,
/// it waits and looks again, the later the longer its steps are. One whose latest step was slow waits even before its
/// first look, so that the quick ones find the free place. With each push a worker moves the level by what it has seen
/// itself: down if the step took more than `stretch` octaves longer than the shortest that it remembers, else up. Every
/// `breath` steps or so half as many run for a while, by which everybody learns how quick a step can be; and who has
/// waited for long starts where one or two more are under way than the level allows.
///
/// Nobody decides for others, and nobody is known to others by name: a worker knows its shortest and its latest step,
/// when it began, and the activity_trace, which is as large for two workers as for a thousand. The server keeps the
/// trace, and starts whoever asks. Here the workers' part runs beside the controller; what it reads fits into replies
/// that there are anyway, and another look is a message of a few bytes.
///
/// Who joins waits for nobody; where nobody runs, all start. Hosts have to poll(), as always where a rule waits.
///
/// Cost    a push or a look: O(log workers), a few exponentials and logarithms. Allocates in resize() only, 40 bytes
///         per worker. Not thread-safe.
/// Source  the idea: Aina and Ha, "Deep Reinforcement Learning for Multi-Agent Coordination", arXiv:2510.03592; the
///         rule is ours: docs/stigmergy.md, "At a parameter server"
/// Tests   tests/learned/stigmergic_rule_test.cpp: AllStartTogether, AsManyAsTheLevelAreUnderWay, WhoWaitsLooksAgain,
///         WhoInsistsHasItsTurn, NowAndThenAllBreathe, TheQuickTakeTheFreePlace, TheLevelFallsWhereMachinesAreShared,
///         TheLevelRisesWhereNothingIsShared, TheDeadAreForgotten, BatchesDoNotMoveTheLevel, SurvivesNaN,
///         ProblemsAreNamed, Describes, SavesItsState, BadBytesAreRefused; tests/properties/schedule_test.cpp:
///         Liveness, NeedsNoGuard
struct stigmergic_rule {
  float first_level = 4.0F;  ///< workers under way to begin with; 1 to 2^20
  float stretch = 0.5F;      ///< octaves that a step may take longer than the shortest; 0 to 2
  float gain = 0.1F;         ///< octaves of the level, for each of them and each step's time; 0: it stays; to 10
  float patience = 1.0F;     ///< intervals between pushes from a look to the next; above 0, to 100
  float yielding = 3.0F;     ///< power of (its step / the usual step) by which a worker waits longer; 0 to 8
  float insistence = 0.1F;   ///< by how much the level is higher for one who has waited, for each usual step; 0 to 10
  float breath = 32.0F;      ///< usual steps from one breath to the next; 0: none; at most 1000

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    switch (what.why) {
      case cause::push:
        learn(view, what.worker);
        break;
      case cause::join:
        begin_to_wait(what.worker, view.now(), 0.0);
        break;
      case cause::leave:
      case cause::done:
      case cause::death:
        if (what.worker < each_.size()) forget(what.worker);
        break;
      default:
        break;
    }
    if (view.busy() > 0 && what.why != cause::enter) return let_one_look(view);
    waiting_.clear();  // it might be the last one who was under way that everybody waits for
    return decision::all().with_wake_at(never);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant&) noexcept {
    forget(worker);
    each_[worker].began = view.now();
    trace_.start(view.now());
  }

  /// As knee's: times of steps count as if their batches were the usual ones.
  void allow_for_batch(float factor) noexcept { factor_ = factor; }
  /// Nobody waits for others here.
  [[nodiscard]] bool has_barrier() const noexcept { return false; }
  /// What the workers have left at the server.
  [[nodiscard]] const activity_trace& trace() const noexcept { return trace_; }
  [[nodiscard]] insight explain() const noexcept {
    static constexpr std::array<std::string_view, 2> names{"level", "barrier"};
    return {names, {static_cast<float>(trace_.level()), 0.0F}};
  }

  void resize(std::uint32_t capacity) {
    each_ = detail::dynarray<note>(capacity);
    waiting_.resize(capacity);
    trace_ = activity_trace{static_cast<double>(first_level)};
    factor_ = 1.0F;
  }
  void reset(std::uint32_t worker) noexcept {
    forget(worker);
    each_[worker] = {};
  }
  void state(archive& bytes) {
    trace_.state(bytes);
    bytes(factor_);
    if (!bytes.saving()) waiting_.clear();
    for (std::uint32_t w = 0; w < each_.size(); ++w) {
      note& it = each_[w];
      bool waits = waiting_.has(w);
      bytes(it.shortest, it.latest, it.began, it.looks_at, it.waits_since, waits);
      if (!pinned::is_finite(it.shortest + it.latest) || !pinned::is_finite(it.began) ||
          !pinned::is_finite(it.waits_since) || pinned::is_nan(it.looks_at))
        return bytes.fail();
      if (waits && !bytes.saving()) waiting_.add(w, sooner{&each_});
    }
  }
  [[nodiscard]] std::string problem(std::uint32_t) const {
    using detail::unless;
    return detail::first_of(
        {unless(pinned::within(first_level, 1, 1 << 20), "first_level", first_level, "a number from 1 to 2^20"),
         unless(pinned::within(stretch, 0, 2), "stretch", stretch, "a number from 0 to 2"),
         unless(pinned::within(gain, 0, 10), "gain", gain, "a number from 0 to 10"),
         unless(pinned::within(patience, 0, 100) && patience > 0.0F, "patience", patience, "a number above 0, to 100"),
         unless(pinned::within(yielding, 0, 8), "yielding", yielding, "a number from 0 to 8"),
         unless(pinned::within(insistence, 0, 10), "insistence", insistence, "a number from 0 to 10"),
         unless(pinned::within(breath, 0, 1000), "breath", breath, "a number from 0 to 1000")});
  }
  [[nodiscard]] description describe() const {
    const auto member = [](const char* name, float number) {
      return R"(,")" + std::string{name} + R"(":)" + detail::text_of(number);
    };
    return {"stigmergic: each worker starts when it finds few under way",
            R"({"kind":"stigmergic_rule")" + member("first_level", first_level) + member("stretch", stretch) +
                member("gain", gain) + member("patience", patience) + member("yielding", yielding) +
                member("insistence", insistence) + member("breath", breath) + "}"};
  }

  static constexpr std::string_view kind = "stigmergic_rule";

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr float forgotten = 1.003F;  // so many times as long is the shortest step after the next
  static constexpr double slow = 1.2;         // usual steps

  // What a worker knows of itself.
  struct note {
    float shortest = 0.0F;  // of its steps; 0: none yet
    float latest = 0.0F;
    double began = 0.0;
    double looks_at = 0.0;  // while it waits
    double waits_since = 0.0;
  };

  struct sooner {
    const detail::dynarray<note>* each;
    [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const noexcept {
      return (*each)[a].looks_at < (*each)[b].looks_at;
    }
  };
  void forget(std::uint32_t worker) noexcept {
    if (waiting_.has(worker)) waiting_.remove(worker, sooner{&each_});
  }
  void begin_to_wait(std::uint32_t worker, double now, double pause) noexcept {
    each_[worker].waits_since = now;
    wait(worker, now + pause);
  }
  void wait(std::uint32_t worker, double until) noexcept {
    forget(worker);
    each_[worker].looks_at = until;
    waiting_.add(worker, sooner{&each_});
  }

  // The worker's part, when its push is answered.
  void learn(const cluster_view& view, std::uint32_t worker) noexcept {
    note& me = each_[worker];
    const double now = view.now();
    const float step = view.step_time_of_submitter() / factor_;
    trace_.push(now, me.began, static_cast<double>(step));
    if (step > 0.0F && pinned::is_finite(step)) {
      const bool first = me.shortest == 0.0F;
      me.latest = step;
      me.shortest = first ? step : (std::min)(me.shortest * forgotten, step);
      if (!first) judge(me, now);
    }
    const double slower = slowness(me);
    begin_to_wait(worker, now, slower > slow ? pause(slower) : 0.0);
  }
  void judge(const note& me, double now) noexcept {
    const double longer = (std::min)(std::log2(static_cast<double>(me.latest / me.shortest)), 2.0);
    const double octaves = static_cast<double>(gain) * (static_cast<double>(stretch) - longer) / trace_.level();
    const bool counts = octaves < 0.0 || trace_.presence(now) + 1 > 0.9 * trace_.level();  // else nobody is kept
    if (counts) trace_.raise(octaves);
  }
  [[nodiscard]] double slowness(const note& me) const noexcept {
    return me.latest > 0.0F && trace_.step() > 0.0
               ? std::clamp(static_cast<double>(me.latest) / trace_.step(), 0.125, 8.0)
               : 1.0;
  }
  [[nodiscard]] double pause(double slower) const noexcept {
    return static_cast<double>(patience) * trace_.interval() * std::pow(slower, static_cast<double>(yielding));
  }

  // Now and then all breathe: for a step or two half as many run, and show what a step takes then.
  [[nodiscard]] double level_for(const note& me, double now) const noexcept {
    const bool exhales =
        breath > 0.0F && std::fmod(trace_.steps(), static_cast<double>(breath)) > static_cast<double>(breath) - 2.5;
    const double waited = trace_.step() > 0.0 ? (now - me.waits_since) / trace_.step() : 0.0;
    return trace_.level() * (exhales ? 0.5 : 1.0) + static_cast<double>(insistence) * waited;
  }

  [[nodiscard]] decision let_one_look(const cluster_view& view) noexcept {
    const double now = view.now();
    while (waiting_.size() > 0) {
      const std::uint32_t first = waiting_.front();
      if (each_[first].looks_at > now) return decision::hold().with_wake_at(each_[first].looks_at);
      forget(first);
      if (trace_.presence(now) < level_for(each_[first], now))
        return decision::only(first).with_wake_at(waiting_.size() > 0 ? each_[waiting_.front()].looks_at : never);
      // At least so that time goes on.
      wait(first, now + (std::max)({pause(slowness(each_[first])), trace_.step() / 1024, now * 1e-12, 1e-9}));
    }
    return decision::hold().with_wake_at(never);
  }

 public:
  // What follows is state, not options. An aggregate has no private data.
  activity_trace trace_{};         ///< at the server
  detail::dynarray<note> each_{};  ///< each worker's own
  detail::worker_heap waiting_{};  ///< those who will look again, the next one first
  float factor_ = 1.0F;            ///< see allow_for_batch
};

}  // namespace rubato::inline RUBATO_ABI

#endif
