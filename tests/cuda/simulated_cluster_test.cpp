#include <rubato/cuda/simulated_cluster.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>

#include "random_network.hpp"
#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace {
namespace simulated {

constexpr std::uint32_t most_workers = 20;
using machines = simulated_machines<most_workers>;
using bowl = quadratic_goal<7>;
constexpr std::uint64_t most_pushes = 1'000'000;

// A push, with its worker's loss and staleness, or a release.
struct happening {
  bool release = false;
  std::uint32_t worker = 0;
  double now = 0;
  float loss = 0;
  std::uint64_t staleness = 0;
  friend bool operator==(const happening&, const happening&) = default;
  friend void PrintTo(const happening& h, std::ostream* out) {
    *out << (h.release ? "release " : "push ") << h.worker << " at " << h.now << ", loss " << h.loss << ", staleness "
         << h.staleness;
  }
};

struct device_log {
  static constexpr bool watches = true;
  std::vector<happening> all{};
  void pushed(const simulated_push& p) { all.push_back({false, p.worker, p.now, p.loss, p.staleness}); }
  void released(std::uint32_t worker, double now) { all.push_back({true, worker, now, 0, 0}); }
};
struct host_log {
  std::vector<happening> all{};
  void operator()(const record& r) noexcept {
    if (r.what == record::kind::commit) all.push_back({false, r.worker.index, r.now, r.loss, r.staleness});
    if (r.what == record::kind::release) all.push_back({true, r.worker.index, r.now, 0, 0});
  }
};

struct scenario {
  std::string name;
  sim::cluster_options cluster;
};

std::vector<scenario> scenarios(std::uint32_t workers) {
  using sim::straggler_kind;
  std::vector<scenario> all;
  all.push_back({"even", {.workers = workers, .jitter = 0}});  // ties at every step
  all.push_back({"jitter", {.workers = workers, .jitter = 0.3}});
  std::vector<double> speeds;
  for (std::uint32_t w = 0; w < workers; ++w) speeds.push_back(1 + 0.25 * (w % 4));
  all.push_back({"speeds", {.workers = workers, .step_time = speeds, .jitter = 0}});
  all.push_back({"fixed", {.workers = workers, .stragglers = {.kind = straggler_kind::fixed}}});
  all.push_back(
      {"fixed count", {.workers = workers, .stragglers = {.kind = straggler_kind::fixed, .count = workers / 2}}});
  all.push_back(
      {"transient",
       {.workers = workers, .stragglers = {.kind = straggler_kind::transient, .probability = 0.2, .mean = 5}}});
  all.push_back({"transient, of one length",
                 {.workers = workers,
                  .jitter = 0,
                  .stragglers = {.kind = straggler_kind::transient, .count = 1, .mean = 3, .sd = 0}}});
  all.push_back({"heavy", {.workers = workers, .stragglers = {.kind = straggler_kind::heavy_tailed}}});
  const std::size_t own_cores = all.size();
  for (std::size_t i = 0; i < own_cores && workers > 1; ++i) {
    scenario shared = all[i];
    shared.name += ", shared cores";
    shared.cluster.cores = i % 2 == 0 ? 1 : (workers + 1) / 2;
    all.push_back(shared);
  }
  return all;
}

sim::run_options run_of(std::uint64_t seed) {
  sim::run_options run{.seed = seed, .target_accuracy = 0.97, .max_time = 400};
  run.learning_rate = {.base = 0.05, .boundaries = {{60, 0.5}, {200, 0.25}}};
  return run;
}
constexpr sim::quadratic_options bowl_options{.dimension = 7, .condition = 5, .noise = 0.2};

// Of the host's simulator: one type of policy, as a cluster takes long to compile.
struct host_run {
  sim::run_result result;
  std::vector<happening> all;
};
host_run on_the_host(const sim::cluster_options& cluster, const sim::run_options& run, const any_policy& policy) {
  sim::quadratic goal{bowl_options};
  host_log log;
  sim::run_result result = sim::simulate(cluster, run, policy, goal, log);
  return {std::move(result), std::move(log.all)};
}

// The same run on the host's simulator and here.
template <class Policy>
void agree(const sim::cluster_options& cluster, const sim::run_options& run, const any_policy& theirs,
           const Policy& ours, const std::string& what, std::vector<happening>* seen = nullptr) {
  SCOPED_TRACE(what);
  const auto [host, expected] = on_the_host(cluster, run, theirs);

  const auto there = machines::make(cluster);
  const auto training = simulated_run::make(run, most_pushes);
  const auto bowl_here = bowl::make(bowl_options, run.batch);
  ASSERT_TRUE(there && training && bowl_here);
  simulated_memory<most_workers, bowl, Policy> memory;
  device_log log;
  const episode_result r = simulate_episode(*there, *training, *bowl_here, ours, run.seed, one_lane{}, memory, log);

  EXPECT_EQ(r.time, host.time);
  EXPECT_EQ(r.pushes, host.pushes);
  EXPECT_EQ(r.updates, host.updates);
  EXPECT_EQ(r.loss, host.final_loss);
  EXPECT_EQ(r.accuracy, host.final_accuracy);
  EXPECT_EQ(r.end == episode_end::reached, host.reached);
  EXPECT_EQ(r.end == episode_end::out_of_time, host.end == sim::run_end::out_of_time);
  EXPECT_EQ(r.end == episode_end::diverged, host.end == sim::run_end::diverged);
  EXPECT_GT(r.pushes, 10u);
  ASSERT_EQ(log.all.size(), expected.size());
  for (std::size_t i = 0; i < log.all.size(); ++i) ASSERT_EQ(log.all[i], expected[i]) << "event " << i;
  if (seen != nullptr) seen->insert(seen->end(), log.all.begin(), log.all.end());
}

template <class Policy>
void agree_everywhere(const any_policy& theirs, const Policy& ours, const std::string& policy) {
  for (const std::uint32_t workers : {1u, 2u, 5u, 10u, 20u})
    for (const scenario& each : scenarios(workers))
      for (const std::uint64_t seed : {1u, 2u})
        agree(each.cluster, run_of(seed), theirs, ours,
              policy + ", " + each.name + ", " + std::to_string(workers) + " workers, seed " + std::to_string(seed));
}

TEST(SimulatedCluster, AgreesWithTheHost) {
  agree_everywhere(asp{}, simulated_asp{}, "asp");
  agree_everywhere(ssp{.staleness = 0}, simulated_ssp{0}, "ssp 0");
  agree_everywhere(ssp{.staleness = 3}, simulated_ssp{3}, "ssp 3");
  agree_everywhere(ssp{.staleness = unbounded}, simulated_ssp{~0U}, "ssp");
  agree_everywhere(bsp{}, simulated_bsp{}, "bsp");
  agree_everywhere(bsp{.aggregate = bsp::sum}, simulated_bsp{true}, "bsp, sum");
  agree_everywhere(k_sync{.k = 1}, simulated_k_sync{1}, "k_sync 1");
  for (const std::uint32_t workers : {5u, 10u})  // fewer than k: the host says so, and has other reasons
    for (const scenario& each : scenarios(workers))
      agree(each.cluster, run_of(3), k_sync{.k = 4}, simulated_k_sync{4}, "k_sync 4, " + each.name);

  sim::run_options other = run_of(4);  // losses and gradients that are not finite, and a run to its end in samples
  other.learning_rate = {.base = 50};
  other.evaluate_every = 200;
  const sim::cluster_options cluster{.workers = 7, .jitter = 0.2};
  agree(cluster, other, asp{}, simulated_asp{}, "asp, diverging");
  agree(cluster, other, bsp{}, simulated_bsp{}, "bsp, diverging");
  agree(cluster, other, k_sync{.k = 3}, simulated_k_sync{3}, "k_sync, diverging");
  other = run_of(5);
  other.stop = sim::stop_rule::workload;
  other.workload = 16 * 333;
  agree(cluster, other, ssp{.staleness = 1}, simulated_ssp{1}, "ssp, so many samples");
  agree(cluster, other, k_sync{.k = 3}, simulated_k_sync{3}, "k_sync, so many samples");
}

TEST(SimulatedCluster, LearnedAgreesWithTheHost) {
  using net = nn::mlp<40, 64, 32, 3>;
  using shape = mlp_shape<40, 64, 32, 3>;
  std::vector<happening> raw, normalised;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    net host = test::random_network<net>({}, seed);
    for (float& x : host.parameters()) x *= 0.2F;  // else pushes are counted so high that nothing else matters
    const network<shape> here{host.parameters().data(), host.options().hidden, host.options().output};
    for (const scenario& each : scenarios(6)) {
      const std::string what = each.name + ", network " + std::to_string(seed);
      agree(each.cluster, run_of(seed), q_policy<rlp_state, net>{host}, simulated_q<shape>{here}, "raw, " + what, &raw);
      agree(each.cluster, run_of(seed), q_policy<rlp_normalised_state, net>{host},
            simulated_q<shape, rlp_scale::normalised>{here}, "normalised, " + what, &normalised);
    }
  }
  net undecided;
  for (float& x : undecided.parameters()) x = std::numeric_limits<float>::quiet_NaN();
  const network<shape> undecided_here{undecided.parameters().data(), undecided.options().hidden,
                                      undecided.options().output};
  agree({.workers = 6}, run_of(1), q_policy<rlp_state, net>{undecided}, simulated_q<shape>{undecided_here}, "NaN");
  for (const std::vector<happening>& all : {raw, normalised}) {  // how many start after a push
    int none = 0, one = 0, more = 0;
    for (std::size_t i = 0; i + 2 < all.size(); ++i)
      if (!all[i].release) ++(!all[i + 1].release ? none : !all[i + 2].release ? one : more);
    EXPECT_GT(none, 100);
    EXPECT_GT(one, 100);
    EXPECT_GT(more, 100);
  }
}

