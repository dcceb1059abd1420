// Averages a second of averaging_group, for hosts.py: members that compute nothing, as threads with a group each.
// Status 1 if not all of them took part in each.
// usage: torch_averages MEMBERS PARAMETERS AVERAGES
#include <ATen/Parallel.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <rubato/libtorch/averaging_group.hpp>
#include <string>
#include <thread>
#include <vector>

namespace lt = rubato::libtorch;

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: torch_averages MEMBERS PARAMETERS AVERAGES\n"), 2;
  const auto members = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const auto parameters = static_cast<std::size_t>(std::strtoull(argv[2], nullptr, 10));
  const std::uint64_t averages = std::strtoull(argv[3], nullptr, 10);
  std::string store = (std::filesystem::temp_directory_path() / "torch_averages_XXXXXX").string();
  const int file = ::mkstemp(store.data());
  if (file < 0) return std::perror("torch_averages"), 1;
  ::close(file);
  at::set_num_threads(1);
  std::vector<double> seconds(members);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t m = 0; m < members; ++m)
      threads.emplace_back([&, m] {
        std::vector<float> mine(parameters);
        auto group = lt::averaging_group::join(c10::make_intrusive<c10d::FileStore>(store, -1),
                                               {.index = m, .founders = members}, mine);
        if (!group)
          return static_cast<void>(std::fprintf(stderr, "torch_averages: %s\n", group.error().message.c_str()));
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t n = 0; n < averages; ++n) {
          const auto of = group->average(mine);
          if (!of || *of != members)
            return static_cast<void>(std::fprintf(stderr, "torch_averages: average %llu failed, or was not of all\n",
                                                  static_cast<unsigned long long>(n + 1)));
        }
        seconds[m] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      });
  }
  std::filesystem::remove(store);
  std::printf("ended at version %llu after %.3f s\n", static_cast<unsigned long long>(averages), seconds.front());
  return std::all_of(seconds.begin(), seconds.end(), [](double each) { return each > 0; }) ? 0 : 1;
}
