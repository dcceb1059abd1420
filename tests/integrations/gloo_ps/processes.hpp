#ifndef RUBATO_TESTS_INTEGRATIONS_GLOO_PS_PROCESSES_HPP
#define RUBATO_TESTS_INTEGRATIONS_GLOO_PS_PROCESSES_HPP

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../../support/folder_test.hpp"

namespace rubato::test {

/// The real programs, in one process group, which is empty again when the test is over.
///
/// The group is held by a process that only waits. Every process ends with the test program, whatever becomes of it,
/// and has a hard time limit of its own.
class process_test : public folder_test {
 protected:
  int time_limit = 80;  // seconds, of each process

  void SetUp() override {
    folder_test::SetUp();
    std::filesystem::create_directory(folder / "store");
    group_ = ::fork();
    ASSERT_GE(group_, 0);
    if (group_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    ::setpgid(group_, group_);
  }
  void TearDown() override {
    if (group_ > 0) {
      ::kill(-group_, SIGKILL);
      for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
      ::waitpid(group_, nullptr, 0);
      EXPECT_TRUE(within(10, [this] { return ::kill(-group_, 0) != 0 && errno == ESRCH; }))
          << "a process of this test is left";
    }
    if (HasFailure())
      for (const auto& entry : std::filesystem::directory_iterator{folder})
        if (entry.path().extension() == ".log")
          std::fprintf(stderr, "--- %s\n%s", entry.path().filename().c_str(), read(entry.path()).c_str());
    folder_test::TearDown();
  }

  /// Starts a program; what it says goes to NAME.log, behind what is there already.
  pid_t start(const std::string& name, std::vector<std::string> words) {
    const std::string log = (folder / (name + ".log")).string();
    const pid_t parent = ::getpid();
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {  // only calls that are safe after a fork
      ::setpgid(0, group_);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(126);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      ::dup2(out, 1), ::dup2(out, 2);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::setpgid(child, group_);
    children_.insert(child);
    return child;
  }
  /// Its exit status, or 128 and the signal that ended it; -1 if it goes on beyond the limit.
  int wait(pid_t child, double seconds = 0) {
    int status = 0;
    const bool over =
        within(seconds > 0 ? seconds : time_limit, [&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (!over) return -1;
    children_.erase(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void kill_now(pid_t child) {
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait(child), 128 + SIGKILL);
  }

  static bool within(double seconds, const std::function<bool()>& what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds};
    while (!what()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return true;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  bool logged(const std::string& name, const std::string& words, double seconds = 30) {
    return within(seconds, [&] { return read(folder / (name + ".log")).find(words) != std::string::npos; });
  }

  static std::string program(const char* name) {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
  }
  [[nodiscard]] std::string store() const { return "file:" + (folder / "store").string(); }

  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // With a time limit, the task that counts, and limits that suit a test.
  std::vector<std::string> server_words(int workers, const std::vector<std::string>& more) const {
    return with({program("gloo_server"),
                 "--store",
                 store(),
                 "--task",
                 "count",
                 "--dimension",
                 std::to_string(workers),
                 "--workers",
                 std::to_string(workers),
                 "--learning-rate",
                 "1",
                 "--samples",
                 "1",
                 "--time-limit",
                 std::to_string(time_limit),
                 "--connect-limit",
                 "2",
                 "--floor",
                 "3",
                 "--ceiling",
                 "10",
                 "--report",
                 at("report.json")},
                more);
  }
  std::vector<std::string> worker_words(int workers, int index, const std::vector<std::string>& more) const {
    return with({program("gloo_worker"), "--store", store(), "--task", "count", "--dimension", std::to_string(workers),
                 "--index", std::to_string(index), "--time-limit", std::to_string(time_limit), "--connect-limit", "2",
                 "--reply-limit", "5", "--give-up", "30"},
                more);
  }

  /// Numbers of the server's report: of a member, or of an array.
  [[nodiscard]] double number(const std::string& member) const {
    const std::string report = read(folder / "report.json");
    const auto place = report.find('"' + member + "\":");
    if (place == std::string::npos) return ADD_FAILURE() << "no " << member << " in the report: " << report, -1;
    return std::strtod(report.c_str() + place + member.size() + 3, nullptr);
  }
  [[nodiscard]] std::vector<double> numbers(const std::string& member) const {
    const std::string report = read(folder / "report.json");
    std::vector<double> all;
    auto place = report.find('"' + member + "\":[");
    if (place == std::string::npos) return all;
    for (const char* text = report.c_str() + place + member.size() + 4; *text != ']' && *text != 0;) {
      char* end = nullptr;
      all.push_back(std::strtod(text, &end));
      if (end == text) break;
      text = *end == ',' ? end + 1 : end;
    }
    return all;
  }

  pid_t group_ = -1;
  std::set<pid_t> children_;
};

}  // namespace rubato::test

#endif
