#ifndef RUBATO_LEARNED_Q_POLICY_HPP
#define RUBATO_LEARNED_Q_POLICY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../core/number_text.hpp"
#include "../encode/action_set.hpp"
#include "../encode/encoder.hpp"
#include "../encode/normaliser.hpp"
#include "../nn/aligned_vector.hpp"
#include "../nn/concepts.hpp"
#include "../pinned.hpp"
#include "../sync/concepts.hpp"
#include "fingerprint.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a q_policy does besides what its network says.
struct q_policy_options {
  /// How long somebody may wait, in steps of the worker that is furthest behind, or of the median worker if those are
  /// longer; at the first push after that everybody starts. Infinite, as in the paper: what policies learn is to keep
  /// few running. In production 20 is a start.
  double max_idle = (std::numeric_limits<double>::infinity)();
};

/// What is wrong with the options, or nullptr.
[[nodiscard]] constexpr const char* problem(const q_policy_options& options) noexcept {
  const bool right = !pinned::is_nan(options.max_idle) && options.max_idle > 0;
  return right ? nullptr : "max_idle: expected a number of steps above 0";
}

/// Does at each push what a network values most: nobody starts, the submitter starts, or everybody who waits.
///
/// A push is encoded, scaled if there are statistics, and valued; of the legal actions (see action_set.hpp) the one of
/// highest value is taken. Gradients are applied as they arrive. Somebody always runs, without the guard's help: hold
/// is not legal when nobody is busy, a joiner starts at once, and when those who were busy have gone everybody starts.
/// A network that answers NaN counts as saying `submitter`.
///
///     rubato::q_policy policy{network, {.max_idle = 20}, rubato::rlp_state{}};
///
/// Where encoder and network can (HistoryEncoder, HistoryActionValueFunction), what is known of the next decision's
/// inputs is summed up at the end of each commit, so that the next push waits for the newest of them alone.
///
/// Cost    one encode and one evaluate per push, O(released) on `all`. No allocation after resize. Not thread-safe.
/// Tests   tests/learned/q_policy_test.cpp: TakesTheHighestValue, TiesGoToTheLowestIndex, NeverHoldsTheLastOne,
///         JoinersStartAtOnce, EncodersThatFollowStepsHearOfEveryStart, StartsEverybodyOnASwitch, IdleLimit,
///         WorksAheadAfterEachCommit, WorkingAheadChangesNoBit, SurvivesNaN, IsBspOrAspByItsBiases, SavesItsState,
///         Describes, DescribesAllThatDecides
///         tests/properties/schedule_test.cpp: Liveness, NeedsNoGuard
/// Source  Zhu et al., "Learning Efficient Parameter Server Synchronization Policies for Distributed SGD", ICLR 2020,
///         section 3.2
template <StateEncoder Encoder, nn::ActionValueFunction Network>
class q_policy {
  static constexpr bool works_ahead = HistoryEncoder<Encoder> && nn::HistoryActionValueFunction<Network>;

 public:
  static constexpr std::string_view kind = Encoder::kind;
  using encoder_type = Encoder;  ///< what the network sees
  using network_type = Network;  ///< what values the actions

  /// Precondition: the network has Encoder::dim inputs and three outputs; problem(options) == nullptr.
  explicit q_policy(const Network& network, const q_policy_options& options = {}, Encoder encoder = {},
                    const normaliser<Encoder::dim>& scale = {})
      : network_{network}, options_{options}, encoder_{std::move(encoder)}, scale_{scale} {
    RUBATO_ASSERT(problem(options) == nullptr, "q_policy: bad options");
    if constexpr (requires { network_.inputs(); })
      RUBATO_ASSERT(network_.inputs() == Encoder::dim && network_.outputs() == group_actions,
                    "q_policy: a network of another size");
    if constexpr (works_ahead) sums_.resize(network_.history_size());
  }

