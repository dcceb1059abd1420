// Four workers, the last one five times slower: nobody may be more than two steps ahead of it.
#include <cstdint>
#include <cstdio>
#include <map>
#include <rubato/rubato.hpp>

int main() {
  const double step_time[] = {1.0, 1.1, 1.2, 5.0};
  std::multimap<double, std::uint32_t> arrivals;  // stands for your transport: when whose gradient arrives
  rubato::controller<rubato::ssp, int> sync{{.capacity = 4}, {.staleness = 2}};
  double now = 0.0;
  const auto start = [&](int, rubato::worker_id who, const rubato::grant&) {
    arrivals.emplace(now + step_time[who.index], who.index);  // here you answer the worker
  };
  for (std::uint32_t w = 0; w < 4; ++w)
    if (sync.join({w}, now, 0, start) != rubato::errc::ok) return 1;

  for (int pushes = 0; pushes < 20; ++pushes) {
    const auto next = arrivals.extract(arrivals.begin());
    now = next.key();
    if (sync.push({.worker = {next.mapped()}, .now = now}, 0, start) != rubato::errc::ok) return 1;
    std::printf("%5.1f  worker %u pushes, %u wait\n", now, next.mapped(), sync.workers().parked().size());
  }
}
