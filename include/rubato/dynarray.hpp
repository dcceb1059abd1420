#ifndef RUBATO_DYNARRAY_HPP
#define RUBATO_DYNARRAY_HPP

#include <cstddef>
#include <type_traits>
#include <utility>

#include "config.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// An array whose size is given where it is made. A std::vector that never grows would do, but takes ten times as long
/// to compile, and there is one for each kind of record that is kept of workers.
///
/// Cost    construction allocates; so does a copy, unless it is assigned to one of the same size. Not thread-safe.
/// Tests   tests/core/dynarray_test.cpp: Values, CopiesAreIndependent, AssignmentReusesMemory, Moves,
///         AnIndexBeyondTheEndEndsTheProgram
template <class T>
class dynarray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  dynarray() = default;
  explicit dynarray(std::size_t size, const T& value = {}) : data_{new T[size]}, size_{size} {
    for (T& each : *this) each = value;
  }
  dynarray(const dynarray& other) : data_{new T[other.size_]}, size_{other.size_} { fill(other); }
  dynarray(dynarray&& other) noexcept
      : data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  dynarray& operator=(const dynarray& other) {
    if (size_ != other.size_) return *this = dynarray{other};
    fill(other);
    return *this;
  }
  dynarray& operator=(dynarray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~dynarray() { delete[] data_; }

  [[nodiscard]] RUBATO_DETAIL_SHARED std::size_t size() const noexcept { return size_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED T* data() noexcept { return data_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED const T* data() const noexcept { return data_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED T& operator[](std::size_t i) noexcept { return data_[below_size(i)]; }
  [[nodiscard]] RUBATO_DETAIL_SHARED const T& operator[](std::size_t i) const noexcept { return data_[below_size(i)]; }
  [[nodiscard]] RUBATO_DETAIL_SHARED T* begin() noexcept { return data_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED T* end() noexcept { return data_ + size_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED const T* begin() const noexcept { return data_; }
  [[nodiscard]] RUBATO_DETAIL_SHARED const T* end() const noexcept { return data_ + size_; }

 private:
  [[nodiscard]] RUBATO_DETAIL_SHARED std::size_t below_size(std::size_t i) const noexcept {
#ifndef __CUDA_ARCH__
    RUBATO_ASSERT(i < size_, "an index below the size");
#endif
    return i;
  }
  void fill(const dynarray& other) noexcept {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
