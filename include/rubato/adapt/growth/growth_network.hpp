#ifndef RUBATO_ADAPT_GROWTH_GROWTH_NETWORK_HPP
#define RUBATO_ADAPT_GROWTH_GROWTH_NETWORK_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "../../core/result.hpp"
#include "../../core/rng.hpp"
#include "../../nn/aligned_vector.hpp"
#include "../../nn/batch_workspace.hpp"
#include "../../nn/dynamic_mlp.hpp"
#include "../../nn/layer.hpp"
#include "../../nn/lstm.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The sizes of a growth_network; those of the report, but for the vocabulary.
struct growth_shape {
  std::size_t vocabulary = 0;  ///< rows of the table of embeddings
  std::size_t embedding = 16;  ///< numbers that stand for a layer
  std::size_t encoder = 50;    ///< units of each direction
  std::size_t decider = 16;    ///< units: numbers that stand for a model
  std::size_t hidden = 128;    ///< units of both hidden layers
  std::size_t actions = 4;     ///< the blocks that can be deepened, and doing nothing
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
/// Parameters are in four parts, each an array of its own: the encoder forwards, backwards, the decider, the head.
///
/// Cost    forward(): a multiply-add per weight of the LSTMs and layer of the model, and one per weight of the head;
///         backward() two. make() and copies allocate, nothing else. Thread: const calls are thread-safe on distinct
///         workspaces.
/// Tests   tests/adapt/growth/growth_network_test.cpp: MatchesALoopInDouble, GradientMatchesFiniteDifferences,
///         GradientsAccumulate, HasThePublishedNumberOfParameters, ShorterModelsFit, RefusesImpossibleShapes;
///         tests/adapt/no_allocation_test.cpp: GrowthNetwork
/// Source  report on growing networks with spare GPUs, section 5 and figure 5 (docs/growth.md)
template <std::floating_point T>
class basic_growth_network {
 public:
  static constexpr std::size_t parts = 4;                     ///< of the parameters
  using workspace = growth_network_workspace<T>;              ///< what forward() and backward() work in
  using gradient = std::array<nn::aligned_vector<T>, parts>;  ///< as many numbers as the parts have

  /// All parameters and embeddings 0.
  /// Errors  invalid_option: a size of 0, or one that is too large for an LSTM or a layer
  [[nodiscard]] static result<basic_growth_network> make(
      const growth_shape& shape, const nn::kernels::kernel_set<T>& kernel = nn::kernels::native<T>()) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (shape.vocabulary == 0 || shape.vocabulary > most)
      return error{errc::invalid_option, "growth_network: found a vocabulary of " + std::to_string(shape.vocabulary) +
                                             " layers, expected 1 to " + std::to_string(most)};
    auto forwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    if (!forwards) return forwards.error();
    auto backwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    auto decider = nn::basic_lstm<T>::make(2 * shape.encoder, shape.decider, kernel);
    if (!decider) return decider.error();
    auto head = nn::basic_dynamic_mlp<T>::make({time_codes + shape.decider, shape.hidden, shape.hidden, shape.actions},
                                               {.hidden = {nn::activation_kind::relu}}, kernel);
    if (!head) return head.error();
    return basic_growth_network{shape, std::move(*forwards), std::move(*backwards), std::move(*decider),
                                std::move(*head)};
  }

