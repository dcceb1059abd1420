#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <rubato/io/metrics_text.hpp>
#include <string>

#include "host.hpp"

namespace metrics_text_test {
namespace {

using rubato::metrics_text;
using rubato::test::text_sink;

TEST(MetricsText, GoldenPage) {
  std::string text;
  text_sink sink{&text};
  metrics_text page{sink};
  page.family("rubato_workers", "gauge", "Workers, by state.");
  page.sample(3, {{"state", "running"}}).sample(1U, {{"state", "dead"}, {"worker", 7U}});
  page.family("rubato_staleness", "histogram", "Staleness.");
  page.part("_bucket")
      .sample(7, {{"le", "0"}})
      .sample(9, {{"le", "+Inf"}})
      .part("_sum")
      .sample(2.5)
      .part("_count")
      .sample(9);
  page.family("rubato_none_total", "counter", "Nothing.");
  EXPECT_EQ(text,
            R"(# HELP rubato_workers Workers, by state.
# TYPE rubato_workers gauge
rubato_workers{state="running"} 3
rubato_workers{state="dead",worker="7"} 1
# HELP rubato_staleness Staleness.
# TYPE rubato_staleness histogram
rubato_staleness_bucket{le="0"} 7
rubato_staleness_bucket{le="+Inf"} 9
rubato_staleness_sum 2.5
rubato_staleness_count 9
# HELP rubato_none_total Nothing.
# TYPE rubato_none_total counter
)");
}

TEST(MetricsText, TextIsEscaped) {
  std::string text;
  text_sink sink{&text};
  metrics_text page{sink};
  page.family("a", "gauge", "one\\two\n\"three\"").sample(1, {{"why", "\"x\\y\"\n"}});
  EXPECT_EQ(text, "# HELP a one\\\\two\\n\"three\"\n# TYPE a gauge\na{why=\"\\\"x\\\\y\\\"\\n\"} 1\n");
}

TEST(MetricsText, NumbersRoundTrip) {
  const auto line = [](auto value) {
    std::string text;
    text_sink sink{&text};
    metrics_text page{sink};
    page.family("a", "gauge", "b");
    text.clear();
    page.sample(value);
    return text;
  };
  EXPECT_EQ(line((std::numeric_limits<std::uint64_t>::max)()), "a 18446744073709551615\n");
  EXPECT_EQ(line(-5), "a -5\n");
  EXPECT_EQ(std::strtod(line(0.1).c_str() + 2, nullptr), 0.1);
  EXPECT_EQ(std::strtod(line(1e300 / 3).c_str() + 2, nullptr), 1e300 / 3);
  EXPECT_EQ(line(std::numeric_limits<double>::infinity()), "a +Inf\n");
  EXPECT_EQ(line(-std::numeric_limits<float>::infinity()), "a -Inf\n");
  EXPECT_EQ(line(std::numeric_limits<double>::quiet_NaN()), "a NaN\n");
}

}  // namespace
}  // namespace metrics_text_test
