#ifndef RUBATO_IO_BYTE_SINK_HPP
#define RUBATO_IO_BYTE_SINK_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// Takes bytes: where everything in io/ writes to. The bytes are valid during the call only. Satisfied by atomic_file,
/// and by any callable that does not throw, such as
///
///     [&](std::string_view bytes) noexcept { std::fwrite(bytes.data(), 1, bytes.size(), stream); }
///
/// A sink has no answer: one that can fail remembers that, as atomic_file does until its commit().
template <class S>
concept ByteSink = std::move_constructible<S> && requires(S& sink, std::string_view bytes) {
  { sink(bytes) } noexcept;
};

/// A sink of at most `Size` bytes that allocates nothing; what does not fit is left out, and full() tells.
template <std::size_t Size>
class fixed_text {
 public:
  /// Appends as many of the bytes as fit.
  void operator()(std::string_view bytes) noexcept {
    const std::size_t taken = bytes.size() < Size - size_ ? bytes.size() : Size - size_;
    std::memcpy(bytes_.data() + size_, bytes.data(), taken);
    size_ += taken;
    full_ = full_ || taken < bytes.size();
  }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }  ///< what was taken
  [[nodiscard]] bool full() const noexcept { return full_; }                               ///< something was left out

 private:
  std::array<char, Size> bytes_;
  std::size_t size_ = 0;
  bool full_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
