#ifndef RUBATO_LEARNED_BUILTIN_HPP
#define RUBATO_LEARNED_BUILTIN_HPP

#include <algorithm>
#include <string>
#include <string_view>

#include "../encode/progress_state.hpp"
#include "builtin_weights.hpp"
#include "residual_policy.hpp"

namespace rubato::inline RUBATO_ABI {

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
struct learned_policy : residual_policy<progress_state, detail::builtin::network> {
  static constexpr std::string_view kind = "learned";

  learned_policy() : residual_policy{trained_network(), {detail::builtin::least, detail::builtin::most}} {}

  [[nodiscard]] description describe() const {
    const description of = residual_policy::describe();
    return {"learned: " + of.line, R"({"kind":"learned","of":)" + of.json + "}"};
  }

 private:
  [[nodiscard]] static detail::builtin::network trained_network() {
    detail::builtin::network network;
    std::ranges::copy(detail::builtin::parameters, network.parameters().begin());
    return network;
  }
};

static_assert(SyncPolicy<learned_policy>);

}  // namespace rubato::inline RUBATO_ABI

#endif
