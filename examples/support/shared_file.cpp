#include "shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace rubato::support {
namespace {

// Of a file that is open; closes it. Throws if a call before it has failed.
[[nodiscard]] std::span<std::byte> map(int descriptor, bool well, std::size_t size, const std::string& name) {
  void* mapped = MAP_FAILED;
  if (well) mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int why = errno;
  if (descriptor >= 0) close(descriptor);
  if (mapped == MAP_FAILED) throw std::system_error{why, std::generic_category(), name};
  return {static_cast<std::byte*>(mapped), size};
}

}  // namespace

shared_file shared_file::make(const std::filesystem::path& path, std::size_t size) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // Blocks, not only a length: on a full disk the first write would be a bus error.
  if (descriptor >= 0) errno = posix_fallocate(descriptor, 0, static_cast<off_t>(size));
  try {
    return shared_file{map(descriptor, descriptor >= 0 && errno == 0, size, path.string())};
  } catch (const std::system_error&) {
    if (descriptor >= 0) unlink(path.c_str());
    throw;
  }
}

shared_file shared_file::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat about {};
  const bool well = descriptor >= 0 && fstat(descriptor, &about) == 0;
  return shared_file{map(descriptor, well, static_cast<std::size_t>(about.st_size), path.string())};
}

shared_file::shared_file(shared_file&& from) noexcept : bytes_{std::exchange(from.bytes_, {})} {}
shared_file::~shared_file() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace rubato::support