// All that is random, all that is shared, and a network.
template <class Goal, class Policy>
void same_bits(const Goal& goal, const Policy& policy, const sim::cluster_options& cluster,
               const sim::run_options& run) {
  const auto there = machines::make(cluster);
  const auto training = simulated_run::make(run, 300);
  ASSERT_TRUE(there && training);
  const auto alone = std::make_unique<simulated_memory<most_workers, Goal, Policy>>();
  const episode_result expected = simulate_episode(*there, *training, goal, policy, run.seed, one_lane{}, *alone);
  EXPECT_GT(expected.pushes, 100u);
  for (const unsigned count : {2u, 3u, 8u}) {
    const auto shared = std::make_unique<simulated_memory<most_workers, Goal, Policy>>();
    std::vector<episode_result> results(count);
    test::on_lanes(count, [&](const test::thread_lanes& lanes) {
      results[lanes.index()] = simulate_episode(*there, *training, goal, policy, run.seed, lanes, *shared);
    });
    for (const episode_result& r : results) {
      EXPECT_EQ(r.time, expected.time) << count;
      EXPECT_EQ(r.loss, expected.loss) << count;
      EXPECT_EQ(r.accuracy, expected.accuracy) << count;
      EXPECT_EQ(r.pushes, expected.pushes) << count;
      EXPECT_EQ(r.updates, expected.updates) << count;
      EXPECT_EQ(r.end, expected.end) << count;
    }
    for (std::uint32_t i = 0; i < Goal::dimension; ++i) EXPECT_EQ(shared->parameters[i], alone->parameters[i]) << count;
  }
}

