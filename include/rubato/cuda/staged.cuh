#ifndef RUBATO_CUDA_STAGED_CUH
#define RUBATO_CUDA_STAGED_CUH

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lanes.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// Copies what is trivially copyable, aligned to eight bytes and of as many, by all lanes; ends with a sync. Of it all,
/// or of its first `bytes`, rounded up to eight.
///
/// Cost    each lane has eight loads on their way at once: with 128 lanes 8 KiB of memory are waited for once.
/// Tests   tests/cuda/staged_test.cpp: CopiesOverAnyNumberOfLanes, CopiesTheFirstBytes
template <class T, Lanes L>
RUBATO_DETAIL_SHARED void copy_over_lanes(const L& lanes, const T& from, T& to,
                                          std::size_t bytes = sizeof(T)) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) % 8 == 0);
  constexpr unsigned at_once = 8;
  const auto* const source = reinterpret_cast<const char*>(&from);
  auto* const target = reinterpret_cast<char*>(&to);
  const std::size_t words = (bytes + 7) / 8, stride = lanes.count();
  for (std::size_t first = lanes.index(); first < words; first += at_once * stride) {
    std::uint64_t held[at_once] = {};
    RUBATO_DETAIL_UNROLL
    for (unsigned k = 0; k < at_once; ++k)
      if (const std::size_t at = first + k * stride; at < words)
        __builtin_memcpy(held + k, __builtin_assume_aligned(source + at * 8, 8), 8);
    RUBATO_DETAIL_UNROLL
    for (unsigned k = 0; k < at_once; ++k)
      if (const std::size_t at = first + k * stride; at < words)
        __builtin_memcpy(__builtin_assume_aligned(target + at * 8, 8), held + k, 8);
  }
  lanes.sync();
}

/// Room for a T in shared memory, whose variables have no constructors: what many accesses are made to, while memory is
/// waited for twice.
///
///     __shared__ cuda::staged<state> room;
///     state& near = room.fetch(lanes, *far);
///     ...
///     cuda::copy_over_lanes(lanes, near, *far);
///
/// Seen by all lanes. T as for copy_over_lanes().
/// Tests   tests/cuda/staged_test.cpp: FetchesAndGivesBack
template <class T>
struct staged {
  static_assert(std::is_trivially_copyable_v<T>);
  alignas(T) unsigned char bytes[sizeof(T)];  ///< of the T, see value()

  /// What lies there: undefined before something has been written.
  [[nodiscard]] RUBATO_DETAIL_SHARED T& value() noexcept { return *reinterpret_cast<T*>(bytes); }
  /// A copy, by all lanes; ends with a sync.
  template <Lanes L>
  [[nodiscard]] RUBATO_DETAIL_SHARED T& fetch(const L& lanes, const T& from) noexcept {
    copy_over_lanes(lanes, from, value());
    return value();
  }
};

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
