// Four workers, the last one five times slower: nobody may be more than two steps ahead of it.
#include <cstdint>
#include <cstdio>
#include <map>
#include <rubato/rubato.hpp>

const double step_time[] = {1.0, 1.1, 1.2, 5.0};

struct host {  // does what the controller decides; a ticket, here an int, is your means to answer one waiting worker
  double now = 0.0;
  std::multimap<double, std::uint32_t> arrivals{};  // stands for your transport: when whose gradient arrives

  void release(int, rubato::worker_id who, const rubato::grant&) {  // answer the worker: it may start its next step
    arrivals.emplace(now + step_time[who.index], who.index);
  }
  void flush(std::uint64_t, float, std::uint32_t) {}       // apply the gradients that were collected (bsp)
  void discard(std::uint64_t, std::uint32_t) {}            // throw them away
  void abandon(int, rubato::worker_id, rubato::reason) {}  // this ticket will never be answered
};

int main() {
  auto policy = rubato::ssp{.staleness = 2};
  rubato::controller<decltype(policy), int> sync{{.capacity = 4}, policy};
  host here;
  for (std::uint32_t w = 0; w < 4; ++w)
    if (sync.join({w}, here.now, 0, here) != rubato::errc::ok) return 1;

  for (int pushes = 0; pushes < 20; ++pushes) {
    const auto next = here.arrivals.extract(here.arrivals.begin());
    here.now = next.key();
    if (sync.push({.worker = {next.mapped()}, .now = here.now}, 0, here) != rubato::errc::ok) return 1;
    std::printf("%5.1f  worker %u pushes, %u wait\n", here.now, next.mapped(), sync.workers().parked().size());
  }
}
