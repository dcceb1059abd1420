#include <rubato/cuda_ps/device_server.cuh>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <rubato/cuda_ps/replay.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/device/device.hpp"
#include "gradients.cuh"
#include "integrations/cuda_ps/numbers.hpp"

namespace rubato::cuda_ps {
namespace {

using CudaPsDeviceServer = rubato::test::OnDevice;
using floats = std::vector<float>;
using server_type = device_server<8>;
using policy = server_type::policy_type;
constexpr std::size_t size = 1003;

TEST(CudaPsDeviceServerOptions, RefusesBadOptions) {
  const auto said = [](const device_server_options& o, const policy& rule = policy::asp()) {
    return server_type::make(o, floats(4), rule, {}).error().message;
  };
  EXPECT_EQ(said({.workers = 9}), "workers is 9, expected 1 to 8");
  EXPECT_EQ(said({.workers = 4, .nominal_samples = 0}), "nominal_samples is 0, expected at least 1");
  EXPECT_EQ(said({.workers = 4, .ahead = 0}), "ahead is 0, expected at least 1");
  EXPECT_EQ(said({.workers = 4}, policy::k_sync(5)), "k is 5, expected 1 to the number of workers, 4");
}

TEST(CudaPsDevices, ReadsHowManyStreamsRunAtOnce) {
  const std::string before = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");  // of device.hpp, or the caller's
  const auto with = [](const char* value) {
    return setenv("CUDA_DEVICE_MAX_CONNECTIONS", value, 1), streams_at_once();
  };
  EXPECT_EQ(with("12"), 12u);
  EXPECT_EQ(with("64"), 32u) << "more has no device";
  EXPECT_EQ(with("none"), 1u);
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(streams_at_once(), 8u);
  with(before.c_str());
}

// Steps of one worker, as a thread makes them. Returns how many it has pushed.
int work(server_type& ps, std::uint32_t worker, int steps, bool ones) {
  auto me = ps.join(worker);
  EXPECT_TRUE(me) << me.error().message;
  if (!me) return 0;
  int pushed = 0;
  for (; pushed < steps; ++pushed) {
    const auto step = (*me)->begin();
    if (!step) {
      EXPECT_EQ(step.error().code, errc::departed_worker) << step.error().message;
      break;
    }
    test::compute(*step, worker, ps.size(), ones);
    const error e = (*me)->push();
    EXPECT_EQ(e.code, errc::ok) << e.message;
  }
  EXPECT_EQ((*me)->finish().code, errc::ok);
  return pushed;
}
// Streams wait by themselves where `at_once` is more than the streams, and threads wait elsewhere.
void train(server_type& ps, std::uint32_t workers, int steps, bool ones) {
  ASSERT_EQ(ps.start().code, errc::ok);
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] { EXPECT_EQ(work(ps, w, steps, ones), steps); });
}
floats values_of(server_type& ps) {
  rubato::test::device_array<float> to{ps.size()};
  EXPECT_EQ(ps.snapshot(to.data(), nullptr).code, errc::ok);
  return to.host();
}

TEST_F(CudaPsDeviceServer, SumsAreExact) {
  for (const std::uint32_t at_once : {8u, 1u})
    for (const policy& rule : {policy::asp(), policy::ssp(1), policy::bsp(true)}) {
      const auto ps = server_type::make({.workers = 4, .at_once = at_once}, floats(size), rule, {.learning_rate = 1});
      ASSERT_TRUE(ps) << ps.error().message;
      EXPECT_EQ((*ps)->waits_in_streams(), at_once == 8);
      train(**ps, 4, 50, true);
      EXPECT_EQ(values_of(**ps), floats(size, -200));
      const auto state = (*ps)->inspect();
      ASSERT_TRUE(state);
      EXPECT_EQ((*state)->book.version(), 200u);
    }
}

TEST_F(CudaPsDeviceServer, BspHasTheBitsOfTheHost) {
  const rule_options rule{.kind = rule_kind::adam, .learning_rate = 0.05};
  const floats initial = test::numbers(size, 1);
  const auto ps = server_type::make({.workers = 4}, initial, policy::bsp(), rule);
  ASSERT_TRUE(ps) << ps.error().message;
  train(**ps, 4, 20, false);
  EXPECT_EQ(values_of(**ps), test::rounds_at_the_host(initial, rule, 4, 20));
}

