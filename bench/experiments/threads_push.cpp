// Pushes a second of integrations/threads_ps, for hosts.py: workers that compute nothing, as threads, under ASP. The
// version counts what was applied; status 1 if that is not all.
// usage: threads_push WORKERS PARAMETERS STEPS
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <rubato/sync/asp.hpp>
#include <rubato/threads_ps/server.hpp>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: threads_push WORKERS PARAMETERS STEPS\n"), 2;
  const auto workers = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const auto parameters = static_cast<std::size_t>(std::strtoull(argv[2], nullptr, 10));
  const std::uint64_t steps = std::strtoull(argv[3], nullptr, 10);
  const std::vector<float> initial(parameters);
  auto made = rubato::threads_ps::server<rubato::asp>::make({.sync = {.capacity = workers}, .shards = 2}, initial,
                                                            rubato::asp{});
  if (!made) return std::fprintf(stderr, "threads_push: %s\n", made.error().message.c_str()), 2;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        std::vector<float> here(parameters), gradient(parameters, 1e-3F);
        auto me = (*made)->join({w});
        for (std::uint64_t n = 0; me && n < steps; ++n) {
          static_cast<void>((*me)->pull(here));
          static_cast<void>((*me)->push(gradient, {.samples = 1}));
        }
        if (me) static_cast<void>((*me)->finish());
      });
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::uint64_t version = (*made)->inspect([](auto& sync) { return sync.version(); });
  std::printf("ended at version %llu after %.3f s\n", static_cast<unsigned long long>(version), took);
  return version == steps * workers ? 0 : 1;
}
