#ifndef RUBATO_NN_CONCEPTS_HPP
#define RUBATO_NN_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <span>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// The value of every action in a state: state features in, one number per action out; all that a policy needs of a
/// network. It must neither throw nor allocate. Satisfied by mlp and dynamic_mlp.
///
/// Tests   tests/nn/concepts_test.cpp: NetworksAreActionValueFunctions, WhatIsNoActionValueFunction
template <class Q>
concept ActionValueFunction = requires(const Q& q, std::span<const float> state, std::span<float> values) {
  { q.evaluate(state, values) }
  noexcept->std::same_as<void>;
};

/// The same in two parts, for inputs of which all but the first `newest` are known early: what begin() leaves in
/// `sums`, history_size() numbers, is what finish() begins with. Satisfied by mlp and dynamic_mlp.
///
/// Tests   tests/nn/concepts_test.cpp: NetworksAreActionValueFunctions
template <class Q>
concept HistoryActionValueFunction = ActionValueFunction<Q> &&
    requires(const Q& q, std::size_t newest, std::span<const float> in, std::span<float> sums, std::span<float> out) {
  { q.history_size() } noexcept->std::same_as<std::size_t>;
  { q.begin(newest, in, sums) } noexcept->std::same_as<void>;
  { q.finish(newest, in, std::span<const float>{sums}, out) } noexcept->std::same_as<void>;
};

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
