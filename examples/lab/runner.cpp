#include "runner.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

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

  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      workbench bench{data};
      while (!stop && !failed) {
        const std::size_t taken = next++;
        if (taken >= open.size()) return;
        const std::size_t i = open[taken];
        results[i] = bench.run(jobs[i].at, *jobs[i].policy, jobs[i].seed, stop);
        if (!results[i]) return;
        cache.store(keys[i], *results[i]);
        shown.advance();
      }
    } catch (...) {
      const std::lock_guard lock{mutex};
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads, open.size()); ++t) others.emplace_back(work);
    work();
  }
  shown.finish();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace rubato::lab
