#ifndef RUBATO_EXAMPLES_LAB_RUN_CONTEXT_HPP
#define RUBATO_EXAMPLES_LAB_RUN_CONTEXT_HPP

#include <atomic>
#include <ostream>

#include "support/progress.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// How runs are made, and who hears of it.
struct run_context {
  const training_data& data;
  unsigned threads = 1;
  const std::atomic<bool>& stop;
  std::ostream& progress;
  support::progress_options display{};
};

}  // namespace rubato::lab

#endif
