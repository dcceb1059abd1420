#ifndef RUBATO_ADAPT_GROWTH_BLOCK_NETWORK_HPP
#define RUBATO_ADAPT_GROWTH_BLOCK_NETWORK_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "../../nn/aligned_vector.hpp"
#include "../../nn/batch_workspace.hpp"
#include "../../nn/dynamic_mlp.hpp"
#include "block_action.hpp"
#include "growable_model.hpp"
#include "model_encoder.hpp"
#include "network_parts.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The sizes of a block_network: those of a growth_shape, but for the actions, which are the model's.
struct block_shape {
  std::size_t vocabulary = 0;  ///< rows of the table of embeddings
  std::size_t embedding = 16;  ///< numbers that stand for a layer
  std::size_t encoder = 50;    ///< units of each direction
  std::size_t decider = 16;    ///< units: numbers that stand for a model
  std::size_t hidden = 128;    ///< units of both hidden layers
  friend bool operator==(const block_shape&, const block_shape&) noexcept = default;
};

template <std::floating_point T>
class block_network_workspace;

/// A network that says where a model should grow, whatever number of blocks it has: a growth_network has a preference
/// for each of so many actions, this one asks the same of each block.
///
/// It reads the model as a growth_network does, up to the state that stands for the model. Then all actions go through
/// the same two hidden layers with ReLU, each with the eight numbers for the time, the model's state, and what is its
/// block's own: the encoder's state of each direction where that has just read the whole block (forwards at its last
/// layer, backwards at its first), how often it was deepened (n/(n+1)) and where it is among the blocks (b/blocks); and
/// whether the block would be widened. Doing nothing goes through them as zeros, with a flag.
///
/// Cost    forward(): a multiply-add per weight of the LSTMs and layer of the model, and one per weight of the head and
///         action; backward() two. make() and copies allocate, nothing else. Thread: const calls are thread-safe on
///         distinct workspaces.
/// Tests   tests/adapt/growth/block_network_test.cpp: MatchesALoopInDouble, GradientMatchesFiniteDifferences,
///         GradientsAccumulate, OneServesAllNumbersOfBlocks, ServesAnyNumberOfActions,
///         ScoresDoNotDependOnTheBlocksBeside, ActionsInAnotherOrderHaveTheSameScores, TimesBlocksAndInsertionsMatter,
///         WideningHasAScoreOfItsOwn, SmallerModelsFit, RefusesImpossibleShapes; tests/adapt/no_allocation_test.cpp:
///         BlockNetwork
/// Source  the encoder as in growth_network; a block by its ends: Wang and Chang, "Graph-based dependency parsing with
///         bidirectional LSTM", ACL 2016
template <std::floating_point T>
class basic_block_network : public network_parts<T> {
 public:
  using workspace = block_network_workspace<T>;          ///< what forward() and backward() work in
  using gradient = typename network_parts<T>::gradient;  ///< for all parameters

  /// All parameters and embeddings 0.
  /// Errors  invalid_option: a size of 0, or one that is too large for an LSTM or a layer
  [[nodiscard]] static result<basic_block_network> make(
      const block_shape& shape, const nn::kernels::kernel_set<T>& kernel = nn::kernels::native<T>()) {
    auto encoder = basic_model_encoder<T>::make("block_network", encoder_of(shape), kernel);
    if (!encoder) return encoder.error();
    auto head = nn::basic_dynamic_mlp<T>::make({inputs_of(shape), shape.hidden, shape.hidden, 1},
                                               {.hidden = {nn::activation_kind::relu}}, kernel);
    if (!head) return head.error();
    return basic_block_network{shape, std::move(*encoder), std::move(*head)};
  }

  [[nodiscard]] const block_shape& shape() const noexcept { return shape_; }  ///< that of make()
  /// Whether it has a preference for each of so many actions: always.
  [[nodiscard]] bool serves(std::size_t) const noexcept { return true; }

  /// The preferences, in `work`: one for each of `actions`, and last that nothing be done. `layers` are rows of the
  /// table.
  /// Precondition: `work` was made for this shape and at least as many layers and actions; there is an action, and each
  /// block is within the layers.
  [[nodiscard]] std::span<const T> forward(std::span<const std::uint32_t> layers, std::span<const block_action> actions,
                                           const std::array<float, time_codes>& time, workspace& work) const noexcept;
  /// Adds to `sums` what a loss changes with each parameter, given what it changes with each preference of the latest
  /// forward() on `work`.
  void backward(std::span<const T> by_preference, workspace& work, gradient& sums) const noexcept;

 private:
  friend block_network_workspace<T>;

  // Of the head: the time, the model, the block forwards and backwards, how often it was deepened, where it is, whether
  // this is widening, and whether this is doing nothing.
  [[nodiscard]] static constexpr std::size_t inputs_of(const block_shape& shape) noexcept {
    return time_codes + shape.decider + 2 * shape.encoder + 4;
  }

  [[nodiscard]] static constexpr encoder_shape encoder_of(const block_shape& shape) noexcept {
    return {shape.vocabulary, shape.embedding, shape.encoder, shape.decider};
  }

