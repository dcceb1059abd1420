// What trains, in an instruction set with fused multiply-adds. training_for.hpp reads this file once for each, with
// what ../fused_loops.hpp asks for defined, the name apart, and undefined by this file. Read without it, it is empty.
#ifdef RUBATO_DETAIL_SET

#include <concepts>

#include "../kernel_set.hpp"
#include "training_kernels.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

// For lstm_loops.hpp.
using gate_pack = pack<width>;
RUBATO_DETAIL_HELPER inline gate_pack add_product(const gate_pack& sum, const gate_pack& a,
                                                  const gate_pack& b) noexcept {
  return multiply_add<width>(a, b, sum);
}

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#include "fused_batches.hpp"
#include "fused_gradients.hpp"
#include "fused_updates.hpp"
#include "lstm_loops.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET {

template <std::same_as<float> T>
inline constexpr training_kernels<T> training{&forward<T>,
                                              &activation_gradient<T>,
                                              &parameter_gradient<T>,
                                              &input_gradient<T>,
                                              &sum_of_squares<T>,
                                              avx2::training<T>.scale,
                                              avx2::training<T>.sgd,
                                              avx2::training<T>.momentum,
                                              &adam<T>,
                                              &lstm_step<T>,
                                              &lstm_step_gradient<T>};
#if defined(RUBATO_EXTERN_KERNELS)
RUBATO_DETAIL_TRAINING_INSTANCES(extern, float)
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels::RUBATO_DETAIL_SET

#undef RUBATO_DETAIL_SET
#undef RUBATO_DETAIL_WIDTH
#undef RUBATO_DETAIL_KERNEL
#undef RUBATO_DETAIL_HELPER
#endif
