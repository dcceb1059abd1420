#ifndef RUBATO_IO_TENSOR_HPP
#define RUBATO_IO_TENSOR_HPP

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// What the values of a tensor in a file are.
enum class dtype : std::uint8_t {
  f32,  ///< float
  f64,  ///< double
  i64,  ///< std::int64_t
  u64   ///< std::uint64_t
};

/// Satisfied by float, double, std::int64_t and std::uint64_t.
template <class T>
concept TensorValue = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint64_t>;

/// The dtype of a C++ type.
template <TensorValue T>
inline constexpr dtype dtype_of = std::same_as<T, float>          ? dtype::f32
                                  : std::same_as<T, double>       ? dtype::f64
                                  : std::same_as<T, std::int64_t> ? dtype::i64
                                                                  : dtype::u64;

/// The type as files name it: "F32".
[[nodiscard]] constexpr std::string_view name(dtype type) noexcept {
  constexpr std::array<std::string_view, 4> names{"F32", "F64", "I64", "U64"};
  return static_cast<std::size_t>(type) < names.size() ? names[static_cast<std::size_t>(type)] : "invalid";
}

/// The type that files name so; nothing for any other text.
[[nodiscard]] constexpr std::optional<dtype> dtype_named(std::string_view text) noexcept {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i64, dtype::u64})
    if (name(type) == text) return type;
  return std::nullopt;
}

/// Bytes of one value.
[[nodiscard]] constexpr std::size_t size_of(dtype type) noexcept { return type == dtype::f32 ? 4 : 8; }

/// Bytes of a tensor; nothing if they, or the product of its dimensions other than 0, are 2^64 or more.
[[nodiscard]] constexpr std::optional<std::uint64_t> bytes_of(dtype type,
                                                              std::span<const std::uint64_t> shape) noexcept {
  std::uint64_t bytes = size_of(type);
  bool empty = false;
  for (const std::uint64_t dimension : shape) {
    empty = empty || dimension == 0;
    if (dimension == 0) continue;
    if (bytes > (std::numeric_limits<std::uint64_t>::max)() / dimension) return std::nullopt;
    bytes *= dimension;
  }
  return empty ? 0 : bytes;
}

/// A shape for people: "[2, 3]".
[[nodiscard]] inline std::string to_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

/// The value of these little-endian bytes, on any machine.
template <TensorValue T>
[[nodiscard]] constexpr T from_little_endian(std::span<const std::byte, sizeof(T)> bytes) noexcept {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  bits raw = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) raw |= static_cast<bits>(std::to_integer<bits>(bytes[i]) << (8 * i));
  return std::bit_cast<T>(raw);
}

/// A tensor as it lies in a file: its bytes, little-endian and row-major, belong to somebody else.
///
/// Tests   tests/io/tensor_test.cpp: Values, CopyTo, Misaligned, OtherTypeOrSize, LittleEndian, BytesOf
struct tensor {
  std::string name{};                  ///< in its file, once
  dtype type = dtype::f32;             ///< of every value
  std::vector<std::uint64_t> shape{};  ///< empty: one value
  std::span<const std::byte> bytes{};  ///< bytes_of(type, shape) of them

  /// How many values.
  [[nodiscard]] std::size_t size() const noexcept { return bytes.size() / size_of(type); }

  /// The values in place, without a copy; nothing if they are of another type, begin at an address that T does not
  /// allow, or the machine is not little-endian.
  template <TensorValue T>
  [[nodiscard]] std::optional<std::span<const T>> values() const noexcept {
    const bool aligned = std::bit_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
    if (type != dtype_of<T> || !aligned || std::endian::native != std::endian::little) return std::nullopt;
    return std::span{reinterpret_cast<const T*>(bytes.data()), size()};
  }

  /// The value at `index`, row-major. Precondition: the type is T, and index < size().
  template <TensorValue T>
  [[nodiscard]] T at(std::size_t index) const noexcept {
    RUBATO_ASSERT(type == dtype_of<T> && index < size(), "a value of another type, or beyond the end");
    return from_little_endian<T>(bytes.subspan(index * sizeof(T)).template first<sizeof(T)>());
  }

  /// Copies all values; false, and nothing copied, if they are of another type or not target.size() many.
  template <TensorValue T>
  bool copy_to(std::span<T> target) const noexcept {
    if (type != dtype_of<T> || size() != target.size()) return false;
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = at<T>(i);
    return true;
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
