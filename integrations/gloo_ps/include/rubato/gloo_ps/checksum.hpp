#ifndef RUBATO_GLOO_PS_CHECKSUM_HPP
#define RUBATO_GLOO_PS_CHECKSUM_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <rubato/config.hpp>
#include <span>

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// A checksum of bytes: FNV-1a over words of 64 bits, in four lanes, then over the length. Tells a message that was cut
/// short or mixed up from a whole one; not for security.
/// Cost    a multiplication for each 8 bytes, four at a time. Little-endian machines: others would have to swap the words.
/// Tests   tests/integrations/gloo_ps/checksum_test.cpp: NoticesEveryBit, NoticesTheLength
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> data) noexcept {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t prime = 0x100000001b3, basis = 0xcbf29ce484222325;
  std::uint64_t lane[4] = {basis, basis + 1, basis + 2, basis + 3};
  // The high bits of a product do not reach the low ones by multiplication alone, so they are folded back.
  const auto mix = [](std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * prime;
    return hash ^ (hash >> 32);
  };
  std::size_t i = 0;
  for (; i + 32 <= data.size(); i += 32)
    for (std::size_t k = 0; k < 4; ++k) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + i + 8 * k, 8);
      lane[k] = mix(lane[k], word);
    }
  for (; i < data.size(); ++i) lane[i % 4] = mix(lane[i % 4], std::to_integer<std::uint64_t>(data[i]));
  std::uint64_t sum = mix(basis, data.size());
  for (const std::uint64_t l : lane) sum = mix(sum, l);
  return sum;
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