  [[nodiscard]] const growth_shape& shape() const noexcept { return shape_; }  ///< that of make()
  /// Of the table, [vocabulary x embedding].
  [[nodiscard]] std::span<T> embeddings() noexcept { return embeddings_; }
  [[nodiscard]] std::span<const T> embeddings() const noexcept { return embeddings_; }  ///< to read
  /// In four parts, for as many optimisers.
  [[nodiscard]] std::array<std::span<T>, parts> parameters() noexcept {
    return {forwards_.parameters(), backwards_.parameters(), decider_.parameters(), head_.parameters()};
  }
  /// To read.
  [[nodiscard]] std::array<std::span<const T>, parts> parameters() const noexcept {
    return {forwards_.parameters(), backwards_.parameters(), decider_.parameters(), head_.parameters()};
  }
  /// What reads the layers, from the first on.
  [[nodiscard]] nn::basic_lstm<T>& encoder_forwards() noexcept { return forwards_; }
  [[nodiscard]] nn::basic_lstm<T>& encoder_backwards() noexcept { return backwards_; }  ///< and from the last on
  [[nodiscard]] nn::basic_lstm<T>& decider() noexcept { return decider_; }              ///< makes one state of it
  [[nodiscard]] nn::basic_dynamic_mlp<T>& head() noexcept { return head_; }             ///< and of that the preferences
  /// Zeros for backward() to add to. Allocates.
  [[nodiscard]] gradient no_gradient() const {
    gradient zeros;
    const auto all = parameters();
    for (std::size_t p = 0; p < parts; ++p) zeros[p] = nn::aligned_vector<T>(all[p].size());
    return zeros;
  }

  /// The preference for each action, in `work`. `layers` are rows of the table, at least one.
  /// Precondition: `work` was made for this shape and at least as many layers.
  [[nodiscard]] std::span<const T> forward(std::span<const std::uint32_t> layers,
                                           const std::array<float, time_codes>& time, workspace& work) const noexcept;
  /// Adds to `sums` what a loss changes with each parameter, given what it changes with each preference of the latest
  /// forward() on `work`.
  void backward(std::span<const T> by_preference, workspace& work, gradient& sums) const noexcept;

 private:
  friend growth_network_workspace<T>;

  basic_growth_network(const growth_shape& shape, nn::basic_lstm<T> forwards, nn::basic_lstm<T> backwards,
                       nn::basic_lstm<T> decider, nn::basic_dynamic_mlp<T> head)
      : shape_{shape},
        forwards_{std::move(forwards)},
        backwards_{std::move(backwards)},
        decider_{std::move(decider)},
        head_{std::move(head)},
        embeddings_(shape.vocabulary * shape.embedding) {}

  growth_shape shape_;
  nn::basic_lstm<T> forwards_, backwards_, decider_;
  nn::basic_dynamic_mlp<T> head_;
  nn::aligned_vector<T> embeddings_;
};

/// Memory for one model of at most so many layers on its way through a growth_network and back. Allocated by the
/// constructor. One per thread.
template <std::floating_point T>
class growth_network_workspace {
 public:
  /// For models of at most `layers` layers.
  growth_network_workspace(const basic_growth_network<T>& network, std::size_t layers)
      : shape_{network.shape_},
        most_{layers},
        forwards_{network.forwards_, layers},
        backwards_{network.backwards_, layers},
        decider_{network.decider_, layers},
        head_{network.head_, 1},
        read_(layers * shape_.embedding),
        joined_(layers * 2 * shape_.encoder),
        slopes_(layers * shape_.decider),
        by_joined_(layers * 2 * shape_.encoder),
        by_direction_(layers * shape_.encoder),
        input_(time_codes + shape_.decider),
        by_input_(time_codes + shape_.decider) {}

  [[nodiscard]] std::size_t max_layers() const noexcept { return most_; }  ///< what the constructor was given

 private:
  friend basic_growth_network<T>;

  growth_shape shape_;
  std::size_t most_;
  typename nn::basic_lstm<T>::workspace forwards_, backwards_, decider_;
  typename nn::basic_dynamic_mlp<T>::workspace head_;
  nn::aligned_vector<T> read_, joined_, slopes_, by_joined_, by_direction_, input_, by_input_;
  std::size_t layers_ = 0;  // of the latest model
};

