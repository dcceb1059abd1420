#ifndef RUBATO_EXAMPLES_LAB_SEARCH_RUN_HPP
#define RUBATO_EXAMPLES_LAB_SEARCH_RUN_HPP

#include <atomic>
#include <cstdint>
#include <ostream>
#include <rubato/rl/search_training.hpp>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "support/user_error.hpp"
#include "training_files.hpp"

namespace rubato::lab {

/// How a search went.
struct search_report {
  bool complete = false;  ///< it was before this call, which has done nothing
  bool interrupted = false;
  std::uint64_t generations = 0;
  std::vector<rl::selection_report> selections{};  ///< the learning curve: mean costs
};

/// Loads the checkpoint, if there is one and `resume` says so.
/// Errors  user_error, also if more generations are done than are asked for
template <rl::ParameterSearch Search>
void resume_search(rl::search_trainer<Search>& training, const training_files& files, bool resume,
                   std::uint64_t generations) {
  if (resume && exists(files.training)) support::value_or_refuse(training.resume());
  if (training.generation() > generations)
    throw support::user_error{"--generations: found " + std::to_string(generations) + ", expected at least the " +
                              std::to_string(training.generation()) + " that are done"};
}

/// Searches until so many generations are done, or `stop` is raised, and says how it goes: of each selection what
/// `cost` is. The last guess is selected from, too, if any is (`selects`).
/// Errors  user_error
template <rl::ParameterSearch Search>
[[nodiscard]] search_report conduct_search(rl::search_trainer<Search>& training, std::uint64_t generations,
                                           bool selects, const rl::run_trials& measure, const std::string& cost,
                                           const std::atomic<bool>& stop, std::ostream& progress,
                                           const support::progress_options& display) {
  support::progress shown{progress, "searching", generations, display};
  shown.skip(training.generation());
  const rl::search_callbacks callbacks{
      .generation = [&](const rl::generation_report&) { return shown.advance(), true; },
      .selected =
          [&](const rl::selection_report& s) {
            shown.print("generation " + std::to_string(s.generation) + ": " + cost + " " + std::to_string(s.mean) +
                        " +- " + std::to_string(s.standard_error));
            return true;
          }};
  support::value_or_refuse(training.run(generations, measure, callbacks));
  if (!stop && selects) support::value_or_refuse(training.select(measure, callbacks));
  shown.finish();
  return {.interrupted = stop,
          .generations = training.generation(),
          .selections = {training.selections().begin(), training.selections().end()}};
}

}  // namespace rubato::lab

#endif
