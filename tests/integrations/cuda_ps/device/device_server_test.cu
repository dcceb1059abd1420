#include <rubato/cuda_ps/device_server.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
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

// Streams wait by themselves where `at_once` is more than the streams, and threads wait elsewhere.
void train(server_type& ps, std::uint32_t workers, int steps, bool ones) {
  ASSERT_EQ(ps.start().code, errc::ok);
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      auto me = ps.join(w);
      ASSERT_TRUE(me) << me.error().message;
      for (int n = 0; n < steps; ++n) {
        const auto step = (*me)->begin();
        ASSERT_TRUE(step) << step.error().message;
        test::compute(*step, w, ps.size(), ones);
        const error e = (*me)->push();
        ASSERT_EQ(e.code, errc::ok) << e.message;
      }
      EXPECT_EQ((*me)->finish().code, errc::ok);
    });
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
  host_shards here{initial, 4};
  round_book book{rule};
  for (std::uint32_t step = 1; step <= 20; ++step) {
    const floats read(here.values().begin(), here.values().end());
    for (std::uint32_t w = 0; w < 4; ++w)
      for (std::size_t i = 0; i < size; ++i) here.gradient(w, 0)[i] = test::gradient_at(read[i], w, step, i);
    book.begin();
    for (std::uint32_t w = 0; w < 4; ++w) book.admit(verdict::accumulate, w, 0, gradient_note{.weight = 1});
    book.flush(0.25F);
    book.finish(0);
    static_cast<void>(here.carry_out(book[0], book.waiting()));
  }
  EXPECT_EQ(values_of(**ps), floats(here.values().begin(), here.values().end()));
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

}  // namespace
}  // namespace rubato::cuda_ps
