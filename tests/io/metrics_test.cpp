#include <gtest/gtest.h>

#include <limits>
#include <rubato/io/metrics.hpp>
#include <sstream>
#include <string>

#include "host.hpp"

namespace {

using namespace rubato;
using test::host;

static_assert(Observer<metrics>);

std::string text_of(const metrics& of) {
  std::string text;
  test::text_sink sink{&text};
  of.write(sink);
  return text;
}

// Without buckets, of which there are many.
std::string without_buckets(const std::string& text) {
  std::string kept;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);)
    if (line.find("_bucket") == std::string::npos) kept += line + '\n';
  return kept;
}

TEST(Metrics, GoldenText) {
  host<metrics> h{bsp{}, 2, metrics{2}};
  EXPECT_EQ(h.join(0, 0.0), errc::ok);
  EXPECT_EQ(h.join(1, 0.5), errc::ok);
  h.step(0, 1.5, 1.625);
  h.step(1, 3.0, 3.125, std::numeric_limits<float>::infinity());
  EXPECT_EQ(h.join(7, 4.0), errc::unknown_worker);
  EXPECT_EQ(without_buckets(text_of(h.sync.watcher())), R"(# HELP rubato_records_total Things that the controller did.
# TYPE rubato_records_total counter
rubato_records_total{what="join"} 2
rubato_records_total{what="admit"} 2
rubato_records_total{what="commit"} 2
rubato_records_total{what="release"} 4
rubato_records_total{what="flush"} 1
rubato_records_total{what="abandon"} 1
rubato_records_total{what="refuse"} 1
# HELP rubato_gradients_total Gradients by what was to be done with them.
# TYPE rubato_gradients_total counter
rubato_gradients_total{verdict="accumulate"} 1
rubato_gradients_total{verdict="drop"} 1
# HELP rubato_reasons_total Why something was dropped, refused or corrected.
# TYPE rubato_reasons_total counter
rubato_reasons_total{what="admit",reason="non_finite"} 1
rubato_reasons_total{what="abandon",reason="unknown_worker"} 1
rubato_reasons_total{what="refuse",reason="unknown_worker"} 1
# HELP rubato_staleness Updates between what a gradient was computed from and its arrival.
# TYPE rubato_staleness histogram
rubato_staleness_sum 0
rubato_staleness_count 2
# HELP rubato_wait_seconds From a commit or a join to the next start.
# TYPE rubato_wait_seconds histogram
rubato_wait_seconds_sum 2
rubato_wait_seconds_count 4
# HELP rubato_waiting_workers Workers that wait.
# TYPE rubato_waiting_workers gauge
rubato_waiting_workers 0
# HELP rubato_version Updates that are in.
# TYPE rubato_version gauge
rubato_version 1
)");
}

// Cumulative buckets that end with the count, and a bucket for each power of two.
TEST(Metrics, HistogramsAddUp) {
  metrics seen{1, 1e-3};
  for (const std::uint64_t staleness : {0U, 1U, 2U, 3U, 1U << 30})
    seen(record{.what = record::kind::admit, .worker = {0, 0}, .staleness = staleness});
  seen(record{.what = record::kind::commit, .worker = {0, 0}, .now = 1.0});
  seen(record{.what = record::kind::release, .worker = {0, 0}, .now = 3.0});  // 2 ms
  const std::string text = text_of(seen);
  for (const char* line : {"rubato_staleness_bucket{le=\"0\"} 1\n", "rubato_staleness_bucket{le=\"1\"} 2\n",
                           "rubato_staleness_bucket{le=\"3\"} 4\n", "rubato_staleness_bucket{le=\"16777215\"} 4\n",
                           "rubato_staleness_bucket{le=\"+Inf\"} 5\n", "rubato_staleness_count 5\n",
                           "rubato_wait_seconds_bucket{le=\"0.001023\"} 0\n",
                           "rubato_wait_seconds_bucket{le=\"0.002047\"} 1\n",
                           "rubato_wait_seconds_sum 0.002\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
