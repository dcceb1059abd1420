#ifndef RUBATO_EXAMPLES_LAB_WATCH_HPP
#define RUBATO_EXAMPLES_LAB_WATCH_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::lab {

/// One worker of a job that is watched. Times are the job's.
struct watched_worker {
  std::uint32_t index = 0;
  std::string state;       ///< as its source calls it
  bool here = false;       ///< it has come, and has not gone
  bool late = false;       ///< joined after the job had begun
  double lateness = 0;     ///< overdue in its step
  double push_age = 0;     ///< since its last gradient; before the first one, since it joined
  double step = 0;         ///< recent time of a step; 0: none yet
  double relative = 0;     ///< score: the best step time / its own; 0: none
  double individual = -1;  ///< score: its own best step time / its recent one; -1: the source has none
  double waited = 0;       ///< for its release, in all
  double pushed = 0;       ///< gradients
  double dropped = 0;      ///< of these
};

/// A job at one moment.
struct watched_job {
  std::string policy;  ///< in one line, fit for a terminal
  double now = 0;      ///< time of the job
  double updates = 0;
  double pushed = 0, applied = 0, flushed = 0, dropped = 0, parked = 0;  ///< gradients; the first is the others' sum
  std::vector<watched_worker> workers;                                   ///< by index; who never came is not `here`
  std::vector<std::pair<std::string, double>> staleness;                 ///< gradients by range, such as "2-3"
  std::vector<std::pair<std::string, double>> actions;                   ///< how often
  std::vector<std::pair<std::string, double>> dropped_for;               ///< by reason
};

/// What a server's page of metrics says. Errors: user_error, with SOURCE: it is no such page.
[[nodiscard]] watched_job job_of_page(std::string_view page, const std::string& source);

/// The job as text: gradients, actions, staleness, and the workers, latest first. Rates are since `before`, or since
/// the job's begin where that is null.
[[nodiscard]] std::string view_of(const watched_job& now, const watched_job* before);
/// The same in one line, without an end.
[[nodiscard]] std::string line_of(const watched_job& now, const watched_job* before);
/// What draws such a text over the one before on a terminal of that size: lines that are too long are cut, those too
/// many left out.
[[nodiscard]] std::string redrawn(std::string_view text, std::size_t rows, std::size_t columns);

}  // namespace rubato::lab

#endif
