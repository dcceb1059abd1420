#ifndef RUBATO_TESTS_SYNC_RIVALS_SWITCHING_HPP
#define RUBATO_TESTS_SYNC_RIVALS_SWITCHING_HPP

#include <algorithm>
#include <cstdint>
#include <limits>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <string>
#include <vector>

namespace rubato::test {

/// A window ends with each round, and three of them make a straggler.
inline constexpr straggler_options each_round{.window = 0, .steps = 1};
inline constexpr straggler_options published_each_round{.test = straggler_options::published, .window = 0, .steps = 1};

/// bsp, then asp.
[[nodiscard]] inline sync_switch<> watching(straggler_reaction reaction, double share = 0.5,
                                            std::uint64_t workload = 1000, const straggler_options& who = each_round) {
  return {{.share = share, .workload = workload, .reaction = reaction, .stragglers = who}};
}
template <class Host>
[[nodiscard]] const auto& policy_of(Host& host) {
  return host.control().policy();
}

/// Rounds of a cluster at a barrier: workers push in the order of these times, which are their steps' durations; a time
/// of 0 is that of a worker that does not push.
template <class Cluster>
void rounds(Cluster& c, double& now, const std::vector<double>& times, int count = 1) {
  std::vector<std::uint32_t> order(times.size());
  for (std::uint32_t w = 0; w < order.size(); ++w) order[w] = w;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t w) { return times[w]; });
  while (count-- > 0) {
    for (const std::uint32_t w : order)
      if (times[w] > 0) c.at(now + times[w]).push(w);
    now += times[order.back()];
  }
}

/// Says what it hears of, and wants to be woken.
struct scribe {
  std::vector<std::string>* heard;
  double wakes = std::numeric_limits<double>::infinity();

  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    heard->push_back(std::string{rubato::name(what.why)} +
                     (what.worker == no_worker ? "" : std::to_string(what.worker)));
    const decision all = decision::all();
    return wakes < std::numeric_limits<double>::infinity() ? all.with_wake_at(what.now + wakes) : all;
  }
  void observe(const feedback& f) noexcept { heard->push_back("step" + std::to_string(f.what.worker)); }
  void reset(std::uint32_t worker) noexcept { heard->push_back("forget" + std::to_string(worker)); }
};

}  // namespace rubato::test

#endif
