#ifndef RUBATO_TESTS_SUPPORT_SANITIZERS_HPP
#define RUBATO_TESTS_SUPPORT_SANITIZERS_HPP

#include <csignal>

namespace rubato::test {

/// What this program was built with.
#if defined(__has_feature)
inline constexpr bool address_sanitized = __has_feature(address_sanitizer);
inline constexpr bool thread_sanitized = __has_feature(thread_sanitizer);
inline constexpr bool undefined_sanitized = __has_feature(undefined_behavior_sanitizer);
#else
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
inline constexpr bool undefined_sanitized = address_sanitized;  // g++ does not say; the two go together here
#endif

/// As a shell counts it: the status of a process that a signal ends, if nobody has a handler. A sanitizer has one for
/// bad addresses, says what it thinks of it and exits.
[[nodiscard]] constexpr int status_after(int signal) noexcept {
  const bool is_reported = signal == SIGSEGV || signal == SIGBUS;
  if (is_reported && address_sanitized) return 1;
  if (is_reported && thread_sanitized) return 66;
  return 128 + signal;
}

}  // namespace rubato::test

#endif
