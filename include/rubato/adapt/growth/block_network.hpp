#ifndef RUBATO_ADAPT_GROWTH_BLOCK_NETWORK_HPP
#define RUBATO_ADAPT_GROWTH_BLOCK_NETWORK_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "../../core/rng.hpp"
#include "../../nn/aligned_vector.hpp"
#include "../../nn/batch_workspace.hpp"
#include "../../nn/dynamic_mlp.hpp"
#include "../../nn/layer.hpp"
#include "../../nn/lstm.hpp"
#include "growable_model.hpp"
#include "time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Where a block that can be deepened is, in a model as it is now.
struct block_place {
  std::uint32_t first = 0;       ///< its first layer
  std::uint32_t last = 0;        ///< its last one, behind which an insertion goes; not before the first
  std::uint32_t insertions = 0;  ///< how often that was done
  friend bool operator==(const block_place&, const block_place&) noexcept = default;
};

/// The places of a model's blocks. An insertion is what looks like one: what deepening the block inserts, found right
/// behind it, again and again, before the next block begins. So a model that was written down and made again, deeper,
/// is the same.
/// Tests   tests/adapt/growth/block_network_test.cpp: PlacesFollowTheModel, InsertionsAreWhatLooksLikeThem
[[nodiscard]] inline std::vector<block_place> block_places(const growable_model& model) {
  std::vector<block_place> places;
  const std::span<const growable_block> blocks = model.blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const growable_block& block = blocks[b];
    const std::size_t behind = std::size_t{block.first} + block.layers, size = block.insertion.size();
    const std::size_t end = b + 1 < blocks.size() ? blocks[b + 1].first : model.layers().size();
    std::uint32_t insertions = 0;
    for (auto left = model.layers().subspan(behind, end - behind);
         left.size() >= size && std::ranges::equal(left.first(size), block.insertion); left = left.subspan(size))
      ++insertions;
    places.push_back({block.first, static_cast<std::uint32_t>(behind - 1), insertions});
  }
  return places;
}

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
/// It reads the model as a growth_network does, up to the state that stands for the model. Then all blocks go through
/// the same two hidden layers with ReLU, each with the eight numbers for the time, the model's state, and what is its
/// own: the encoder's state of each direction where that has just read the whole block (forwards at its last layer,
/// backwards at its first), how often it was deepened (n/(n+1)) and where it is among the blocks (b/blocks). Doing
/// nothing goes through them as a block of zeros, with a flag.
///
/// Parameters are in four parts, each an array of its own: the encoder forwards, backwards, the decider, the head.
///
/// Cost    forward(): a multiply-add per weight of the LSTMs and layer of the model, and one per weight of the head and
///         action; backward() two. make() and copies allocate, nothing else. Thread: const calls are thread-safe on
///         distinct workspaces.
/// Tests   tests/adapt/growth/block_network_test.cpp: MatchesALoopInDouble, GradientMatchesFiniteDifferences,
///         GradientsAccumulate, OneServesAllNumbersOfBlocks, ScoresDoNotDependOnTheBlocksBeside,
///         BlocksInAnotherOrderHaveTheSameScores, TimesBlocksAndInsertionsMatter, SmallerModelsFit,
///         RefusesImpossibleShapes; tests/adapt/no_allocation_test.cpp: BlockNetwork
/// Source  the encoder as in growth_network; a block by its ends: Wang and Chang, "Graph-based dependency parsing with
///         bidirectional LSTM", ACL 2016
template <std::floating_point T>
class basic_block_network {
 public:
  static constexpr std::size_t parts = 4;                     ///< of the parameters
  using workspace = block_network_workspace<T>;               ///< what forward() and backward() work in
  using gradient = std::array<nn::aligned_vector<T>, parts>;  ///< as many numbers as the parts have

