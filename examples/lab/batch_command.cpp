// `batch train`: trains a policy that sets batches. `batch compare` is `compare`, with rules that set them.
#include <cmath>
#include <iostream>

#include "batch_training.hpp"
#include "commands.hpp"
#include "given.hpp"
#include "interrupt.hpp"
#include "support/shell_word.hpp"
#include "support/user_error.hpp"
#include "training_files.hpp"

namespace rubato::lab {

int run_batch_train(const batch_train_arguments& given) {
  if (given.population % 2 != 0)
    throw support::user_error{"--population: found " + std::to_string(given.population) +
                              ", expected an even number: candidates are in pairs"};
  const training_files files = files_of(given.out, "", {});
  const batch_training_request asked{.seed = given.seed,
                                     .updates = given.updates,
                                     .generations = given.generations,
                                     .population = given.population,
                                     .tasks = given.tasks,
                                     .select_every = given.select_every,
                                     .selection_tasks = given.selection_tasks,
                                     .licence = given.licence};
  const search_report report = train_batches(asked, files, given.resume, given_threads(given.threads),
                                                     catch_interrupt(), std::cerr, {.quiet = given.quiet});
  if (report.complete) {
    std::cout << given.out << " is complete already\n";
    return 0;
  }
  if (report.interrupted) {
    std::cerr << "rubato-lab: interrupted; the same command with --resume goes on\n";
    return interrupted_status();
  }
  const rl::selection_report& first = report.selections.front();
  for (const rl::selection_report& each : report.selections)
    if (each.best && each.generation > 0)
      std::cout << "generation " << each.generation << ": " << std::exp(each.mean - first.mean)
                << " of the time that what PPO had learned takes\n";
  std::cout << "written: " << given.out << "\nsee it:  rubato-lab inspect " << support::shell_word(given.out) << std::endl;
  return 0;
}

}  // namespace rubato::lab
