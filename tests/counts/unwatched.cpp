// What unwatched.py counts the instructions of: pushes at a controller that nobody watches, or that a flight recorder
// watches. Usage: unwatched RULE none|recorder TIMES
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <rubato/io/flight_recorder.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>
#include <rubato/sync/ssp.hpp>
#include <string_view>
#include <type_traits>

namespace {

using namespace rubato;
constexpr std::uint32_t workers = 16;

struct sink {
  std::uint32_t* released;
  void release(std::uint32_t, worker_id who, const grant&) { *released |= 1U << who.index; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

template <class Watcher, class Policy>
Watcher watcher(const Policy& policy) {
  if constexpr (std::is_constructible_v<Watcher, std::size_t, const Policy&>) {
    return Watcher{4096, policy};
  } else {
    return Watcher{};
  }
}

// They push one after another if they run.
template <class Watcher, class Policy>
int pushes(const Policy& policy, std::uint64_t times) {
  controller<Policy, std::uint32_t, Watcher> sync{{.capacity = workers}, policy, watcher<Watcher>(policy)};
  std::uint32_t runs = 0;
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, sink{&runs}));
  double now = 0;
  for (std::uint32_t w = 0; times > 0; w = (w + 1) % workers) {
    if ((runs & 1U << w) == 0) continue;
    runs &= ~(1U << w);
    const admitted got = sync.admit({.worker = {w, 0}, .now = now += 0.01, .samples = 16, .loss = 1.0F});
    static_cast<void>(sync.commit(got.work, now, outcome::done, w, sink{&runs}));
    --times;
  }
  return 0;
}
template <class Watcher>
int run(std::string_view rule, std::uint64_t times) {
  if (rule == "asp") return pushes<Watcher>(asp{}, times);
  if (rule == "ssp") return pushes<Watcher>(ssp{.staleness = 1}, times);
  return rule == "bsp" ? pushes<Watcher>(bsp{}, times) : 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::uint64_t times = std::strtoull(argv[3], nullptr, 10);
  return argv[2] == std::string_view{"none"} ? run<no_observer>(argv[1], times) : run<flight_recorder>(argv[1], times);
}
