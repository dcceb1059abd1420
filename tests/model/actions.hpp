#ifndef RUBATO_TESTS_MODEL_ACTIONS_HPP
#define RUBATO_TESTS_MODEL_ACTIONS_HPP

#include <cstdint>
#include <limits>
#include <vector>

#include "any_answer.hpp"
#include "world.hpp"

namespace rubato::test::model {

/// Whether a worker may finish its step: the bounds are those of the plan.
[[nodiscard]] inline bool is_within_the_lead(const plan& p, const roster& all, std::uint32_t worker) {
  const auto ahead = [&](clock_type of) { return static_cast<std::int64_t>(all.clock().clock(worker) - of); };
  if (ahead(all.clock().minimum()) > static_cast<std::int64_t>(p.in.lead)) return false;
  for (std::uint32_t i = 0; i < p.in.workers; ++i)
    if (!roster::is_member(all[i].state) &&
        ahead(all.clock().clock(i)) > static_cast<std::int64_t>(p.in.lead_over_gone))
      return false;
  return true;
}

/// What a host can do in a world, within the bounds of the plan.
inline void list_actions(const plan& p, const world& w, std::vector<action>& list) {
  list.clear();
  const roster& all = w.workers();
  const traits& is = p.of.is;
  const auto add = [&](act what, std::uint32_t worker, std::size_t decisions, std::size_t verdicts) {
    for (std::size_t d = 0; d < decisions; ++d)
      for (std::size_t v = 0; v < verdicts; ++v)
        list.push_back(
            {what, static_cast<std::uint8_t>(worker), static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(v)});
  };
  const std::size_t few = is.arbitrary ? any_answer::short_list : 1;
  const std::size_t many = is.arbitrary ? any_answer::decisions.size() : 1;
  const std::size_t verdicts = is.arbitrary ? any_answer::verdicts.size() : 1;
  const std::size_t losses = is.losses ? 2 : 1;
  bool somebody_runs = false, somebody_is_out = false;

  for (std::uint32_t i = 0; i < p.in.workers; ++i) {
    const worker_record& r = all[i];
    const seat& s = w.seats[i];
    const bool runs = r.state == worker_state::running;
    somebody_runs |= runs;
    somebody_is_out |= s.out;
    if (runs && is_within_the_lead(p, all, i)) {
      add(act::admit, i, losses, verdicts);
      if (!is.arbitrary) add(act::push, i, losses, 1);
      if (w.faults > 0) add(act::admit_nan, i, 1, 1);
    }
    if (s.out) {
      add(act::commit, i, many, 1);
      if (w.faults > 0 && s.work.what.what != verdict::drop) add(act::commit_failed, i, few, 1);
    }
    if (!s.here) {
      add(r.state == worker_state::absent ? act::join : act::come_back, i, few, 1);
      continue;
    }
    if (p.in.park == park_on::push)
      add(act::repeat, i, 1, 1);
    else
      add(act::pull, i, 1, 1);
    if (w.faults == 0) continue;
    for (const act how : {act::leave, act::die, act::finish}) add(how, i, few, 1);
    add(act::replace, i, few, 1);
  }

  const double deadline = w.control.next_deadline();
  if (deadline <= w.now) add(act::poll, 0, few, 1);
  const bool waits = somebody_runs || deadline < std::numeric_limits<double>::infinity();
  if (is.timed && w.passes < 2 && deadline > w.now && waits) add(act::pass, 0, 1, 1);

  const auto& at = inside::progress(w.control);
  if (w.reloads > 0 && !somebody_is_out && !inside::residue(w.control).has_value() && !at.retries) {
    add(act::reload, 0, few, 1);
    for (std::uint32_t i = 0; i < p.in.workers && w.faults > 0; ++i)
      if (w.seats[i].ticket != 0) add(act::reload_lossy, i, few, 1);
  }
  if (w.switches > 0) {
    const bool round_is_open = inside::rounds(w.control).admissions() > 0;
    for (std::uint32_t next = p.in.entered ? 1 : 0; next < p.policies.size(); ++next) {
      add(act::switch_flush, next, few, 1);
      if (round_is_open) add(act::switch_discard, next, few, 1);
    }
  }
}

}  // namespace rubato::test::model

#endif
