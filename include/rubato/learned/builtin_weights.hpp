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
    -0.17696428F, -0.03526724F, -0.0049416865F, -0.097840935F, -0.028935423F, 0.16456239F, -0.3250762F, -0.018779088F,
    0.06800948F, -0.10905556F, 0.14689614F, -0.2435568F, 0.292282F, -0.061395656F, 0.36250252F, -0.2561296F,
    -0.5255298F, 0.76773F, 0.11929694F, -0.09024209F};
inline constexpr std::array<float, 9> least{
    -2.0F, -3.0F, -3.0F, -3.0F, -1.3981011F, -3.0F, -1.8F, -1.0F, -3.0F};
inline constexpr std::array<float, 9> most{
    2.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 1.0F, 3.0F};

}  // namespace rubato::inline RUBATO_ABI::detail::builtin

#endif
