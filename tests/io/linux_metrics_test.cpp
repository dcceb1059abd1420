#include <rubato/io/linux_metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "../support/folder_test.hpp"

using rubato::linux_metrics;
using rubato::step_metrics;

namespace {

constexpr std::string_view interfaces =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier\n";

// A machine that says of itself what the test wants.
class LinuxMetrics : public rubato::test::folder_test {
 protected:
  void says(const std::string& file, std::string_view text) const {
    const std::filesystem::path path = std::filesystem::path{at("machine")} / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << text;
  }
  void says_processor(std::uint64_t busy, std::uint64_t idle) const {
    says("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\ncpu0 9 9 9 9\n");
  }
  void says_network(std::uint64_t received, std::uint64_t sent, std::uint64_t again) const {
    says("proc/net/dev",
         std::string{interfaces} + "    lo: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0\n  eth0:" + std::to_string(received) +
             " 9 0 0 0 0 0 0 " + std::to_string(sent) + " 9 0 0 0 0 0 0\n  eth1: 7 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n");
    says("proc/net/snmp",
         "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn RetransSegs InErrs\nTcp: 1 -1 " +
             std::to_string(again) + " 0\n");
  }
  [[nodiscard]] linux_metrics machine(double link = 0, std::string device = {}) const {
    return linux_metrics{{.root = at("machine"), .device = std::move(device), .link = link}};
  }
  [[nodiscard]] static step_metrics measured(linux_metrics& by, double now, step_metrics step = {}) {
    by.measure(now, step);
    return step;
  }
};

TEST_F(LinuxMetrics, ReadsWhatTheSystemSays) {
  says_processor(1000, 3000);
  says_network(100'000, 200'000, 50);
  says("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:   250 kB\n");
  linux_metrics machine = this->machine(10'000);
  static_cast<void>(measured(machine, 10));
  says_processor(1300, 3100);
  says_network(103'000, 201'000, 56);
  const step_metrics step = measured(machine, 12, {.compute_time = 1.5F, .communication_time = 0.5F});
  EXPECT_FLOAT_EQ(step.processor, 0.75F);
  EXPECT_FLOAT_EQ(step.throughput, 0.8F) << "4,000 of 5,000 bytes";
  EXPECT_FLOAT_EQ(step.retransmissions, 3);
  EXPECT_FLOAT_EQ(step.memory, 0.75F);
  EXPECT_FLOAT_EQ(step.compute_time, 1.5F);
  EXPECT_FLOAT_EQ(step.communication_time, 0.5F);
  says_network(107'000, 202'000, 56);
  EXPECT_FLOAT_EQ(measured(machine, 13).throughput, 0.5F) << "5,000 bytes in one unit of time";
  says_network(207'000, 202'000, 56);
  EXPECT_FLOAT_EQ(measured(machine, 14).throughput, 1) << "a link that does more than it was said to";
}

TEST_F(LinuxMetrics, TheFirstCallKnowsOnlyMemory) {
  says_processor(1000, 3000);
  says_network(1, 2, 3);
  says("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
  linux_metrics machine = this->machine(1);
  const step_metrics step = measured(machine, 5);
  EXPECT_FLOAT_EQ(step.memory, 0.4F);
  EXPECT_TRUE(std::isnan(step.processor) && std::isnan(step.throughput) && std::isnan(step.retransmissions));
}

TEST_F(LinuxMetrics, TheTighterLimitCounts) {
  says("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
  says("sys/fs/cgroup/memory.max", "max\n");
  says("sys/fs/cgroup/memory.current", "900\n");
  linux_metrics machine = this->machine();
  EXPECT_FLOAT_EQ(measured(machine, 0).memory, 0.4F) << "no limit";
  says("sys/fs/cgroup/memory.max", "1000\n");
  EXPECT_FLOAT_EQ(measured(machine, 1).memory, 0.9F);
  says("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 300\nactive_file 7\n");
  EXPECT_FLOAT_EQ(measured(machine, 2).memory, 0.6F) << "files that nobody needs are no use of memory";
  says("sys/fs/cgroup/memory.stat", "inactive_file 950\n");
  EXPECT_FLOAT_EQ(measured(machine, 3).memory, 0.4F) << "the machine's";
}

TEST_F(LinuxMetrics, WhatIsMissingStaysUnknown) {
  linux_metrics machine = this->machine(1);
  const step_metrics given{.processor = 0.25F, .memory = 0.5F};
  for (const std::string_view text :
       {"", "cpu", "cpu 1 2 3\n", "cpu a b c d e f g h\n", "eth0: 1 2\n", "Tcp:\nTcp:\n", "Tcp: RetransSegs\n",
        "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemTotal: 1 kB\nMemAvailable: 2 kB\n", "99999999999999999999999\n"}) {
    for (const char* const file : {"proc/stat", "proc/net/dev", "proc/net/snmp", "proc/meminfo",
                                   "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"})
      says(file, text);
    for (int time = 0; time < 2; ++time) {
      const step_metrics step = measured(machine, time, given);
      EXPECT_EQ(step.processor, 0.25F) << text;
      EXPECT_EQ(step.memory, 0.5F) << text;
      EXPECT_TRUE(std::isnan(step.throughput) && std::isnan(step.retransmissions)) << text;
    }
  }
}

TEST_F(LinuxMetrics, CountersThatGoBackAreUnknown) {
  linux_metrics machine = this->machine(100);
  says_processor(1000, 3000);
  says_network(500, 500, 9);
  static_cast<void>(measured(machine, 1));
  says_processor(900, 4000);
  says_network(0, 999, 8);
  const step_metrics back = measured(machine, 2);
  EXPECT_TRUE(std::isnan(back.processor) && std::isnan(back.throughput) && std::isnan(back.retransmissions));
  says_processor(950, 4000);
  says_network(1, 999, 9);
  const step_metrics no_time = measured(machine, 2);
  EXPECT_FLOAT_EQ(no_time.processor, 1) << "ticks have a time of their own";
  EXPECT_TRUE(std::isnan(no_time.throughput) && std::isnan(no_time.retransmissions));
}

TEST_F(LinuxMetrics, OnlyTheNamedInterface) {
  linux_metrics all = machine(100), eth0 = machine(100, "eth0"), none = machine(100, "eth");
  says_network(100, 100, 0);
  for (linux_metrics* const each : {&all, &eth0, &none}) static_cast<void>(measured(*each, 0));
  says("proc/net/dev",
       std::string{interfaces} + "lo: 9 0 0 0 0 0 0 0 9\neth0: 110 0 0 0 0 0 0 0 110\neth1: 37 0 0 0 0 0 0 0 7\n");
  EXPECT_FLOAT_EQ(measured(all, 1).throughput, 0.5F);
  EXPECT_FLOAT_EQ(measured(eth0, 1).throughput, 0.2F);
  EXPECT_TRUE(std::isnan(measured(none, 1).throughput));
}

TEST_F(LinuxMetrics, ThisMachine) {
#if !defined(__linux__)
  GTEST_SKIP() << "another system";
#endif
  linux_metrics machine{{.link = 1e9}};
  const step_metrics first = measured(machine, 0);
  EXPECT_GT(first.memory, 0);
  EXPECT_LE(first.memory, 1);
  const step_metrics second = measured(machine, 1);
  EXPECT_GE(second.retransmissions, 0);
}

}  // namespace
