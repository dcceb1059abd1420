#include "given.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include "interrupt.hpp"
#include "shipped.hpp"
#include "support/image_files.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] std::filesystem::path data_folder(const std::string& given) {
  return given.empty() ? shipped("examples/data") : std::filesystem::path{given};
}

}  // namespace

support::scenario given_scenario(const std::string& name, const std::vector<std::string>& settings) {
  support::scenario scenario = support::find_scenario(name, shipped("examples/lab/scenarios"));
  support::apply_settings(scenario, settings);
  if (scenario.run.target_accuracy == support::scenario::auto_target)
    throw support::user_error{"--scenario " + name +
                              ": found objective.target_accuracy = auto, expected a number: only compare finds it by "
                              "itself"};
  return scenario;
}

training_data given_data(const support::scenario& scenario, const std::string& folder) {
  return load_data(scenario, data_folder(folder));
}

std::vector<named_file> given_files(const std::string& scenario, const std::string& data) {
  std::vector<named_file> files = given_data_files("--data", data);
  files.insert(files.begin(), {"--scenario", support::scenario_file(scenario)});
  return files;
}

std::vector<named_file> given_data_files(const std::string& option, const std::string& folder) {
  std::vector<named_file> files;
  for (const auto& each : support::image_files(data_folder(folder))) files.push_back({option, each.string()});
  return files;
}

unsigned given_threads(unsigned threads) {
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

std::unique_ptr<result_cache> given_cache(const std::string& folder, bool no_cache) {
  return no_cache ? std::make_unique<result_cache>() : std::make_unique<result_cache>(folder, code_version());
}

named_file given_cache_file(const std::string& folder, bool no_cache) {
  return {"--cache", no_cache ? "" : cache_file(folder, code_version()).string()};
}

runner given_runner(const training_data& data, result_cache& cache, unsigned threads, bool quiet) {
  return {.data = data,
          .cache = cache,
          .threads = given_threads(threads),
          .stop = catch_interrupt(),
          .progress = std::cerr,
          .display = {.quiet = quiet}};
}

run_context given_context(const training_data& data, unsigned threads, bool quiet) {
  return {.data = data,
          .threads = given_threads(threads),
          .stop = catch_interrupt(),
          .progress = std::cerr,
          .display = {.quiet = quiet}};
}

}  // namespace rubato::lab
