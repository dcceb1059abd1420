#include "record_run.hpp"

#include <optional>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/io/decision_log.hpp>

#include "output_file.hpp"

namespace rubato::lab {

bool record_first_run(const comparison& made, const training_data& data, atomic_file* log, atomic_file* trace,
                      const std::atomic<bool>& stop) {
  const comparison_row& row = made.rows.front();
  const any_policy& policy = row.used.policy;
  std::optional<decision_log<file_reference>> lines;
  std::optional<chrome_trace_stream<file_reference>> spans;
  if (log != nullptr) lines.emplace(file_reference{log}, policy);
  if (trace != nullptr)
    spans.emplace(
        file_reference{trace},
        chrome_trace_options{.workers = made.asked.scenario.cluster.workers, .policy = policy.describe().line});

  any_observer watcher{[&](const record& r) {
    if (lines) (*lines)(r);
    if (spans) (*spans)(r);
  }};
  if (spans)
    watcher.of_answers = [&](const event& asked, const decision& answer, const insight& by) {
      spans->answered(asked, answer, by);
    };
  const setting at = setting_of(made, made.asked.seed, row.learning_rate);
  if (!workbench{data}.watch(at, policy, made.asked.seed, watcher, stop)) return false;
  if (spans) spans->finish();
  return true;
}

}  // namespace rubato::lab
