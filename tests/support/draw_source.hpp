#ifndef RUBATO_TESTS_SUPPORT_DRAW_SOURCE_HPP
#define RUBATO_TESTS_SUPPORT_DRAW_SOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <span>

namespace rubato::test {

/// Draws from a script while it has bytes, and then from a random sequence: of chance without a script, and of whoever
/// wrote the script, say a fuzzer, with one. A draw takes one byte where that is enough; the choice of one takes none.
class draw_source {
 public:
  draw_source(std::span<const std::uint8_t> script, random_sequence after) noexcept
      : script_{script}, after_{after} {}  ///< the script's bytes must outlive it

  /// 64 bits.
  std::uint64_t operator()() noexcept {
    if (script_.empty()) return after_();
    std::uint64_t bits = 0;
    for (int i = 0; i < 8 && !script_.empty(); ++i) bits = bits << 8 | next();
    return bits;
  }
  /// In [0, 1).
  [[nodiscard]] double uniform() noexcept { return script_.empty() ? after_.uniform() : next() / 256.0; }
  /// In {0, ..., n - 1}; 0 for n = 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) noexcept {
    if (script_.empty()) return after_.below(n);
    if (n <= 1) return 0;
    return (n <= 256 ? next() : (*this)()) % n;
  }

 private:
  std::uint8_t next() noexcept {
    const std::uint8_t first = script_.front();
    script_ = script_.subspan(1);
    return first;
  }

  std::span<const std::uint8_t> script_;
  random_sequence after_;
};

}  // namespace rubato::test

#endif