TEST(SimulatedCluster, AnyNumberOfLanesGivesTheSameBits) {
  using shape = mlp_shape<40, 16, 3>;
  std::vector<float> parameters = test::numbers(shape::parameters, 5);
  for (float& x : parameters) x *= 0.1F;
  const simulated_q<shape> learned{{parameters.data()}};
  const sim::cluster_options own{.workers = 10, .jitter = 0.1, .stragglers = {.kind = sim::straggler_kind::transient}};
  const sim::cluster_options shared{.workers = 10, .cores = 4, .stragglers = {.kind = sim::straggler_kind::fixed}};
  const sim::run_options run{.seed = 9, .target_accuracy = 0.9999, .evaluate_every = 10};
  const auto quadratic = bowl::make(bowl_options, run.batch);
  ASSERT_TRUE(quadratic);
  for (const sim::cluster_options& cluster : {own, shared}) {
    same_bits(*quadratic, learned, cluster, run);
    same_bits(*quadratic, simulated_bsp{}, cluster, run);
    same_bits(*quadratic, simulated_k_sync{3}, cluster, run);
  }
  using regression = logistic_goal<5>;
  std::vector<float> samples(64 * 5);
  ASSERT_EQ(regression::draw_samples({.samples = 64}, samples).code, errc::ok);
  const auto logistic = regression::make({.samples = 64}, samples.data(), run.batch);
  ASSERT_TRUE(logistic);
  same_bits(*logistic, simulated_ssp{1}, own, run);
  same_bits(*logistic, simulated_k_sync{3}, shared, run);
}

// ---- the logistic objective

using regression = logistic_goal<6>;
constexpr logistic_options regression_options{.seed = 3, .samples = 200, .decay = 0.01};

struct drawn_regression {
  std::vector<float> samples = std::vector<float>(200 * 6);
  regression goal;
  explicit drawn_regression(std::uint32_t batch) {
    EXPECT_EQ(regression::draw_samples(regression_options, samples).code, errc::ok);
    goal = *regression::make(regression_options, samples.data(), batch);
  }
};

