#include <rubato/cuda/mailbox_kernel.cuh>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <rubato/nn/mlp.hpp>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda {
namespace {

/// A mailbox in mapped memory, and a stream for its kernel.
template <class Box>
class CudaMailboxKernel : public test::OnDevice {
 protected:
  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
    void* memory = nullptr;
    ASSERT_EQ(cudaHostAlloc(&memory, sizeof(Box), cudaHostAllocMapped), cudaSuccess);
    std::memset(memory, 0, sizeof(Box));
    box_ = static_cast<Box*>(memory);
    void* there = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&there, memory, 0), cudaSuccess);
    there_ = static_cast<Box*>(there);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (box_ != nullptr) cudaFreeHost(box_);
  }
  auto alive() const {
    return [stream = stream_] { return is_running(stream); };
  }

  Box* box_ = nullptr;
  Box* there_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

using CudaDecisions = CudaMailboxKernel<mailbox<request, decision_record<8>>>;
using CudaValues = CudaMailboxKernel<mailbox<value_question<q_shape>, value_answer<q_shape>>>;

// What the body says on the host, question by question.
TEST_F(CudaDecisions, DecidesAsTheBody) {
  controller_state<8> here;
  here.policy = device_policy<>::ssp(1);
  const test::device_array<controller_state<8>> state{std::vector{here}};
  ASSERT_EQ(launch_decisions(there_, state.data(), stream_).code, errc::ok);
  mailbox_client client{*box_};
  decide_workspace<> space;
  for (std::uint32_t n = 0; n < 500; ++n) {
    const request what = n == 0 ? request{.what = request::kind::start}
                                : request{.worker = n * 7 % 11 % 8, .now = 0.5 * n, .loss = 1.0F};
    decision_record<8> expected, found;
    decide(here, what, one_lane{}, space, expected);
    const error e = client.ask(what, found, 10.0, alive());
    ASSERT_EQ(e.code, errc::ok) << e.message;
    ASSERT_EQ(found.what, expected.what) << n;
    ASSERT_EQ(found.action, expected.action) << n;
    ASSERT_EQ(found.version, expected.version) << n;
    ASSERT_EQ(std::vector(found.release, found.release + found.released),
              std::vector(expected.release, expected.release + expected.released))
        << n;
  }
  EXPECT_EQ(client.stop(10.0, alive()).code, errc::ok);
}

TEST_F(CudaDecisions, GivesTheStateBack) {
  const test::device_array<controller_state<8>> state{std::vector{controller_state<8>{}}};
  ASSERT_EQ(launch_decisions(there_, state.data(), stream_).code, errc::ok);
  mailbox_client client{*box_};
  decision_record<8> record;
  ASSERT_EQ(client.ask({.what = request::kind::start}, record, 10.0, alive()).code, errc::ok);
  ASSERT_EQ(client.ask({.worker = 3, .now = 1.0}, record, 10.0, alive()).code, errc::ok);
  ASSERT_EQ(client.stop(10.0, alive()).code, errc::ok);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(state.host().front().clock[3], 1u);
  EXPECT_EQ(client.ask({.worker = 3, .now = 2.0}, record, 10.0, alive()).code, errc::io);
}

TEST_F(CudaValues, ValuesHaveTheBitsOfTheHost) {
  const auto host = test::random_network<nn::mlp<40, 64, 32, 3>>({}, 1);
  const test::device_array<float> parameters{{host.parameters().begin(), host.parameters().end()}};
  const network<q_shape> net{parameters.data(), host.options().hidden, host.options().output};
  ASSERT_EQ(launch_values(there_, net, stream_).code, errc::ok);
  mailbox_client client{*box_};
  for (std::uint64_t n = 0; n < 100; ++n) {
    const std::vector<float> in = test::numbers(40, n);
    std::vector<float> expected(3);
    host.evaluate(in, expected);
    value_question<q_shape> question;
    std::memcpy(question.inputs, in.data(), sizeof question.inputs);
    value_answer<q_shape> answer;
    const error e = client.ask(question, answer, 10.0, alive());
    ASSERT_EQ(e.code, errc::ok) << e.message;
    EXPECT_EQ(std::vector(answer.values, answer.values + 3), expected) << n;
  }
  EXPECT_EQ(client.stop(10.0, alive()).code, errc::ok);
}

}  // namespace
}  // namespace rubato::cuda
