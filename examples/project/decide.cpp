// Two workers under SSP, of which the first is quicker: it waits when it is a step too far ahead.
#include <cstdint>
#include <cstdio>
#include <rubato/rubato.hpp>

struct host {  // your transport would send these; a ticket, here an int, is what it needs to answer a request
  void release(int, rubato::worker_id who, const rubato::grant&) { std::printf("  worker %u may run\n", who.index); }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void abandon(int, rubato::worker_id, rubato::reason) {}
};

int main() {
  const rubato::ssp policy{.staleness = 1};
  rubato::controller<rubato::ssp, int> sync{{.capacity = 2}, policy};
  host here;
  for (std::uint32_t w = 0; w < 2; ++w) {
    std::printf("worker %u joins\n", w);
    if (sync.join({w}, 0.0, 0, here) != rubato::errc::ok) return 1;
  }
  double now = 0.0;
  for (const std::uint32_t w : {0U, 0U, 1U}) {
    std::printf("worker %u pushes\n", w);
    if (sync.push({.worker = {w}, .now = now += 1.0}, 0, here) != rubato::errc::ok) return 1;
  }
}
