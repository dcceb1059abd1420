#ifndef RUBATO_EXAMPLES_LAB_METRICS_PAGE_HPP
#define RUBATO_EXAMPLES_LAB_METRICS_PAGE_HPP

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// One sample of a page of metrics.
struct metric_sample {
  std::string name;
  std::map<std::string, std::string> labels;  ///< as they are: text that others wrote
  double value = 0;
};

/// The samples of a page in Prometheus' text format 0.0.4, in their order; comments are passed over, times of samples
/// too.
///
/// Errors  user_error: SOURCE:LINE: found ..., expected ...
/// Tests   tests/examples/watch_test.cpp: PageIsRead, WhatIsNoPageIsSaid
[[nodiscard]] std::vector<metric_sample> read_metrics(std::string_view page, const std::string& source);

}  // namespace rubato::lab

#endif
