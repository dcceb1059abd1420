#ifndef RUBATO_NN_SAVED_VALUES_HPP
#define RUBATO_NN_SAVED_VALUES_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../core/archive.hpp"

namespace rubato::inline RUBATO_ABI::nn::detail {

/// A saved number of things that are known to fit into memory.
template <class Number>
[[nodiscard]] constexpr std::size_t as_size(Number saved) noexcept {
  if constexpr (std::is_same_v<Number, std::size_t>)
    return saved;
  else
    return static_cast<std::size_t>(saved);
}

// Saves a number, or checks that the bytes hold the same one.
inline void expect(archive& bytes, std::uint64_t number) {
  std::uint64_t seen = number;
  bytes(seen);
  if (seen != number) bytes.fail();
}

// Saves values with their number and size, or loads as many; bytes with another number or precision are bad.
template <std::floating_point T>
void saved_values(archive& bytes, std::span<T> values) {
  expect(bytes, sizeof(T));
  expect(bytes, values.size());
  for (T& value : values) bytes(value);
}

}  // namespace rubato::inline RUBATO_ABI::nn::detail

#endif
