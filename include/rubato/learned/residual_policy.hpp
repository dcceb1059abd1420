#ifndef RUBATO_LEARNED_RESIDUAL_POLICY_HPP
#define RUBATO_LEARNED_RESIDUAL_POLICY_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../core/number_text.hpp"
#include "../encode/encoder.hpp"
#include "../nn/concepts.hpp"
#include "../sync/knee.hpp"
#include "../sync/rivals/loss_decayed.hpp"
#include "fingerprint.hpp"

namespace rubato::inline RUBATO_ABI {

/// The outputs of a network that corrects knee: binary logarithms of factors, cut off at -1 and 1.
enum class correction : std::uint8_t {
  rate,      ///< on the learning rate
  threshold  ///< on knee's threshold: above 0 fewer workers run, below 0 more
};

/// In the order of correction; what a policy card calls them.
inline constexpr std::array<std::string_view, 2> correction_names{"log2_rate", "log2_threshold"};
inline constexpr std::size_t corrections = correction_names.size();

/// What each input of a network has been in training, from the least to the most.
template <std::size_t Dim>
struct trained_range {
  std::array<float, Dim> least = filled(-std::numeric_limits<float>::infinity());
  std::array<float, Dim> most = filled(std::numeric_limits<float>::infinity());

  [[nodiscard]] bool contains(std::span<const float, Dim> inputs) const noexcept {
    for (std::size_t i = 0; i < Dim; ++i)
      if (!(inputs[i] >= least[i] && inputs[i] <= most[i])) return false;
    return true;
  }

 private:
  [[nodiscard]] static constexpr std::array<float, Dim> filled(float number) {
    std::array<float, Dim> all;
    all.fill(number);
    return all;
  }
};

/// knee with a learning rate that falls with the loss, both corrected by a network: the rate by a factor of 1/2 to 2,
/// the threshold by another. With outputs of 0 it is loss_decayed{knee{}}, grant by grant.
///
/// The network sees each push before the rule answers it. Where an input is outside the range of the training, where no
/// loss was reported yet, and where the network answers NaN, nothing is corrected: the rule alone is in charge then,
/// and each time that it takes over is counted as reason::degraded.
///
/// Cost    knee's, one encode and one evaluate per push. No allocation after resize. Not thread-safe.
/// Tests   tests/learned/residual_policy_test.cpp: ZeroIsTheRule, RateByHand, ThresholdByHand, CorrectionsAreCutOff,
///         OutsideTheTrainedRangeTheRuleIsInCharge, WithoutLossesTheRuleIsInCharge, SurvivesNaN, SavesItsState,
///         Describes; tests/properties/schedule_test.cpp: Liveness, NeedsNoGuard
template <StateEncoder Encoder, nn::ActionValueFunction Network>
requires requires(const Encoder& encoder) { { encoder.has_losses() } -> std::same_as<bool>; }
class residual_policy {
 public:
  static constexpr std::string_view kind = "residual";
  using encoder_type = Encoder;
  using network_type = Network;
  using rule_type = loss_decayed<knee>;

  /// Precondition: the network has Encoder::dim inputs and an output for each correction.
  explicit residual_policy(const Network& network, const trained_range<Encoder::dim>& range = {},
                           rule_type rule = knee{}, Encoder encoder = {})
      : network_{network}, range_{range}, rule_{std::move(rule)}, encoder_{std::move(encoder)},
        threshold_{rule_.threshold} {
    if constexpr (requires { network_.inputs(); })
      RUBATO_ASSERT(network_.inputs() == Encoder::dim && network_.outputs() == corrections,
                    "residual_policy: a network of another size");
  }

  void observe(const feedback& step) noexcept {
    encoder_.observe(step);
    rule_.observe(step);
  }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    detail::tell_event(encoder_, what);
    bool gives_up = false;
    if (what.why == cause::push && encoder_.has_losses()) {
      const bool corrected = std::exchange(in_charge_, false);
      encoder_.encode(view, what, inputs_);
      if (range_.contains(inputs_)) ask_network();
      gives_up = corrected && !in_charge_;
    }
    rule_.threshold = (std::min)(threshold_ * factor(correction::threshold), most_threshold);
    decision answer = rule_.release(view, what);
    answer.lr_scale *= factor(correction::rate);
    answer.is_degraded = answer.is_degraded || gives_up;
    return answer;
  }

  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    detail::tell_started(encoder_, view, worker);
    rule_.shape(view, worker, terms);
  }
  void reset(std::uint32_t worker) noexcept {
    detail::tell_gone(encoder_, worker);
    rule_.reset(worker);
  }
  void resize(std::uint32_t capacity) {
    encoder_.resize(capacity);
    rule_.resize(capacity);
    in_charge_ = false;
    outputs_ = {};
  }

  /// What it remembers of the run; not the weights.
  void state(archive& bytes) {
    encoder_.state(bytes);
    rule_.state(bytes);
    bytes(in_charge_, outputs_[0], outputs_[1]);
    for (const float x : outputs_)
      if (!std::isfinite(x)) bytes.fail();
  }
  [[nodiscard]] std::string problem(std::uint32_t capacity) const {
    return problem_of(rule_as_given(), capacity);
  }

  /// Whether the network corrects the rule now.
  [[nodiscard]] bool corrects() const noexcept { return in_charge_; }
  /// What it multiplies; 1 where it corrects nothing.
  [[nodiscard]] float factor(correction which) const noexcept {
    return in_charge_ ? std::exp2(std::clamp(outputs_[static_cast<std::size_t>(which)], -1.0F, 1.0F)) : 1.0F;
  }
  [[nodiscard]] const rule_type& rule() const noexcept { return rule_; }
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  [[nodiscard]] const trained_range<Encoder::dim>& range() const noexcept { return range_; }
  [[nodiscard]] const Encoder& encoder() const noexcept { return encoder_; }

  [[nodiscard]] description describe() const {
    const description of = describe_of(rule_as_given());
    description self{of.line + "; both corrected by a network of " + std::to_string(Encoder::dim) + " inputs",
                     R"({"kind":"residual","state":")" + std::string{Encoder::kind} + R"(")"};
    if constexpr (requires { network_.parameters(); })
      self.json.append(R"(,"weights":")").append(fingerprint_of(network_.parameters())).append(R"(")");
    self.json.append(R"(,"range":")").append(fingerprint_of(range_.least)).append(fingerprint_of(range_.most));
    self.json.append(R"(","of":)").append(of.json).append("}");
    return self;
  }

 private:
  static constexpr float most_threshold = 0.95F;

  [[nodiscard]] rule_type rule_as_given() const {
    rule_type rule = rule_;
    rule.threshold = threshold_;
    return rule;
  }

  void ask_network() noexcept {
    std::array<float, corrections> outputs;
    network_.evaluate(inputs_, outputs);
    if (!std::isfinite(outputs[0]) || !std::isfinite(outputs[1])) return;
    outputs_ = outputs;
    in_charge_ = true;
  }

  Network network_;
  trained_range<Encoder::dim> range_;
  rule_type rule_;
  Encoder encoder_;
  float threshold_;  // of the rule as it was given
  bool in_charge_ = false;
  std::array<float, Encoder::dim> inputs_{};
  std::array<float, corrections> outputs_{};
};

}  // namespace rubato::inline RUBATO_ABI

#endif
