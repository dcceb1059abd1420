// All observers at once: each writes what it writes alone.
#include <gtest/gtest.h>

#include <rubato/io/chrome_trace.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <rubato/io/metrics_text.hpp>
#include <rubato/sync/extras/job_metrics.hpp>
#include <rubato/sync/extras/observers.hpp>
#include <string>
#include <utility>

#include "host.hpp"

namespace {

using namespace rubato;

constexpr std::uint32_t crew = 5;

template <class Watcher>
void run_watched(test::host<Watcher>& h) {
  test::random_run(h, 11, 2'000);
}
template <class Watcher>
std::string written_by(const Watcher& watcher) {
  std::string text;
  test::text_sink sink{&text};
  watcher.write(sink);
  return text;
}

std::string written_by(const job_metrics& watcher) {
  std::string text;
  test::text_sink sink{&text};
  metrics_text page{sink};
  watcher.write(page, 1e3);
  return text;
}

TEST(ObserversTogether, EachGivesWhatItGivesAlone) {
  using log = decision_log<test::text_sink>;
  std::string alone, together;
  test::host<log> logged{asp{}, crew, log{test::text_sink{&alone}, asp{}}};
  test::host<chrome_trace> traced{asp{}, crew, chrome_trace{{.workers = crew}}};
  test::host<flight_recorder> recorded{asp{}, crew, flight_recorder{512, asp{}}};
  test::host<job_metrics> counted{asp{}, crew, job_metrics{crew}};
  using all = observers<log, chrome_trace, flight_recorder, job_metrics>;
  test::host<all> h{asp{}, crew,
                    all{log{test::text_sink{&together}, asp{}}, chrome_trace{{.workers = crew}}, flight_recorder{512, asp{}},
                        job_metrics{crew}}};
  run_watched(logged), run_watched(traced), run_watched(recorded), run_watched(counted), run_watched(h);
  EXPECT_EQ(alone, together);
  EXPECT_GT(alone.size(), 100'000U);
  EXPECT_EQ(written_by(traced.sync.watcher()), written_by(h.sync.watcher().get<chrome_trace>()));
  EXPECT_EQ(written_by(recorded.sync.watcher()), written_by(h.sync.watcher().get<flight_recorder>()));
  EXPECT_EQ(written_by(counted.sync.watcher()), written_by(h.sync.watcher().get<job_metrics>()));
}

}  // namespace