TEST_F(CudaPsDeviceServer, ALogGivesTheSameBits) {
  const rule_options rule{.kind = rule_kind::momentum, .learning_rate = 0.01};
  const floats initial = test::numbers(size, 1);
  const auto ps = server_type::make({.workers = 4, .log_capacity = 1000}, initial, policy::asp(), rule);
  ASSERT_TRUE(ps) << ps.error().message;
  train(**ps, 4, 30, false);
  const auto log = (*ps)->log();
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->size(), 120u);
  EXPECT_EQ(values_of(**ps), test::replayed(*log, rule, initial));
}

TEST_F(CudaPsDeviceServer, ChangesWhileItRuns) {
  const auto ps = server_type::make({.workers = 4}, floats(size), policy::asp(), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  {
    std::jthread changes{[&] {
      for (const policy& rule : {policy::ssp(1), policy::bsp(true), policy::asp(), policy::bsp(true)}) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        EXPECT_EQ((*ps)->change(rule, pending_gradients::flush).code, errc::ok);
      }
    }};
    train(**ps, 4, 200, true);
  }
  EXPECT_EQ(values_of(**ps), floats(size, -800));
}

// Which updates are made depends on who is quicker; the log says which, and everybody comes to its end.
TEST_F(CudaPsDeviceServer, EveryRuleKeepsEverybodyGoing) {
  const floats one(size, 1);
  for (const policy& rule : {policy::bsp(), policy::ssp(2), policy::k_sync(2), policy::knee()}) {
    const rule_options adam{.kind = rule_kind::adam, .learning_rate = 0.01};
    const auto ps = server_type::make({.workers = 4, .log_capacity = 1000}, floats(size), rule, adam);
    ASSERT_TRUE(ps) << ps.error().message;
    train(**ps, 4, 50, true);
    const auto log = (*ps)->log();
    ASSERT_TRUE(log) << log.error().message;
    const auto again = replay(*log, adam, floats(size), [&](auto...) { return std::span<const float>{one}; });
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(values_of(**ps), *again);
    const auto state = (*ps)->inspect();
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_GT((*state)->book.version(), 10u);
    for (std::uint32_t w = 0; w < 4; ++w) {
      EXPECT_EQ((*state)->controller.clock[w], 50u) << "policy " << static_cast<int>(rule.kind);
      EXPECT_EQ((*state)->controller.where[w], worker_state::done);
    }
  }
}