// By the textbook, of the samples that a batch draws: each by its own word.
double oracle_loss(const std::vector<float>& samples, const std::vector<std::size_t>& batch, const double* x) {
  double sum = 0, squares = 0;
  for (const std::size_t s : batch) {
    double margin = 0;
    for (std::size_t i = 0; i < 6; ++i) margin += double(samples[s * 6 + i]) * x[i];
    sum += std::log(1 + std::exp(-margin));
  }
  for (std::size_t i = 0; i < 6; ++i) squares += x[i] * x[i];
  return sum / double(batch.size()) + regression_options.decay / 2 * squares;
}
std::vector<std::size_t> drawn(std::uint64_t seed, std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
  std::vector<std::size_t> all;
  for (std::uint32_t s = 0; s < batch; ++s)
    all.push_back(philox(seed, worker, step * ((batch + 3) / 4) + s / 4)[s % 4] * std::uint64_t{200} >> 32);
  return all;
}

TEST(SimulatedCluster, LogisticGradientIsThatOfTheOracle) {
  for (const std::uint32_t batch : {1u, 7u, 16u, 32u}) {
    const drawn_regression of{batch};
    double x[6], gradient[6], scratch[regression::scratch_size];
    for (std::uint64_t step = 1; step <= 20; ++step) {
      random_sequence random{7, step};
      for (double& each : x) each = 3 * random.normal();
      const float loss = of.goal.compute(one_lane{}, 5, 2, step, of.goal.look(x), x, gradient, scratch);
      const std::vector<std::size_t> samples = drawn(5, 2, step, batch);
      EXPECT_FLOAT_EQ(loss, static_cast<float>(oracle_loss(of.samples, samples, x)));
      for (double& each : x) {
        const double here = each, h = 1e-5;
        each = here + h;
        const double above = oracle_loss(of.samples, samples, x);
        each = here - h;
        const double below = oracle_loss(of.samples, samples, x);
        each = here;
        EXPECT_NEAR(gradient[&each - x], (above - below) / (2 * h), 1e-8);
      }
    }
    std::vector<std::size_t> everything(200);
    for (std::size_t s = 0; s < 200; ++s) everything[s] = s;
    const simulated_evaluation at = of.goal.evaluate(one_lane{}, x, scratch);
    EXPECT_NEAR(at.loss, oracle_loss(of.samples, everything, x), 1e-12);
    int right = 0;
    for (std::size_t s = 0; s < 200; ++s) {
      double margin = 0;
      for (std::size_t i = 0; i < 6; ++i) margin += double(of.samples[s * 6 + i]) * x[i];
      right += margin > 0 ? 1 : 0;
    }
    EXPECT_EQ(at.accuracy, right / 200.0);
  }
}

TEST(SimulatedCluster, LogisticLossesAreFiniteFarAway) {
  const drawn_regression of{16};
  double gradient[6], scratch[regression::scratch_size];
  for (const double far : {1e3, -1e3, 1e15}) {
    const double x[6] = {far, far, -far, far, far, -far};
    EXPECT_TRUE(std::isfinite(of.goal.compute(one_lane{}, 5, 2, 1, of.goal.look(x), x, gradient, scratch))) << far;
    for (const double each : gradient) EXPECT_TRUE(std::isfinite(each)) << far;
  }
}

TEST(SimulatedCluster, LogisticTrainingClassifies) {
  const drawn_regression of{16};
  sim::run_options run{.stop = sim::stop_rule::workload, .workload = 16 * 2000};
  run.learning_rate.base = 0.2;
  const auto there = machines::make({.workers = 8});
  const auto training = simulated_run::make(run, most_pushes);
  ASSERT_TRUE(there && training);
  simulated_memory<most_workers, regression, simulated_ssp> memory;
  const episode_result r = simulate_episode(*there, *training, of.goal, simulated_ssp{2}, 1, one_lane{}, memory);
  EXPECT_EQ(r.end, episode_end::reached);
  EXPECT_EQ(r.pushes, 2000u);
  EXPECT_LT(r.loss, 0.45) << "log(2) at the beginning";
  EXPECT_GT(r.accuracy, 0.9) << "5 % of the labels are noise";
}

// ---- ends, and what is refused

