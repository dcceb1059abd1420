#ifndef RUBATO_ADAPT_GROWTH_MODEL_ENCODER_HPP
#define RUBATO_ADAPT_GROWTH_MODEL_ENCODER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "../../core/result.hpp"
#include "../../core/rng.hpp"
#include "../../nn/aligned_vector.hpp"
#include "../../nn/layer.hpp"
#include "../../nn/lstm.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// The sizes of a model_encoder.
struct encoder_shape {
  std::size_t vocabulary = 0;  ///< rows of the table of embeddings
  std::size_t embedding = 16;  ///< numbers that stand for a layer
  std::size_t encoder = 50;    ///< units of each direction
  std::size_t decider = 16;    ///< units: numbers that stand for a model
  friend bool operator==(const encoder_shape&, const encoder_shape&) noexcept = default;
};

/// What an encoder made of a model, in its workspace until the next one.
template <std::floating_point T>
struct encoded_model {
  std::span<const T> ahead;  ///< states after each layer, from the first on, [layers x encoder]
  std::span<const T> back;   ///< likewise from the last on
  std::span<const T> state;  ///< that stands for the model, [decider]
};

template <std::floating_point T>
class model_encoder_workspace;

/// Reads a model layer by layer, for the networks that say where it should grow: each layer becomes a vector from a
/// table that is never trained, an LSTM in both directions reads these, another one what the two make of them.
///
/// Cost    forward(): a multiply-add per weight and layer of the model; backward() two. make() and copies allocate,
///         nothing else. Thread: const calls are thread-safe on distinct workspaces.
/// Tests   tests/adapt/growth/model_encoder_test.cpp: EachDirectionHasAStateForEachLayer,
///         AStateIsOfTheLayersBeforeItAlone, BadShapesAreRefused; backward() through the networks:
///         tests/adapt/growth/growth_network_test.cpp, block_network_test.cpp
/// Source  report on growing networks with spare GPUs, section 5 and figure 5 (docs/growth.md)
template <std::floating_point T>
class basic_model_encoder {
 public:
  using workspace = model_encoder_workspace<T>;          ///< what forward() and backward() work in
  using gradient = std::span<nn::aligned_vector<T>, 3>;  ///< for forwards(), backwards() and decider()

  /// All parameters and embeddings 0; `who` begins the message about a vocabulary.
  /// Errors  invalid_option: a size of 0, or one that is too large for an LSTM
  [[nodiscard]] static result<basic_model_encoder> make(const std::string& who, const encoder_shape& shape,
                                                        const nn::kernels::kernel_set<T>& kernel) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (shape.vocabulary == 0 || shape.vocabulary > most)
      return error{errc::invalid_option, who + ": found a vocabulary of " + std::to_string(shape.vocabulary) +
                                             " layers, expected 1 to " + std::to_string(most)};
    auto forwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    if (!forwards) return forwards.error();
    auto backwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    auto decider = nn::basic_lstm<T>::make(2 * shape.encoder, shape.decider, kernel);
    if (!decider) return decider.error();
    return basic_model_encoder{shape, std::move(*forwards), std::move(*backwards), std::move(*decider)};
  }

  [[nodiscard]] const encoder_shape& shape() const noexcept { return shape_; }            ///< that of make()
  [[nodiscard]] std::span<T> embeddings() noexcept { return embeddings_; }                ///< [vocabulary x embedding]
  [[nodiscard]] std::span<const T> embeddings() const noexcept { return embeddings_; }    ///< to read
  [[nodiscard]] nn::basic_lstm<T>& forwards() noexcept { return forwards_; }              ///< from the first layer on
  [[nodiscard]] const nn::basic_lstm<T>& forwards() const noexcept { return forwards_; }  ///< to read
  [[nodiscard]] nn::basic_lstm<T>& backwards() noexcept { return backwards_; }            ///< from the last layer on
  [[nodiscard]] const nn::basic_lstm<T>& backwards() const noexcept { return backwards_; }  ///< to read
  [[nodiscard]] nn::basic_lstm<T>& decider() noexcept { return decider_; }                  ///< makes one state of it
  [[nodiscard]] const nn::basic_lstm<T>& decider() const noexcept { return decider_; }      ///< to read

  /// Reads rows of the table, at least one.
  /// Precondition: `work` was made for this shape and at least as many layers.
  [[nodiscard]] encoded_model<T> forward(std::span<const std::uint32_t> layers, workspace& work) const noexcept;
  /// Adds to `sums` what a loss changes with each parameter, given what it changes with the state of the model of the
  /// latest forward() on `work`. What it changes with the states of each direction, besides, by_ahead and
  /// by_back add to the span of [layers x encoder] that they are called with.
  template <class Ahead, class Back>
  void backward(std::span<const T> by_state, Ahead&& by_ahead, Back&& by_back, workspace& work,
                gradient sums) const noexcept;

 private:
  friend model_encoder_workspace<T>;

  basic_model_encoder(const encoder_shape& shape, nn::basic_lstm<T> forwards, nn::basic_lstm<T> backwards,
                      nn::basic_lstm<T> decider)
      : shape_{shape},
        forwards_{std::move(forwards)},
        backwards_{std::move(backwards)},
        decider_{std::move(decider)},
        embeddings_(shape.vocabulary * shape.embedding) {}

  encoder_shape shape_;
  nn::basic_lstm<T> forwards_, backwards_, decider_;
  nn::aligned_vector<T> embeddings_;
};

