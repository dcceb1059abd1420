#ifndef RUBATO_EXAMPLES_SUPPORT_FNV1A_HPP
#define RUBATO_EXAMPLES_SUPPORT_FNV1A_HPP

#include <cstdint>

namespace rubato::support {

/// 64-bit FNV-1a hash of a range of bytes (char or uint8), chained through `start`. Names cache entries; not for
/// security.
/// Tests   tests/examples/fnv1a_test.cpp: KnownAnswers
/// Source  draft-eastlake-fnv-17, §2 and §5
template <class Bytes>
[[nodiscard]] constexpr std::uint64_t fnv1a(const Bytes& bytes, std::uint64_t start = 0xcbf29ce484222325) noexcept {
  static_assert(sizeof(*bytes.data()) == 1);
  std::uint64_t hash = start;
  for (const auto byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace rubato::support

#endif
