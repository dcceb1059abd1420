#include <rubato/cuda/dqn_learner.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/dqn_on_host.hpp"

namespace rubato::cuda {
namespace {

using CudaDqnLearner = test::OnDevice;
using paper_shape = mlp_shape<40, 64, 32, 3>;

// A learner on the device and its twin on the host, with the same experiences.
template <class Shape>
class twins {
 public:
  using learner = dqn_learner<Shape>;
  static constexpr unsigned agents = 3, experiences = 300;

  explicit twins(const rl::dqn_options& options, const nn::mlp_options& endings = {})
      : host{agents, options, endings, 7}, memory{learner::memory_needed(agents, options)} {
    auto made = learner::over(memory.data(), learner::memory_needed(agents, options), agents, options, endings, 7);
    EXPECT_TRUE(made) << made.error().message;
    device = *made;
    std::vector<float> initial = test::numbers(Shape::parameters, 1);
    for (float& p : initial) p *= 0.3F;
    host.start(initial.data());
    std::vector<float> observation, next, reward, discount;
    std::vector<std::uint32_t> action, next_legal;
    for (unsigned a = 0; a < agents; ++a) {
      const test::random_experiences all{Shape::inputs, Shape::outputs, experiences, 2 + a};
      for (unsigned i = 0; i < experiences; ++i) {
        const dqn_experience what = all[i];
        host.record(a, what);
        observation.insert(observation.end(), what.observation, what.observation + Shape::inputs);
        next.insert(next.end(), what.next, what.next + Shape::inputs);
        action.push_back(what.action);
        reward.push_back(what.reward);
        discount.push_back(what.discount);
        next_legal.push_back(what.next_legal);
      }
    }
    const test::device_array<float> of_initial{initial}, of_observation{observation}, of_next{next}, of_reward{reward},
        of_discount{discount};
    const test::device_array<std::uint32_t> of_action{action}, of_legal{next_legal};
    expect_ok(start(device, of_initial.data(), 0, nullptr));
    expect_ok(record_batch(device, experiences,
                           {of_observation.data(), of_next.data(), of_action.data(), of_reward.data(),
                            of_discount.data(), of_legal.data()},
                           nullptr));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  static void expect_ok(const error& e) { EXPECT_EQ(e.code, errc::ok) << e.message; }

  [[nodiscard]] static std::vector<float> parameters(const float* from) {
    std::vector<float> to(Shape::parameters);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(to.data(), from, to.size() * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return to;
  }
  [[nodiscard]] std::vector<float> online(unsigned a) const { return parameters(device.online_of(a).parameters); }
  [[nodiscard]] std::vector<float> target(unsigned a) const { return parameters(device.target_of(a).parameters); }
  [[nodiscard]] dqn_agent agent(unsigned a) const {
    dqn_agent to;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&to, device.agent + a, sizeof(to), cudaMemcpyDeviceToHost), cudaSuccess);
    return to;
  }

  test::dqn_on_host<learner> host;
  test::device_array<unsigned char> memory;
  learner device;
};

rl::dqn_options learning(std::size_t batch) {
  return {.n_step = 1, .replay_capacity = 280, .batch = batch, .learn_after = batch, .target_period = 2};
}

template <class Arithmetic, class Shape>
void expect_same_bits(twins<Shape>& both, int updates) {
  for (int update = 0; update < updates; ++update) {
    both.host.template update<Arithmetic>(test::one_thread);
    both.expect_ok(cuda::update<Arithmetic>(both.device, nullptr));
  }
  for (unsigned a = 0; a < both.agents; ++a) {
    EXPECT_EQ(both.online(a), both.host.online(a)) << a;
    EXPECT_EQ(both.target(a), both.host.target(a)) << a;
    const dqn_agent found = both.agent(a), &expected = both.host.view().agent[a];
    EXPECT_EQ(found.recorded, expected.recorded);
    EXPECT_EQ(found.updates, static_cast<std::uint64_t>(updates));
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.gradient_norm, expected.gradient_norm);
  }
}

TEST_F(CudaDqnLearner, HasTheBitsOfTheHost) {
  for (const std::size_t batch : {32u, 256u}) {
    twins<paper_shape> exact{learning(batch)}, fused{learning(batch)};
    expect_same_bits<exact_arithmetic>(exact, 5);
    expect_same_bits<fused_arithmetic>(fused, 5);
  }
}

TEST_F(CudaDqnLearner, TanhIsCloseToTheHost) {
  twins<paper_shape> both{learning(256), {.hidden = {nn::activation_kind::tanh}}};
  both.host.update<exact_arithmetic>(test::one_thread);
  both.expect_ok(update<exact_arithmetic>(both.device, nullptr));
  for (unsigned a = 0; a < both.agents; ++a) {
    const dqn_agent found = both.agent(a), &expected = both.host.view().agent[a];
    EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
    EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
  }
}

TEST_F(CudaDqnLearner, WideNetworksAskForMemory) {
  using wide = mlp_shape<24, 96, 64, 5>;
  static_assert(sizeof(dqn_tile<wide, 32>) > 48 * 1024);
  twins<wide> both{learning(64)};
  expect_same_bits<exact_arithmetic>(both, 2);
}

TEST_F(CudaDqnLearner, GraphEqualsLaunches) {
  twins<paper_shape> launched{learning(256)}, replayed{learning(256)};
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  {
    const auto graph = capture_updates(replayed.device, 10, stream);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(replayed.agent(0).updates, 0u) << "captured, not run";
    for (int i = 0; i < 3; ++i) replayed.expect_ok(graph->launch(stream));
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  for (int i = 0; i < 30; ++i) launched.expect_ok(update(launched.device, nullptr));
  for (unsigned a = 0; a < launched.agents; ++a) {
    EXPECT_EQ(replayed.agent(a).updates, 30u);
    EXPECT_EQ(replayed.online(a), launched.online(a));
    EXPECT_EQ(replayed.target(a), launched.target(a));
  }
}

TEST_F(CudaDqnLearner, DefaultStreamIsNotCaptured) {
  twins<paper_shape> both{learning(32)};
  const auto graph = capture_updates(both.device, 1, nullptr);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, errc::io);
  const auto none = capture_updates(both.device, 0, nullptr);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::invalid_option);
  expect_same_bits<fused_arithmetic>(both, 1);
}

}  // namespace
}  // namespace rubato::cuda
