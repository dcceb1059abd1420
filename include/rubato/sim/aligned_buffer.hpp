#ifndef RUBATO_SIM_ALIGNED_BUFFER_HPP
#define RUBATO_SIM_ALIGNED_BUFFER_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// Floats that start on a cache line.
///
/// Cost    ensure() allocates only to grow. Movable, not copyable.
/// Tests   tests/sim/aligned_buffer_test.cpp: StartsOnACacheLine, EnsureKeepsStorageThatIsLargeEnough
class aligned_buffer {
 public:
  static constexpr std::size_t alignment = 64;  ///< bytes

  aligned_buffer() = default;
  /// `size` zeros.
  explicit aligned_buffer(std::size_t size) { ensure(size); }

  /// At least `size` floats; on growth all become zero, otherwise nothing changes.
  void ensure(std::size_t size) {
    if (size <= size_) return;
    data_.reset(static_cast<float*>(::operator new (size * sizeof(float), std::align_val_t{alignment})));
    size_ = size;
    clear();
  }

  /// All become zero; the storage stays.
  void clear() noexcept { std::fill(data_.get(), data_.get() + size_, 0.0F); }

  [[nodiscard]] float* data() noexcept { return data_.get(); }              ///< nullptr before the first ensure()
  [[nodiscard]] const float* data() const noexcept { return data_.get(); }  ///< the same, to read
  [[nodiscard]] std::size_t size() const noexcept { return size_; }         ///< floats

 private:
  struct deleter {
    void operator()(float* pointer) const noexcept { ::operator delete (pointer, std::align_val_t{alignment}); }
  };
  std::unique_ptr<float[], deleter> data_;
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
