#ifndef RUBATO_EXAMPLES_LAB_METRICS_PAGE_HPP
#define RUBATO_EXAMPLES_LAB_METRICS_PAGE_HPP

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace rubato::lab {

/// One sample of a page of metrics.
struct metric_sample {
  std::string name;
  std::map<std::string, std::string> labels;  ///< as they are: text that others wrote
  double value = 0;
};

/// Bytes of a sample's line.
inline constexpr std::size_t longest_sample = std::size_t{1} << 16;

/// Calls each() with the samples of a page in Prometheus' text format 0.0.4, in their order; comments are passed over,
/// times of samples too. Keeps none of them.
///
/// Errors  user_error: SOURCE:LINE: found ..., expected ...; what each() throws
/// Tests   tests/examples/watch_test.cpp: PageIsRead, WhatIsNoPageIsSaid, ASampleThatIsTooLongIsRefused
void read_metrics(std::string_view page, const std::string& source,
                  const std::function<void(const metric_sample&)>& each);

}  // namespace rubato::lab

#endif
