#ifndef RUBATO_EXAMPLES_LAB_BATCH_TRAINING_HPP
#define RUBATO_EXAMPLES_LAB_BATCH_TRAINING_HPP

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "search_run.hpp"
#include "support/progress.hpp"
#include "training_files.hpp"

namespace rubato::lab {

/// How a policy that sets batches is to be trained.
struct batch_training_request {
  std::uint64_t seed = 1;
  std::uint32_t updates = 160;          ///< of PPO, with which it begins
  std::uint64_t generations = 500;      ///< of the evolution strategy that goes on from there
  std::uint32_t population = 40;        ///< candidates of a generation, an even number
  std::uint32_t tasks = 48;             ///< that each candidate has
  std::uint32_t select_every = 50;      ///< generations
  std::uint32_t selection_tasks = 256;  ///< that the guesses are selected by
  std::string licence{};
};

/// Trains a network that sets batches, on tasks drawn at random (adapt::draw_batch_task), and writes a policy file.
///
/// PPO comes first: one network acts for all workers of a run, drawing its actions, and learns from each worker's
/// decisions. What it prefers is then what candidates of an evolution strategy begin with, which are judged by the time
/// of runs in which the preferred action is taken. Killed and resumed it ends with the same bits, from the start of the
/// phase it was in (PPO) or of the generation; so it does for any number of threads.
///
/// Errors  user_error
/// Tests   tests/examples/batch_training_test.cpp: SameSeedSameBytes, ResumesFromTheSearch, CompleteIsComplete
[[nodiscard]] search_report train_batches(const batch_training_request&, const training_files&, bool resume,
                                          unsigned threads, const std::atomic<bool>& stop, std::ostream& progress,
                                          const support::progress_options& display);

}  // namespace rubato::lab

#endif
