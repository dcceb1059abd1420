#ifndef RUBATO_EXAMPLES_SUPPORT_CHILD_PROCESS_HPP
#define RUBATO_EXAMPLES_SUPPORT_CHILD_PROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rubato::support {

/// A program that runs, and that is killed, and waited for, when the object goes.
///
/// It is in a process group of its own: signals of the terminal are for its parent alone. That it also ends if the
/// parent is killed is up to the program, see end_with_parent().
/// Errors  std::system_error where it cannot be started
/// Thread  not thread-safe
/// Tests   tests/examples/child_process_test.cpp: SaysHowItEnded, KillsWhatStillRuns, WaitIsBounded,
///         ProgramsThatAreNotThere, AChildKnowsWhetherItsParentIsThere
class child_process {
 public:
  /// `words`: its name and arguments. It reads nothing; what it says goes to the file `said`, which is made anew.
  child_process(const std::filesystem::path& program, std::vector<std::string> words,
                const std::filesystem::path& said);
  child_process(child_process&&) noexcept;
  child_process& operator=(child_process&&) noexcept;
  ~child_process();

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  [[nodiscard]] bool running();
  /// Whether it has ended by then.
  bool wait(std::chrono::steady_clock::time_point until);
  /// By force; returns when it is over.
  void kill();
  /// Such as "ended with status 1" or "was ended by signal 9"; empty while it runs.
  [[nodiscard]] std::string end() const;

 private:
  bool reap(int options);

  pid_t id_ = -1;  // -1: none, or none any more
  std::optional<int> status_;
};

/// For a program that is not to outlive the one that started it: from now on it is killed when that ends, whatever ends
/// it. False if `parent` has ended already.
[[nodiscard]] bool end_with_parent(pid_t parent);

}  // namespace rubato::support

#endif
