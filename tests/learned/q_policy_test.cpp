#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/cluster.hpp"
#include "../support/metronome.hpp"
#include "../support/some_network.hpp"

namespace rubato {
namespace {

using test::cluster;
using test::constant_network;
using test::metronome;
using test::random_network;
using policy_type = q_policy<rlp_state, nn::dynamic_mlp>;
using list = std::vector<std::uint32_t>;

static_assert(SyncPolicy<policy_type> && StatefulPolicy<policy_type> && DescribedPolicy<policy_type>);
static_assert(SyncPolicy<q_policy<rlp_normalised_state, nn::mlp<40, 64, 32, 3>>>);

constexpr controller_options alone{.guard = {.enabled = false}};

// Values of the three actions that follow one of the inputs.
nn::dynamic_mlp follows(std::size_t input, const std::array<float, 3>& weights) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({40, 3});
  for (std::size_t a = 0; a < 3; ++a) network.weight(0)(input, a) = weights[a];
  return network;
}

TEST(QPolicy, TakesTheHighestValue) {
  // The more stale a gradient, the better `all`; else the submitter: 0 for a staleness of 0 goes to the first, hold.
  cluster<policy_type> c{policy_type{follows(3, {0, 1, -1})}, 3, alone};
  EXPECT_EQ(c.running(), (list{0, 1, 2}));
  c.push(0);
  EXPECT_EQ(c.parked(), list{0}) << "staleness 0: all values are 0";
  c.push(1);
  EXPECT_EQ(c.parked(), list{0}) << "staleness 1: the submitter";
  cluster<policy_type> d{policy_type{follows(3, {0, 1, 2})}, 3, alone};
  d.push(0).push(1);
  EXPECT_EQ(d.parked(), list{});
}

TEST(QPolicy, TiesGoToTheLowestIndex) {
  cluster<policy_type> c{policy_type{constant_network({1, 1, 1})}, 3, alone};
  c.push(0).push(1);
  EXPECT_EQ(c.parked(), (list{0, 1})) << "hold";
  c.push(2);
  EXPECT_EQ(c.parked(), (list{0, 1})) << "hold is not legal, the submitter is next";
}

TEST(QPolicy, NeverHoldsTheLastOne) {
  cluster<policy_type> c{policy_type{constant_network({9, 0, 1})}, 3, alone};
  c.push(0).push(1).push(2);
  EXPECT_EQ(c.running(), (list{0, 1, 2}));
  c.push(0).push(1).die(2);
  EXPECT_EQ(c.running(), (list{0, 1})) << "who was busy has gone";
  c.push(0).leave(0);
  EXPECT_EQ(c.running(), list{1});
  c.push(1);
  EXPECT_EQ(c.running(), list{1});
}

TEST(QPolicy, JoinersStartAtOnce) {
  cluster<policy_type> c{policy_type{constant_network({9, 0, 1})}, 3, alone};
  c.push(0).die(1).join(1);
  EXPECT_EQ(c.running(), (list{1, 2}));
  EXPECT_EQ(c.parked(), list{0});
}

// A network that tells how it is asked.
struct tapped_network {
  struct calls {
    int whole = 0, begun = 0, finished = 0;
    friend bool operator==(const calls&, const calls&) = default;
  };
  nn::dynamic_mlp inner;
  calls* made;