TEST(SimulatedCluster, EndsAtEachLimit) {
  const auto goal = bowl::make(bowl_options, 16);
  const auto there = machines::make({.workers = 4});
  const auto run = [&](const sim::run_options& o, std::uint64_t pushes, const auto& policy) {
    simulated_memory<most_workers, bowl, std::remove_cvref_t<decltype(policy)>> memory;
    return simulate_episode(*there, *simulated_run::make(o, pushes), *goal, policy, 1, one_lane{}, memory);
  };
  sim::run_options o{.target_accuracy = 1, .max_time = 10};
  episode_result r = run(o, 1'000'000, simulated_asp{});
  EXPECT_EQ(r.end, episode_end::out_of_time);
  EXPECT_EQ(r.time, 10);
  r = run(o, 7, simulated_asp{});
  EXPECT_EQ(r.end, episode_end::out_of_pushes);
  EXPECT_EQ(r.pushes, 7u);
  EXPECT_EQ(r.time, 10) << "it has not arrived";
  o.max_time = 1000;
  o.learning_rate.base = 1e6;
  r = run(o, 1'000'000, simulated_asp{});
  EXPECT_EQ(r.end, episode_end::diverged);

  struct never_again : simulated_asp {
    simulated_decision decide(const one_lane&, const simulated_push&, state&, memory&) const noexcept { return {}; }
  };
  o.learning_rate.base = 0.01;
  r = run(o, 1'000'000, never_again{});
  EXPECT_EQ(r.end, episode_end::stalled);
  EXPECT_EQ(r.pushes, 4u);
}

TEST(SimulatedCluster, SaysWhatItCannotSimulate) {
  const auto of_machines = [](const sim::cluster_options& o) {
    const auto made = machines::make(o);
    return made ? std::string{} : made.error().message;
  };
  EXPECT_EQ(of_machines({.workers = 20}), "");
  EXPECT_EQ(of_machines({.workers = 21}), "simulated_machines: workers is 21, expected at most 20");
  EXPECT_EQ(of_machines({.jitter = -1}), "simulated_machines: jitter is -1, expected 0 to 1");
  EXPECT_EQ(of_machines({.link = {.bandwidth = 1}}),
            "simulated_machines: link.bandwidth is set, expected 0: links are not simulated");
  EXPECT_NE(of_machines({.decision_time = 1}).find("decision_time"), std::string::npos);
  EXPECT_NE(of_machines({.decision_latency = 1}).find("decision_latency"), std::string::npos);
  EXPECT_NE(of_machines({.apply_time = 1}).find("apply_time"), std::string::npos);
  EXPECT_NE(of_machines({.failures = {{}}}).find("failures"), std::string::npos);
  EXPECT_NE(of_machines({.stragglers = {.kind = sim::straggler_kind::burst}}).find("burst"), std::string::npos);
  EXPECT_NE(of_machines({.stragglers = {.slowdown = 2}}).find("slowdown"), std::string::npos);

  const auto of_run = [](const sim::run_options& o, std::uint64_t pushes) {
    const auto made = simulated_run::make(o, pushes);
    return made ? std::string{} : made.error().message;
  };
  EXPECT_EQ(of_run({}, 1), "");
  EXPECT_EQ(of_run({}, 0), "simulated_run: max_pushes is 0, expected 1 to 2147483647");
  EXPECT_NE(of_run({.batch = 0}, 1).find("batch is 0"), std::string::npos);
  EXPECT_NE(of_run({.stop = sim::stop_rule::converged}, 1).find("converged"), std::string::npos);
  EXPECT_NE(of_run({.loss = sim::loss_source::probe}, 1).find("probe"), std::string::npos);
  sim::run_options many;
  for (std::uint64_t b = 1; b <= 5; ++b) many.learning_rate.boundaries.push_back({b, 1});
  EXPECT_NE(of_run(many, 1).find("has 5 of them, expected at most 4"), std::string::npos);

  EXPECT_EQ(bowl::make({}, 16).error().message, "quadratic_goal: dimension is 8, expected 7");
  EXPECT_NE(bowl::make({.dimension = 7, .momentum = 0.9}, 16).error().message.find("momentum"), std::string::npos);
  EXPECT_NE(bowl::make({.dimension = 7, .noise = -1}, 16).error().message.find("noise"), std::string::npos);
  EXPECT_NE(bowl::make({.dimension = 7}, 0).error().message.find("batch"), std::string::npos);

  std::vector<float> room(12);
  EXPECT_EQ(regression::draw_samples({.samples = 2}, room).code, errc::ok);
  EXPECT_NE(regression::draw_samples({.samples = 3}, room).message.find("12 numbers, expected 18"), std::string::npos);
  EXPECT_NE(regression::draw_samples({.label_noise = 0.5}, room).message.find("label_noise"), std::string::npos);
  EXPECT_NE(regression::make({}, nullptr, 1).error().message.find("samples"), std::string::npos);
  EXPECT_NE(regression::make({}, room.data(), 33).error().message.find("batch is 33"), std::string::npos);
  EXPECT_NE(regression::make({.decay = -1}, room.data(), 1).error().message.find("decay"), std::string::npos);
}

}  // namespace simulated
}  // namespace
}  // namespace rubato::cuda
