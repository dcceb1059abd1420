#ifndef RUBATO_IO_TENSORBOARD_HPP
#define RUBATO_IO_TENSORBOARD_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "byte_sink.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

/// CRC-32C (Castagnoli) of the bytes.
[[nodiscard]] constexpr std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

}  // namespace detail

/// Writes curves as TensorBoard reads them: a file whose name contains "tfevents", of scalars.
///
///     std::FILE* const file = std::fopen("log/events.out.tfevents.0", "wb");
///     tensorboard_events curves{[file](std::string_view bytes) noexcept {
///                                 std::fwrite(bytes.data(), 1, bytes.size(), file);
///                                 std::fflush(file);
///                               },
///                               seconds_since_1970};
///     curves.scalar("train/reward", episode, reward, seconds_since_1970);
///
/// Each record is whole once its call has returned: with such a sink, a file that is still being written can be shown;
/// with an atomic_file it is there at the end. Times are the caller's. The same calls give the same bytes.
///
/// Cost    one call of the sink a record. Allocates where a record is longer than all before. Not thread-safe.
/// Tests   tests/io/tensorboard_test.cpp: GoldenBytes, ChecksumsAreMasked, LongTags
/// Source  TensorFlow's record format, with checksums by CRC-32C; of its messages Event and Summary the fields
///         wall_time, step, file_version, summary, and of a value tag and simple_value
template <ByteSink Sink>
class tensorboard_events {
 public:
  /// Writes the record that every such file begins with; `now` in seconds since 1970.
  tensorboard_events(Sink sink, double now) : sink_{std::move(sink)} {
    begin(now);
    text(message_, 3, "brain.Event:2");
    end();
  }

  /// One point of the curve of this name.
  void scalar(std::string_view tag, std::uint64_t step, float value, double now) {
    begin(now);
    key(message_, 2, 0), varint(message_, step);
    value_.clear();
    text(value_, 1, tag);
    key(value_, 2, 5), fixed(value_, std::bit_cast<std::uint32_t>(value));
    summary_.clear();
    text(summary_, 1, value_);
    text(message_, 5, summary_);
    end();
  }

  /// Where the bytes go.
  [[nodiscard]] Sink& sink() noexcept { return sink_; }

 private:
  void begin(double now) {
    message_.clear();
    key(message_, 1, 1), fixed(message_, std::bit_cast<std::uint64_t>(now));
  }
  void end() {
    record_.clear();
    fixed(record_, std::uint64_t{message_.size()});
    fixed(record_, masked(record_));
    record_.append(message_);
    fixed(record_, masked(message_));
    sink_(record_);
  }

  [[nodiscard]] static std::uint32_t masked(std::string_view bytes) noexcept {
    return std::rotr(detail::crc32c(bytes), 15) + 0xA282EAD8U;
  }

  // As Protocol Buffers have it: a number, a tag with its wire type, little-endian words, and texts with their length.
  static void varint(std::string& to, std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) to.push_back(static_cast<char>(n | 0x80));
    to.push_back(static_cast<char>(n));
  }
  static void key(std::string& to, std::uint32_t field, std::uint32_t wire) { varint(to, field << 3 | wire); }
  template <class Word>
  static void fixed(std::string& to, Word word) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) to.push_back(static_cast<char>(word >> 8 * i & 0xFF));
  }
  static void text(std::string& to, std::uint32_t field, std::string_view bytes) {
    key(to, field, 2), varint(to, bytes.size());
    to.append(bytes);
  }

  Sink sink_;
  std::string message_, summary_, value_, record_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
