#ifndef RUBATO_NN_ALIGNED_VECTOR_HPP
#define RUBATO_NN_ALIGNED_VECTOR_HPP

#include <cstddef>
#include <new>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::nn {

inline constexpr std::size_t cache_line = 64;  ///< bytes; where parameters and activations start

/// Allocates memory that starts on a cache line.
template <class T>
struct aligned_allocator {
  using value_type = T;  ///< what allocators of the standard library have

  aligned_allocator() = default;
  /// From that of another type: there is nothing to copy.
  template <class U>
  constexpr aligned_allocator(const aligned_allocator<U>&) noexcept {}  // NOLINT(*-explicit-*)

  /// Memory for `count` objects, not constructed. Throws std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line}));
  }
  /// Gives back what allocate() gave.
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete (memory, std::align_val_t{cache_line}); }

  /// Always: what one allocates, any other may give back.
  template <class U>
  friend constexpr bool operator==(const aligned_allocator&, const aligned_allocator<U>&) noexcept {
    return true;
  }
};

/// A vector that starts on a cache line.
/// Tests   tests/nn/dynamic_mlp_test.cpp: ParametersStartOnACacheLine
template <class T>
using aligned_vector = std::vector<T, aligned_allocator<T>>;

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
