#ifndef RUBATO_TESTS_EXAMPLES_SUMMARY_FILE_HPP
#define RUBATO_TESTS_EXAMPLES_SUMMARY_FILE_HPP

#include <cmath>
#include <rubato/core/number_text.hpp>
#include <string>
#include <vector>

#include "../adapt/logged_runs.hpp"

namespace rubato::test {

/// A training as it is logged.
struct logged_row {
  std::string name;
  unsigned last_step;
  double accuracy, time;
};

/// A summary.csv of these, with the columns that are needed among others.
inline std::string csv_of(const std::vector<logged_row>& rows) {
  std::string csv = "dir,acc_src,acc_laststep,acc_final,acc_T,loss_src,loss_final,loss_T\n";
  for (const logged_row& each : rows)
    csv += each.name + ",acc.csv," + std::to_string(each.last_step) + "," + rubato::detail::text_of(each.accuracy) +
           ",,loss.csv,0.01," + rubato::detail::text_of(each.time) + "\n";
  return csv;
}

/// The trainings in logged_runs.hpp as such a file, under names like those of the logs.
inline std::string summary_csv() {
  std::vector<logged_row> rows;
  for (const logged_workload& workload : logged_workloads())
    for (const adapt::logged_share& each : workload.shares) {
      const auto per_cent = std::lround(100 * each.share);
      const double rounds = static_cast<double>(workload.steps) / workload.workers;
      const double last = workload.steps - each.share * (workload.workers - 1) * rounds + (each.share < 1 ? 13 : 0);
      std::string name = each.share == 1   ? "bsp"
                         : each.share == 0 ? "asp"
                                           : "b" + std::to_string(per_cent) + "-a" + std::to_string(100 - per_cent);
      int run = 0;
      for (const adapt::switch_outcome& one : each.runs)
        rows.push_back({std::string{workload.name} + "/" + name + "-run" + std::to_string(++run),
                        static_cast<unsigned>(last), one.accuracy, one.time});
    }
  return csv_of(rows);
}

}  // namespace rubato::test

#endif
