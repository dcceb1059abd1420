#ifndef RUBATO_ADAPT_TRAIN_GROWTH_ADAM_HPP
#define RUBATO_ADAPT_TRAIN_GROWTH_ADAM_HPP

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../nn/optimiser.hpp"
#include "../../pinned.hpp"
#include "../growth/growth_network.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// Adam for all parts of a growth_network or a block_network, with the gradient that it goes by.
///
/// Cost    step(): O(parameters). Allocates when it is made. Not thread-safe.
/// Tests   tests/adapt/growth/growth_adam_test.cpp: StepsDownhill, LeavesTheNetworkWhereNoNumbersCome
template <class Network>
class basic_growth_adam {
 public:
  /// For networks of this one's shape, with a gradient of zeros.
  basic_growth_adam(const Network& network, double learning_rate) : gradient_{network.no_gradient()} {
    for (const auto part : network.parameters())
      adams_.emplace_back(part.size(), nn::adam_options{.learning_rate = learning_rate});
  }

  [[nodiscard]] typename Network::gradient& gradient() noexcept { return gradient_; }  ///< for backward() to add to
  /// One step by the gradient, which is zeros then. False where it is not finite: the network is as before.
  /// Precondition: `network` has the shape of the one that this was made for.
  bool step(Network& network) {
    const auto finite = [](const auto& part) {
      return std::ranges::all_of(part, [](float x) { return pinned::is_finite(x); });
    };
    const bool steps = std::ranges::all_of(gradient_, finite);
    const auto parameters = network.parameters();
    for (std::size_t p = 0; p < Network::parts; ++p) {
      if (steps) adams_[p].step(parameters[p], gradient_[p]);
      std::ranges::fill(gradient_[p], 0.0F);
    }
    return steps;
  }
  /// Of the steps to come.
  void set_learning_rate(double rate) {
    for (nn::adam& each : adams_) each.set_learning_rate(rate);
  }

 private:
  typename Network::gradient gradient_;
  std::vector<nn::adam> adams_;
};

using growth_adam = basic_growth_adam<growth_network>;  ///< see basic_growth_adam

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
