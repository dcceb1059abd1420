// What Linux says about itself, as linux_metrics reads it: of a machine where anything may be in them.
#include <array>
#include <cmath>
#include <filesystem>
#include <rubato/io/linux_metrics.hpp>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "scratch_folder.hpp"

namespace rubato::fuzz {
namespace of_linux_metrics {

bool is_share(float number) { return std::isnan(number) || (number >= 0 && number <= 1); }

// Two steps, and before each all files anew.
void run(input bytes) {
  static const scratch_folder machine;
  static constexpr std::array<std::string_view, 6> files{"proc/stat",
                                                         "proc/net/dev",
                                                         "proc/net/snmp",
                                                         "proc/meminfo",
                                                         "sys/fs/cgroup/memory.max",
                                                         "sys/fs/cgroup/memory.current"};
  static const bool has_folders = std::filesystem::create_directories(machine.at("proc/net")) &&
                                  std::filesystem::create_directories(machine.at("sys/fs/cgroup"));
  require(has_folders, "a machine's folders");
  input_reader in{bytes};
  linux_metrics by{{.root = machine.path().string(), .link = 1000}};
  for (double now = 1; now < 3; ++now) {
    for (const std::string_view file : files) {
      machine.write(std::string{file}, text_of(in.take_part()));
    }
    step_metrics step;
    by.measure(now, step);
    require(is_share(step.memory) && is_share(step.processor) && is_share(step.throughput), "shares are shares");
    require(std::isnan(step.retransmissions) || step.retransmissions >= 0, "nothing is sent again less than never");
    const bool first = now < 2;
    require(!first || (std::isnan(step.processor) && std::isnan(step.throughput) && std::isnan(step.retransmissions)),
            "the first call knows only memory");
  }
}

const registered here{"linux_metrics", run};

}  // namespace of_linux_metrics
}  // namespace rubato::fuzz