  void evaluate(std::span<const float> in, std::span<float> out) const noexcept {
    ++made->whole;
    inner.evaluate(in, out);
  }
  [[nodiscard]] std::size_t history_size() const noexcept { return inner.history_size(); }
  void begin(std::size_t newest, std::span<const float> in, std::span<float> sums) const noexcept {
    ++made->begun;
    inner.begin(newest, in, sums);
  }
  void finish(std::size_t newest, std::span<const float> in, std::span<const float> sums,
              std::span<float> out) const noexcept {
    ++made->finished;
    inner.finish(newest, in, sums, out);
  }
};
using tapped_policy = q_policy<rlp_normalised_state, tapped_network>;
static_assert(PreparingPolicy<tapped_policy> && PreparingPolicy<policy_type>);

TEST(QPolicy, WorksAheadAfterEachCommit) {
  tapped_network::calls made;
  cluster<tapped_policy> c{tapped_policy{{random_network(1), &made}}, 3, alone};
  c.push(c.running().front());
  EXPECT_EQ(made, (tapped_network::calls{1, 1, 0})) << "nothing was foretold of the first push";
  for (int n = 0; n < 20; ++n) c.push(c.running().front());
  EXPECT_EQ(made, (tapped_network::calls{1, 21, 20}));
  c.die(c.running().front());
  c.push(c.running().front());
  EXPECT_EQ(made, (tapped_network::calls{2, 22, 20})) << "staleness is a share of the workers alive, now one fewer";
}

// The same network, asked for everything at once.
struct whole_network {
  nn::dynamic_mlp inner;
  void evaluate(std::span<const float> in, std::span<float> out) const noexcept { inner.evaluate(in, out); }
};

TEST(QPolicy, WorkingAheadChangesNoBit) {
  using whole_policy = q_policy<rlp_normalised_state, whole_network>;
  tapped_network::calls made;
  cluster<tapped_policy> ahead{tapped_policy{{random_network(2), &made}}, 6, alone};
  cluster<any_policy> held{tapped_policy{{random_network(2), &made}}, 6, alone};
  cluster<whole_policy> at_once{whole_policy{{random_network(2)}}, 6, alone};
  random_sequence random{5};
  for (int n = 0; n < 300; ++n) {
    const list running = at_once.running();
    const std::uint32_t worker = running[random.below(running.size())];
    ahead.push(worker), held.push(worker), at_once.push(worker);
    if (n % 50 == 20) ahead.die(5), held.die(5), at_once.die(5);
    if (n % 50 == 40) ahead.join(5), held.join(5), at_once.join(5);
    ASSERT_EQ(ahead.running(), at_once.running()) << n;
    ASSERT_EQ(held.running(), at_once.running()) << n;
    const auto values = ahead.control().policy().values(), expected = at_once.control().policy().values();
    ASSERT_TRUE(std::equal(values.begin(), values.end(), expected.begin())) << n;
  }
  EXPECT_GT(made.finished, 500);
}

// Counts the steps of which it hears that they start.
struct counting_state : cluster_state {
  std::size_t* starts = nullptr;
  void started(const cluster_view& view, std::uint32_t worker) noexcept {
    ++*starts;
    cluster_state::started(view, worker);
  }
};

TEST(QPolicy, TheNetworkSeesScaledNumbers) {
  std::array<double, rlp_state::dim> mean{}, variance{};
  variance.fill(4);
  normaliser<rlp_state::dim> halves;
  halves.assign(mean, variance, 1);
  const nn::dynamic_mlp network = follows(0, {1, 2, 3});  // of the number of pushes
  cluster<policy_type> plain{policy_type{network}, 3, alone}, scaled{policy_type{network, {}, {}, halves}, 3, alone};
  for (int pushes = 1; pushes < 4; ++pushes) {  // nothing was worked out ahead of the first
    plain.push(0), scaled.push(0);
    EXPECT_GT(plain.control().policy().values()[2], 0.0F);
    EXPECT_FLOAT_EQ(scaled.control().policy().values()[2], plain.control().policy().values()[2] / 2);
  }
}

TEST(QPolicy, EncodersThatFollowStepsHearOfEveryStart) {
  using following = q_policy<counting_state, nn::dynamic_mlp>;
  std::size_t starts = 0;
  counting_state state;
  state.starts = &starts;
  const auto make = [&](const nn::dynamic_mlp& network) { return following{network, {}, state}; };
  const nn::dynamic_mlp some = random_network(3, counting_state::dim);
  const nn::dynamic_mlp everybody = constant_network({1, 0, 2}, counting_state::dim);
  EXPECT_TRUE(shapes_of(make(some)));
  EXPECT_FALSE(shapes_of(policy_type{constant_network({0, 1, 0})})) << "nothing would hear of it";

  const auto expect_all = [&](auto c, const char* which) {
    for (std::size_t n = 0; n < 40; ++n) c.push(c.running()[n % c.running().size()]);
    EXPECT_GE(c.heard().releases.size(), 40U) << which;
    EXPECT_EQ(std::exchange(starts, 0), c.heard().releases.size()) << which;
  };
  expect_all(cluster<following>{make(some), 4, alone}, "some at a time");
  expect_all(cluster<following>{make(everybody), 4, alone}, "all at once");
  expect_all(cluster<any_policy>{make(everybody), 4, alone}, "behind any_policy");
}

TEST(QPolicy, StartsEverybodyOnASwitch) {
  cluster<any_policy> c{bsp{}, 3, alone};
  c.push(0).push(1);
  c.switch_to(policy_type{constant_network({9, 0, 1})});
  EXPECT_EQ(c.running(), (list{0, 1, 2}));
}

TEST(QPolicy, IdleLimit) {
  // Only the submitter, ever; worker 0 was held by another rule, and would wait for good.
  struct hold_once {
    policy_type inner;
    bool held = false;
    [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
      const decision d = inner.release(view, what);
      if (what.why != cause::push || held) return d;
      held = true;
      return decision::hold();
    }
    void observe(const feedback& f) noexcept { inner.observe(f); }
    void resize(std::uint32_t n) { inner.resize(n); }
  };
  for (const double limit : {std::numeric_limits<double>::infinity(), 5.0}) {
    metronome<hold_once> run{{policy_type{constant_network({0, 1, -1}), {.max_idle = limit}}}, {1, 1.5, 2}, alone};
    run.run(60);
    EXPECT_TRUE(run.ok());
    double woken = 0;
    for (const test::beat& start : run.trace())
      if (start.worker == 0 && start.time > 0 && woken == 0) woken = start.time;
    if (limit < 10) {
      EXPECT_EQ(run.control().policy().inner.forced(), 1U);
      EXPECT_GT(woken, 1 + 5 * 1.5 - 1e-9) << "five steps of the median worker, or of the one that is behind";
      EXPECT_LT(woken, 1 + 6 * 2.0);
    } else {
      EXPECT_EQ(run.control().policy().inner.forced(), 0U);
      EXPECT_EQ(woken, 0.0);
    }
  }
  EXPECT_EQ(problem(q_policy_options{}), nullptr);
  EXPECT_NE(problem(q_policy_options{.max_idle = 0}), nullptr);
  EXPECT_NE(problem(q_policy_options{.max_idle = std::nan("")}), nullptr);
}

TEST(QPolicy, SurvivesNaN) {
  const float bad = std::numeric_limits<float>::quiet_NaN();
  cluster<policy_type> c{policy_type{constant_network({bad, bad, bad})}, 2, alone};
  c.push(0).push(0).push(1);
  EXPECT_EQ(c.running(), (list{0, 1}));
  EXPECT_EQ(c.control().policy().undecided(), 3U);
}

// With the values of its biases only, it is a rule.
TEST(QPolicy, IsBspOrAspByItsBiases) {
  const std::vector<double> times{1.0, 1.3, 2.0, 2.0, 3.7};
  const auto trace = [&](auto policy) {
    metronome<decltype(policy)> run{std::move(policy), times, alone};
    EXPECT_TRUE(run.run(300).ok());
    return run.trace();
  };
  EXPECT_EQ(trace(policy_type{constant_network({0, 1, 0})}), trace(asp{}));
  EXPECT_EQ(trace(policy_type{constant_network({2, 0, 1})}), trace(bsp{bsp::sum}));
}

TEST(QPolicy, SavesItsState) {
  const auto network = random_network(4);
  cluster<policy_type> c{policy_type{network, {.max_idle = 3}}, 4, alone};
  for (int n = 0; n < 30; ++n) c.push(c.running()[static_cast<std::size_t>(n) % c.running().size()], 3.0F);
  archive out;
  ASSERT_EQ(c.control().save(out), errc::ok);
  EXPECT_EQ(peek_kind(out.bytes()), "rlp");
  cluster<policy_type> other{policy_type{network, {.max_idle = 3}}, 0, {.capacity = 4, .guard = {.enabled = false}}};
  archive in{out.bytes()};
  ASSERT_EQ(other.control().load(in, [](worker_id who) { return std::optional{1000 + who.index}; }), errc::ok);
  other.heard().ended.resize(2000);
  other.at(30.0).poll();
  EXPECT_EQ(other.running(), c.running()) << "whoever waited goes on waiting";
  archive again;
  ASSERT_EQ(other.control().save(again), errc::ok);
}

TEST(QPolicy, Describes) {
  const description plain = policy_type{constant_network({0, 1, 0})}.describe();
  EXPECT_EQ(plain.line, "rlp: a network of 40 inputs values hold, submitter, all");
  EXPECT_TRUE(plain.json.starts_with(R"({"kind":"rlp","inputs":40,"max_idle":null,"layers":[40,2,3],)"
                                     R"j("activation":"leaky_relu(0.01)","output":"identity","weights":")j"))
      << plain.json;
  EXPECT_TRUE(plain.json.ends_with(R"(","normaliser":null})")) << plain.json;
  EXPECT_NE(plain.json, (policy_type{constant_network({0, 2, 0})}.describe().json)) << "other weights";
  EXPECT_NE((policy_type{constant_network({0, 1, 0}), {.max_idle = 4}}.describe().line.find("longer than 4")),
            std::string::npos);
}

// Whoever caches results by this must not take one policy for another.
TEST(QPolicy, DescribesAllThatDecides) {
  const auto json = [](const nn::dynamic_mlp& network, double mean = 0, double variance = 0, double max_idle = 9) {
    normaliser<40> scale;
    std::array<double, 40> means{}, variances{};
    means[39] = mean;
    variances.fill(1);
    variances[0] = variance;
    if (variance > 0) scale.assign(means, variances, 7);
    return policy_type{network, {.max_idle = max_idle}, {}, scale}.describe().json;
  };
  const nn::dynamic_mlp network = random_network(1);
  nn::dynamic_mlp wider = *nn::dynamic_mlp::make({40, 2, 10, 3}), other = *nn::dynamic_mlp::make({40, 10, 2, 3});
  nn::dynamic_mlp gentle = *nn::dynamic_mlp::make({40, 8, 3}, {.hidden = {nn::activation_kind::leaky_relu, 0.02}});
  nn::dynamic_mlp ends = *nn::dynamic_mlp::make({40, 8, 3}, {.output = {nn::activation_kind::relu}});
  nn::dynamic_mlp last = network;
  std::ranges::copy(network.parameters(), gentle.parameters().begin());
  std::ranges::copy(network.parameters(), ends.parameters().begin());
  last.parameters().back() = std::nextafter(last.parameters().back(), 1.0F);
  const std::vector<std::string> all{
      json(network), json(network, 0, 1), json(network, 0, 2), json(network, 1, 1), json(wider),
      json(other),   json(gentle),        json(last),          json(ends),          json(network, 0, 0, 9.0000001)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
  EXPECT_EQ(json(network, 1, 2), json(random_network(1), 1, 2));
}

}  // namespace
}  // namespace rubato
