#include <rubato/cuda/decide_kernel.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <string>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/side_by_side.hpp"

namespace rubato::cuda {
namespace {

/// The controller of the device, asked by kernels.
template <std::uint32_t Capacity>
class kernels {
 public:
  void reset(const controller_state<Capacity>& fresh) { state_ = std::vector{fresh}; }
  decision_record<Capacity> decide(request what, const device_policy<>* policy) {
    if (policy != nullptr) policy_ = std::vector{*policy};
    what.policy = policy_.data();
    request_ = std::vector{what};
    const error e = launch_decide(state_.data(), request_.data(), time_of::request, record_.data(),
                                  release_words{words_.data()}, nullptr);
    EXPECT_EQ(e.code, errc::ok) << e.message;
    near_ = state_.host().front();
    return record_.host().front();
  }
  [[nodiscard]] const controller_state<Capacity>& state() const noexcept { return near_; }
  [[nodiscard]] std::vector<std::uint32_t> words() const { return words_.host(); }

 private:
  test::device_array<controller_state<Capacity>> state_{1};
  test::device_array<decision_record<Capacity>> record_{1};
  test::device_array<request> request_{1};
  test::device_array<device_policy<>> policy_{1};
  test::device_array<std::uint32_t> words_{Capacity};
  controller_state<Capacity> near_;
};

using CudaControllerOnDevice = test::OnDevice;

TEST_F(CudaControllerOnDevice, DecidesAsTheHost) {
  for (const std::uint32_t workers : {1U, 4U, 16U}) {
    const test::some_q_network q{workers};
    const test::device_array<float> parameters{q.parameters};
    const test::device_array<double> statistics{std::vector<double>(q.statistics, q.statistics + 80)};
    std::vector<test::policy_pair> all = test::simple_policies(workers);
    all.push_back(q.pair<rlp_state>("learned", true, 2.5));
    all.back().device.values.parameters = parameters.data();
    all.back().device.statistics = statistics.data();
    for (const test::policy_pair& policy : all) {
      SCOPED_TRACE(policy.name + ", workers " + std::to_string(workers));
      test::schedule_of o{.workers = workers, .calls = 300, .faults = 0.05, .switches = all, .seed = workers};
      kernels<16> device;
      test::side_by_side<16, kernels<16>> both{o, policy, device};
      both.run();
      ASSERT_FALSE(::testing::Test::HasFailure());
      const std::vector<std::uint32_t> words = device.words();
      for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(words[w], device.state().releases[w]);
    }
  }
}

// Logarithms are the device's own, so that the host may decide otherwise in the end; what holds for any decision does.
template <std::uint32_t Capacity>
void run_somebody(kernels<Capacity>& device, const device_policy<>& policy, std::uint32_t workers) {
  controller_state<Capacity> fresh;
  fresh.policy = policy;
  fresh.workers = workers;
  device.reset(fresh);
  random_sequence random{workers};
  std::vector<double> due(workers, 0.0);
  double now = 0.0;
  std::uint64_t applied = 0;
  decision_record<Capacity> said = device.decide({.what = request::kind::start, .now = now}, nullptr);
  ASSERT_GT(said.released, 0u);
  for (int call = 0; call < 600; ++call) {
    const controller_state<Capacity>& seen = device.state();
    for (std::uint32_t i = 0; i < said.released; ++i) {
      const std::uint32_t w = said.release[i];
      ASSERT_LT(w, workers);
      EXPECT_EQ(seen.where[w], worker_state::running);
      // As long as many run: a machine that they share.
      due[w] = now + (0.9 + 0.2 * random.uniform()) * (1.0 + 0.5 * seen.running);
    }
    EXPECT_GT(seen.running, 0u);
    EXPECT_EQ(seen.running + seen.parked, workers);
    EXPECT_EQ(seen.updates, applied);
    EXPECT_EQ(said.version, applied);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "call " << call;
    std::uint32_t next = no_worker;
    for (std::uint32_t w = 0; w < workers; ++w)
      if (seen.where[w] == worker_state::running && (next == no_worker || due[w] < due[next])) next = w;
    if (said.wake_at < due[next]) {
      now = said.wake_at > now ? said.wake_at : now;
      said = device.decide({.what = request::kind::poll, .now = now}, nullptr);
      continue;
    }
    now = due[next] > now ? due[next] : now;
    said = device.decide({.worker = next, .now = now, .loss = static_cast<float>(1.0 + random.uniform())}, nullptr);
    EXPECT_EQ(said.what, verdict::apply);
    ++applied;
  }
  EXPECT_GT(applied, 300u);
  std::uint64_t clocks = 0;
  for (std::uint32_t w = 0; w < workers; ++w) clocks += device.state().clock[w];
  EXPECT_EQ(clocks, applied);
}

TEST_F(CudaControllerOnDevice, RunsSomebody) {
  for (const std::uint32_t workers : {1U, 5U, 16U}) {
    SCOPED_TRACE("workers " + std::to_string(workers));
    kernels<16> device;
    run_somebody(device, device_policy<>::knee(), workers);
    EXPECT_EQ(device.state().policy.kind, rule::knee);
    EXPECT_GE(device.state().knee.parallelism(), 1u);
    EXPECT_LE(device.state().knee.parallelism(), workers);
    const test::some_q_network q{workers};
    const test::device_array<float> parameters{q.parameters};
    device_policy<> policy = q.pair<rlp_normalised_state>("learned, normalised", false, 2.5).device;
    policy.values.parameters = parameters.data();
    run_somebody(device, policy, workers);
    for (const float x : device.state().learned.numbers) EXPECT_TRUE(std::isfinite(x));
    EXPECT_EQ(device.state().learned.undecided, 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(CudaControllerOnDevice, KeepsTimeByTheDevice) {
  controller_state<4> fresh;
  const test::device_array<controller_state<4>> state{std::vector{fresh}};
  const test::device_array<decision_record<4>> record{1};
  const test::device_array<request> what{std::vector<request>{{.what = request::kind::start}, {.worker = 2}}};
  for (std::size_t i = 0; i < 2; ++i)
    ASSERT_EQ(
        launch_decide(state.data(), what.data() + i, time_of::device, record.data(), no_publication{}, nullptr).code,
        errc::ok);
  const controller_state<4> after = state.host().front();
  EXPECT_EQ(record.host().front().what, verdict::apply);
  EXPECT_EQ(after.version, 1u);
  EXPECT_GT(after.epoch, 0u);
  EXPECT_GE(after.now, 0.0);  // both may fall into one step of the clock
  EXPECT_LT(after.now, 60.0);
  EXPECT_EQ(after.step_time[2], static_cast<float>(after.now > 0 ? after.now : 1e-30));
}

}  // namespace
}  // namespace rubato::cuda
