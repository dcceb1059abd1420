#include <rubato/cuda/mailbox_kernel.cuh>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <rubato/nn/mlp.hpp>
#include <vector>

#include "cuda/device/device.hpp"
#include "cuda/random_network.hpp"

namespace rubato::cuda {
namespace {

/// A mailbox in mapped memory, and a stream for its kernel. Arrays must be there before that is launched, and looked at
/// after it was stopped.
template <class Question, class Answer>
class CudaMailboxKernel : public test::OnDevice {
  using box_type = mailbox<Question, Answer>;

 protected:
  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
    void* memory = nullptr;
    ASSERT_EQ(cudaHostAlloc(&memory, sizeof(box_type), cudaHostAllocMapped), cudaSuccess);
    std::memset(memory, 0, sizeof(box_type));
    box_ = static_cast<box_type*>(memory);
    void* there = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&there, memory, 0), cudaSuccess);
    there_ = static_cast<box_type*>(there);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    client_.emplace(*box_);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (box_ != nullptr) cudaFreeHost(box_);
  }
  error ask(const Question& question, Answer& answer) { return client_->ask(question, answer, 10.0, alive()); }
  error stop() { return client_->stop(10.0, alive()); }
  auto alive() const {
    return [stream = stream_] { return is_running(stream); };
  }
  // The kernel ends with the test, whatever else does: arrays that are freed would wait for it.
  class stops_at_the_end {
   public:
    explicit stops_at_the_end(CudaMailboxKernel& test) : test_{&test} {}
    stops_at_the_end(const stops_at_the_end&) = delete;
    stops_at_the_end& operator=(const stops_at_the_end&) = delete;
    ~stops_at_the_end() { static_cast<void>(test_->stop()); }

   private:
    CudaMailboxKernel* test_;
  };

  box_type* box_ = nullptr;
  box_type* there_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::optional<mailbox_client<Question, Answer>> client_;
};

using CudaDecisions = CudaMailboxKernel<request, decision_record<8>>;
using CudaValues = CudaMailboxKernel<value_question<q_shape>, value_answer<q_shape>>;

// What the body says on the host, question by question.
TEST_F(CudaDecisions, DecidesAsTheBody) {
  controller_state<8> here;
  here.policy = device_policy<>::ssp(1);
  const test::device_array<controller_state<8>> state{std::vector{here}};
  ASSERT_EQ(launch_decisions(there_, state.data(), stream_).code, errc::ok);
  const stops_at_the_end ends{*this};
  decide_workspace<> space;
  for (std::uint32_t n = 0; n < 500; ++n) {
    const request what = n == 0 ? request{.what = request::kind::start}
                                : request{.worker = n * 7 % 11 % 8, .now = 0.5 * n, .loss = 1.0F};
    decision_record<8> expected, found;
    decide(here, what, one_lane{}, space, expected);
    const error e = ask(what, found);
    ASSERT_EQ(e.code, errc::ok) << e.message;
    ASSERT_EQ(found.what, expected.what) << n;
    ASSERT_EQ(found.action, expected.action) << n;
    ASSERT_EQ(found.version, expected.version) << n;
    ASSERT_EQ(std::vector(found.release, found.release + found.released),
              std::vector(expected.release, expected.release + expected.released))
        << n;
  }
  EXPECT_EQ(stop().code, errc::ok);
}

TEST_F(CudaDecisions, GivesTheStateBack) {
  const test::device_array<controller_state<8>> state{std::vector{controller_state<8>{}}};
  ASSERT_EQ(launch_decisions(there_, state.data(), stream_).code, errc::ok);
  const stops_at_the_end ends{*this};
  decision_record<8> record;
  ASSERT_EQ(ask({.what = request::kind::start}, record).code, errc::ok);
  EXPECT_TRUE(is_running(stream_));
  EXPECT_EQ(check_launch("nothing").code, errc::ok);  // that it runs is no error
  ASSERT_EQ(ask({.worker = 3, .now = 1.0}, record).code, errc::ok);
  ASSERT_EQ(stop().code, errc::ok);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_FALSE(is_running(stream_));
  EXPECT_EQ(state.host().front().clock[3], 1u);
  EXPECT_EQ(ask({.worker = 3, .now = 2.0}, record).code, errc::io);
}

// Two policies through one buffer, which the kernel has read before.
TEST_F(CudaDecisions, ReadsEachPolicyAnew) {
  const test::device_array<controller_state<8>> state{std::vector{controller_state<8>{}}};
  const auto one = [](device_policy<> policy) { return std::vector{policy}; };
  test::device_array<device_policy<>> policy{one(device_policy<>::asp())};
  ASSERT_EQ(launch_decisions(there_, state.data(), stream_).code, errc::ok);
  const stops_at_the_end ends{*this};
  decision_record<8> record;
  const request change{.what = request::kind::change, .policy = policy.data()};
  ASSERT_EQ(ask({.what = request::kind::start}, record).code, errc::ok);
  policy = one(device_policy<>::k_sync(1));
  ASSERT_EQ(ask(change, record).code, errc::ok);
  policy = one(device_policy<>::bsp());
  ASSERT_EQ(ask(change, record).code, errc::ok);
  ASSERT_EQ(ask({.worker = 3, .now = 1.0}, record).code, errc::ok);
  EXPECT_EQ(record.what, verdict::accumulate);
  EXPECT_EQ(record.action, release_action::hold);
  EXPECT_FALSE(record.flushes);
  policy = one(device_policy<>::asp());
  ASSERT_EQ(ask(change, record).code, errc::ok);
  EXPECT_TRUE(record.flushes);
  ASSERT_EQ(ask({.worker = 4, .now = 2.0}, record).code, errc::ok);
  EXPECT_EQ(record.what, verdict::apply);
  EXPECT_EQ(record.action, release_action::submitter);
  EXPECT_EQ(stop().code, errc::ok);
}

TEST_F(CudaValues, ValuesHaveTheBitsOfTheHost) {
  const auto host = test::random_network<nn::mlp<40, 64, 32, 3>>({}, 1);
  const test::device_array<float> parameters{{host.parameters().begin(), host.parameters().end()}};
  const network<q_shape> net{parameters.data(), host.options().hidden, host.options().output};
  ASSERT_EQ(launch_values(there_, net, stream_).code, errc::ok);
  const stops_at_the_end ends{*this};
  for (std::uint64_t n = 0; n < 100; ++n) {
    const std::vector<float> in = test::numbers(40, n);
    std::vector<float> expected(3);
    host.evaluate(in, expected);
    value_question<q_shape> question;
    std::memcpy(question.inputs, in.data(), sizeof question.inputs);
    value_answer<q_shape> answer;
    const error e = ask(question, answer);
    ASSERT_EQ(e.code, errc::ok) << e.message;
    EXPECT_EQ(std::vector(answer.values, answer.values + 3), expected) << n;
  }
  EXPECT_EQ(stop().code, errc::ok);
}

}  // namespace
}  // namespace rubato::cuda
