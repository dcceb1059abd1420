#ifndef RUBATO_EXAMPLES_LAB_TAPPED_ENCODER_HPP
#define RUBATO_EXAMPLES_LAB_TAPPED_ENCODER_HPP

#include <cstdint>
#include <functional>
#include <rubato/encode/action_set.hpp>
#include <rubato/encode/encoder.hpp>
#include <span>
#include <utility>

namespace rubato::lab {

/// An encoder whose every observation passes somebody who may note or change it, on its way to a network.
/// Tests   tests/examples/explain_test.cpp: WhatTheTapChangesReachesTheNetwork
template <StateEncoder Encoder>
struct tapped_encoder : Encoder {
  /// Is told the legal actions of groups, and the observation.
  using tap_type = std::function<void(std::uint32_t, std::span<float, Encoder::dim>)>;

  tap_type tap{};

  tapped_encoder() = default;
  explicit tapped_encoder(tap_type by) : tap{std::move(by)} {}

  void encode(const cluster_view& view, const event& what, std::span<float, Encoder::dim> out) noexcept {
    Encoder::encode(view, what, out);
    tap(legal_actions(view), out);
  }
};

}  // namespace rubato::lab

#endif