TEST_F(CudaPsDeviceServer, TheLearnedRuleDecides) {
  using shape = cuda::q_shape;
  const rubato::test::device_array<float> weights{test::numbers(shape::parameters, 7)};
  const cuda::network<shape> net{.parameters = weights.data()};
  const auto ps = server_type::make({.workers = 4}, floats(size), policy::learned(net), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  train(**ps, 4, 50, true);
  EXPECT_EQ(values_of(**ps), floats(size, -200)) << "it applies every gradient, whomever it lets go";
  const auto state = (*ps)->inspect();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ((*state)->controller.learned.pushes, 200u);
}

TEST_F(CudaPsDeviceServer, ADeadWorkerHoldsNobodyBack) {
  const auto ps = server_type::make({.workers = 3}, floats(size), policy::bsp(), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  ASSERT_EQ((*ps)->start().code, errc::ok);
  EXPECT_EQ((*ps)->die(3).code, errc::unknown_worker);
  {
    auto late = (*ps)->join(2);
    ASSERT_TRUE(late) << late.error().message;
    const auto step = (*late)->begin();
    ASSERT_TRUE(step) << step.error().message;
    std::vector<std::jthread> others;
    for (const std::uint32_t w : {0u, 1u}) others.emplace_back([&ps, w] { EXPECT_EQ(work(**ps, w, 10, true), 10); });
    EXPECT_EQ((*ps)->die(2).code, errc::ok);
    others.clear();
    test::compute(*step, 2, size, true);
    EXPECT_EQ((*late)->push().code, errc::ok) << "it is launched, and refused";
    EXPECT_EQ((*late)->begin().error().code, errc::departed_worker);
  }
  EXPECT_EQ(values_of(**ps), floats(size, -10));
  const auto state = (*ps)->inspect();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ((*state)->book.version(), 10u);
  EXPECT_EQ((*state)->controller.where[2], worker_state::dead);
  EXPECT_EQ((*state)->controller.counted[static_cast<std::size_t>(reason::departed_worker)], 1u);
}

// Its stream is some steps ahead, all of which wait for releases that do not come any more.
TEST_F(CudaPsDeviceServer, TheStreamOfADeadWorkerRunsOut) {
  for (const std::uint32_t at_once : {8u, 1u}) {
    const auto ps = server_type::make({.workers = 2, .at_once = at_once}, floats(size), policy::bsp(), {});
    ASSERT_TRUE(ps) << ps.error().message;
    ASSERT_EQ((*ps)->start().code, errc::ok);
    std::jthread worker{[&] { EXPECT_LT(work(**ps, 0, 1000, true), 1000); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    EXPECT_EQ((*ps)->die(0).code, errc::ok);
  }
}

TEST_F(CudaPsDeviceServer, WhoLeavesIsNotWaitedFor) {
  const auto ps = server_type::make({.workers = 4}, floats(size), policy::bsp(true), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  ASSERT_EQ((*ps)->start().code, errc::ok);
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < 3; ++w) threads.emplace_back([&ps, w] { EXPECT_EQ(work(**ps, w, 20, true), 20); });
  EXPECT_EQ((*ps)->leave(3).code, errc::ok);
  threads.clear();
  EXPECT_EQ(values_of(**ps), floats(size, -60));
  const auto state = (*ps)->inspect();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ((*state)->controller.where[3], worker_state::left);
}

TEST_F(CudaPsDeviceServer, StopEndsTheSteps) {
  for (const std::uint32_t at_once : {8u, 1u}) {
    const auto ps =
        server_type::make({.workers = 3, .at_once = at_once}, floats(size), policy::bsp(true), {.learning_rate = 1});
    ASSERT_TRUE(ps) << ps.error().message;
    ASSERT_EQ((*ps)->start().code, errc::ok);
    std::array<int, 3> pushed{};
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t w = 0; w < 3; ++w)
        threads.emplace_back([&, w] { pushed[w] = work(**ps, w, 1'000'000, true); });
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      (*ps)->stop();
    }
    EXPECT_EQ(values_of(**ps), floats(size, -static_cast<float>(pushed[0] + pushed[1] + pushed[2])))
        << "what was pushed is applied";
  }
}

TEST_F(CudaPsDeviceServer, BeginNeedsAStart) {
  const auto ps = server_type::make({.workers = 2}, floats(size), policy::bsp(), {});
  ASSERT_TRUE(ps) << ps.error().message;
  {
    const auto me = (*ps)->join(0);
    ASSERT_TRUE(me) << me.error().message;
    const auto step = (*me)->begin();
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().code, errc::busy);
    EXPECT_EQ(step.error().message, "begin() before start(): no worker would ever be released");
  }
  EXPECT_EQ((*ps)->die(1).code, errc::busy);
  EXPECT_EQ((*ps)->start().code, errc::ok);
  EXPECT_EQ((*ps)->start().code, errc::repeated);
}

TEST_F(CudaPsDeviceServer, PollsChangeNothingBeforeADeadline) {
  const auto ps = server_type::make({.workers = 4}, floats(size), policy::asp(), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  {
    std::jthread polls{[&] {
      for (int n = 0; n < 50; ++n) EXPECT_EQ((*ps)->poll().code, errc::ok);
    }};
    train(**ps, 4, 100, true);
  }
  EXPECT_FALSE((*ps)->wants_poll());
  EXPECT_EQ(values_of(**ps), floats(size, -400));
}

TEST_F(CudaPsDeviceServer, SnapshotsAreBetweenUpdates) {
  const auto ps = server_type::make({.workers = 4}, floats(size), policy::asp(), {.learning_rate = 1});
  ASSERT_TRUE(ps) << ps.error().message;
  const rubato::test::device_array<float> to{size};
  const auto own = make_stream();
  ASSERT_TRUE(own) << own.error().message;
  floats seen(size);
  float before = 0;
  std::jthread trains{[&] { train(**ps, 4, 300, true); }};
  for (int n = 0; n < 30; ++n) {
    ASSERT_EQ((*ps)->snapshot(to.data(), own->get()).code, errc::ok);
    ASSERT_EQ(cudaMemcpyAsync(seen.data(), to.data(), size * sizeof(float), cudaMemcpyDeviceToHost, own->get()),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(own->get()), cudaSuccess);
    EXPECT_EQ(seen, floats(size, seen[0])) << "none is of an update that others are not in";
    EXPECT_LE(seen[0], before);
    before = seen[0];
  }
}

}  // namespace
}  // namespace rubato::cuda_ps