  /// All parameters and embeddings 0.
  /// Errors  invalid_option: a size of 0, or one that is too large for an LSTM or a layer
  [[nodiscard]] static result<basic_block_network> make(
      const block_shape& shape, const nn::kernels::kernel_set<T>& kernel = nn::kernels::native<T>()) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (shape.vocabulary == 0 || shape.vocabulary > most)
      return error{errc::invalid_option, "block_network: found a vocabulary of " + std::to_string(shape.vocabulary) +
                                             " layers, expected 1 to " + std::to_string(most)};
    auto forwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    if (!forwards) return forwards.error();
    auto backwards = nn::basic_lstm<T>::make(shape.embedding, shape.encoder, kernel);
    auto decider = nn::basic_lstm<T>::make(2 * shape.encoder, shape.decider, kernel);
    if (!decider) return decider.error();
    auto head = nn::basic_dynamic_mlp<T>::make({inputs_of(shape), shape.hidden, shape.hidden, 1},
                                               {.hidden = {nn::activation_kind::relu}}, kernel);
    if (!head) return head.error();
    return basic_block_network{shape, std::move(*forwards), std::move(*backwards), std::move(*decider),
                               std::move(*head)};
  }

  [[nodiscard]] const block_shape& shape() const noexcept { return shape_; }  ///< that of make()
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
  /// And of that, for each action, the preference. Its inputs: time, model, the block forwards, backwards, how often it
  /// was deepened, where it is, whether this is doing nothing.
  [[nodiscard]] nn::basic_dynamic_mlp<T>& head() noexcept { return head_; }
  /// Zeros for backward() to add to. Allocates.
  [[nodiscard]] gradient no_gradient() const {
    gradient zeros;
    const auto all = parameters();
    for (std::size_t p = 0; p < parts; ++p) zeros[p] = nn::aligned_vector<T>(all[p].size());
    return zeros;
  }

  /// The preferences, in `work`: for each of `blocks` that it be deepened, and last that nothing be done. `layers` are
  /// rows of the table.
  /// Precondition: `work` was made for this shape and at least as many layers and blocks; there is a block, and each is
  /// within the layers.
  [[nodiscard]] std::span<const T> forward(std::span<const std::uint32_t> layers, std::span<const block_place> blocks,
                                           const std::array<float, time_codes>& time, workspace& work) const noexcept;
  /// Adds to `sums` what a loss changes with each parameter, given what it changes with each preference of the latest
  /// forward() on `work`.
  void backward(std::span<const T> by_preference, workspace& work, gradient& sums) const noexcept;

 private:
  friend block_network_workspace<T>;

  // Of the head: the time, the model, the block by both directions, and three numbers.
  [[nodiscard]] static constexpr std::size_t inputs_of(const block_shape& shape) noexcept {
    return time_codes + shape.decider + 2 * shape.encoder + 3;
  }

  basic_block_network(const block_shape& shape, nn::basic_lstm<T> forwards, nn::basic_lstm<T> backwards,
                      nn::basic_lstm<T> decider, nn::basic_dynamic_mlp<T> head)
      : shape_{shape},
        forwards_{std::move(forwards)},
        backwards_{std::move(backwards)},
        decider_{std::move(decider)},
        head_{std::move(head)},
        embeddings_(shape.vocabulary * shape.embedding) {}

  block_shape shape_;
  nn::basic_lstm<T> forwards_, backwards_, decider_;
  nn::basic_dynamic_mlp<T> head_;
  nn::aligned_vector<T> embeddings_;
};

/// Memory for one model of at most so many layers and blocks on its way through a block_network and back. Allocated by
/// the constructor. One per thread.
template <std::floating_point T>
class block_network_workspace {
 public:
  /// For models of at most `layers` layers and `blocks` blocks.
  block_network_workspace(const basic_block_network<T>& network, std::size_t layers, std::size_t blocks)
      : shape_{network.shape_},
        most_{layers},
        forwards_{network.forwards_, layers},
        backwards_{network.backwards_, layers},
        decider_{network.decider_, layers},
        head_{network.head_, blocks + 1},
        read_(layers * shape_.embedding),
        joined_(layers * 2 * shape_.encoder),
        slopes_(layers * shape_.decider),
        by_joined_(layers * 2 * shape_.encoder),
        by_direction_(layers * shape_.encoder),
        input_((blocks + 1) * network.head_.inputs()),
        by_input_((blocks + 1) * network.head_.inputs()),
        places_(blocks) {}

  [[nodiscard]] std::size_t max_layers() const noexcept { return most_; }           ///< what the constructor was given
  [[nodiscard]] std::size_t max_blocks() const noexcept { return places_.size(); }  ///< likewise

 private:
  friend basic_block_network<T>;

  block_shape shape_;
  std::size_t most_;
  typename nn::basic_lstm<T>::workspace forwards_, backwards_, decider_;
  typename nn::basic_dynamic_mlp<T>::workspace head_;
  nn::aligned_vector<T> read_, joined_, slopes_, by_joined_, by_direction_, input_, by_input_;
  std::vector<block_place> places_;
  std::size_t layers_ = 0, blocks_ = 0;  // of the latest model
};