  void observe(const feedback& step) noexcept { encoder_.observe(step); }

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    const bool first = !std::exchange(at_.started, true);
    at_.waited += at_.now < what.now ? what.now - at_.now : 0.0;
    at_.now = what.now;
    if (!is_choice(view, what)) {
      detail::tell_event(encoder_, what);
      return between_pushes(view, what, first);
    }
    if (view.parked() <= 1) at_.waited = 0;  // nobody but the submitter
    evaluate(view, what);
    const std::uint32_t legal = legal_actions(view);
    group_action action = greedy(values_, legal);
    if (values_[static_cast<std::size_t>(action)] != values_[static_cast<std::size_t>(action)]) ++at_.undecided;
    if (action != group_action::all && is_overdue(view)) {
      action = canonical(group_action::all, legal);
      ++at_.forced;
    }
    if (action == group_action::all) at_.waited = 0;
    return to_decision(action);
  }

  /// What the first layer makes of all but the newest push, for the next decision: a decision without it takes longer,
  /// and is the same.
  void prepare() noexcept {
    if constexpr (works_ahead) {
      const auto older = std::span{inputs_}.template subspan<Encoder::newest>();
      encoder_.foretell(older);
      scale_.template apply_to<Encoder::newest>(older);
      network_.begin(Encoder::newest, inputs_, sums_);
      prepared_ = true;
    }
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant&) noexcept {
    detail::tell_started(encoder_, view, worker);
  }
  /// Whether shape() does anything: where the encoder follows steps.
  [[nodiscard]] constexpr bool shapes() const noexcept { return StepFollowingEncoder<Encoder>; }
  /// See ResettablePolicy.
  void reset([[maybe_unused]] std::uint32_t worker) noexcept { detail::tell_gone(encoder_, worker); }
  void resize(std::uint32_t capacity) {
    encoder_.resize(capacity);
    at_ = {};
    prepared_ = false;
  }

  /// What it remembers of the run; not the weights.
  void state(archive& bytes) {
    encoder_.state(bytes);
    prepared_ = false;
    bytes(at_.started, at_.now, at_.waited, at_.forced, at_.undecided);
  }

  [[nodiscard]] std::uint64_t forced() const noexcept { return at_.forced; }        ///< releases of all for max_idle
  [[nodiscard]] std::uint64_t undecided() const noexcept { return at_.undecided; }  ///< pushes at which all was NaN
  [[nodiscard]] std::span<const float, group_actions> values() const noexcept { return values_; }  ///< at the last push
  /// values(), by the names of the actions.
  [[nodiscard]] insight explain() const noexcept {
    return {group_action_names, {values_[0], values_[1], values_[2]}};
  }
  /// As it was given: a policy never learns.
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  [[nodiscard]] const Encoder& encoder() const noexcept { return encoder_; }  ///< with its state in this run
  /// What scales the network's inputs; nothing does where its count() is 0.
  [[nodiscard]] const normaliser<Encoder::dim>& scale() const noexcept { return scale_; }
  [[nodiscard]] const q_policy_options& options() const noexcept { return options_; }  ///< as they were given

  /// The JSON differs for policies that decide differently: it has the network's shape and activations, fingerprints of
  /// its parameters and of the statistics that scale its inputs, and the options.
  [[nodiscard]] description describe() const {
    const bool limited = options_.max_idle < (std::numeric_limits<double>::infinity)();
    std::string line{kind}, json{R"({"kind":")"};
    line.append(": a network of ").append(std::to_string(Encoder::dim)).append(" inputs values hold, submitter, all");
    if (limited) line.append("; nobody waits longer than ").append(detail::text_of(options_.max_idle)).append(" steps");
    json.append(kind).append(R"(","inputs":)").append(std::to_string(Encoder::dim)).append(R"(,"max_idle":)");
    json.append(limited ? detail::text_of(options_.max_idle) : "null");
    json.append(detail::json_of_network(network_, Encoder::dim));
    json.append(R"(,"normaliser":)").append(scale_.count() == 0 ? "null" : scale_fingerprint());
    return {std::move(line), json.append("}")};
  }

 private:
  void evaluate(const cluster_view& view, const event& what) noexcept {
    if constexpr (works_ahead) {
      const auto newest = std::span{inputs_}.template first<Encoder::newest>();
      if (std::exchange(prepared_, false) && encoder_.encode_newest(view, what, newest)) {
        scale_.template apply_to<0>(newest);
        return network_.finish(Encoder::newest, inputs_, sums_, values_);
      }
    }
    encoder_.encode(view, what, inputs_);
    scale_.apply(inputs_);
    network_.evaluate(inputs_, values_);
  }

  // Nobody has waited longer than `waited`: others start only by `all`, so whoever waits came after the latest one.
  [[nodiscard]] bool is_overdue(const cluster_view& view) const noexcept {
    if (!(options_.max_idle < (std::numeric_limits<double>::infinity)()) || view.parked() <= 1) return false;
    const float behind = view.slowest() < view.capacity() ? view.step_time_of(view.slowest()) : 0.0F;
    const float step = (std::max)(behind, view.median_step_time());
    return step > 0 && at_.waited > options_.max_idle * static_cast<double>(step);
  }

  // In quotes. Means and variances are all that decides; how many observations they come from does not.
  [[nodiscard]] std::string scale_fingerprint() const {
    std::array<double, 2 * Encoder::dim> numbers;
    for (std::size_t i = 0; i < Encoder::dim; ++i) {
      numbers[i] = scale_.mean()[i];
      numbers[Encoder::dim + i] = scale_.variance(i);
    }
    return '"' + fingerprint_of(numbers) + '"';
  }

  struct progress {
    bool started = false;
    double now = (std::numeric_limits<double>::infinity)();  // of the last call; infinite before the first
    double waited = 0;                                       // since nobody but a submitter waited, at least
    std::uint64_t forced = 0;
    std::uint64_t undecided = 0;
  };

  Network network_;
  q_policy_options options_;
  Encoder encoder_;
  normaliser<Encoder::dim> scale_;
  progress at_;
  std::array<float, Encoder::dim> inputs_{};
  std::array<float, group_actions> values_{};
  nn::aligned_vector<float> sums_;  // of the first layer, for all but the newest inputs
  bool prepared_ = false;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
