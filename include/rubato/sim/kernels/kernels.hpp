#ifndef RUBATO_SIM_KERNELS_KERNELS_HPP
#define RUBATO_SIM_KERNELS_KERNELS_HPP

#include "avx2.hpp"
#include "avx512.hpp"
#include "kernel_set.hpp"
#include "portable.hpp"

namespace rubato::inline RUBATO_ABI::sim::kernels::inline RUBATO_DETAIL_OF_UNIT {

/// The quickest set that this processor can run.
[[nodiscard]] inline const kernel_set& native() noexcept {
  const kernel_set* wide = avx512::available();
  const kernel_set* vector = wide != nullptr ? wide : avx2::available();
  return vector != nullptr ? *vector : portable::set;
}

}  // namespace rubato::inline RUBATO_ABI::sim::kernels::inline RUBATO_DETAIL_OF_UNIT

#endif
