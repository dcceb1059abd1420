#include <rubato/cuda_ps/host_decisions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <rubato/sync/rivals/k_sync.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crew.hpp"
#include "numbers.hpp"

namespace rubato::cuda_ps::host_decisions_test {
namespace {

using namespace cuda_ps::test;
using floats = std::vector<float>;
constexpr rule_options by_one{.learning_rate = 1};
const auto ones = [](auto, auto&, auto, auto to) { std::ranges::fill(to, 1.0F); };

TEST(CudaPsHostDecisions, SumsAreExact) {
  const std::vector<any_policy> policies{asp{}, ssp{.staleness = 1}, bsp{.aggregate = bsp::sum}};
  for (const any_policy& policy : policies) {
    bench at{{.sync = {.capacity = 5}, .shards = 3}, floats(30), policy, by_one};
    std::vector<std::jthread> threads;
    for (std::uint32_t w = 0; w < 5; ++w) threads.emplace_back([&, w] { work(at, {w}, 100, ones); });
    threads.clear();
    EXPECT_EQ(at.values(), floats(30, -500));
    EXPECT_EQ(at.decisions.between_orders([](auto& book) { return book.version(); }), 500u);
    std::uint64_t gradients = 0;
    for (const auto count : at.decisions.staleness().counts) gradients += count;
    EXPECT_EQ(gradients, 500u);
  }
}

TEST(CudaPsHostDecisions, BspHasTheSameBitsWhoeverComesFirst) {
  std::vector<floats> results;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    bench at{{.sync = {.capacity = 4}, .shards = 2}, numbers(12, 1), bsp{}, {.kind = rule_kind::momentum}};
    std::vector<std::jthread> threads;
    for (std::uint32_t w = 0; w < 4; ++w)
      threads.emplace_back([&, w] {
        random_sequence random{seed, w, 0};
        work(at, {w}, 25, [&](std::uint64_t step, auto&, auto parameters, auto to) {
          const floats noise = numbers(12, 50 + w, step);
          for (std::size_t i = 0; i < 12; ++i) to[i] = 0.3F * parameters[i] + noise[i];
          dawdle(random);
        });
      });
    threads.clear();
    results.push_back(at.values());
  }
  for (const floats& each : results) EXPECT_EQ(each, results[0]);
}

TEST(CudaPsHostDecisions, NobodyPassesTheBound) {
  bench at{{.sync = {.capacity = 4}}, floats(4), ssp{.staleness = 2}, by_one};
  std::array<std::atomic<std::uint64_t>, 4> started{};
  std::atomic<int> beyond{0};
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < 4; ++w)
    threads.emplace_back([&, w] {
      random_sequence random{3, w, 0};
      work(at, {w}, 150, [&](std::uint64_t step, auto&, auto, auto to) {
        started[w] = step;
        for (const auto& other : started) beyond += step > other + 3;  // who is about to start has finished one less
        dawdle(random);
        std::ranges::fill(to, 0.0F);
      });
      started[w] = 1u << 30;
    });
  threads.clear();
  EXPECT_EQ(beyond, 0);
}

// The first two make the update, and it is of their gradients alone.
TEST(CudaPsHostDecisions, AFlushTakesTheFirstK) {
  bench at{{.sync = {.capacity = 3}}, floats(4), k_sync{.k = 2}, by_one};
  std::array<std::future<result<next_step_terms>>, 3> steps;
  for (std::uint32_t w = 0; w < 3; ++w)
    steps[w] = std::async(std::launch::async, [&, w] { return at.decisions.join_and_wait({w}); });
  for (auto& each : steps) ASSERT_TRUE(each.get());
  for (std::uint32_t w = 0; w < 3; ++w)
    std::ranges::fill(at.shards.gradient(w, 0), w == 0 ? 1.0F : w == 1 ? 4.0F : 50.0F);
  auto first = std::async(std::launch::async, [&] { return at.decisions.push_and_wait({.worker = {1}, .step = 1}); });
  while (at.decisions.between_orders([](auto& book) { return book.who_waits(); }) == 0) std::this_thread::yield();
  const auto second = at.decisions.push_and_wait({.worker = {0}, .step = 1});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->version_read, 1u);
  EXPECT_EQ(second->slot, 1u);
  ASSERT_TRUE(first.get());
  EXPECT_EQ(at.values(), floats(4, -2.5F));
  EXPECT_TRUE(at.decisions.cancelled({2}));
  const auto third = at.decisions.push_and_wait({.worker = {2}, .step = 1});
  ASSERT_TRUE(third);
  EXPECT_FALSE(at.decisions.cancelled({2}));
  EXPECT_EQ(at.values(), floats(4, -2.5F)) << "the late one is dropped";
  at.decisions.shutdown();
}

