#include "runner.hpp"

#include <algorithm>

#include "support/parallel.hpp"

namespace rubato::lab {

std::vector<std::optional<measurement>> runner::run(const std::vector<job>& jobs, const std::string& label) const {
  std::vector<std::optional<measurement>> results(jobs.size());
  std::vector<std::string> keys(jobs.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    keys[i] = result_key(jobs[i].at, data.fingerprint, *jobs[i].policy, jobs[i].seed);
    results[i] = cache.find(keys[i]);
    if (!results[i]) open.push_back(i);
  }
  support::progress shown{progress, label, jobs.size(), display};
  if (const std::size_t known = jobs.size() - open.size(); known > 0) {
    shown.print(label + ": " + std::to_string(known) + " of " + std::to_string(jobs.size()) +
                " results come from the cache");
    shown.skip(known);
  }

  const auto run_one = [&](workbench& bench, std::size_t job) {
    const std::size_t i = open[job];
    results[i] = bench.run(jobs[i].at, *jobs[i].policy, jobs[i].seed, stop);
    if (!results[i]) return;
    cache.store(keys[i], *results[i]);
    shown.advance();
  };
  support::share_out(open.size(), threads, stop, [&] { return workbench{data}; }, run_one);
  shown.finish();
  return results;
}

}  // namespace rubato::lab
