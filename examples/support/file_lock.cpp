#include "file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "user_error.hpp"

namespace rubato::support {
namespace {

// Whether `path` still is the file that was opened: its holder may have removed it in between.
[[nodiscard]] bool is_still(const struct stat& opened, const std::string& path) {
  struct stat there {};
  return stat(path.c_str(), &there) == 0 && there.st_dev == opened.st_dev && there.st_ino == opened.st_ino;
}

}  // namespace

file_lock::file_lock(std::string path, const std::string& held) : path_{std::move(path)} {
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw user_error{path_ + ": cannot be created: " + std::strerror(errno)};
    const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    const int why = errno;
    struct stat opened {};
    if (locked && fstat(descriptor_, &opened) == 0 && opened.st_size == 0 && is_still(opened, path_)) return;
    close(descriptor_);
    if (!locked)
      throw user_error{path_ + ": " +
                       (why == EWOULDBLOCK ? held : std::string{"cannot be locked: "} + std::strerror(why))};
    if (opened.st_size > 0)
      throw user_error{path_ + ": found a file of " + std::to_string(opened.st_size) +
                       " bytes, expected none, or the empty one of a training"};
  }
}

file_lock::~file_lock() {
  unlink(path_.c_str());  // before it is free, so that nobody holds a file that is gone without noticing
  close(descriptor_);
}

}  // namespace rubato::support
