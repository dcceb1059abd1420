#include "../../examples/support/process_permits.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace {

using namespace rubato::support;
using seconds = process_permits::seconds;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t seats = 6;
constexpr auto nothing = [] {};
constexpr auto never = [] { return false; };

// In memory that this process and its children share.
struct shared_state {
  explicit shared_state(std::uint32_t cores) : table{cores} {}
  permit_table table;
  permit_seat of[seats];
  std::atomic<std::uint32_t> most = 0;
  std::atomic<bool> ready = false, done = false;
};

class ProcessPermits : public testing::Test {
 protected:
  void SetUp() override { alarm(60); }
  void TearDown() override {
    for (const pid_t each : children_) kill(each, SIGKILL), waitpid(each, nullptr, 0);
    for (auto* each : states_) munmap(each, sizeof(shared_state));
    alarm(0);
  }
  shared_state& share(std::uint32_t cores) {
    void* memory = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return *states_.emplace_back(new (memory) shared_state{cores});
  }
  static process_permits cores_of(shared_state& s, std::uint32_t seat, double quantum = 0.001) {
    return {s.table, s.of, seat, seconds{quantum}};
  }
  pid_t in_a_process(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      work();
      _exit(0);
    }
    if (child < 0) throw std::system_error{errno, std::generic_category(), "fork"};
    children_.push_back(child);
    return child;
  }
  void kill_now(pid_t child) {
    kill(child, SIGKILL);
    end_of(child);
  }
  int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::erase(children_, child);
    return status;
  }
  static void wait_for(const std::function<bool()>& what) {
    while (!what()) std::this_thread::yield();  // the alarm ends what takes too long
  }

 private:
  std::vector<pid_t> children_;
  std::vector<shared_state*> states_;
};

TEST_F(ProcessPermits, NoMoreComputeThanThereAreCores) {
  shared_state& s = share(2);
  std::vector<pid_t> all;
  for (std::uint32_t i = 0; i < seats; ++i)
    all.push_back(in_a_process([&, i] {
      wait_for([&] { return s.ready.load(); });
      cores_of(s, i).compute(seconds{0.01}, nothing, [&] {
        const std::uint32_t inside = process_permits::busy(s.of);
        std::uint32_t before = s.most;
        while (inside > before && !s.most.compare_exchange_weak(before, inside)) continue;
        return false;
      });
    }));
  const auto begin = clock_type::now();
  s.ready = true;
  for (const pid_t each : all) EXPECT_EQ(end_of(each), 0);
  EXPECT_EQ(s.most, 2u);
  EXPECT_EQ(process_permits::busy(s.of), 0u);
  EXPECT_GE(seconds{clock_type::now() - begin}.count(), 0.03) << "six times 10 ms on two cores";
}

TEST_F(ProcessPermits, ThoseWhoShareTakeTurns) {
  // One core, and a process that needs it for long: one that comes later need not wait until it is done.
  shared_state& s = share(1);
  const pid_t first = in_a_process([&] {
    cores_of(s, 0).compute(
        seconds{50}, [&] { s.ready = true; }, never);
  });
  wait_for([&] { return s.ready.load(); });
  const seconds without = cores_of(s, 1).compute(seconds{0.01}, nothing, never);
  EXPECT_EQ(waitpid(first, nullptr, WNOHANG), 0) << "it goes on";
  EXPECT_GT(without.count(), 0.0) << "it had to wait for its turns";
}

TEST_F(ProcessPermits, WithoutALimitNobodyWaits) {
  shared_state& s = share(0);
  for (std::uint32_t i = 0; i < seats; ++i) cores_of(s, i).acquire();
  EXPECT_EQ(process_permits::busy(s.of), seats);
  EXPECT_FALSE(cores_of(s, 0).others_wait());
}

TEST_F(ProcessPermits, WhoDiesWithACoreLeavesItToTheNext) {
  shared_state& s = share(1);
  const pid_t holder = in_a_process([&] {
    cores_of(s, 0).acquire();
    for (;;) pause();
  });
  wait_for([&] { return process_permits::busy(s.of) == 1; });
  const pid_t next = in_a_process([&] { cores_of(s, 1).compute(seconds{0.001}, nothing, never); });
  wait_for([&] { return cores_of(s, 0).others_wait(); });
  kill_now(holder);
  process_permits::vacate(s.table, s.of, 0);
  EXPECT_EQ(end_of(next), 0);
  EXPECT_EQ(process_permits::busy(s.of), 0u);
}

TEST_F(ProcessPermits, WhoDiesWaitingIsPassedOver) {
  shared_state& s = share(1);
  auto mine = cores_of(s, 0);
  mine.acquire();
  const pid_t waits = in_a_process([&] { cores_of(s, 1).acquire(); });
  wait_for([&] { return mine.others_wait(); });
  kill_now(waits);
  process_permits::vacate(s.table, s.of, 1);
  EXPECT_FALSE(mine.others_wait());
  mine.release();
  EXPECT_EQ(process_permits::busy(s.of), 0u);
  cores_of(s, 1).compute(seconds{0.001}, nothing, never);  // its successor finds the seat as new
}

TEST_F(ProcessPermits, WhoDiesInTheLockHoldsNobodyUp) {
  shared_state& s = share(1);
  const pid_t next = in_a_process([&] {
    auto mine = cores_of(s, 1);
    mine.acquire();
    s.done = true;
  });
  wait_for([&] { return process_permits::busy(s.of) == 1; });
  EXPECT_EQ(end_of(next), 0);
  // Hands a core over, and dies before it has called the one who gets it.
  const pid_t waits = in_a_process([&] {
    cores_of(s, 2).acquire();
    s.ready = true;
  });
  wait_for([&] { return s.of[2].now == permit_seat::state::waiting; });
  const pid_t dies = in_a_process([&] {
    const robust_mutex::guard held{s.table.mutex};
    s.of[1].now = permit_seat::state::idle;
    s.of[2].now = permit_seat::state::computing;
    _exit(0);
  });
  EXPECT_EQ(end_of(dies), 0);
  EXPECT_FALSE(s.ready) << "nobody called it";
  process_permits::vacate(s.table, s.of, 1);
  EXPECT_EQ(end_of(waits), 0);
  EXPECT_TRUE(s.ready);
}

}  // namespace
