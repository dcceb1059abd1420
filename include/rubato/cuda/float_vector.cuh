#ifndef RUBATO_CUDA_FLOAT_VECTOR_CUH
#define RUBATO_CUDA_FLOAT_VECTOR_CUH

#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda::detail {

// Numbers that one instruction loads or stores, at an address that their size divides.
template <unsigned Count>
struct alignas(Count * sizeof(float)) float_vector {
  float at[Count];
};
using quad = float_vector<4>;

template <unsigned Count>
[[nodiscard]] RUBATO_DETAIL_SHARED float_vector<Count> load(const float* from) noexcept {
#if RUBATO_DETAIL_DEVICE
  return *reinterpret_cast<const float_vector<Count>*>(from);
#else
  float_vector<Count> all;
  __builtin_memcpy(&all, from, sizeof(all));
  return all;
#endif
}
template <unsigned Count>
RUBATO_DETAIL_SHARED void store(float* to, const float_vector<Count>& all) noexcept {
#if RUBATO_DETAIL_DEVICE
  *reinterpret_cast<float_vector<Count>*>(to) = all;
#else
  __builtin_memcpy(to, &all, sizeof(all));
#endif
}

}  // namespace rubato::inline RUBATO_ABI::cuda::detail

#endif
