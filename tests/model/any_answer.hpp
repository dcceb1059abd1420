#ifndef RUBATO_TESTS_MODEL_ANY_ANSWER_HPP
#define RUBATO_TESTS_MODEL_ANY_ANSWER_HPP

#include <array>
#include <cstdint>
#include <rubato/sync/concepts.hpp>
#include <string_view>
#include <utility>

namespace rubato::test::model {

/// A policy without a rule: whatever the explorer chose for this call is its answer, so that every sequence of the
/// answers below is explored. Only for runs with the guard.
struct any_answer {
  clock_type bound = unbounded;

  // The choice. Exclusions and readmissions are asked for once a call; then the policy holds.
  static inline std::uint32_t next_decision = 0;
  static inline std::uint32_t next_verdict = 0;
  static inline bool members_changed = false;
  static void choose(std::uint32_t decision, std::uint32_t verdict) noexcept {
    next_decision = decision, next_verdict = verdict, members_changed = false;
  }

  static constexpr std::array<std::string_view, 4> verdicts{"apply", "accumulate", "accumulate and flush", "drop"};
  // What membership changes and polls are answered comes first.
  static constexpr std::array<std::string_view, 15> decisions{"hold",
                                                              "all",
                                                              "submitter",
                                                              "hold, flush",
                                                              "all, cancel below the latest version",
                                                              "up to 1",
                                                              "contributors, flush",
                                                              "up to the minimum clock",
                                                              "up to the minimum clock + 1, re-base to 1",
                                                              "hold, cancel below the latest version",
                                                              "only the slowest",
                                                              "exclude the slowest",
                                                              "exclude the submitter",
                                                              "readmit",
                                                              "hold, wake at once"};
  static constexpr std::uint32_t short_list = 5;

  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept {
    switch (next_verdict) {
      case 0:
        return admission::apply();
      case 1:
        return admission::accumulate();
      case 2:
        return admission::accumulate_and_flush();
      default:
        return admission::drop(reason::unwanted);
    }
  }
  [[nodiscard]] decision release(const cluster_view& view, const event& what) const noexcept {
    switch (next_decision) {
      case 1:
        return decision::all();
      case 2:
        return decision::submitter();
      case 3:
        return decision::hold().with_flush();
      case 4:
        return decision::all().with_cancel_below(view.version());
      case 5:
        return decision::up_to(1);
      case 6:
        return decision::contributors().with_flush();
      case 7:
        return decision::up_to_clock(view.minimum_clock());
      case 8:
        return decision::up_to_clock(1).with_rebase(1);
      case 9:
        return decision::hold().with_cancel_below(view.version());
      case 10:
        return decision::only(view.slowest());
      case 11:
        return members(decision::hold().with_exclude(view.slowest()));
      case 12:
        return members(decision::hold().with_exclude(what.worker));
      case 13:
        return members(decision::hold().with_readmit(first_excluded(view)));
      case 14:
        return decision::hold().with_wake_at(view.now());
      default:
        return decision::hold();
    }
  }
  [[nodiscard]] clock_type clock_bound() const noexcept { return bound; }
  static constexpr std::string_view kind = "any_answer";

 private:
  [[nodiscard]] static decision members(const decision& d) noexcept {
    return std::exchange(members_changed, true) ? decision::hold() : d;
  }
  [[nodiscard]] static std::uint32_t first_excluded(const cluster_view& view) noexcept {
    for (std::uint32_t w = 0; w < view.capacity(); ++w)
      if (view.is_excluded(w)) return w;
    return no_worker;
  }
};

}  // namespace rubato::test::model

#endif
