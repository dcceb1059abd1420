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
    -0.22897266F, -0.033842932F, 0.0056040087F, -0.01874149F, -0.08743848F, 0.17286831F, -0.3566788F, -0.03466287F,
    0.100593016F, 0.027449582F, -0.03415869F, -0.18760002F, 0.2710316F, -0.084132F, 0.38672295F, -0.35759044F,
    -0.51988477F, 0.7717375F, 0.109812714F, 0.043965712F};
inline constexpr std::array<float, 9> least{
    -2.0F, -3.0F, -3.0F, -3.0F, -1.4114205F, -3.0F, -1.8F, -1.0F, -3.0F};
inline constexpr std::array<float, 9> most{
    2.0F, 3.0F, 3.0F, 3.0F, 3.0F, 2.2226806F, 3.0F, 1.0F, 3.0F};

}  // namespace rubato::inline RUBATO_ABI::detail::builtin

#endif
