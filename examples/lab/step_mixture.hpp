#ifndef RUBATO_EXAMPLES_LAB_STEP_MIXTURE_HPP
#define RUBATO_EXAMPLES_LAB_STEP_MIXTURE_HPP

#include <cstdint>
#include <span>

#include "decision_history.hpp"
#include "step_fit.hpp"

namespace rubato::lab {

/// A step as the mixture takes it.
struct usable_step {
  std::uint32_t worker = 0;
  double start = 0;
  double end = 0;
  double share = 1;    ///< of the nominal batch
  bool counts = true;  ///< false: it only takes its part of the cores
};

/// Whether a worker sleeps at every step.
enum class habit : char { no, if_steps_scatter, yes };

/// Steps of a log as those of workers that compute, with jitter, and sometimes sleep, if so many cores are shared. In
/// turn: who has had how much of a core, given who slept; who slept, given what everybody has had.
///
/// Unless some_sleep, nobody sleeps at some steps and not at others. The fit has all steps, those that do not count too.
/// Pre     a habit for each worker; some steps count
/// Tests   tests/examples/step_fit_test.cpp
[[nodiscard]] step_fit fit_mixture(std::span<const usable_step>, std::span<const unfinished_step>, std::uint32_t cores,
                                   std::span<const habit>, bool some_sleep);

}  // namespace rubato::lab

#endif
