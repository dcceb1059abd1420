#ifndef RUBATO_LEARNED_BUILTIN_WEIGHTS_HPP
#define RUBATO_LEARNED_BUILTIN_WEIGHTS_HPP

#include <array>

#include "../nn/mlp.hpp"

// Of examples/lab/policies/learned.safetensors, as rubato-lab export prints them.
// Trained by: rubato-lab train --scenario random --agent es --generations 20 --population 32 --clusters 24 --rounds 1
//   --initial distilled --select-every 4 --selection-clusters 200 --seed 1 --licence Apache-2.0
namespace rubato::inline RUBATO_ABI::detail::builtin {

using network = nn::mlp<9, 2>;
inline constexpr std::array<float, 20> parameters{
    -0.1751438F, 0.018653918F, -0.02703404F, 0.0047561694F, -0.030631337F, 0.13802063F, -0.32799497F, -0.014241427F,
    0.01099826F, -0.07628994F, 0.16078354F, -0.13341069F, 0.18243302F, -0.06871357F, 0.3260764F, -0.2501884F,
    -0.5216495F, 0.7419204F, 0.11029137F, -0.017954111F};
inline constexpr std::array<float, 9> least{
    -2.0F, -3.0F, -3.0F, -3.0F, -1.4381626F, -3.0F, -1.8F, -1.0F, -3.0F};
inline constexpr std::array<float, 9> most{
    2.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 1.0F, 3.0F};

}  // namespace rubato::inline RUBATO_ABI::detail::builtin

#endif
