// The flight record of a process that goes down in ways that nobody can bring about from outside.
#include "processes.hpp"

#ifdef RUBATO_GLOO_PS_PROGRAMS
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <rubato/sync/asp.hpp>
#include <string>
#include <thread>

#include "../../support/sanitizers.hpp"
#include "fault_record.hpp"

namespace gloo_ps_fault_record_test {
namespace {

using rubato::flight_recorder;

constexpr std::size_t records = 5'000;  // more than the buffer of a pipe

volatile int no_depth = -1;
[[gnu::noinline]] int overflow(int depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  return depth == no_depth ? 0 : overflow(depth + 1) + room[0];
}

class FaultRecord : public rubato::test::process_test {
 protected:
  // A process that does this while it has a record.
  template <class Work>
  pid_t start_with_record(Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, group_);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const rlimit none{}, small{1 << 20, 1 << 20};
      ::setrlimit(RLIMIT_CORE, &none), ::setrlimit(RLIMIT_STACK, &small);
      flight_recorder recorder{records, rubato::asp{}};
      for (std::size_t i = 0; i < records; ++i) recorder({.worker = {1, 0}, .now = static_cast<double>(i)});
      const fault_record record{recorder, at("flight")};
      work(record);
      ::_exit(0);
    }
    children_.insert(child);
    return child;
  }
  [[nodiscard]] std::string draft(pid_t of, const char* what) const {
    return at("flight") + "." + std::to_string(of) + what;
  }
  static void expect_whole(const std::string& record) {
    EXPECT_TRUE(record.starts_with("{\"format\":\"rubato.decisions\"") && record.ends_with("}\n"));
    EXPECT_EQ(static_cast<std::size_t>(std::count(record.begin(), record.end(), '\n')), records + 1);
  }
};

TEST_F(FaultRecord, AnOverflowOfTheStackIsWritten) {
  if (rubato::test::address_sanitized || rubato::test::thread_sanitized) GTEST_SKIP() << "frames are larger, and checked";
  EXPECT_EQ(wait(start_with_record([](const fault_record&) { overflow(0); })), 128 + SIGSEGV);
  expect_whole(read(folder / "flight"));
}

// A pipe in the place of the file holds up who writes it.
TEST_F(FaultRecord, AFaultWaitsUntilThatOfAnotherIsWritten) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = start_with_record([&](const fault_record&) {
    ::mkfifo(draft(::getpid(), ".fault.tmp").c_str(), 0600);
    std::thread first{[] { std::raise(SIGSEGV); }};
    char byte;
    if (::read(go[0], &byte, 1) == 1) std::raise(SIGBUS);
    first.join();
  });
  const std::string pipe = draft(child, ".fault.tmp");
  ASSERT_TRUE(within(30, [&] { return std::filesystem::exists(pipe); }));
  const int from = ::open(pipe.c_str(), O_RDONLY);
  std::string record(1 << 12, '\0');
  const auto some = [&](char* to) { return ::read(from, to, 1 << 12); };
  record.resize(static_cast<std::size_t>(some(record.data())));
  ASSERT_EQ(::write(go[1], "!", 1), 1);
  siginfo_t state{};
  EXPECT_FALSE(within(0.3, [&] {
    return ::waitid(P_PID, static_cast<id_t>(child), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == child;
  })) << "the second fault ends the process";
  char more[1 << 12];
  for (ssize_t size; (size = some(more)) > 0;) record.append(more, static_cast<std::size_t>(size));
  EXPECT_EQ(wait(child), 128 + SIGSEGV);
  expect_whole(record);
  for (const int end : {from, go[0], go[1]}) ::close(end);
}

TEST_F(FaultRecord, WhatIsBeingWrittenOnDemandIsLeftAlone) {
  const pid_t child = start_with_record([&](const fault_record& record) {
    ::mkfifo(draft(::getpid(), ".tmp").c_str(), 0600);
    std::thread held{[&] { static_cast<void>(record.write()); }};  // nobody reads the pipe
    std::raise(SIGSEGV);
    held.join();
  });
  EXPECT_EQ(wait(child), 128 + SIGSEGV);
  expect_whole(read(folder / "flight"));
  EXPECT_FALSE(std::filesystem::exists(draft(child, ".tmp")));
  EXPECT_FALSE(std::filesystem::exists(draft(child, ".fault.tmp")));
}

}  // namespace
}  // namespace gloo_ps_fault_record_test
#endif