TEST(CudaPsHostDecisions, CancelledStepsAreTold) {
  bench at{{.sync = {.capacity = 2}}, floats(1), k_sync{.k = 1}, by_one};
  auto other = std::async(std::launch::async, [&] { return at.decisions.join_and_wait({1}); });
  ASSERT_TRUE(at.decisions.join_and_wait({0}));
  ASSERT_TRUE(other.get());
  EXPECT_FALSE(at.decisions.cancelled({1}));
  ASSERT_TRUE(at.decisions.push_and_wait({.worker = {0}, .step = 1}));
  EXPECT_TRUE(at.decisions.cancelled({1}));
  EXPECT_FALSE(at.decisions.cancelled({1, 1})) << "another life is not";
}

TEST(CudaPsHostDecisions, TheVersionThatWasReadIsExact) {
  for (const any_policy& policy : {any_policy{asp{}}, any_policy{bsp{}}, any_policy{k_sync{.k = 2}}}) {
    bench at{{.sync = {.capacity = 4}, .shards = 2}, floats(8), policy, by_one};
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::uint32_t w = 0; w < 4; ++w)
      threads.emplace_back([&, w] {
        work(at, {w}, 60, [&](auto, const next_step_terms& next, auto parameters, auto to) {
          for (const float each : parameters) wrong += each != -static_cast<float>(next.version_read);
          wrong += next.version_read < next.terms.version;
          std::ranges::fill(to, 1.0F);
        });
      });
    threads.clear();
    EXPECT_EQ(wrong, 0);
  }
}

// A grant with half the rate, an admission of weight 3 and twice the nominal samples.
struct weighing {
  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept { return admission::apply(3); }
  [[nodiscard]] decision release(const cluster_view&, const event&) const noexcept {
    return decision::all().with_lr_scale(0.5F);
  }
  [[nodiscard]] double max_legal_wait(std::uint32_t) const noexcept { return 1; }
  [[nodiscard]] description describe() const { return {"weighing", "{}"}; }
  [[maybe_unused]] static constexpr std::string_view kind = "weighing";
};

TEST(CudaPsHostDecisions, WeightsAreThoseOfSemantics3) {
  host_shards shards{floats(4), 1};
  host_decisions<weighing, host_shards> decisions{
      {.sync = {.capacity = 1}, .nominal_samples = 8}, weighing{}, {.learning_rate = 0.25}, shards};
  ASSERT_TRUE(decisions.join_and_wait({0}));
  std::ranges::fill(shards.gradient(0, 0), 1.0F);
  ASSERT_TRUE(decisions.push_and_wait({.worker = {0}, .samples = 16}));
  EXPECT_EQ(shards.values()[0], -0.25F * (0.5F * 3 * 2));
  std::ranges::fill(shards.gradient(0, 1), 1.0F);
  ASSERT_TRUE(decisions.push_and_wait({.worker = {0}}));
  EXPECT_EQ(shards.values()[0], -0.25F * (0.5F * 3 * 2 + 0.5F * 3)) << "no samples stand for the nominal ones";
}

TEST(CudaPsHostDecisions, ADeadWorkerHoldsNobodyBack) {
  bench at{{.sync = {.capacity = 3}}, floats(1), bsp{}, by_one};
  std::vector<std::jthread> threads;
  std::atomic<std::uint64_t> done{0};
  for (std::uint32_t w = 0; w < 2; ++w) threads.emplace_back([&, w] { done += work(at, {w}, 20, ones); });
  ASSERT_TRUE(at.decisions.join_and_wait({2}));
  std::this_thread::sleep_for(std::chrono::milliseconds{2});  // the others wait for it
  EXPECT_EQ(at.decisions.die({2}), errc::ok);
  threads.clear();
  EXPECT_EQ(done, 40u);
  EXPECT_EQ(at.values(), floats{-20});
  EXPECT_EQ(at.decisions.push_and_wait({.worker = {2}}).error().code, errc::departed_worker);
}

