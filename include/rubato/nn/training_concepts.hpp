#ifndef RUBATO_NN_TRAINING_CONCEPTS_HPP
#define RUBATO_NN_TRAINING_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <span>

#include "../core/archive.hpp"
#include "batch_workspace.hpp"
#include "layer.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// A network that a learner can train, on batches: rows of `inputs()` numbers, row after row.
///
///   parameters()                        all of them, contiguous; gradients have the same order
///   workspace(network, rows)            memory for one batch of at most `rows` samples
///   forward(batch, work) -> outputs     [rows x outputs], in the workspace, valid until its next forward()
///   backward(outputs' gradient, work, gradients, mode)   the gradient by every parameter, added to `gradients` or in
///                                                        place of what they hold; after forward() on `work`
///   state(archive)                      saves and loads the parameters
///
/// A copy of a network is a target network: `target = online`. Satisfied by mlp and dynamic_mlp.
/// Tests   tests/nn/concepts_test.cpp: NetworksAreTrainable, WhatIsNotTrainable
template <class N>
concept TrainableNetwork = std::floating_point<typename N::scalar> && std::copyable<N> &&
    std::constructible_from<typename N::workspace, const N&, std::size_t> &&
    requires(N& network, const N& fixed, typename N::workspace& work, std::span<const typename N::scalar> numbers,
             std::span<typename N::scalar> sums, archive& bytes) {
  { fixed.inputs() }
  noexcept->std::same_as<std::size_t>;
  { fixed.outputs() }
  noexcept->std::same_as<std::size_t>;
  { network.parameters() }
  noexcept->std::same_as<std::span<typename N::scalar>>;
  { fixed.parameters() }
  noexcept->std::same_as<std::span<const typename N::scalar>>;
  { fixed.evaluate(numbers, sums) }
  noexcept->std::same_as<void>;
  { fixed.forward(numbers, work) }
  noexcept->std::same_as<std::span<const typename N::scalar>>;
  { fixed.backward(numbers, work, sums, gradient_mode::overwrite) }
  noexcept->std::same_as<void>;
  network.state(bytes);
};

/// Moves parameters against a gradient. Satisfied by sgd and adam.
///
/// Tests   tests/nn/concepts_test.cpp: OptimisersAreOptimisers
template <class O>
concept Optimiser = std::floating_point<typename O::scalar> && std::copyable<O> &&
    requires(O& optimiser, const O& fixed, std::span<typename O::scalar> parameters,
             std::span<const typename O::scalar> gradients, double rate, archive& bytes) {
  { optimiser.step(parameters, gradients) }
  noexcept->std::same_as<void>;
  { fixed.learning_rate() }
  noexcept->std::same_as<double>;
  { optimiser.set_learning_rate(rate) }
  noexcept->std::same_as<void>;
  optimiser.state(bytes);
};

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
