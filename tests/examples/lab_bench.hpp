#ifndef RUBATO_TESTS_EXAMPLES_LAB_BENCH_HPP
#define RUBATO_TESTS_EXAMPLES_LAB_BENCH_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/lab/compare.hpp"

namespace rubato::test {

/// What quick runs need: a noisy quadratic, no data, no display.
struct lab_bench {
  lab::training_data data;
  std::atomic<bool> stop = false;
  std::ostringstream shown;
  std::function<double()> now = [] { return 0.0; };
  std::uint64_t calls = 0;  ///< for a `now` that counts
  lab::result_cache nothing{};

  [[nodiscard]] lab::runner runner(lab::result_cache& cache, unsigned threads = 1) {
    return {.data = data,
            .cache = cache,
            .threads = threads,
            .stop = stop,
            .progress = shown,
            .display = {.terminal = false, .now = now}};
  }
  [[nodiscard]] lab::runner runner(unsigned threads = 1) { return runner(nothing, threads); }

  [[nodiscard]] lab::comparison compare(const lab::compare_options& asked, lab::result_cache& cache,
                                        unsigned threads = 1) {
    return lab::compare(asked, runner(cache, threads));
  }
  [[nodiscard]] lab::comparison compare(const lab::compare_options& asked, unsigned threads = 1) {
    return compare(asked, nothing, threads);
  }
};

[[nodiscard]] inline lab::compare_options quick(const std::string& policies, std::uint32_t seeds,
                                                std::vector<std::string> settings = {}, bool tune = false) {
  lab::compare_options asked;
  asked.scenario.name = "quick";
  settings.insert(settings.begin(), {"objective.kind=quadratic", "cluster.cores=4", "stragglers.kind=static"});
  support::apply_settings(asked.scenario, settings);
  asked.policies = lab::parse_policies(policies, tune);
  asked.seeds = seeds;
  asked.tune = tune;
  return asked;
}

}  // namespace rubato::test

#endif
