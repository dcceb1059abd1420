#ifndef RUBATO_LEARNED_DISTILLED_HPP
#define RUBATO_LEARNED_DISTILLED_HPP

#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <string_view>

#include "../encode/progress_state.hpp"
#include "residual_policy.hpp"

namespace rubato::inline RUBATO_ABI {

/// The corrections that learned policies come to, as a rule. In place of a network; inputs and outputs are those of a
/// residual_policy, on logarithmic scales, where the rule reads
///
///     batch = cube root of (16 samples x the host's batch x the samples that a step's overhead would take to compute)
///     step  = the host's x square root of (batch / host's batch) x cube root of (5 % / jump)
///
/// jump: by how much the loss changes from push to push, as a part of it; the deviation.
///
/// Source  exponents and constants: searches over clusters drawn at random, docs/learned.md. Steps that grow with the
///         square root of the batch: Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
///         arXiv:1404.5997, section 5
struct distilled_correction {
  /// Precondition: the inputs are a progress_state's, and there is an output for each correction.
  void evaluate(std::span<const float> inputs, std::span<float> outputs) const noexcept {
    const float own = inputs[progress_state::samples_input];            // octaves above 16
    const float overhead = 2 * inputs[progress_state::overhead_input];  // octaves above what the host's batch takes
    const float jump = inputs[progress_state::change_input] / (2 * std::numbers::ln2_v<float>);  // octaves above 5 %
    const float batch = (overhead - own) / 3;                                                    // above the host's
    outputs[static_cast<std::size_t>(correction::batch)] = batch;
    outputs[static_cast<std::size_t>(correction::rate)] = -batch / 2 - jump / 3;  // of a sample
  }
};

/// What is left of learned_policy when it is boiled down to a rule of five lines: knee and a rate that falls with the
/// loss, with the batch and the step of distilled_correction. No network, no weights, no options.
///
///     rubato::controller<rubato::distilled_policy, int> sync{{.capacity = 8}, {}};
///
/// What it needs of the host, and when it leaves batch and rate as they are, is as for learned_policy; the host's own
/// batch has to be of 8 to 32 samples. How quick it is beside learned_policy: docs/learned.md.
///
/// Cost    as residual_policy, without a network
/// Tests   tests/learned/distilled_test.cpp: BatchAndRateByHand, NeedsNoOptions, OtherBatchesAreLeftAlone;
///         tests/examples/builtin_test.cpp: IsAsGoodAsRecorded
struct distilled_policy : residual_policy<progress_state, distilled_correction> {
  static constexpr std::string_view kind = "distilled";

  distilled_policy() : residual_policy{distilled_correction{}, known_batches()} {}

  [[nodiscard]] description describe() const {
    return {describe_of(rule()).line + "; a batch that grows with the cube root of a step's overhead",
            R"({"kind":"distilled","of":)" + describe_of(rule()).json + "}"};
  }

 private:
  // Of 8 to 32 samples: what it was measured with.
  [[nodiscard]] static trained_range<progress_state::dim> known_batches() {
    trained_range<progress_state::dim> range;
    range.least[progress_state::samples_input] = -1;
    range.most[progress_state::samples_input] = 1;
    return range;
  }
};

static_assert(SyncPolicy<distilled_policy>);

}  // namespace rubato::inline RUBATO_ABI

#endif