template <std::floating_point T>
std::span<const T> basic_growth_network<T>::forward(std::span<const std::uint32_t> layers,
                                                    const std::array<float, time_codes>& time,
                                                    workspace& work) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_, "growth_network: the workspace is for another shape");
  RUBATO_ASSERT(!layers.empty() && layers.size() <= work.most_,
                "growth_network: more layers than the workspace is for");
  const std::size_t width = shape_.embedding, units = shape_.encoder;
  work.layers_ = layers.size();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    RUBATO_ASSERT(layers[i] < shape_.vocabulary, "growth_network: a layer beyond the table");
    std::copy_n(embeddings_.data() + layers[i] * width, width, work.read_.data() + i * width);
  }
  const std::span<const T> sequence{work.read_.data(), layers.size() * width};
  const auto ahead = forwards_.forward(sequence, work.forwards_);
  const auto back = backwards_.forward(sequence, work.backwards_, nn::lstm_direction::backwards);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    T* const at = work.joined_.data() + i * 2 * units;
    std::copy_n(ahead.data() + i * units, units, at);
    std::copy_n(back.data() + i * units, units, at + units);
  }
  const auto states = decider_.forward({work.joined_.data(), layers.size() * 2 * units}, work.decider_);
  std::copy(time.begin(), time.end(), work.input_.begin());
  std::copy_n(states.end() - static_cast<std::ptrdiff_t>(shape_.decider), shape_.decider,
              work.input_.begin() + static_cast<std::ptrdiff_t>(time_codes));
  return head_.forward(work.input_, work.head_);
}

template <std::floating_point T>
void basic_growth_network<T>::backward(std::span<const T> by_preference, workspace& work,
                                       gradient& sums) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_ && work.layers_ > 0, "growth_network: backward() comes after forward()");
  const std::size_t units = shape_.encoder, layers = work.layers_;
  head_.backward(by_preference, work.head_, sums[3], nn::gradient_mode::accumulate, work.by_input_);
  const std::span<T> slopes{work.slopes_.data(), layers * shape_.decider};
  std::fill(slopes.begin(), slopes.end(), T{0});  // only the last state is used
  std::copy_n(work.by_input_.begin() + static_cast<std::ptrdiff_t>(time_codes), shape_.decider,
              slopes.end() - static_cast<std::ptrdiff_t>(shape_.decider));
  const std::span<T> by_joined{work.by_joined_.data(), layers * 2 * units};
  decider_.backward(slopes, work.decider_, sums[2], by_joined);
  const std::span<T> by_direction{work.by_direction_.data(), layers * units};
  const auto of_direction = [&](std::size_t offset) {
    for (std::size_t i = 0; i < layers; ++i)
      std::copy_n(by_joined.data() + i * 2 * units + offset, units, by_direction.data() + i * units);
    return by_direction;
  };
  forwards_.backward(of_direction(0), work.forwards_, sums[0]);
  backwards_.backward(of_direction(units), work.backwards_, sums[1]);
}

using growth_network = basic_growth_network<float>;  ///< see basic_growth_network

/// Draws parameters as PyTorch draws them: uniform in +-1/sqrt(units) for LSTMs, the two biases that are one here being
/// the sum of two, and in +-1/sqrt(inputs) for layers. Embeddings are left as they are.
/// Tests   tests/adapt/growth/growth_network_test.cpp: ParametersAreDrawnAsPyTorchDoes
inline void initialise(growth_network& network, random_sequence& random) {
  const auto fill = [&random](std::span<float> numbers, std::size_t from, double bound, int sum = 1) {
    for (float& x : numbers.subspan(from)) {
      double drawn = 0;
      for (int i = 0; i < sum; ++i) drawn += bound * (2 * random.uniform() - 1);
      x = static_cast<float>(drawn);
    }
  };
  for (nn::lstm* const each : {&network.encoder_forwards(), &network.encoder_backwards(), &network.decider()}) {
    const double bound = 1 / std::sqrt(static_cast<double>(each->units()));
    const std::span<float> all = each->parameters();
    const std::size_t biases = all.size() - 4 * each->units();
    fill(all.first(biases), 0, bound);
    fill(all, biases, bound, 2);
  }
  nn::dynamic_mlp& head = network.head();
  for (const nn::layer_shape& layer : head.layers()) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.inputs));
    fill(head.parameters().first(layer.end()), layer.first, bound);
  }
}

/// Draws embeddings from the standard normal distribution.
inline void draw_embeddings(growth_network& network, random_sequence& random) {
  for (float& x : network.embeddings()) x = static_cast<float>(random.normal());
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
