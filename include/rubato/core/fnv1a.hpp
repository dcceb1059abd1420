#ifndef RUBATO_CORE_FNV1A_HPP
#define RUBATO_CORE_FNV1A_HPP

#include <cstdint>
#include <string>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// 64-bit FNV-1a hash of a range of bytes (char, std::byte or std::uint8_t). What was hashed so far as `start` goes on
/// from there. Tells things apart that nobody has made to look alike; not for security.
/// Tests   tests/core/fnv1a_test.cpp: KnownAnswers, ChainsThroughStart
/// Source  draft-eastlake-fnv-17, sections 2 and 5
template <class Bytes>
[[nodiscard]] constexpr std::uint64_t fnv1a(const Bytes& bytes, std::uint64_t start = 0xcbf29ce484222325) noexcept {
  std::uint64_t hash = start;
  for (const auto byte : bytes) {
    static_assert(sizeof byte == 1);
    hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

/// As 16 digits: "00000000000000ff".
/// Tests   tests/core/fnv1a_test.cpp: SixteenDigits
[[nodiscard]] inline std::string hexadecimal(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(number >> shift) & 15];
  return text;
}

}  // namespace rubato::inline RUBATO_ABI

#endif
