#ifndef RUBATO_TESTS_MODEL_WORLD_HPP
#define RUBATO_TESTS_MODEL_WORLD_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "inside.hpp"

namespace rubato::test::model {

/// What the explorer has to know of a rule. Where it says too little, states that differ are taken for one, which the
/// explorer notices (see explorer::futures); where it says too much, some are told apart that need not be.
struct traits {
  bool timed = false;      ///< it goes by the time: steps take some, deadlines come
  bool named = false;      ///< it knows workers by their index: states are not renamed
  bool absolute = false;   ///< it remembers versions or times: states are not shifted
  bool losses = false;     ///< it goes by losses: each push has one of two
  bool staleness = false;  ///< it goes by the staleness of what is committed
  bool slowest = false;    ///< it asks who is the slowest: the order of arrival at a clock matters
  bool cancels = false;    ///< the order of the running matters
  bool rebases = false;    ///< it moves clocks of its own accord
  bool rounds = false;     ///< who gave a gradient to a round does not start before that round has ended
  bool arbitrary = false;  ///< it is any_answer
  /// Adds what it keeps and does not save; null where there is nothing.
  void (*unsaved)(const any_policy&, void (*add)(void*, std::uint64_t), void* to) = nullptr;
};

/// A rule to be explored.
struct rule {
  std::string name;
  any_policy policy;
  traits is{};
};

/// The cluster in which it is explored, and the bounds: how much of everything there is on one path.
struct scope {
  std::string name;
  std::uint32_t workers = 2;
  std::uint32_t quorum = 0;
  park_on park = park_on::push;
  bool guarded = false;
  clock_type guard_bound = unbounded;
  std::uint32_t at_once = no_worker;  ///< max_release_per_call
  clock_type lead = 3;                ///< nobody who is further ahead of the slowest finishes a step
  clock_type lead_over_gone = 6;      ///< likewise of one who is not there
  std::uint8_t faults = 2;            ///< departures, failed updates, non-finite losses, lost tickets
  std::uint8_t switches = 1;
  std::uint8_t reloads = 1;
  bool entered = false;  ///< begins under bsp and switches to the rule; else begins under the rule and switches away
};

inline constexpr std::uint32_t most_workers = 4;

/// What a host can do next.
enum class act : std::uint8_t {
  join,
  come_back,
  replace,
  leave,
  die,
  finish,
  push,
  admit,
  admit_nan,
  commit,
  commit_failed,
  repeat,
  pull,
  switch_flush,
  switch_discard,
  poll,
  pass,
  reload,
  reload_lossy
};
[[nodiscard]] inline std::string_view name(act what) {
  constexpr std::array<std::string_view, 19> names{"join",
                                                   "come back",
                                                   "replace",
                                                   "leave",
                                                   "die",
                                                   "finish",
                                                   "push",
                                                   "admit",
                                                   "admit a non-finite loss",
                                                   "commit",
                                                   "commit as failed",
                                                   "repeat",
                                                   "pull",
                                                   "switch, flush",
                                                   "switch, discard",
                                                   "poll",
                                                   "time passes",
                                                   "save and load",
                                                   "save and load, ticket lost"};
  return names[static_cast<std::size_t>(what)];
}
struct action {
  act what = act::poll;
  std::uint8_t worker = 0;    // or the policy that is switched to
  std::uint8_t decision = 0;  // of any_answer; or the loss
  std::uint8_t verdict = 0;
};

/// What a host knows of one worker.
struct seat {
  std::uint32_t life = 0;
  std::uint32_t ticket = 0;  // that waits; 0: none
  bool here = false;         // joined, and not gone
  bool computes = false;
  bool free = false;       // released, and yet to pull
  bool cancelled = false;  // was told to stop its step
  bool out = false;        // `work` is not committed
  std::uint8_t waited = 0;
  std::uint64_t round = worker_record::no_round;  // that its latest gradient was added to
  admitted work{};
};

/// A round that has not ended.
struct round_account {
  std::uint64_t number = worker_record::no_round;
  std::uint32_t out = 0, added = 0;
  bool cut = false;  // by a switch
  bool to_discard = false;
};

/// A controller and its host between two calls: one state.
struct world {
  controller_type control;
  std::array<seat, most_workers> seats{};
  std::array<round_account, most_workers + 2> rounds{};  // an admission each, the open one, and a free place
  double now = 0.0;
  std::uint32_t last_ticket = 0;
  std::uint8_t policy = 0;                             // in charge
  std::uint8_t faults = 0, switches = 0, reloads = 0;  // left
  std::uint8_t passes = 0;                             // since the latest call
  bool started = false;                                // the quorum was there
  bool useful = true;                                  // a push that counted came since the last cancellation

  [[nodiscard]] const roster& workers() const noexcept { return control.workers(); }
  /// The account of a round; of one that has none, a place where it can be opened.
  [[nodiscard]] round_account& account(std::uint64_t round) {
    const auto numbered = [this](std::uint64_t number) {
      return std::find_if(rounds.begin(), rounds.end(), [&](const round_account& a) { return a.number == number; });
    };
    const auto place = numbered(round);
    return place != rounds.end() ? *place : *numbered(worker_record::no_round);
  }
  [[nodiscard]] bool is_cut(std::uint64_t round) const {
    return std::any_of(rounds.begin(), rounds.end(),
                       [&](const round_account& a) { return a.number == round && a.cut; });
  }
  /// Whether a worker's latest gradient waits for an update that is still to come: not for
  /// the adds of those who went, nor where a switch has ended its round.
  [[nodiscard]] bool owes(const seat& s) const {
    if (s.round == worker_record::no_round) return false;
    const auto waits = [&](const round_account& a) { return a.number == s.round && !a.cut; };
    if (std::none_of(rounds.begin(), rounds.end(), waits)) return false;
    if (inside::rounds(control).open_round() == s.round) return true;
    for (std::uint32_t w = 0; w < workers().capacity(); ++w) {
      const seat& other = seats[w];
      const bool alive = workers().counted(w) && other.life == other.work.work.worker.incarnation;
      if (alive && other.out && other.work.what.what == verdict::accumulate && other.work.round == s.round) return true;
    }
    return false;
  }
};

/// An exploration: the rule first, or what comes before it, and what can be switched to.
struct plan {
  rule of;
  scope in;
  std::vector<any_policy> policies;
  std::vector<bool> stateful;

  [[nodiscard]] controller_options options() const {
    return {.capacity = in.workers,
            .quorum = in.quorum,
            .park = in.park,
            .guard = {.enabled = in.guarded, .bound = in.guard_bound},
            .max_release_per_call = in.at_once};
  }
  /// The lead over the slowest at which a worker may start.
  [[nodiscard]] clock_type bound(const any_policy& in_charge) const {
    return in.guarded ? std::min(in_charge.clock_bound(), in.guard_bound) : in_charge.clock_bound();
  }
  [[nodiscard]] controller_type fresh(std::size_t policy) const {
    controller_type made{options(), policies[policy]};
    keep_orders(made);
    return made;
  }
  [[nodiscard]] world beginning() const {
    return {.control = fresh(0), .faults = in.faults, .switches = in.switches, .reloads = in.reloads};
  }
  // Orders that are kept from their first use on are kept from the beginning, or what the first use makes of equals
  // (the lower index first) would be different for renamed workers.
  void keep_orders(const controller_type& made) const {
    if (of.is.cancels) static_cast<void>(const_cast<roster&>(made.workers()).first_running());
    if (of.is.slowest) static_cast<void>(made.workers().clock().slowest());
  }
};

}  // namespace rubato::test::model

#endif
