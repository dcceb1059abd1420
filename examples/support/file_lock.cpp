#include "file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "user_error.hpp"

namespace rubato::support {

file_lock::file_lock(std::string path, const std::string& held)
    : path_{std::move(path)}, descriptor_{open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
  if (descriptor_ < 0) throw user_error{path_ + ": cannot be created: " + std::strerror(errno)};
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int why = errno;
  close(descriptor_);
  throw user_error{path_ + ": " + (why == EWOULDBLOCK ? held : std::string{"cannot be locked: "} + std::strerror(why))};
}

file_lock::~file_lock() {
  unlink(path_.c_str());  // before it is free: whoever comes now makes a file of its own
  close(descriptor_);
}

}  // namespace rubato::support
