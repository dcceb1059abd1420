#ifndef RUBATO_LEARNED_DISTILLED_HPP
#define RUBATO_LEARNED_DISTILLED_HPP

#include <concepts>
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
///     batch = cube root of (16 x own x overhead)
///     rate  = square root of (own / batch) x cube root of (5 % / jump)
///
/// own: the host's batch; overhead: how many samples could be computed while a step does everything else; rate: a
/// factor on the rate of a sample; jump: by how much of itself the loss changes from push to push, the deviation.
/// residual_policy cuts both off afterwards; the encoder has cut off jumps outside 1 to 22 %.
///
/// Source  searches over clusters drawn at random, docs/learned.md. That a step goes with the square root of its batch
///         is the scaling by variance in Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
///         arXiv:1404.5997, who himself went by the batch
struct distilled_correction {
  /// Precondition: the inputs are a progress_state's, and there is an output for each correction.
  void evaluate(std::span<const float> inputs, std::span<float> outputs) const noexcept {
    // In octaves: above 16, above what computing the host's batch takes, above 5 %, above the host's batch.
    const float own = inputs[progress_state::samples_input];
    const float overhead = 2 * inputs[progress_state::overhead_input];
    const float jump = inputs[progress_state::loss_change_input] / (2 * std::numbers::ln2_v<float>);
    const float batch = (overhead - own) / 3;
    outputs[static_cast<std::size_t>(correction::batch)] = batch;
    outputs[static_cast<std::size_t>(correction::rate)] = -batch / 2 - jump / 3;
  }
};

/// What is left of learned_policy when it is boiled down to a rule of four lines: knee and a rate that falls with the
/// loss, with batch and rate as distilled_correction says. No network, no weights, no options.
///
///     rubato::controller<rubato::distilled_policy, int> sync{{.capacity = 8}, {}};
///
/// What it needs of the host, and when it leaves batch and rate as they are, is as for learned_policy; the host's own
/// batch has to be of 8 to 32 samples. How quick it is beside learned_policy: docs/learned.md.
///
/// Cost    as residual_policy, without a network
/// Tests   tests/learned/distilled_test.cpp: BatchAndRateByHand, NeedsNoOptions, OtherBatchesAreLeftAlone;
///         tests/examples/builtin_test.cpp: IsAsGoodAsRecorded
///
/// distilled_policy is basic_distilled_policy of progress_state, the only one: a template, so that units without it do
/// not compile it.
template <std::same_as<progress_state> Encoder>
struct basic_distilled_policy : residual_policy<Encoder, distilled_correction> {
  using base = residual_policy<Encoder, distilled_correction>;  ///< what decides
  static constexpr std::string_view kind = "distilled";

  /// In charge where the host's own batch is of 8 to 32 samples.
  basic_distilled_policy() : base{distilled_correction{}, known_batches()} {}

  [[nodiscard]] description describe() const {
    const description of = describe_of(base::rule());
    return {of.line + "; a batch that grows with the cube root of a step's overhead",
            R"json({"kind":"distilled","batch":"cbrt(16 * own * overhead)",)json"
            R"json("rate":"sqrt(own / batch) * cbrt(0.05 / jump)","of":)json" +
                of.json + "}"};
  }

 private:
  // Of 8 to 32 samples: what it was measured with.
  [[nodiscard]] static trained_range<Encoder::dim> known_batches() {
    trained_range<Encoder::dim> range;
    range.least[Encoder::samples_input] = -1;
    range.most[Encoder::samples_input] = 1;
    return range;
  }
};

/// The only one: see basic_distilled_policy.
using distilled_policy = basic_distilled_policy<progress_state>;

}  // namespace rubato::inline RUBATO_ABI

#endif
