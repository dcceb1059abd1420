#ifndef RUBATO_TESTS_SUPPORT_PROMISES_HPP
#define RUBATO_TESTS_SUPPORT_PROMISES_HPP

#include <algorithm>
#include <cstdint>
#include <limits>
#include <rubato/core/roster.hpp>
#include <string>
#include <vector>

#include "reference.hpp"

namespace rubato::test {

/// What must hold after every call, from what anybody can see of the workers: the counts, the minimum and the maximum
/// are those of a scan, and somebody runs or will. Empty if it does.
[[nodiscard]] inline std::string broken_promise(const roster& all, double next_deadline, bool guarded) {
  clock_type least = unbounded;
  clock_type most = 0;
  std::uint32_t busy = 0;
  std::uint32_t parked = 0;
  std::uint32_t away = 0;
  std::uint32_t away_and_active = 0;
  for (std::uint32_t w = 0; w < all.capacity(); ++w) {
    if (!roster::is_member(all[w].state)) continue;
    const bool active = all[w].state != worker_state::parked;
    away += all[w].excluded;
    away_and_active += all[w].excluded && active;
    if (all[w].excluded) continue;
    ++(active ? busy : parked);
    least = std::min(least, all.clock().clock(w));
    most = std::max(most, all.clock().clock(w));
  }
  if (busy + parked == 0) least = most = 0;
  if (all.clock().minimum() != least || all.clock().maximum() != most) return "minimum or maximum against a scan";
  if (all.busy() != busy || all.in(worker_state::parked) != parked || all.excluded() != away ||
      all.clock().size() != busy + parked)
    return "counts against a scan";
  if (all.speeds().size() > busy + parked) return "speeds of workers that do not count";

  const bool deadline = next_deadline < std::numeric_limits<double>::infinity();
  if (parked > 0 && busy == 0 && (guarded || !deadline)) return "nobody runs and somebody waits";
  if (busy + parked == 0 && away > 0 && (guarded || (away_and_active == 0 && !deadline)))
    return "nobody counts and somebody is excluded";
  return {};
}

/// Where a controller and the reference differ after a call; empty if they do not.
template <class Controller>
[[nodiscard]] std::string difference_from(reference& model, const Controller& control) {
  const roster& now = control.workers();
  for (std::uint32_t w = 0; w < now.capacity(); ++w) {
    const worker_record& r = now[w];
    const reference::worker& e = model.workers()[w];
    if (r.state != e.is || r.excluded != e.excluded || r.incarnation != e.incarnation || r.doomed != e.doomed ||
        r.granted != e.terms || r.step != e.step || now.clock().clock(w) != e.clock ||
        now.counted(w) != model.counted(w))
      return "worker " + std::to_string(w) + " differs: state " + std::string{name(r.state)} + "/" +
             std::string{name(e.is)} + " clock " + std::to_string(now.clock().clock(w)) + "/" +
             std::to_string(e.clock) + " doomed " + std::string{name(r.doomed)} + "/" + std::string{name(e.doomed)};
  }
  std::vector<std::uint32_t> parked;
  for (std::uint32_t w = now.parked().front(); w != no_worker; w = now.parked().after(w)) parked.push_back(w);
  if (parked != model.parked()) return "the order of the parked";
  if (control.version() != model.version || control.updates() != model.updates) return "version or updates";
  if (control.pending() != model.open().adds) return "pending";
  if (control.next_deadline() != model.next_deadline()) return "next_deadline";
  for (std::size_t r = 0; r < counters::reasons; ++r) {
    const auto why = static_cast<reason>(r);
    if (why == reason::invalid_decision) continue;  // how often one bad answer counts is not promised
    const std::uint64_t n = control.counts().total(why);
    if ((why == reason::bound || why == reason::overdue) && model.by_chance) model.counts[r] = n;
    if (n != model.counts[r])
      return "counter " + std::string{name(why)} + " is " + std::to_string(n) + ", expected " +
             std::to_string(model.counts[r]);
  }
  return {};
}

}  // namespace rubato::test

#endif
