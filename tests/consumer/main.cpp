// What a program that uses the library looks like from outside: one include, one object, one decision.
#include <cstdint>
#include <cstdio>
#include <rubato/rubato.hpp>

namespace {
struct host {
  int released = 0;
  void release(int, rubato::worker_id, const rubato::grant&) { ++released; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void abandon(int, rubato::worker_id, rubato::reason) {}
};
}  // namespace

int main() {
  rubato::controller<rubato::ssp, int> sync{{.capacity = 2}, {.staleness = 0}};
  host here;
  for (std::uint32_t w = 0; w < 2; ++w)
    if (sync.join({w}, 0.0, 0, here) != rubato::errc::ok) return 1;
  if (sync.push({.worker = {0}, .now = 1.0}, 0, here) != rubato::errc::ok) return 1;
  std::printf("rubato %d.%d.%d: one of two waits\n", RUBATO_VERSION_MAJOR, RUBATO_VERSION_MINOR, RUBATO_VERSION_PATCH);
  return here.released == 2 ? 0 : 1;  // the answers to both joins
}