TEST(CudaPsHostDecisions, AWorkerComesBack) {
  bench at{{.sync = {.capacity = 2}}, floats(1), ssp{.staleness = 0}, by_one};
  auto other = std::async(std::launch::async, [&] { return at.decisions.join_and_wait({1}); });
  ASSERT_TRUE(at.decisions.join_and_wait({0, 0}));
  ASSERT_TRUE(other.get());
  auto waits = std::async(std::launch::async, [&] { return at.decisions.push_and_wait({.worker = {0, 0}}); });
  while (at.decisions.between_orders([](auto& book) { return book.version(); }) == 0) std::this_thread::yield();
  auto next = std::async(std::launch::async, [&] { return at.decisions.join_and_wait({0, 1}); });
  EXPECT_EQ(waits.get().error().code, errc::old_incarnation);
  EXPECT_EQ(at.decisions.push_and_wait({.worker = {0, 0}}).error().code, errc::old_incarnation);
  EXPECT_EQ(at.decisions.join_and_wait({0, 0}).error().code, errc::old_incarnation);
  EXPECT_EQ(at.decisions.join_and_wait({2}).error().code, errc::unknown_worker);
  EXPECT_EQ(at.decisions.leave({1}), errc::ok);
  EXPECT_TRUE(next.get());
}

TEST(CudaPsHostDecisions, SwitchesLoseNothing) {
  bench at{{.sync = {.capacity = 4}, .shards = 2}, floats(9), bsp{.aggregate = bsp::sum}, by_one};
  std::vector<std::jthread> threads;
  std::atomic<int> working{4};
  for (std::uint32_t w = 0; w < 4; ++w) threads.emplace_back([&, w] { work(at, {w}, 200, ones), --working; });
  for (int n = 0; working > 0; ++n) {
    const std::array<any_policy, 3> rules{asp{}, ssp{.staleness = 1}, bsp{.aggregate = bsp::sum}};
    EXPECT_EQ(at.decisions.switch_to(rules[static_cast<std::size_t>(n) % 3], pending_gradients::flush), errc::ok);
    std::this_thread::yield();
  }
  threads.clear();
  EXPECT_EQ(at.values(), floats(9, -800));
}

TEST(CudaPsHostDecisions, ShutdownFreesEverybody) {
  bench at{{.sync = {.capacity = 3}}, floats(1), bsp{}, by_one};
  std::array<std::future<result<next_step_terms>>, 2> waits;
  for (std::uint32_t w = 0; w < 2; ++w)
    waits[w] = std::async(std::launch::async, [&, w] { return at.decisions.join_and_wait({w}); });
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
  at.decisions.shutdown();
  for (auto& each : waits) {
    const auto end = each.get();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, errc::departed_worker);
    EXPECT_EQ(end.error().message, "the server is shut down");
  }
  EXPECT_FALSE(at.decisions.join_and_wait({2}));
  EXPECT_EQ(at.decisions.switch_to(bsp{}, pending_gradients::flush), errc::departed_worker);
  EXPECT_EQ(at.decisions.set_quorum(1), errc::departed_worker);
}

struct failing_plane {
  int left = 2;
  error carry_out(const order&, const waiting_gradients&) {
    return left-- > 0 ? error{} : error{errc::io, "apply: cudaErrorIllegalAddress"};
  }
};

TEST(CudaPsHostDecisions, AFailingPlaneEndsEverything) {
  failing_plane plane;
  host_decisions<asp, failing_plane> decisions{{.sync = {.capacity = 2, .quorum = 1}}, asp{}, by_one, plane};
  ASSERT_TRUE(decisions.join_and_wait({0}));
  ASSERT_TRUE(decisions.push_and_wait({.worker = {0}}));
  const auto end = decisions.push_and_wait({.worker = {0}});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, errc::io);
  EXPECT_EQ(end.error().message, "apply: cudaErrorIllegalAddress");
  EXPECT_EQ(decisions.join_and_wait({1}).error().message, "apply: cudaErrorIllegalAddress");
}

