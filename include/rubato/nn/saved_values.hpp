#ifndef RUBATO_NN_SAVED_VALUES_HPP
#define RUBATO_NN_SAVED_VALUES_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../core/archive.hpp"

namespace rubato::inline RUBATO_ABI::nn::detail {

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
