#ifndef RUBATO_LEARNED_BUILTIN_HPP
#define RUBATO_LEARNED_BUILTIN_HPP

#include <algorithm>
#include <string>
#include <string_view>

#include "../encode/progress_state.hpp"
#include "builtin_weights.hpp"
#include "residual_policy.hpp"

namespace rubato::inline RUBATO_ABI {
namespace detail::builtin {

/// The network of builtin_weights.hpp.
template <nn::ActionValueFunction Network>
[[nodiscard]] Network trained_network() {
  Network trained;
  std::ranges::copy(parameters, trained.parameters().begin());
  return trained;
}

}  // namespace detail::builtin

/// The learned policy that ships: knee, with the learning rate and the batch that a network chooses, which a search
/// over clusters drawn at random has found. It needs no tuning, and no options.
///
///     rubato::controller<rubato::learned_policy, int> sync{{.capacity = 8}, {}};
///
/// The host reports losses and samples with each push, as docs/learned.md says, gives a worker the batch of its grant,
/// between a sixth of its own batch and six times, and multiplies each gradient by applied_weight(). Where it does not
/// give the batch, where its own is not of 8 to 32 samples, and where a feature is outside the range that it had in
/// training (which few can be, as the encoder cuts them off), this is loss_decayed{knee{}}, or knee without losses;
/// reason::degraded counts each time that the network gives up, and corrects() tells whether it is in charge. How it
/// was trained, how much quicker it is and where it loses: docs/learned.md.
///
/// Cost    as residual_policy
/// Tests   tests/learned/builtin_test.cpp: NeedsNoOptions, ChoosesRateAndBatch, WithoutLossesItIsKnee;
///         tests/examples/builtin_test.cpp: IsWhatItsFileHolds, SaysHowItWasMade, IsAsGoodAsRecorded
/// learned_policy is basic_learned_policy of a network of that shape.
template <nn::ActionValueFunction Network>
struct basic_learned_policy : residual_policy<progress_state, Network> {
  using base = residual_policy<progress_state, Network>;  ///< what decides
  static constexpr std::string_view kind = "learned";

  /// With the weights and the trained range of builtin_weights.hpp.
  basic_learned_policy()
      : base{detail::builtin::trained_network<Network>(), {detail::builtin::least, detail::builtin::most}} {}

  [[nodiscard]] description describe() const {
    const description of = base::describe();
    return {"learned: " + of.line, R"({"kind":"learned","of":)" + of.json + "}"};
  }
};

/// The one whose weights ship: see basic_learned_policy.
using learned_policy = basic_learned_policy<detail::builtin::network>;

}  // namespace rubato::inline RUBATO_ABI

#endif
