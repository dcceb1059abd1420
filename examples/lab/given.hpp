#ifndef RUBATO_EXAMPLES_LAB_GIVEN_HPP
#define RUBATO_EXAMPLES_LAB_GIVEN_HPP

#include <memory>
#include <string>
#include <vector>

#include "output_file.hpp"
#include "run_context.hpp"
#include "runner.hpp"
#include "support/scenario.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// What options that several commands have stand for. Errors: user_error.

/// --scenario and --set, where a target has to be known: only `compare` finds one that is auto.
[[nodiscard]] support::scenario given_scenario(const std::string& name, const std::vector<std::string>& settings);

/// --data; if it is empty, the images that ship.
[[nodiscard]] training_data given_data(const support::scenario&, const std::string& folder);

/// The files that --scenario and --data stand for, so that nothing is written over them: see check_outputs.
[[nodiscard]] std::vector<named_file> given_files(const std::string& scenario, const std::string& data);

/// The files of such a folder, which an option names.
[[nodiscard]] std::vector<named_file> given_data_files(const std::string& option, const std::string& folder);

/// --threads; if it is 0, as many as the machine has.
[[nodiscard]] unsigned given_threads(unsigned threads);

/// --cache and --no-cache.
[[nodiscard]] std::unique_ptr<result_cache> given_cache(const std::string& folder, bool no_cache);

/// Its file, so that nothing is written over it: see check_outputs.
[[nodiscard]] named_file given_cache_file(const std::string& folder, bool no_cache);

/// --threads and --quiet: runs whose results are kept, reported as below. `data` and the cache must outlive it.
[[nodiscard]] runner given_runner(const training_data& data, result_cache&, unsigned threads, bool quiet);

/// --threads and --quiet: runs that report to standard error and stop at an interrupt. `data` must outlive it.
[[nodiscard]] run_context given_context(const training_data& data, unsigned threads, bool quiet);

}  // namespace rubato::lab

#endif