  basic_block_network(const block_shape& shape, basic_model_encoder<T> encoder, nn::basic_dynamic_mlp<T> head)
      : network_parts<T>{std::move(encoder), std::move(head)}, shape_{shape} {}

  using network_parts<T>::encoder_;
  using network_parts<T>::head_;
  block_shape shape_;
};

/// Memory for one model of at most so many layers and actions on its way through a block_network and back. Allocated by
/// the constructor. One per thread.
template <std::floating_point T>
class block_network_workspace {
 public:
  /// For models of at most `layers` layers and `actions` actions, doing nothing not counted.
  block_network_workspace(const basic_block_network<T>& network, std::size_t layers, std::size_t actions)
      : shape_{network.shape_},
        encoder_{network.encoder_, layers},
        head_{network.head_, actions + 1},
        input_((actions + 1) * network.head_.inputs()),
        by_input_((actions + 1) * network.head_.inputs()),
        by_state_(network.shape_.decider),
        actions_(actions) {}

  [[nodiscard]] std::size_t max_layers() const noexcept {
    return encoder_.max_layers();
  }  ///< what the constructor was given
  [[nodiscard]] std::size_t max_actions() const noexcept { return actions_.size(); }  ///< likewise

 private:
  friend basic_block_network<T>;

  block_shape shape_;
  model_encoder_workspace<T> encoder_;
  typename nn::basic_dynamic_mlp<T>::workspace head_;
  nn::aligned_vector<T> input_, by_input_, by_state_;
  std::vector<block_action> actions_;
  std::size_t count_ = 0;  // of the latest model's actions
};

template <std::floating_point T>
std::span<const T> basic_block_network<T>::forward(std::span<const std::uint32_t> layers,
                                                   std::span<const block_action> actions,
                                                   const std::array<float, time_codes>& time,
                                                   workspace& work) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_, "block_network: the workspace is for another shape");
  RUBATO_ASSERT(!actions.empty() && actions.size() <= work.max_actions(),
                "block_network: more actions than the workspace is for");
  const encoded_model<T> model = encoder_.forward(layers, work.encoder_);
  const std::size_t units = shape_.encoder;
  const std::uint32_t blocks = (std::ranges::max)(actions, {}, &block_action::block).block + 1;
  work.count_ = actions.size();
  T* to = work.input_.data();
  for (std::size_t a = 0; a <= actions.size(); ++a) {  // the last does nothing
    to = std::transform(time.begin(), time.end(), to, [](float code) { return static_cast<T>(code); });
    to = std::copy(model.state.begin(), model.state.end(), to);
    if (a == actions.size()) {
      to = std::fill_n(to, 2 * units + 3, T{0});
      *to++ = T{1};
      break;
    }
    const block_action& action = work.actions_[a] = actions[a];
    RUBATO_ASSERT(action.first <= action.last && action.last < layers.size(),
                  "block_network: a block beyond the layers");
    to = std::copy_n(model.ahead.data() + action.last * units, units, to);
    to = std::copy_n(model.back.data() + action.first * units, units, to);
    *to++ = static_cast<T>(action.insertions) / (static_cast<T>(action.insertions) + T{1});
    *to++ = static_cast<T>(action.block) / static_cast<T>(blocks);
    *to++ = static_cast<T>(action.kind == growth_kind::widen ? 1 : 0);
    *to++ = T{0};
  }
  return head_.forward({work.input_.data(), to}, work.head_);
}

template <std::floating_point T>
void basic_block_network<T>::backward(std::span<const T> by_preference, workspace& work,
                                      gradient& sums) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_ && work.encoder_.layers() > 0, "block_network: backward() comes after forward()");
  RUBATO_ASSERT(by_preference.size() == work.count_ + 1, "block_network: a slope for each preference is needed");
  const std::size_t units = shape_.encoder, inputs = head_.inputs();
  head_.backward(by_preference, work.head_, sums[3], nn::gradient_mode::accumulate,
                 {work.by_input_.data(), (work.count_ + 1) * inputs});
  std::fill(work.by_state_.begin(), work.by_state_.end(), T{0});  // which all scores use
  for (std::size_t a = 0; a <= work.count_; ++a)
    for (std::size_t u = 0; u < shape_.decider; ++u) work.by_state_[u] += work.by_input_[a * inputs + time_codes + u];
  // What the actions' scores make of the states of one direction.
  const auto by_actions = [&](std::size_t offset, std::uint32_t block_action::*end) {
    return [&work, units, inputs, end, first = time_codes + shape_.decider + offset](std::span<T> by_direction) {
      for (std::size_t a = 0; a < work.count_; ++a) {
        const T* const by_action = work.by_input_.data() + a * inputs + first;
        T* const at = by_direction.data() + work.actions_[a].*end * units;
        for (std::size_t u = 0; u < units; ++u) at[u] += by_action[u];
      }
    };
  };
  encoder_.backward(work.by_state_, by_actions(0, &block_action::last), by_actions(units, &block_action::first),
                    work.encoder_, std::span{sums}.template first<3>());
}

using block_network = basic_block_network<float>;  ///< see basic_block_network

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
