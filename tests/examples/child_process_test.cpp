#include "../../examples/support/child_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "temporary_directory.hpp"

namespace {

using rubato::support::child_process;
using rubato::support::end_with_parent;
using rubato::test::temporary_directory;

auto soon(double seconds = 20) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>{seconds});
}
bool exists(pid_t id) { return kill(id, 0) == 0; }

TEST(ChildProcess, SaysHowItEnded) {
  const temporary_directory folder;
  const auto said = folder.path() / "said";
  child_process shell{"/bin/sh", {"sh", "-c", "echo out; echo err >&2; read line; exit 3"}, said};
  ASSERT_TRUE(shell.wait(soon())) << "it had nothing to read";
  EXPECT_EQ(shell.end(), "ended with status 3");
  std::ifstream file{said};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{file}, {}}), "out\nerr\n");
  child_process killed{"/bin/sh", {"sh", "-c", "kill -9 $$"}, said};
  ASSERT_TRUE(killed.wait(soon()));
  EXPECT_EQ(killed.end(), "was ended by signal 9");
}

TEST(ChildProcess, KillsWhatStillRuns) {
  const temporary_directory folder;
  pid_t id = 0;
  {
    child_process sleeps{"/bin/sleep", {"sleep", "60"}, folder.path() / "said"};
    id = sleeps.id();
    child_process other = std::move(sleeps);
    EXPECT_TRUE(other.running());
    EXPECT_EQ(other.end(), "");
    EXPECT_TRUE(exists(id));
  }
  EXPECT_FALSE(exists(id));
}

TEST(ChildProcess, WaitIsBounded) {
  const temporary_directory folder;
  child_process sleeps{"/bin/sleep", {"sleep", "60"}, folder.path() / "said"};
  EXPECT_FALSE(sleeps.wait(soon(0.01)));
  EXPECT_TRUE(sleeps.running());
}

TEST(ChildProcess, ProgramsThatAreNotThere) {
  const temporary_directory folder;
  try {
    child_process{"/no/such/program", {"program"}, folder.path() / "said"};
    FAIL() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_NE(std::string{error.what()}.find("/no/such/program"), std::string::npos);
  }
}

TEST(ChildProcess, AChildKnowsWhetherItsParentIsThere) {
  const pid_t here = getpid(), child = fork();
  if (child == 0) _exit(end_with_parent(here) && !end_with_parent(here + 1) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
