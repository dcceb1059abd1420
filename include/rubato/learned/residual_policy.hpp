#ifndef RUBATO_LEARNED_RESIDUAL_POLICY_HPP
#define RUBATO_LEARNED_RESIDUAL_POLICY_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../core/number_text.hpp"
#include "../encode/batch_cost.hpp"
#include "../encode/encoder.hpp"
#include "../nn/concepts.hpp"
#include "../nn/kernels/kernels.hpp"
#include "../pinned.hpp"
#include "../sync/knee.hpp"
#include "../sync/rivals/loss_decayed.hpp"
#include "fingerprint.hpp"

namespace rubato::inline RUBATO_ABI {

/// The outputs of a network that corrects knee: binary logarithms of factors.
enum class correction : std::uint8_t {
  rate,  ///< on the learning rate of a sample; cut off at -1 and 1
  batch  ///< on the host's batch; cut off at -2 and 2
};

/// In the order of correction; what a policy card calls them.
inline constexpr std::array<std::string_view, 2> correction_names{"log2_rate", "log2_batch"};
inline constexpr std::size_t corrections = correction_names.size();  ///< as many as a network has outputs
/// Where outputs are cut off, on either side of 0; in the order of correction.
inline constexpr std::array<float, corrections> largest_corrections{1.0F, 2.0F};

/// What each input of a network has been in training, from the least to the most.
template <std::size_t Dim>
struct trained_range {
  std::array<float, Dim> least = filled(-std::numeric_limits<float>::infinity());  ///< -infinity: no limit
  std::array<float, Dim> most = filled(std::numeric_limits<float>::infinity());    ///< infinity: no limit

  /// Whether each input is within its range, ends included; never for NaN.
  [[nodiscard]] bool contains(std::span<const float, Dim> inputs) const noexcept {
    for (std::size_t i = 0; i < Dim; ++i)
      if (pinned::is_nan(inputs[i]) || inputs[i] < least[i] || inputs[i] > most[i]) return false;
    return true;
  }

 private:
  [[nodiscard]] static constexpr std::array<float, Dim> filled(float number) {
    std::array<float, Dim> all;
    all.fill(number);
    return all;
  }
};

/// knee with a learning rate that falls with the loss, and a network that corrects the rate by a factor of 1/2 to 2 and
/// the host's batch by one of 1/4 to 4. With outputs of 0 it is loss_decayed{knee{}}, grant by grant.
///
/// The network sees each push before the rule answers it. Where an input is outside the range of the training, where no
/// loss was reported yet, and where the network answers NaN, nothing is corrected: the rule alone is in charge then,
/// and each time that it takes over is counted as reason::degraded.
///
/// A worker's steps have half an octave more and half an octave less than the batch in turn (times and divided by
/// sqrt(2)), which is how the encoder learns what a batch costs. After ten steps that had the batch that was asked for
/// the network is in charge: the batch follows it from the host's own on, a tenth of the way with each push. A network
/// that never asks for a batch is in charge at once. At a host that keeps its batch whatever the grant says, or does
/// not say how many samples a gradient has, the rule alone is in charge for good; corrects() tells. Hosts weigh a
/// gradient by its samples (applied_weight), or the rate of a sample is not what it is taken for.
///
/// Rule may be another than knee that allows for batches and says whether it has a barrier: see stigmergic_rule.
///
/// The network computes with kernels::reproducible<float>(), so that it asks for the same on every processor.
///
/// Cost    knee's, one encode and one evaluate per push. No allocation after resize. Not thread-safe.
/// Tests   tests/learned/residual_policy_test.cpp: ZeroIsTheRule, RateByHand, BatchByHand, BatchesTakeTurns,
///         BatchFollowsSlowly, AtAHostThatKeepsItsBatchTheRuleIsInCharge, WhoseOwnBatchVariesToo,
///         WhoStopsObeyingIsLeftToTheRule, TakesOverAJobThatRunsSmallBatches, WithoutSamplesTheRuleIsInCharge,
///         ABatchIsNeverEmpty, BatchesDoNotMoveTheKnee, ABarrierSurvivesBatches, ABarrierSurvivesGivingUp,
///         CorrectionsAreCutOff, OutsideTheTrainedRangeTheRuleIsInCharge, WithoutLossesTheRuleIsInCharge, SurvivesNaN,
///         SavesItsState, BadBytesAreRefused, Describes; tests/properties/schedule_test.cpp: Liveness, NeedsNoGuard
template <StateEncoder Encoder, nn::ActionValueFunction Network, class Rule = knee>
requires requires(Encoder& encoder, const Encoder& fixed, std::uint32_t number) {
  { fixed.has_losses() } -> std::same_as<bool>;
  { fixed.cost() } -> std::same_as<const batch_cost&>;
  encoder.granted(number, number);
}
class residual_policy {
 public:
  static constexpr std::string_view kind = "residual";
  using encoder_type = Encoder;          ///< what the network sees
  using network_type = Network;          ///< what corrects
  using rule_type = loss_decayed<Rule>;  ///< what is corrected, and is in charge where that is not

  /// Precondition: the network has Encoder::dim inputs and an output for each correction.
  explicit residual_policy(const Network& network, const trained_range<Encoder::dim>& range = {},
                           std::type_identity_t<rule_type> rule = Rule{}, Encoder encoder = {})
      : network_{network}, range_{range}, rule_{std::move(rule)}, encoder_{std::move(encoder)} {
    if constexpr (requires { network_.inputs(); })
      RUBATO_ASSERT(network_.inputs() == Encoder::dim && network_.outputs() == corrections,
                    "residual_policy: a network of another size");
    if constexpr (requires { network_.use(nn::kernels::reproducible<float>()); })
      network_.use(nn::kernels::reproducible<float>());
  }

