#ifndef RUBATO_SIM_OBJECTIVE_HPP
#define RUBATO_SIM_OBJECTIVE_HPP

#include <concepts>
#include <cstdint>
#include <span>

#include "../core/step_metrics.hpp"

namespace rubato::inline RUBATO_ABI::sim {

/// What a worker can tell of its batch.
struct gradient_statistics {
  float accuracy = not_measured;  ///< of the batch, before the update
  float variance = not_measured;  ///< see step_metrics::gradient_variance
  float square = not_measured;    ///< see step_metrics::gradient_square
};

/// What a worker pushes: the name of a gradient that the objective keeps, and what the worker knows about it.
struct gradient {
  std::uint32_t handle = 0;   ///< names storage of the objective, until release()
  float loss = 0;             ///< mean loss of the batch; not finite when training has diverged
  float norm = 0;             ///< Euclidean norm of the mean gradient; 0 where the objective was told not to compute it
  std::uint32_t samples = 0;  ///< batch size
  gradient_statistics statistics{};  ///< none where the objective was told to measure none
};

/// One term of an update: a live gradient and its factor.
struct contribution {
  std::uint32_t handle = 0;  ///< of gradient::handle
  float weight = 1;          ///< factor on the mean gradient of the batch
};

/// How good the present parameters are.
struct evaluation {
  double loss = 0;      ///< mean over the validation set; not finite when training has diverged
  double accuracy = 0;  ///< share in [0, 1]
};

/// What is being trained: parameters, a stream of batches for every worker, and a measure of success.
///
///   reset(seed)                        new initial parameters; drops all handles
///   compute(worker, step, batch)       gradient, at the present parameters, of a batch drawn for (seed, worker, step)
///   update(contributions, rate)        ONE update: v = momentum * v + sum weight * gradient; w -= rate * v
///   release(handle)                    returns the storage; required once for every compute()
///   evaluate()                         loss and accuracy on the validation set
///   probe()                            loss on a small fixed set
///
/// The batch depends on nothing but (seed, worker, step), so the order of events never changes what a worker sees.
/// Satisfied by sgd_objective, quadratic.
template <class T>
concept Objective = requires(T& objective, std::uint64_t number, std::uint32_t count,
                             std::span<const contribution> contributions, double learning_rate) {
  { objective.reset(number) } -> std::same_as<void>;
  { objective.compute(count, number, count) } -> std::same_as<gradient>;
  { objective.update(contributions, learning_rate) } -> std::same_as<void>;
  { objective.release(count) } -> std::same_as<void>;
  { objective.evaluate() } -> std::same_as<evaluation>;
  { objective.probe() } -> std::same_as<double>;
};

}  // namespace rubato::inline RUBATO_ABI::sim

#endif
