#include "child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace rubato::support {
namespace {

// What posix_spawn has to be told, and what belongs to it.
struct start_options {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;

  explicit start_options(const std::string& said) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_init(&how);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  }
  ~start_options() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
  }
  start_options(const start_options&) = delete;
  start_options& operator=(const start_options&) = delete;
};

}  // namespace

child_process::child_process(const std::filesystem::path& program, std::vector<std::string> words,
                             const std::filesystem::path& said) {
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const start_options asked{said.string()};
  if (const int why = posix_spawn(&id_, program.c_str(), &asked.files, &asked.how, arguments.data(), environ); why != 0)
    throw std::system_error{why, std::generic_category(), program.string()};
}

child_process::child_process(child_process&& from) noexcept : id_{std::exchange(from.id_, -1)}, status_{from.status_} {}
child_process& child_process::operator=(child_process&& from) noexcept {
  std::swap(id_, from.id_);
  std::swap(status_, from.status_);
  return *this;
}
child_process::~child_process() { kill(); }

// Once it is reaped, its number may be another process's.
bool child_process::reap(int options) {
  if (id_ < 0) return true;
  int status = 0;
  pid_t answer = 0;
  do answer = waitpid(id_, &status, options);
  while (answer < 0 && errno == EINTR);
  if (answer == 0) return false;
  status_ = answer > 0 ? status : -1;
  id_ = -1;
  return true;
}

bool child_process::running() { return !reap(WNOHANG); }

bool child_process::wait(std::chrono::steady_clock::time_point until) {
  while (running()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

void child_process::kill() {
  if (!running()) return;
  ::kill(id_, SIGKILL);
  reap(0);
}

std::string child_process::end() const {
  if (!status_) return {};
  if (WIFEXITED(*status_)) return "ended with status " + std::to_string(WEXITSTATUS(*status_));
  return "was ended by signal " + std::to_string(WTERMSIG(*status_));
}

bool end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

}  // namespace rubato::support
