#ifndef RUBATO_NN_KERNELS_INSTANCES_HPP
#define RUBATO_NN_KERNELS_INSTANCES_HPP

// The kernels, compiled once for a program. A unit that decides by a network takes ten seconds to compile because of
// them, one that trains a network half a minute. Where RUBATO_EXTERN_KERNELS is defined for all units of a program,
// only the one that includes this file does; without it each unit has its own, and this file is empty. All units need
// the same mode of assertions, or they do not link. Networks whose shape is an argument of a template have functions of
// their own in each unit, as ever.
//
// Tests   cmake/kernels.cpp: what of tests, lab and hosts is not about kernels takes them from there

#if defined(RUBATO_EXTERN_KERNELS)

#include "kernels.hpp"
#include "training/training_for.hpp"

namespace rubato::inline RUBATO_ABI::nn::kernels {

namespace portable {
RUBATO_DETAIL_INSTANCES(, float)
RUBATO_DETAIL_INSTANCES(, double)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(, float)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(, double)
}  // namespace portable

#if defined(__x86_64__)
namespace avx2 {
RUBATO_DETAIL_INSTANCES(, float)
RUBATO_DETAIL_INSTANCES(, double)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(, float)
RUBATO_DETAIL_PLAIN_TRAINING_INSTANCES(, double)
}  // namespace avx2
namespace fma {
RUBATO_DETAIL_INSTANCES(, float)
RUBATO_DETAIL_TRAINING_INSTANCES(, float)
}  // namespace fma
namespace avx512 {
RUBATO_DETAIL_INSTANCES(, float)
RUBATO_DETAIL_TRAINING_INSTANCES(, float)
}  // namespace avx512
#endif

}  // namespace rubato::inline RUBATO_ABI::nn::kernels

#endif

#endif
