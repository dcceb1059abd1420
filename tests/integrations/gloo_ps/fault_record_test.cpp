// The flight record of a process that goes down in ways that nobody can bring about from outside.
#include "processes.hpp"

#ifdef RUBATO_GLOO_PS_PROGRAMS
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

constexpr std::size_t records = 100'000;  // they take a while to write

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
  // Until the writing has begun.
  static void wait_for_bytes_of(const std::string& file) {
    struct stat about {};
    while (::stat(file.c_str(), &about) != 0 || about.st_size == 0) ::usleep(100);
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

TEST_F(FaultRecord, AFaultWaitsUntilThatOfAnotherIsWritten) {
  const pid_t child = start_with_record([&](const fault_record&) {
    std::thread first{[] { std::raise(SIGSEGV); }};
    wait_for_bytes_of(draft(::getpid(), ".fault.tmp"));
    std::raise(SIGBUS);
    first.join();
  });
  EXPECT_EQ(wait(child), rubato::test::status_after(SIGSEGV)) << "the second fault ends the process";
  expect_whole(read(folder / "flight"));
}

TEST_F(FaultRecord, WhatIsBeingWrittenOnDemandIsLeftAlone) {
  const pid_t child = start_with_record([&](const fault_record& record) {
    std::thread held{[&] { static_cast<void>(record.write()); }};
    wait_for_bytes_of(draft(::getpid(), ".tmp"));
    std::raise(SIGSEGV);
    held.join();
  });
  EXPECT_EQ(wait(child), rubato::test::status_after(SIGSEGV));
  expect_whole(read(folder / "flight"));
  EXPECT_FALSE(std::filesystem::exists(draft(child, ".tmp")));
  EXPECT_FALSE(std::filesystem::exists(draft(child, ".fault.tmp")));
}

TEST_F(FaultRecord, APipeInThePlaceOfTheDraftHoldsUpNobody) {
  const pid_t child = start_with_record([&](const fault_record& record) {
    ::mkfifo(draft(::getpid(), ".tmp").c_str(), 0600);
    ::mkfifo(draft(::getpid(), ".fault.tmp").c_str(), 0600);
    if (!record.write()) ::_exit(1);
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(wait(child), rubato::test::status_after(SIGSEGV));
  EXPECT_FALSE(std::filesystem::exists(at("flight")));
}

}  // namespace
}  // namespace gloo_ps_fault_record_test
#endif
