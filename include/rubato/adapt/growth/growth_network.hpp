#ifndef RUBATO_ADAPT_GROWTH_GROWTH_NETWORK_HPP
#define RUBATO_ADAPT_GROWTH_GROWTH_NETWORK_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "../../core/result.hpp"
#include "../../nn/aligned_vector.hpp"
#include "../../nn/batch_workspace.hpp"
#include "../../nn/dynamic_mlp.hpp"
#include "block_action.hpp"
#include "model_encoder.hpp"
#include "network_parts.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The sizes of a growth_network; those of the report, but for the vocabulary.
struct growth_shape {
  std::size_t vocabulary = 0;  ///< rows of the table of embeddings
  std::size_t embedding = 16;  ///< numbers that stand for a layer
  std::size_t encoder = 50;    ///< units of each direction
  std::size_t decider = 16;    ///< units: numbers that stand for a model
  std::size_t hidden = 128;    ///< units of both hidden layers
  std::size_t actions = 4;     ///< of a model, see growable_model::actions()
  friend bool operator==(const growth_shape&, const growth_shape&) noexcept = default;
};

template <std::floating_point T>
class growth_network_workspace;

/// The network that says where a model should grow: it reads the model layer by layer, and the time that is left.
///
/// Each layer becomes a vector from a table that is never trained; an LSTM in both directions reads these, another one
/// what the two make of them, and its last state stands for the model. With eight numbers for the time it goes through
/// two hidden layers with ReLU to a preference for each action; their softmax are probabilities.
///
/// Cost    forward(): a multiply-add per weight of the LSTMs and layer of the model, and one per weight of the head;
///         backward() two. make() and copies allocate, nothing else. Thread: const calls are thread-safe on distinct
///         workspaces.
/// Tests   tests/adapt/growth/growth_network_test.cpp: MatchesALoopInDouble, GradientMatchesFiniteDifferences,
///         GradientsAccumulate, HasThePublishedNumberOfParameters, ShorterModelsFit, RefusesImpossibleShapes;
///         tests/adapt/no_allocation_test.cpp: GrowthNetwork
/// Source  report on growing networks with spare GPUs, section 5 and figure 5 (docs/growth.md)
template <std::floating_point T>
class basic_growth_network : public network_parts<T> {
 public:
  using workspace = growth_network_workspace<T>;         ///< what forward() and backward() work in
  using gradient = typename network_parts<T>::gradient;  ///< for all parameters

  /// All parameters and embeddings 0.
  /// Errors  invalid_option: a size of 0, or one that is too large for an LSTM or a layer
  [[nodiscard]] static result<basic_growth_network> make(
      const growth_shape& shape, const nn::kernels::kernel_set<T>& kernel = nn::kernels::native<T>()) {
    auto encoder = basic_model_encoder<T>::make("growth_network", encoder_of(shape), kernel);
    if (!encoder) return encoder.error();
    auto head = nn::basic_dynamic_mlp<T>::make({time_codes + shape.decider, shape.hidden, shape.hidden, shape.actions},
                                               {.hidden = {nn::activation_kind::relu}}, kernel);
    if (!head) return head.error();
    return basic_growth_network{shape, std::move(*encoder), std::move(*head)};
  }

  [[nodiscard]] const growth_shape& shape() const noexcept { return shape_; }  ///< that of make()
  /// Whether it has a preference for each of so many actions.
  [[nodiscard]] bool serves(std::size_t actions) const noexcept { return actions == shape_.actions; }

  /// The preference for each action, in `work`. `layers` are rows of the table, at least one.
  /// Precondition: `work` was made for this shape and at least as many layers.
  [[nodiscard]] std::span<const T> forward(std::span<const std::uint32_t> layers,
                                           const std::array<float, time_codes>& time, workspace& work) const noexcept;
  /// The same, as a block_network is asked: where the blocks are is of no matter.
  [[nodiscard]] std::span<const T> forward(std::span<const std::uint32_t> layers, std::span<const block_action>,
                                           const std::array<float, time_codes>& time, workspace& work) const noexcept {
    return forward(layers, time, work);
  }
  /// Adds to `sums` what a loss changes with each parameter, given what it changes with each preference of the latest
  /// forward() on `work`.
  void backward(std::span<const T> by_preference, workspace& work, gradient& sums) const noexcept;

 private:
  friend growth_network_workspace<T>;

  [[nodiscard]] static constexpr encoder_shape encoder_of(const growth_shape& shape) noexcept {
    return {shape.vocabulary, shape.embedding, shape.encoder, shape.decider};
  }

  basic_growth_network(const growth_shape& shape, basic_model_encoder<T> encoder, nn::basic_dynamic_mlp<T> head)
      : network_parts<T>{std::move(encoder), std::move(head)}, shape_{shape} {}

  using network_parts<T>::encoder_;
  using network_parts<T>::head_;
  growth_shape shape_;
};

/// Memory for one model of at most so many layers on its way through a growth_network and back. Allocated by the
/// constructor. One per thread.
template <std::floating_point T>
class growth_network_workspace {
 public:
  /// For models of at most `layers` layers.
  growth_network_workspace(const basic_growth_network<T>& network, std::size_t layers)
      : shape_{network.shape_},
        encoder_{network.encoder_, layers},
        head_{network.head_, 1},
        input_(time_codes + shape_.decider),
        by_input_(time_codes + shape_.decider) {}
  /// The same, as a block_network's is made: how many actions there are is of no matter.
  growth_network_workspace(const basic_growth_network<T>& network, std::size_t layers, std::size_t)
      : growth_network_workspace{network, layers} {}

  [[nodiscard]] std::size_t max_layers() const noexcept {
    return encoder_.max_layers();
  }  ///< what the constructor was given

 private:
  friend basic_growth_network<T>;

  growth_shape shape_;
  model_encoder_workspace<T> encoder_;
  typename nn::basic_dynamic_mlp<T>::workspace head_;
  nn::aligned_vector<T> input_, by_input_;
};

template <std::floating_point T>
std::span<const T> basic_growth_network<T>::forward(std::span<const std::uint32_t> layers,
                                                    const std::array<float, time_codes>& time,
                                                    workspace& work) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_, "growth_network: the workspace is for another shape");
  const encoded_model<T> model = encoder_.forward(layers, work.encoder_);
  std::copy(time.begin(), time.end(), work.input_.begin());
  std::copy(model.state.begin(), model.state.end(), work.input_.begin() + static_cast<std::ptrdiff_t>(time_codes));
  return head_.forward(work.input_, work.head_);
}

template <std::floating_point T>
void basic_growth_network<T>::backward(std::span<const T> by_preference, workspace& work,
                                       gradient& sums) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_ && work.encoder_.layers() > 0,
                "growth_network: backward() comes after forward()");
  head_.backward(by_preference, work.head_, sums[3], nn::gradient_mode::accumulate, work.by_input_);
  const auto nothing_else = [](std::span<T>) {};
  encoder_.backward(std::span<const T>{work.by_input_}.subspan(time_codes), nothing_else, nothing_else, work.encoder_,
                    std::span{sums}.template first<3>());
}

using growth_network = basic_growth_network<float>;  ///< see basic_growth_network

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
