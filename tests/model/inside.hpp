#ifndef RUBATO_TESTS_MODEL_INSIDE_HPP
#define RUBATO_TESTS_MODEL_INSIDE_HPP

#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>

// What a controller keeps to itself, read where it lies: two states are the same only if these are too. Nothing is
// written. An explicit instantiation may name private members, and hands out pointers to them here.
namespace rubato::test::model {

using controller_type = controller<any_policy, std::uint32_t>;

namespace inside {

using executor = rubato::detail::executor<any_policy, std::uint32_t, no_observer>;
using admissions = rubato::detail::admissions<any_policy, std::uint32_t, no_observer>;

template <class Tag, auto Member>
struct opened {
  friend constexpr auto member(Tag) noexcept { return Member; }
};

struct progress_tag {
  friend constexpr auto member(progress_tag) noexcept;
};
struct residue_tag {
  friend constexpr auto member(residue_tag) noexcept;
};
struct ledger_tag {
  friend constexpr auto member(ledger_tag) noexcept;
};
struct slots_tag {
  friend constexpr auto member(slots_tag) noexcept;
};
struct tickets_tag {
  friend constexpr auto member(tickets_tag) noexcept;
};
struct admissions_tag {
  friend constexpr auto member(admissions_tag) noexcept;
};
struct running_links_tag {
  friend constexpr auto member(running_links_tag) noexcept;
};
struct chance_tag {
  friend constexpr auto member(chance_tag) noexcept;
};
struct places_tag {
  friend constexpr auto member(places_tag) noexcept;
};
struct neighbours_tag {
  friend constexpr auto member(neighbours_tag) noexcept;
};

template struct opened<progress_tag, &executor::at_>;
template struct opened<residue_tag, &executor::residue_>;
template struct opened<ledger_tag, &executor::ledger_>;
template struct opened<slots_tag, &ledger::slots_>;
template struct opened<tickets_tag, &executor::tickets_>;
template struct opened<admissions_tag, &admissions::out_>;
template struct opened<running_links_tag, &roster::running_links_>;
template struct opened<chance_tag, &parking::tracks_chance_>;
template struct opened<places_tag, &parking::position_>;
template struct opened<neighbours_tag, &vector_clock::neighbours_>;

// The only cast that reaches a private base.
[[nodiscard]] inline const executor& executor_of(const controller_type& c) noexcept { return (const executor&)c; }
[[nodiscard]] inline const admissions& admissions_of(const controller_type& c) noexcept { return (const admissions&)c; }

[[nodiscard]] inline const auto& progress(const controller_type& c) { return executor_of(c).*member(progress_tag{}); }
[[nodiscard]] inline const auto& residue(const controller_type& c) { return executor_of(c).*member(residue_tag{}); }
[[nodiscard]] inline const ledger& rounds(const controller_type& c) { return executor_of(c).*member(ledger_tag{}); }
[[nodiscard]] inline const auto& slots(const controller_type& c) { return rounds(c).*member(slots_tag{}); }
[[nodiscard]] inline const auto& tickets(const controller_type& c) { return executor_of(c).*member(tickets_tag{}); }
[[nodiscard]] inline const auto& out(const controller_type& c) { return admissions_of(c).*member(admissions_tag{}); }

// How many come before this worker in a list of workers.
template <class Links>
[[nodiscard]] std::uint32_t rank(const Links& links, std::uint32_t worker) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t w = links[worker].before; w != no_worker; w = links[w].before) ++before;
  return before;
}
// Among those that run, in the order of their grants, if that order is kept.
[[nodiscard]] inline std::uint32_t rank_of_running(const roster& all, std::uint32_t worker) {
  return rank(all.*member(running_links_tag{}), worker);
}
// Among those of the same clock, in the order in which they came there, if that order is kept.
[[nodiscard]] inline std::uint32_t rank_of_arrival(const roster& all, std::uint32_t worker) {
  return rank(all.clock().*member(neighbours_tag{}), worker);
}
[[nodiscard]] inline bool keeps_chance(const roster& all) { return all.parked().*member(chance_tag{}); }
// In the list from which the random order draws, if it is kept: else 0.
[[nodiscard]] inline std::uint32_t place_of_chance(const roster& all, std::uint32_t worker) {
  return keeps_chance(all) ? 1 + (all.parked().*member(places_tag{}))[worker] : 0;
}

}  // namespace inside
}  // namespace rubato::test::model

#endif
