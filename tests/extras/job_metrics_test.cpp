#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <rubato/io/metrics_text.hpp>
#include <rubato/sync/extras/job_metrics.hpp>
#include <set>
#include <sstream>
#include <string>

#include "../io/host.hpp"

namespace job_metrics_test {
namespace {

using rubato::asp;
using rubato::bsp;
using rubato::cause;
using rubato::errc;
using rubato::job_action;
using rubato::job_metrics;
using rubato::ssp;
using rubato::worker_state;
using host = rubato::test::host<job_metrics>;

std::string page_of(const job_metrics& seen, double now, bool workers = true) {
  std::string text;
  rubato::test::text_sink sink{&text};
  rubato::metrics_text page{sink};
  seen.write(page, now, {.workers = workers, .policy = "bsp: \"all\" wait"});
  return text;
}
// Samples by what stands before the space.
std::map<std::string, double> samples(const std::string& page) {
  std::map<std::string, double> all;
  std::istringstream lines{page};
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    const auto space = line.rfind(' ');
    EXPECT_TRUE(all.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line << ": twice";
  }
  return all;
}
double sum_of(const std::map<std::string, double>& all, const std::string& family) {
  double sum = 0;
  for (const auto& [key, value] : all)
    if (key.starts_with(family + "{")) sum += value;
  return sum;
}
std::string content(const std::string& path) {
  std::ifstream file{RUBATO_SOURCE_DIR "/" + path};
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(JobMetrics, GoldenPage) {
  host h{bsp{}, 2, job_metrics{2}};
  ASSERT_EQ(h.join(0, 0.0), errc::ok);
  ASSERT_EQ(h.join(1, 0.5), errc::ok);
  h.step(0, 1.5, 1.5);
  h.step(1, 3.0, 3.0);
  h.step(1, 5.0, 5.0);
  ASSERT_EQ(h.depart(0, 6.0, cause::death), errc::ok);
  const std::string page = page_of(h.sync.watcher(), 8.0);
  const auto head = page.find("# HELP rubato_adjustments_total");
  EXPECT_EQ(page.substr(0, head), R"(# HELP rubato_policy_info 1: the policy in force.
# TYPE rubato_policy_info gauge
rubato_policy_info{policy="bsp: \"all\" wait"} 1
# HELP rubato_seconds Time of the job.
# TYPE rubato_seconds gauge
rubato_seconds 8
# HELP rubato_updates_total Updates of the parameters.
# TYPE rubato_updates_total counter
rubato_updates_total 2
# HELP rubato_workers Workers, by state.
# TYPE rubato_workers gauge
rubato_workers{state="absent"} 0
rubato_workers{state="joining"} 0
rubato_workers{state="running"} 1
rubato_workers{state="admitted"} 0
rubato_workers{state="parked"} 0
rubato_workers{state="left"} 0
rubato_workers{state="done"} 0
rubato_workers{state="dead"} 1
# HELP rubato_decisions_total What the policy and its guard did, by action.
# TYPE rubato_decisions_total counter
rubato_decisions_total{action="apply"} 0
rubato_decisions_total{action="accumulate"} 3
rubato_decisions_total{action="drop"} 0
rubato_decisions_total{action="release"} 5
rubato_decisions_total{action="hold"} 3
rubato_decisions_total{action="flush"} 2
rubato_decisions_total{action="discard"} 0
rubato_decisions_total{action="cancel"} 0
rubato_decisions_total{action="exclude"} 0
rubato_decisions_total{action="readmit"} 0
rubato_decisions_total{action="adjust"} 0
rubato_decisions_total{action="refuse"} 0
rubato_decisions_total{action="abandon"} 0
rubato_decisions_total{action="join"} 2
rubato_decisions_total{action="depart"} 1
rubato_decisions_total{action="change_policy"} 0
)");
  EXPECT_EQ(page.substr(page.find("# HELP rubato_worker_lateness_seconds")),
            R"(# HELP rubato_worker_lateness_seconds Time that it is overdue in its step.
# TYPE rubato_worker_lateness_seconds gauge
rubato_worker_lateness_seconds{worker="0"} 0
rubato_worker_lateness_seconds{worker="1"} 0
# HELP rubato_worker_waiting_seconds Time that it has been waiting for its release.
# TYPE rubato_worker_waiting_seconds gauge
rubato_worker_waiting_seconds{worker="0"} 0
rubato_worker_waiting_seconds{worker="1"} 0
# HELP rubato_worker_waited_seconds_total Time that it waited, in all.
# TYPE rubato_worker_waited_seconds_total counter
rubato_worker_waited_seconds_total{worker="0"} 2
rubato_worker_waited_seconds_total{worker="1"} 1
# HELP rubato_worker_relative_score Best step time of all workers / its own; 0: none yet.
# TYPE rubato_worker_relative_score gauge
rubato_worker_relative_score{worker="0"} 1
rubato_worker_relative_score{worker="1"} 1
# HELP rubato_worker_individual_score Its own best step time / its recent one; 0: none yet.
# TYPE rubato_worker_individual_score gauge
rubato_worker_individual_score{worker="0"} 1
rubato_worker_individual_score{worker="1"} 1
)");
}

TEST(JobMetrics, LateDeadAndSlowWorkersAreTold) {
  host h{asp{}, 5, job_metrics{5}, {.quorum = 3}};
  for (std::uint32_t w = 0; w < 3; ++w) ASSERT_EQ(h.join(w, 0.0), errc::ok);
  for (int step = 1; step <= 10; ++step) {
    h.step(0, step, step);
    if (step % 5 == 0) h.step(1, step, step);  // a fifth of the pace
    if (step == 4) {
      ASSERT_EQ(h.depart(2, step, cause::death), errc::ok);
      ASSERT_EQ(h.join(3, step), errc::ok);
    }
  }
  const auto at = samples(page_of(h.sync.watcher(), 12.0));
  EXPECT_EQ(at.at("rubato_worker_state{worker=\"2\",state=\"dead\"}"), 1);
  EXPECT_EQ(at.at("rubato_worker_state{worker=\"4\",state=\"absent\"}"), 1);
  EXPECT_EQ(at.at("rubato_workers{state=\"dead\"}"), 1);
  EXPECT_EQ(at.at("rubato_workers{state=\"absent\"}"), 1);
  EXPECT_EQ(at.at("rubato_worker_late{worker=\"3\"}"), 1);
  EXPECT_EQ(at.at("rubato_worker_late{worker=\"0\"}"), 0);
  EXPECT_EQ(at.at("rubato_worker_joined_seconds{worker=\"3\"}"), 4);
  EXPECT_NEAR(at.at("rubato_worker_relative_score{worker=\"1\"}"), 0.2, 1e-6);
  EXPECT_EQ(at.at("rubato_worker_step_seconds{worker=\"1\"}"), 5);
  EXPECT_EQ(at.at("rubato_worker_push_age_seconds{worker=\"0\"}"), 2);
  EXPECT_EQ(at.at("rubato_worker_last_push_seconds{worker=\"0\"}"), 10);
  EXPECT_EQ(at.at("rubato_worker_push_age_seconds{worker=\"3\"}"), 8) << "nothing came since it joined";
  EXPECT_EQ(at.count("rubato_worker_last_push_seconds{worker=\"3\"}"), 0U);
  EXPECT_EQ(at.count("rubato_worker_joined_seconds{worker=\"4\"}"), 0U);

  job_metrics in_minutes{1, 60.0};
  in_minutes({.what = rubato::record::kind::join, .worker = {0, 0}, .now = 10.0});
  EXPECT_EQ(samples(page_of(in_minutes, 12.0)).at("rubato_worker_push_age_seconds{worker=\"0\"}"), 120);
}

TEST(JobMetrics, GradientsAddUp) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    host h{ssp{.staleness = 2}, 5, job_metrics{5}};
    rubato::test::random_run(h, seed, 1500);
    const job_metrics& seen = h.sync.watcher();
    const auto at = samples(page_of(seen, 1e6));
    const double pushed = sum_of(at, "rubato_gradients_pushed_total"),
                 contributed = sum_of(at, "rubato_gradients_contributed"),
                 lost = sum_of(at, "rubato_gradients_dropped_total"), flying = sum_of(at, "rubato_gradients_in_flight");
    EXPECT_GT(lost, 0);
    EXPECT_EQ(pushed, contributed + lost + flying) << "seed " << seed;
    EXPECT_EQ(contributed, at.at("rubato_gradients_applied_total") + at.at("rubato_gradients_flushed_total") +
                               at.at("rubato_gradients_pending"))
        << "seed " << seed;
    EXPECT_EQ(lost, sum_of(at, "rubato_gradients_lost_total"));
    EXPECT_EQ(at.at("rubato_staleness_count"), pushed);
    EXPECT_EQ(at.at("rubato_staleness_bucket{le=\"+Inf\"}"), pushed);
    EXPECT_EQ(pushed, static_cast<double>(seen.times(job_action::apply) + seen.times(job_action::accumulate) +
                                          seen.times(job_action::drop)));
    for (std::uint32_t w = 0; w < 5; ++w) {
      const worker_state truth = h.sync.workers()[w].state;
      if (seen.state(w) == worker_state::joining && truth == worker_state::parked)
        continue;  // never released in this life
      EXPECT_EQ(seen.state(w), truth) << "worker " << w << ", seed " << seed;
    }
    const auto sums = samples(page_of(seen, 1e6, false));
    for (const auto& [key, value] : sums) {
      EXPECT_EQ(at.at(key), value);
      EXPECT_EQ(key.find("worker="), key.npos);
    }
  }
}

// Names and types of the families, as the lines of types have them.
std::map<std::string, std::string> families() {
  std::map<std::string, std::string> all;
  std::istringstream lines{page_of(job_metrics{2}, 0.0)};
  for (std::string hash, word, name, type, line; std::getline(lines, line);)
    if (std::istringstream words{line}; words >> hash >> word >> name >> type && word == "TYPE") all[name] = type;
  return all;
}

TEST(JobMetrics, EveryFamilyIsDocumented) {
  const std::string page = content("docs/operate.md");
  EXPECT_GT(families().size(), 25U);
  for (const auto& [name, type] : families()) {
    EXPECT_NE(page.find("`" + name + "`"), page.npos) << name << " is not in docs/operate.md";
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
  }
}

TEST(JobMetrics, DashboardAsksForWhatIsWritten) {
  const std::string text = content("docs/grafana.json");
  const auto board = nlohmann::json::parse(text);
  const auto known = families();
  std::set<std::string> asked;
  for (const auto& panel : board["panels"])
    for (const auto& target : panel.value("targets", nlohmann::json::array())) {
      const auto expression = target["expr"].get<std::string>();
      const std::regex names{"rubato_[a-z_]+"};
      for (std::sregex_iterator each{expression.begin(), expression.end(), names}, end; each != end; ++each)
        asked.insert(each->str());
    }
  EXPECT_GT(asked.size(), 10U);
  for (std::string name : asked) {
    for (const char* part : {"_bucket", "_sum", "_count"})
      if (const std::string suffix = part; name.ends_with(suffix) && !known.contains(name))
        name.resize(name.size() - suffix.size());
    EXPECT_TRUE(known.contains(name)) << name << " is not written";
  }
}

}  // namespace
}  // namespace job_metrics_test
