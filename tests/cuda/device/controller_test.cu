#include <rubato/cuda/decide_kernel.cuh>

#include <gtest/gtest.h>

#include <cstdint>
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
  EXPECT_GT(after.now, 0.0);
  EXPECT_GT(after.step_time[2], 0.0F);
  EXPECT_LT(after.step_time[2], 60.0F);
}

}  // namespace
}  // namespace rubato::cuda
