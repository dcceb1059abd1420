#ifndef RUBATO_LEARNED_FINGERPRINT_HPP
#define RUBATO_LEARNED_FINGERPRINT_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "../core/fnv1a.hpp"

namespace rubato::inline RUBATO_ABI {

/// FNV-1a over the bytes of numbers, little-endian, as 16 hexadecimal digits: tells one network's parameters from
/// another's in logs. Any range of float or double.
/// Tests   tests/learned/fingerprint_test.cpp
template <class Numbers>
[[nodiscard]] std::string fingerprint_of(const Numbers& numbers) {
  std::uint64_t hash = fnv1a(std::string_view{});
  for (const auto number : numbers) {
    using bits = std::conditional_t<sizeof(number) == 4, std::uint32_t, std::uint64_t>;
    const auto whole = std::bit_cast<bits>(number);
    std::array<std::uint8_t, sizeof(number)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(whole >> (8 * i));
    hash = fnv1a(bytes, hash);
  }
  return hexadecimal(hash);
}

}  // namespace rubato::inline RUBATO_ABI

#endif
