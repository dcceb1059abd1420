#ifndef RUBATO_LEARNED_BUILTIN_WEIGHTS_HPP
#define RUBATO_LEARNED_BUILTIN_WEIGHTS_HPP

#include <array>

#include "../nn/mlp.hpp"

// Of examples/lab/policies/learned.safetensors, as rubato-lab export prints them.
// Trained by: rubato-lab train --scenario random --agent es --generations 32 --population 32 --clusters 16 --rounds 1
//   --hidden 0 --select-every 8 --selection-clusters 200 --seed 1 --licence Apache-2.0
namespace rubato::inline RUBATO_ABI::detail::builtin {

using network = nn::mlp<9, 2>;
inline constexpr std::array<float, 20> parameters{
    -0.047212414F, -0.24979717F, -0.11948641F, 0.0016723791F, -0.3219919F, 0.117198385F, -0.33885965F, 0.013207334F,
    0.37382752F, 0.07336151F, -0.04288578F, -0.2705325F, 0.4485192F, -0.2560541F, 0.29424563F, -0.37265372F,
    -0.60458755F, 0.6526956F, 0.25122783F, -0.24978456F};
inline constexpr std::array<float, 9> least{
    -2.0F, -3.0F, -3.0F, -3.0F, -1.2893845F, -3.0F, -1.8F, -1.0F, -3.0F};
inline constexpr std::array<float, 9> most{
    2.0F, 3.0F, 3.0F, 3.0F, 3.0F, 2.28545F, 3.0F, 1.0F, 3.0F};

}  // namespace rubato::inline RUBATO_ABI::detail::builtin

#endif
