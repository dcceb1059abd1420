#include "shared_service.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace rubato::lab {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

[[nodiscard]] std::vector<std::size_t> in_order_of(std::span<const computation> all, double computation::*time) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair{all[a].*time, a} < std::pair{all[b].*time, b};
  });
  return order;
}

}  // namespace

shared_service::shared_service(std::span<const computation> all, double cores) {
  using due = std::pair<double, std::size_t>;  // service at which a computation is over
  const std::vector<std::size_t> starts = in_order_of(all, &computation::start);
  const std::vector<std::size_t> ends = in_order_of(all, &computation::end);
  std::priority_queue<due, std::vector<due>, std::greater<>> done;
  std::vector<char> there(all.size(), 0);
  std::size_t s = 0, e = 0, active = 0;
  turn at{starts.empty() ? 0 : all[starts.front()].start, 0, 1};
  turns_.reserve(3 * all.size() + 1);
  turns_.push_back(at);
  while (e < ends.size()) {
    while (!done.empty() && there[done.top().second] == 0) done.pop();
    const double by_work = done.empty() ? never : at.time + std::max(0.0, done.top().first - at.served) / at.rate;
    const double by_start = s < starts.size() ? all[starts[s]].start : never;
    const double by_end = all[ends[e]].end;
    const double next = std::max(at.time, std::min({by_work, by_start, by_end}));
    at.served = by_work <= next && !done.empty() ? std::max(at.served, done.top().first)
                                                 : at.served + (next - at.time) * at.rate;
    at.time = next;
    if (by_work <= next) {
      there[done.top().second] = 0;
      done.pop();
      --active;
    } else if (by_end <= next && by_end < by_start) {
      active -= static_cast<std::size_t>(std::exchange(there[ends[e++]], 0));
    } else if (by_start <= next) {
      const std::size_t i = starts[s++];
      if (all[i].end > all[i].start) {
        there[i] = 1;
        ++active;
        if (all[i].work < never) done.push({at.served + all[i].work, i});
      }
    } else {
      active -= static_cast<std::size_t>(std::exchange(there[ends[e++]], 0));
    }
    at.rate = std::min(1.0, cores / static_cast<double>(std::max<std::size_t>(active, 1)));
    if (turns_.back().time == at.time)
      turns_.back() = at;
    else
      turns_.push_back(at);
  }
}

const shared_service::turn* shared_service::before(double time) const {
  const auto after = std::ranges::upper_bound(turns_, time, {}, &turn::time);
  return after == turns_.begin() ? &turns_.front() : &*std::prev(after);
}

double shared_service::until(double time) const {
  const turn& from = *before(time);
  return from.served + std::max(0.0, time - from.time) * from.rate;
}

double shared_service::when(double service) const {
  auto after = std::ranges::upper_bound(turns_, service, {}, &turn::served);
  if (after != turns_.begin()) --after;
  return after->time + std::max(0.0, service - after->served) / after->rate;
}

double shared_service::rate_before(double time) const {
  const auto at = std::ranges::lower_bound(turns_, time, {}, &turn::time);
  return at == turns_.begin() ? turns_.front().rate : std::prev(at)->rate;
}

}  // namespace rubato::lab
