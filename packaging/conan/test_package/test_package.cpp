// Two workers under SSP without a lead, the first of which pushes and waits; and a header of a component.
#include <cstdint>
#include <rubato/rubato.hpp>
#include <rubato/threads_ps/update_rule.hpp>

static_assert(rubato::threads_ps::UpdateRule<rubato::threads_ps::sgd>);

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
  return here.released == 2 ? 0 : 1;  // the answers to both joins
}
