#include "fault_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rubato/io/errno_text.hpp>
#include <string_view>

namespace {

// What the handlers need lies ready: they may not allocate.
const rubato::flight_recorder* recorder = nullptr;
std::string target, draft, draft_of_fault;  // the first may be under way when a fault comes
std::atomic<pid_t> faulted = 0;             // the thread that writes the second
constexpr std::array deadly{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
std::array<struct sigaction, deadly.size()> before;
struct sigaction before_wish;
std::array<char, 1 << 16> second_stack;  // for handlers: the first one may be full
stack_t stack_before;
volatile std::sig_atomic_t wished = 0;

// Collects bytes, so that a line is no call of the system. write() may be called in a handler.
struct descriptor_sink {
  int descriptor;
  int failure = 0;
  std::size_t used = 0;
  char room[4096];

  void operator()(std::string_view bytes) noexcept {
    if (bytes.size() > sizeof room - used) drain();
    if (bytes.size() > sizeof room) return put(bytes.data(), bytes.size());
    std::memcpy(room + used, bytes.data(), bytes.size());
    used += bytes.size();
  }
  void drain() noexcept {
    put(room, used);
    used = 0;
  }
  void put(const char* from, std::size_t size) noexcept {
    while (size > 0 && failure == 0) {
      const ssize_t done = ::write(descriptor, from, size);
      if (done < 0 && errno != EINTR) failure = errno;
      if (done > 0) from += done, size -= static_cast<std::size_t>(done);
    }
  }
};

// 0 if nothing but a regular file is replaced, or an errno.
int problem_of_target() noexcept {
  struct stat at {};
  if (::lstat(target.c_str(), &at) != 0) return errno == ENOENT ? 0 : errno;
  return S_ISREG(at.st_mode) || S_ISLNK(at.st_mode) ? 0 : EEXIST;  // a link is one to nothing
}

// A draft that is this process's own, or -1 and errno. Left behind it may be, by one that had the same number; but a
// link that somebody laid there is not followed, nobody waits at a pipe, and no file of others or of another name is
// written over.
int open_draft(const std::string& at) noexcept {
  const int descriptor = ::open(at.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  struct stat file {};
  const bool own =
      ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == ::geteuid() && file.st_nlink == 1;
  if (own && ::ftruncate(descriptor, 0) == 0) return descriptor;
  ::close(descriptor);
  errno = EEXIST;
  return -1;
}

// 0, or an errno.
int write_record(const std::string& to) noexcept {
  if (const int wrong = problem_of_target(); wrong != 0) return wrong;
  const int descriptor = open_draft(to);
  if (descriptor < 0) return errno;
  descriptor_sink sink{.descriptor = descriptor, .room = {}};
  recorder->write(sink);
  sink.drain();
  if (::close(descriptor) != 0 && sink.failure == 0) sink.failure = errno;
  if (sink.failure == 0 && std::rename(to.c_str(), target.c_str()) != 0) sink.failure = errno;
  if (sink.failure != 0) ::unlink(to.c_str());
  return sink.failure;
}

void on_deadly(int number) {
  const pid_t self = ::gettid();
  pid_t nobody = 0;
  if (faulted.compare_exchange_strong(nobody, self)) {
    static_cast<void>(write_record(draft_of_fault));
    ::unlink(draft.c_str());
  } else if (nobody != self) {  // who else is not a fault in here
    for (;;) ::pause();
  }
  for (std::size_t i = 0; i < deadly.size(); ++i) ::sigaction(deadly[i], &before[i], nullptr);
  ::raise(number);
}

}  // namespace

fault_record::fault_record(const rubato::flight_recorder& of, const std::string& file) {
  recorder = &of;
  target = file;
  if (char* const real = ::realpath(file.c_str(), nullptr); real != nullptr) {  // renaming onto a link would replace it
    target = real;
    std::free(real);
  }
  draft = target + '.' + std::to_string(::getpid()) + ".tmp";
  draft_of_fault = target + '.' + std::to_string(::getpid()) + ".fault.tmp";
  stack_t second{};
  second.ss_sp = second_stack.data();
  second.ss_size = second_stack.size();
  ::sigaltstack(&second, &stack_before);
  struct sigaction handler {};
  handler.sa_handler = on_deadly;
  handler.sa_flags = SA_ONSTACK;
  for (std::size_t i = 0; i < deadly.size(); ++i) ::sigaction(deadly[i], &handler, &before[i]);
  handler.sa_handler = [](int) { wished = 1; };
  handler.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &handler, &before_wish);
}

fault_record::~fault_record() {
  for (std::size_t i = 0; i < deadly.size(); ++i) ::sigaction(deadly[i], &before[i], nullptr);
  ::sigaction(SIGUSR1, &before_wish, nullptr);
  ::sigaltstack(&stack_before, nullptr);
  recorder = nullptr;
}

bool fault_record::asked() const noexcept {
  const bool yes = wished != 0;
  wished = 0;
  return yes;
}

std::optional<rubato::error> fault_record::write() const {
  const int wrong = write_record(draft);
  if (wrong == 0) return std::nullopt;
  return rubato::error{rubato::errc::io, "cannot write " + target + ": " + rubato::errno_text(wrong)};
}
