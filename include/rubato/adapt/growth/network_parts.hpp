#ifndef RUBATO_ADAPT_GROWTH_NETWORK_PARTS_HPP
#define RUBATO_ADAPT_GROWTH_NETWORK_PARTS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "../../nn/aligned_vector.hpp"
#include "../../nn/dynamic_mlp.hpp"
#include "../../nn/lstm.hpp"
#include "model_encoder.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What a growth_network and a block_network are made of: an encoder that reads the model, and a head that makes
/// preferences of what it says.
///
/// Parameters are in four parts, each an array of its own: the encoder forwards, backwards, the decider, the head.
/// Tests   through the networks: tests/adapt/growth/growth_network_test.cpp, block_network_test.cpp
template <std::floating_point T>
class network_parts {
 public:
  static constexpr std::size_t parts = 4;                     ///< of the parameters
  using gradient = std::array<nn::aligned_vector<T>, parts>;  ///< as many numbers as the parts have

  /// Of the table, [vocabulary x embedding].
  [[nodiscard]] std::span<T> embeddings() noexcept { return encoder_.embeddings(); }
  [[nodiscard]] std::span<const T> embeddings() const noexcept { return encoder_.embeddings(); }  ///< to read
  /// In four parts, for as many optimisers.
  [[nodiscard]] std::array<std::span<T>, parts> parameters() noexcept {
    return {encoder_.forwards().parameters(), encoder_.backwards().parameters(), encoder_.decider().parameters(),
            head_.parameters()};
  }
  /// To read.
  [[nodiscard]] std::array<std::span<const T>, parts> parameters() const noexcept {
    return {encoder_.forwards().parameters(), encoder_.backwards().parameters(), encoder_.decider().parameters(),
            head_.parameters()};
  }
  /// What reads the layers, from the first on.
  [[nodiscard]] nn::basic_lstm<T>& encoder_forwards() noexcept { return encoder_.forwards(); }
  /// And from the last on.
  [[nodiscard]] nn::basic_lstm<T>& encoder_backwards() noexcept { return encoder_.backwards(); }
  /// Makes one state of what both say.
  [[nodiscard]] nn::basic_lstm<T>& decider() noexcept { return encoder_.decider(); }
  /// And of that, with what else the network knows, the preferences.
  [[nodiscard]] nn::basic_dynamic_mlp<T>& head() noexcept { return head_; }
  /// Zeros for backward() to add to. Allocates.
  [[nodiscard]] gradient no_gradient() const {
    gradient zeros;
    const auto all = parameters();
    for (std::size_t p = 0; p < parts; ++p) zeros[p] = nn::aligned_vector<T>(all[p].size());
    return zeros;
  }

 protected:
  /// Of these.
  network_parts(basic_model_encoder<T> encoder, nn::basic_dynamic_mlp<T> head)
      : encoder_{std::move(encoder)}, head_{std::move(head)} {}

  basic_model_encoder<T> encoder_;  ///< see above
  nn::basic_dynamic_mlp<T> head_;   ///< see above
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