// Wakes a waiter at a time of its own: nobody is released before the deadline.
struct late {
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::deadline ? decision::all() : decision::hold().with_wake_at(what.now + 0.002);
  }
  [[nodiscard]] double max_legal_wait(std::uint32_t) const noexcept { return 1; }
  [[nodiscard]] description describe() const { return {"late", "{}"}; }
  [[maybe_unused]] static constexpr std::string_view kind = "late";
};

TEST(CudaPsHostDecisions, DeadlinesAreServedByWhoSleeps) {
  host_shards shards{floats(1), 2};
  host_decisions<late, host_shards> decisions{
      {.sync = {.capacity = 2, .guard = {.enabled = false}}}, late{}, by_one, shards};
  std::vector<std::jthread> threads;
  std::atomic<int> steps{0};
  for (std::uint32_t w = 0; w < 2; ++w)
    threads.emplace_back([&, w] {
      auto next = decisions.join_and_wait({w});
      for (int n = 0; n < 5 && next; ++n, ++steps) next = decisions.push_and_wait({.worker = {w}});
    });
  threads.clear();
  EXPECT_EQ(steps, 10);
}

TEST(CudaPsHostDecisions, RefusesBadOptions) {
  const auto said = [](const server_options& o, std::size_t parameters, const rule_options& rule = {}) {
    return problem(o, parameters, asp{}, rule);
  };
  EXPECT_EQ(said({.sync = {.capacity = 4}}, 10), "");
  EXPECT_EQ(said({.sync = {.capacity = 4}}, 0), "there are no parameters, expected at least 1");
  EXPECT_EQ(said({.sync = {.capacity = 65}}, 10), "sync.capacity is 65, expected at most 64");
  EXPECT_EQ(said({.sync = {.capacity = 4}, .shards = 4}, 10),
            "shards is 4, expected 1 to a quarter of the parameters, 3");
  EXPECT_EQ(said({.sync = {.capacity = 4}, .nominal_samples = 0}, 10), "nominal_samples is 0, expected at least 1");
  EXPECT_EQ(said({.sync = {.capacity = 4}}, 10, {.learning_rate = -1}), "learning_rate: expected a number in [0, 1e6)");
  EXPECT_EQ(said({.sync = {.capacity = 0}}, 10), "capacity must lie between 1 and 4294967294");
}

TEST(CudaPsHostDecisions, KillsAndSwitchesAtRandom) {
  bench at{{.sync = {.capacity = 5, .quorum = 1}, .shards = 2}, floats(9), asp{}, by_one};
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < 5; ++w)
    threads.emplace_back([&, w] {
      for (std::uint32_t life = 0; !over; ++life) work(at, {w, life}, 1000, ones);
    });
  random_sequence random{11, 0, 0};
  const std::array<any_policy, 5> rules{asp{}, ssp{.staleness = 1}, bsp{}, k_sync{.k = 2}, knee{}};
  std::array<std::uint32_t, 5> lives{};
  for (int n = 0; n < 400; ++n) {
    if (random.below(3) == 0)
      static_cast<void>(at.decisions.switch_to(
          rules[random.below(5)], random.below(2) == 0 ? pending_gradients::flush : pending_gradients::discard));
    const auto w = static_cast<std::uint32_t>(random.below(5));
    lives[w] = at.decisions.inspect([&](auto& sync, auto&) { return sync.workers()[w].incarnation; });
    static_cast<void>(at.decisions.die({w, lives[w]}));
    std::this_thread::yield();
  }
  over = true;
  at.decisions.shutdown();
  threads.clear();
  for (const float each : at.values()) {
    EXPECT_EQ(each, at.values()[0]) << "all shards have seen the same orders";
    EXPECT_LE(each, 0.0F);
  }
}

}  // namespace
}  // namespace rubato::cuda_ps::host_decisions_test
