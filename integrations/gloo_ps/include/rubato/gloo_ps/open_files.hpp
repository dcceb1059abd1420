#ifndef RUBATO_GLOO_PS_OPEN_FILES_HPP
#define RUBATO_GLOO_PS_OPEN_FILES_HPP

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <rubato/core/result.hpp>
#include <string>

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Sees to it that this process may have so many files open: every link is one, and many systems begin with 1,024.
/// Raises the limit of the process where the system lets it, and lowers none.
///
/// `wanted`: links, and some for all else; a server with its store, device, checkpoint and logs is content with 64 more
/// Errors   io: the sentence names what was wanted, and both limits
/// Tests    tests/integrations/gloo_ps/many_workers_test.cpp: LimitOnOpenFiles
/// Returns  the limit that holds now
[[nodiscard]] inline result<std::uint64_t> allow_open_files(std::uint64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return error{errc::io, std::string{"the limit on open files cannot be read: "} + std::strerror(errno)};
  if (limit.rlim_cur >= wanted) return std::uint64_t{limit.rlim_cur};
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = static_cast<rlim_t>(wanted);
  if (limit.rlim_max < wanted || ::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return error{errc::io, "up to " + std::to_string(wanted) + " open files are needed, the limit is " +
                               std::to_string(before) + ", which can be raised to " + std::to_string(limit.rlim_max) +
                               " at most (ulimit -n)"};
  return wanted;
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