/// Memory for one model of at most so many layers on its way through a model_encoder and back. Allocated by the
/// constructor. One per thread.
template <std::floating_point T>
class model_encoder_workspace {
 public:
  /// For models of at most `layers` layers.
  model_encoder_workspace(const basic_model_encoder<T>& encoder, std::size_t layers)
      : shape_{encoder.shape_},
        most_{layers},
        forwards_{encoder.forwards_, layers},
        backwards_{encoder.backwards_, layers},
        decider_{encoder.decider_, layers},
        read_(layers * shape_.embedding),
        joined_(layers * 2 * shape_.encoder),
        slopes_(layers * shape_.decider),
        by_joined_(layers * 2 * shape_.encoder),
        by_direction_(layers * shape_.encoder) {}

  [[nodiscard]] std::size_t max_layers() const noexcept { return most_; }  ///< what the constructor was given
  [[nodiscard]] std::size_t layers() const noexcept { return layers_; }    ///< of the latest model; 0: none yet

 private:
  friend basic_model_encoder<T>;

  encoder_shape shape_;
  std::size_t most_;
  typename nn::basic_lstm<T>::workspace forwards_, backwards_, decider_;
  nn::aligned_vector<T> read_, joined_, slopes_, by_joined_, by_direction_;
  std::size_t layers_ = 0;
};

template <std::floating_point T>
encoded_model<T> basic_model_encoder<T>::forward(std::span<const std::uint32_t> layers,
                                                 workspace& work) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_, "model_encoder: the workspace is for another shape");
  RUBATO_ASSERT(!layers.empty() && layers.size() <= work.most_, "model_encoder: more layers than the workspace is for");
  const std::size_t width = shape_.embedding, units = shape_.encoder;
  work.layers_ = layers.size();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    RUBATO_ASSERT(layers[i] < shape_.vocabulary, "model_encoder: a layer beyond the table");
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
  return {ahead, back, states.last(shape_.decider)};
}

template <std::floating_point T>
template <class Ahead, class Back>
void basic_model_encoder<T>::backward(std::span<const T> by_state, Ahead&& by_ahead, Back&& by_back, workspace& work,
                                      gradient sums) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_ && work.layers_ > 0, "model_encoder: backward() comes after forward()");
  const std::size_t units = shape_.encoder, layers = work.layers_;
  const std::span<T> slopes{work.slopes_.data(), layers * shape_.decider};
  std::fill(slopes.begin(), slopes.end(), T{0});  // only the last state is used
  std::copy_n(by_state.data(), shape_.decider, slopes.last(shape_.decider).data());
  const std::span<T> by_joined{work.by_joined_.data(), layers * 2 * units};
  decider_.backward(slopes, work.decider_, sums[2], by_joined);
  const std::span<T> by_direction{work.by_direction_.data(), layers * units};
  const auto of_direction = [&](std::size_t offset) {
    for (std::size_t i = 0; i < layers; ++i)
      std::copy_n(by_joined.data() + i * 2 * units + offset, units, by_direction.data() + i * units);
    return by_direction;
  };
  by_ahead(of_direction(0));
  forwards_.backward(by_direction, work.forwards_, sums[0]);
  by_back(of_direction(units));
  backwards_.backward(by_direction, work.backwards_, sums[1]);
}

/// A network that is an encoder of models and a head.
template <class Network>
concept GrowthNetwork = requires(Network& network) {
  network.encoder_forwards();
  network.encoder_backwards();
  network.decider();
  network.head();
  network.embeddings();
};

/// Draws parameters as PyTorch draws them: uniform in +-1/sqrt(units) for LSTMs, the two biases that are one here being
/// the sum of two, and in +-1/sqrt(inputs) for layers. Embeddings are left as they are.
/// Tests   tests/adapt/growth/growth_network_test.cpp and block_network_test.cpp: ParametersAreDrawnAsPyTorchDoes
template <GrowthNetwork Network>
void initialise(Network& network, random_sequence& random) {
  const auto fill = [&random](auto numbers, double bound, int sum = 1) {
    for (auto& x : numbers) {
      double drawn = 0;
      for (int i = 0; i < sum; ++i) drawn += bound * (2 * random.uniform() - 1);
      x = static_cast<std::remove_reference_t<decltype(x)>>(drawn);
    }
  };
  for (auto* const each : {&network.encoder_forwards(), &network.encoder_backwards(), &network.decider()}) {
    const double bound = 1 / std::sqrt(static_cast<double>(each->units()));
    const std::size_t biases = 4 * each->units();
    fill(each->parameters().first(each->parameters().size() - biases), bound);
    fill(each->parameters().last(biases), bound, 2);
  }
  for (const nn::layer_shape& layer : network.head().layers())
    fill(network.head().parameters().subspan(layer.first, layer.end() - layer.first),
         1 / std::sqrt(static_cast<double>(layer.inputs)));
}

/// Draws embeddings from the standard normal distribution.
template <GrowthNetwork Network>
void draw_embeddings(Network& network, random_sequence& random) {
  for (auto& x : network.embeddings()) x = static_cast<std::remove_reference_t<decltype(x)>>(random.normal());
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
