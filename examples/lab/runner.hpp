#ifndef RUBATO_EXAMPLES_LAB_RUNNER_HPP
#define RUBATO_EXAMPLES_LAB_RUNNER_HPP

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "result_cache.hpp"
#include "support/progress.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// One run to make.
struct job {
  setting at;
  const any_policy* policy = nullptr;
  std::uint64_t seed = 0;
};

/// Where jobs are run, and who hears of it.
struct runner {
  const training_data& data;
  result_cache& cache;
  unsigned threads = 1;
  const std::atomic<bool>& stop;  ///< raised: abandon runs under way, begin no others
  std::ostream& progress;
  support::progress_options display{};

  /// Results in the order of the jobs; none for those that were stopped. What the cache knows is not run. The results
  /// are the same for any number of threads. Errors  user_error of the cache
  [[nodiscard]] std::vector<std::optional<measurement>> run(const std::vector<job>&, const std::string& label) const;
};

}  // namespace rubato::lab

#endif