template <std::floating_point T>
std::span<const T> basic_block_network<T>::forward(std::span<const std::uint32_t> layers,
                                                   std::span<const block_place> blocks,
                                                   const std::array<float, time_codes>& time,
                                                   workspace& work) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_, "block_network: the workspace is for another shape");
  RUBATO_ASSERT(!layers.empty() && layers.size() <= work.most_, "block_network: more layers than the workspace is for");
  RUBATO_ASSERT(!blocks.empty() && blocks.size() <= work.max_blocks(),
                "block_network: more blocks than the workspace is for");
  const std::size_t width = shape_.embedding, units = shape_.encoder;
  work.layers_ = layers.size();
  work.blocks_ = blocks.size();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    RUBATO_ASSERT(layers[i] < shape_.vocabulary, "block_network: a layer beyond the table");
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
  T* to = work.input_.data();
  for (std::size_t b = 0; b <= blocks.size(); ++b) {  // the last does nothing
    to = std::transform(time.begin(), time.end(), to, [](float code) { return static_cast<T>(code); });
    to = std::copy_n(states.data() + (layers.size() - 1) * shape_.decider, shape_.decider, to);
    if (b == blocks.size()) {
      to = std::fill_n(to, 2 * units + 2, T{0});
      *to++ = T{1};
      break;
    }
    const block_place& block = work.places_[b] = blocks[b];
    RUBATO_ASSERT(block.first <= block.last && block.last < layers.size(), "block_network: a block beyond the layers");
    to = std::copy_n(ahead.data() + block.last * units, units, to);
    to = std::copy_n(back.data() + block.first * units, units, to);
    *to++ = static_cast<T>(block.insertions) / (static_cast<T>(block.insertions) + T{1});
    *to++ = static_cast<T>(b) / static_cast<T>(blocks.size());
    *to++ = T{0};
  }
  return head_.forward({work.input_.data(), to}, work.head_);
}

template <std::floating_point T>
void basic_block_network<T>::backward(std::span<const T> by_preference, workspace& work,
                                      gradient& sums) const noexcept {
  RUBATO_ASSERT(work.shape_ == shape_ && work.layers_ > 0, "block_network: backward() comes after forward()");
  RUBATO_ASSERT(by_preference.size() == work.blocks_ + 1, "block_network: a slope for each preference is needed");
  const std::size_t units = shape_.encoder, layers = work.layers_, inputs = head_.inputs();
  head_.backward(by_preference, work.head_, sums[3], nn::gradient_mode::accumulate,
                 {work.by_input_.data(), (work.blocks_ + 1) * inputs});
  const std::span<T> slopes{work.slopes_.data(), layers * shape_.decider};
  std::fill(slopes.begin(), slopes.end(), T{0});  // only the last state is used, by all
  for (std::size_t b = 0; b <= work.blocks_; ++b)
    for (std::size_t u = 0; u < shape_.decider; ++u)
      slopes[(layers - 1) * shape_.decider + u] += work.by_input_[b * inputs + time_codes + u];
  const std::span<T> by_joined{work.by_joined_.data(), layers * 2 * units};
  decider_.backward(slopes, work.decider_, sums[2], by_joined);
  const std::span<T> by_direction{work.by_direction_.data(), layers * units};
  // By the states of one direction: what the decider makes of them, and what the blocks' scores do.
  const auto of_direction = [&](std::size_t offset, std::uint32_t block_place::*end) {
    for (std::size_t i = 0; i < layers; ++i)
      std::copy_n(by_joined.data() + i * 2 * units + offset, units, by_direction.data() + i * units);
    for (std::size_t b = 0; b < work.blocks_; ++b) {
      const T* const by_block = work.by_input_.data() + b * inputs + time_codes + shape_.decider + offset;
      T* const at = by_direction.data() + work.places_[b].*end * units;
      for (std::size_t u = 0; u < units; ++u) at[u] += by_block[u];
    }
    return by_direction;
  };
  forwards_.backward(of_direction(0, &block_place::last), work.forwards_, sums[0]);
  backwards_.backward(of_direction(units, &block_place::first), work.backwards_, sums[1]);
}

using block_network = basic_block_network<float>;  ///< see basic_block_network

/// Draws parameters as PyTorch draws them, see initialise() of a growth_network. Embeddings are left as they are.
/// Tests   tests/adapt/growth/block_network_test.cpp: ParametersAreDrawnAsPyTorchDoes
template <std::floating_point T>
void initialise(basic_block_network<T>& network, random_sequence& random) {
  const auto fill = [&random](std::span<T> numbers, double bound, int sum = 1) {
    for (T& x : numbers) {
      double drawn = 0;
      for (int i = 0; i < sum; ++i) drawn += bound * (2 * random.uniform() - 1);
      x = static_cast<T>(drawn);
    }
  };
  for (nn::basic_lstm<T>* const each :
       {&network.encoder_forwards(), &network.encoder_backwards(), &network.decider()}) {
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
template <std::floating_point T>
void draw_embeddings(basic_block_network<T>& network, random_sequence& random) {
  for (T& x : network.embeddings()) x = static_cast<T>(random.normal());
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
