// The picture of a run, as in figure 4 of Zhu et al. (ICLR 2020): ten workers, several of them slow, and for each the
// times in which it computes and those in which it waits, under the rules and under a policy that a network decides.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../support/trace_check.hpp"

namespace {

using namespace rubato;
using test::trace_mark;
using test::trace_span;

// Mean times of a step in its table 1.
const std::vector<double> mean_steps{9.17, 10.103, 4.37, 4.47, 4.57, 15.39, 22.189, 5.31, 4.97, 5.07};
constexpr int crew_size = 10, policy_thread = crew_size + 1;

std::int64_t step_of(int thread) { return std::llround(mean_steps[static_cast<std::size_t>(thread - 1)] * 1e6); }

template <class Policy>
test::read_trace picture(const Policy& policy, std::uint64_t pushes) {
  struct sink {
    std::string* text;
    void operator()(std::string_view bytes) noexcept { *text += bytes; }
  };
  std::string text;
  chrome_trace_stream watcher{sink{&text}, {.workers = crew_size}};
  sim::quadratic goal;
  static_cast<void>(sim::simulate(
      {.workers = crew_size, .step_time = mean_steps, .jitter = 0},
      {.stop = sim::stop_rule::workload, .workload = pushes * 16, .learning_rate = {.base = 1e-3}}, policy, goal,
      watcher));
  watcher.finish();
  return test::check_trace(text, crew_size);
}

// Those that had their end.
std::vector<trace_span> ended(std::vector<trace_span> spans) {
  if (!spans.empty() && spans.back().args.contains("open")) spans.pop_back();
  return spans;
}
void expect_whole_steps(const test::read_trace& seen) {
  for (int thread = 1; thread <= crew_size; ++thread)
    for (const trace_span& each : ended(seen.of(thread, "compute")))
      EXPECT_NEAR(static_cast<double>(each.end - each.begin), static_cast<double>(step_of(thread)), 1) << thread;
}

TEST(FigureFour, BehindABarrierTheFastWaitForTheSlowest) {
  const test::read_trace seen = picture(bsp{.aggregate = bsp::mean}, 50);
  expect_whole_steps(seen);
  for (int thread = 1; thread <= crew_size; ++thread) {
    const std::vector<trace_span> waits = ended(seen.of(thread, "wait"));
    EXPECT_EQ(waits.empty(), thread == 7) << "all but the slowest wait";
    for (const trace_span& each : waits)
      EXPECT_NEAR(static_cast<double>(each.end - each.begin), static_cast<double>(step_of(7) - step_of(thread)), 2);
  }
  const std::size_t rounds = seen.of(policy_thread, "flush").size();
  EXPECT_GE(rounds, 5U);
  std::size_t flushed = 0;
  for (const auto& [id, arrow] : seen.arrows)
    flushed += arrow.spans == std::vector<std::string>{"compute", "apply", "flush"} ? 1 : 0;
  EXPECT_EQ(flushed, rounds * crew_size) << "an arrow of each worker goes to each flush";
}

TEST(FigureFour, WithoutABarrierNobodyWaits) {
  const test::read_trace seen = picture(asp{}, 100);
  expect_whole_steps(seen);
  for (int thread = 1; thread <= crew_size; ++thread) EXPECT_TRUE(seen.of(thread, "wait").empty()) << thread;
  EXPECT_GT(seen.of(3, "compute").size(), 4 * seen.of(7, "compute").size()) << "each works at its own pace";
  EXPECT_GT(seen.curves.at("staleness").back().second, 0);
}

TEST(FigureFour, WithinABoundOnlyTheFastWait) {
  const test::read_trace seen = picture(ssp{.staleness = 2}, 100);
  expect_whole_steps(seen);
  EXPECT_FALSE(seen.of(3, "wait").empty());
  EXPECT_TRUE(seen.of(7, "wait").empty());
}

// One that has learned a barrier, to see: what it says is what happens on the workers' tracks.
TEST(FigureFour, ALearnedPolicyHoldsAndLetsGo) {
  using network = nn::mlp<40, 3>;
  network net;  // all zero, so that the biases are the values: of hold, submitter and all
  net.bias(0)[0] = 1.0F, net.bias(0)[2] = 0.5F;
  const test::read_trace seen = picture(q_policy<rlp_state, network>{net}, 150);
  expect_whole_steps(seen);
  std::map<std::string, int> answers;
  for (const trace_mark& each : seen.marks.at(policy_thread)) {
    if (!each.args.contains("asked") || each.args.at("asked") != "push") continue;
    ++answers[each.name];
    for (const char* value : {"hold", "submitter", "all"}) EXPECT_TRUE(each.args.at(value).is_number());
    const int thread = each.args.at("worker").get<int>() + 1;
    bool waits = false;
    for (const trace_span& wait : seen.of(thread, "wait")) waits = waits || wait.begin == each.at;
    EXPECT_EQ(waits, each.name == "hold") << each.name << " at " << each.at;
    if (each.name != "all") continue;
    for (int other = 1; other <= crew_size; ++other)
      for (const trace_span& wait : seen.of(other, "wait"))
        EXPECT_FALSE(wait.begin < each.at && wait.end > each.at) << "somebody goes on waiting";
  }
  EXPECT_GT(answers["hold"], 0);
  EXPECT_GT(answers["all"], 0);
  std::size_t pushes = 0;
  for (int thread = 1; thread <= crew_size; ++thread) pushes += seen.of(thread, "apply").size();
  EXPECT_EQ(static_cast<std::size_t>(answers["hold"] + answers["submitter"] + answers["all"]), pushes);
}

}  // namespace
