#ifndef RUBATO_CORE_ARCHIVE_HPP
#define RUBATO_CORE_ARCHIVE_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "fnv1a.hpp"
#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// Bytes that state is saved to or loaded from; one `state(archive&)` function serves both directions.
///
///     void state(archive& bytes) { bytes(rate_, count_); }
///
/// Values are little-endian on every machine. A load that meets the end of the bytes, or a bool other than 0 and 1,
/// sets ok() to false and leaves that value and all later ones as they were: check ok() once at the end.
/// Thread  not thread-safe. Saving allocates.
/// Tests   tests/core/archive_test.cpp: RoundTrip, LittleEndian, TruncationIsNoticed, BadBoolIsNoticed,
///         SealNoticesEveryBit
class archive {
 public:
  /// An archive that saves into its own buffer.
  archive() = default;
  /// An archive that loads from `bytes`, which must outlive it.
  explicit archive(std::span<const std::byte> bytes) noexcept
      : input_{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, saving_{false} {}

  [[nodiscard]] bool saving() const noexcept { return saving_; }  ///< else it loads
  [[nodiscard]] bool ok() const noexcept { return ok_; }          ///< nothing has been amiss so far
  /// Everything was read, and nothing was amiss.
  [[nodiscard]] bool finished() const noexcept { return ok_ && (saving_ || input_.empty()); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(output_.data()), output_.size()};
  }  ///< saved so far, owned by the archive; none in one that loads
  /// Marks the bytes as bad: for loaders that find a value out of its range.
  void fail() noexcept { ok_ = false; }

  /// Saves or loads arithmetic values and enumerations in turn.
  template <class... Values>
    requires((std::is_arithmetic_v<Values> || std::is_enum_v<Values>) && ...)
  void operator()(Values&... values) {
    (value(values), ...);
  }
  void operator()(grant& g) { (*this)(g.version, g.batch, g.lr_scale); }  ///< the same for the parts of a grant

  /// Ends what is saved with a checksum over it, from the byte `from` on (FNV-1a, 64 bits).
  void seal(std::size_t from = 0) {
    std::uint64_t sum = fnv1a(std::string_view{output_}.substr(from));
    value(sum);
  }
  /// Checks and takes off seal()'s checksum over all that is still to be read. False, and not ok(), if it differs.
  bool unseal() {
    std::uint64_t sum = 0;
    if (input_.size() < sizeof sum) return fail(), false;
    const std::string_view content = input_.substr(0, input_.size() - sizeof sum);
    input_ = input_.substr(content.size());
    value(sum);
    input_ = content;
    if (sum != fnv1a(content)) fail();
    return ok_;
  }
  /// A text of at most 255 bytes.
  void text(std::string& words) {
    auto size = static_cast<std::uint8_t>(words.size() < 255 ? words.size() : 255);
    value(size);
    if (!ok_) return;
    if (!saving_) words.assign(size, '\0');
    for (std::size_t i = 0; i < size; ++i) value(words[i]);
  }

 private:
  template <class T>
  void value(T& v) {
    if constexpr (std::is_enum_v<T>) {
      auto raw = static_cast<std::underlying_type_t<T>>(v);
      value(raw);
      if (!saving_ && ok_) v = static_cast<T>(raw);
    } else if constexpr (std::same_as<T, bool>) {
      std::uint8_t raw = v ? 1 : 0;
      value(raw);
      if (raw > 1) fail();
      if (!saving_ && ok_) v = raw == 1;
    } else if constexpr (std::floating_point<T>) {
      using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      auto raw = std::bit_cast<bits>(v);
      value(raw);
      if (!saving_ && ok_) v = std::bit_cast<T>(raw);
    } else {
      integer(v);
    }
  }

  template <std::integral T>
  void integer(T& v) {
    using bits = std::make_unsigned_t<T>;
    if (saving_) {
      for (std::size_t i = 0; i < sizeof(T); ++i)
        output_.push_back(static_cast<char>(static_cast<std::uint64_t>(static_cast<bits>(v)) >> (8 * i) & 0xFF));
      return;
    }
    if (input_.size() < sizeof(T)) fail();
    if (!ok_) return;
    std::uint64_t raw = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) raw |= std::uint64_t{static_cast<unsigned char>(input_[i])} << (8 * i);
    v = static_cast<T>(static_cast<bits>(raw));
    input_.remove_prefix(sizeof(T));
  }

  // Bytes as characters: unlike vectors and spans of std::byte these have been compiled already.
  std::string output_;
  std::string_view input_;
  bool saving_ = true;
  bool ok_ = true;
};

/// The kind of policy whose state these bytes hold, as written by controller::save; empty if they hold none.
[[nodiscard]] inline std::string peek_kind(std::span<const std::byte> bytes) {
  archive reader{bytes};
  std::string kind;
  reader.text(kind);
  return reader.ok() ? kind : std::string{};
}

}  // namespace rubato::inline RUBATO_ABI

#endif