  void observe(const feedback& step) noexcept {
    encoder_.observe(step);
    rule_.observe(step);
  }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    detail::tell_event(encoder_, what);
    bool gives_up = false;
    if (what.why == cause::push) {
      if (encoder_.has_losses()) {
        const bool was_in_charge = in_charge_;
        encoder_.encode(view, what, inputs_);
        ask_network();
        gives_up = was_in_charge && !in_charge_;
      }
      rule_.allow_for_batch(encoder_.cost().factor(what.samples));
    }
    decision answer = rule_.release(view, what);
    answer.lr_scale *= std::exp2(rate_);
    answer.is_degraded = answer.is_degraded || gives_up;
    return answer;
  }

  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    detail::tell_started(encoder_, view, worker);
    const batch_cost& cost = encoder_.cost();
    if (alternates_ && cost.usual() > 0) {
      // One by one, so that knee sees as many of either; all together where they wait for each other.
      const std::uint64_t turn =
          rule_.has_barrier() ? view.updates() / (std::max)(view.alive(), 1U) : view.clock_of(worker) + worker;
      const float samples = static_cast<float>(cost.usual()) * std::exp2(batch_ + (turn % 2 == 0 ? 0.5F : -0.5F));
      terms.batch = (std::max)(static_cast<std::uint32_t>((std::min)(std::round(samples), most_samples)), 1U);
    }
    rule_.allow_for_batch(cost.factor(terms.batch));
    encoder_.granted(worker, terms.batch);
    rule_.shape(view, worker, terms);
  }
  void reset(std::uint32_t worker) noexcept {
    detail::tell_gone(encoder_, worker);
    rule_.reset(worker);
  }
  void resize(std::uint32_t capacity) {
    encoder_.resize(capacity);
    rule_.resize(capacity);
    give_up();
  }

  /// What it remembers of the run; not the weights.
  void state(archive& bytes) {
    encoder_.state(bytes);
    rule_.state(bytes);
    bytes(in_charge_, alternates_, rate_, batch_);
    if (!pinned::within(rate_, -largest_corrections[0], largest_corrections[0]) ||
        !pinned::within(batch_, -largest_corrections[1], largest_corrections[1])) bytes.fail();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const { return problem_of(rule_, capacity); }

  /// Whether the network corrects the rule now.
  [[nodiscard]] bool corrects() const noexcept { return in_charge_; }
  /// The binary logarithm of what it multiplies now; 0 where it corrects nothing.
  [[nodiscard]] float log2_factor(correction which) const noexcept {
    return which == correction::rate ? rate_ : batch_;
  }
  [[nodiscard]] insight explain() const noexcept {
    static constexpr std::array<std::string_view, 4> names{"level", "barrier", "log2_rate", "log2_batch"};
    const std::array<float, 4> of = rule_.explain().values;
    return {names, {of[0], of[1], rate_, batch_}};
  }
  [[nodiscard]] const rule_type& rule() const noexcept { return rule_; }      ///< with its state in this run
  [[nodiscard]] const Network& network() const noexcept { return network_; }  ///< of the reproducible kernel
  /// That of the training, outside which nothing is corrected.
  [[nodiscard]] const trained_range<Encoder::dim>& range() const noexcept { return range_; }
  [[nodiscard]] const Encoder& encoder() const noexcept { return encoder_; }  ///< with its state in this run

  /// The JSON differs for policies that decide differently, as that of q_policy.
  [[nodiscard]] description describe() const {
    const description of = describe_of(rule_);
    description self{of.line + "; rate and batch corrected by a network of " + std::to_string(Encoder::dim) + " inputs",
                     R"({"kind":"residual","state":")" + std::string{Encoder::kind} + R"(")"};
    self.json.append(detail::json_of_network(network_, Encoder::dim));
    self.json.append(R"(,"range":")").append(fingerprint_of(range_.least)).append(fingerprint_of(range_.most));
    self.json.append(R"(","of":)").append(of.json).append("}");
    return self;
  }

 private:
  static constexpr float newest = 0.1F;        // how far each push moves the batch
  static constexpr std::uint64_t enough = 10;  // steps that had the batch that was asked for
  static constexpr float most_samples = 1e9F;  // fits the grant

  void ask_network() noexcept {
    std::array<float, corrections> outputs;
    const bool is_asked = encoder_.cost().usual() > 0 && range_.contains(inputs_);
    if (is_asked) network_.evaluate(inputs_, outputs);
    if (!is_asked || !pinned::is_finite(outputs[0]) || !pinned::is_finite(outputs[1])) return give_up();
    for (std::size_t i = 0; i < corrections; ++i)
      outputs[i] = std::clamp(outputs[i], -largest_corrections[i], largest_corrections[i]);
    alternates_ = outputs[1] != 0.0F;
    in_charge_ = !alternates_ || encoder_.cost().obeyed() >= enough;
    rate_ = in_charge_ ? outputs[0] : 0.0F;
    batch_ = in_charge_ && alternates_ ? pinned::plus_product(batch_, newest, outputs[1] - batch_) : 0.0F;
  }
  void give_up() noexcept {
    in_charge_ = alternates_ = false;
    rate_ = batch_ = 0.0F;
  }

  Network network_;
  trained_range<Encoder::dim> range_;
  rule_type rule_;
  Encoder encoder_;
  bool in_charge_ = false;   // the network
  bool alternates_ = false;  // batches do
  float rate_ = 0.0F;        // binary logarithms of the factors, 0 while the rule alone is in charge
  float batch_ = 0.0F;
  std::array<float, Encoder::dim> inputs_{};
};

}  // namespace rubato::inline RUBATO_ABI

#endif
