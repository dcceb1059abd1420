#include <rubato/cuda/mailbox.cuh>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <rubato/cuda/controller.cuh>
#include <thread>
#include <vector>

#include "thread_lanes.hpp"

namespace rubato::cuda {
namespace mailbox_tests {
namespace {

struct sum_of {
  std::array<std::uint32_t, 11> terms;
};
struct sums {
  std::uint32_t total;
  std::array<std::uint32_t, 40> terms;  // as many of them as the question's first term says
};
using box_type = mailbox<sum_of, sums>;

constexpr auto lives = [] { return true; };

// The kernel of the mailbox, played by threads: terms by all lanes, their total by the first.
void serve_on(unsigned lanes_there_are, box_type& box, std::uint32_t first = 1) {
  sum_of question{};
  sums answer{};
  std::uint32_t stops = 0;
  test::on_lanes(lanes_there_are, [&](const test::thread_lanes& lanes) {
    const auto add_up = [&](const sum_of& asked, sums& said) -> std::size_t {
      const std::uint32_t wanted = asked.terms[0];
      for (std::uint32_t i = lanes.index(); i < wanted; i += lanes.count()) said.terms[i] = asked.terms[1] + i;
      lanes.sync();
      if (lanes.index() == 0) {
        said.total = 0;
        for (std::uint32_t i = 0; i < wanted; ++i) said.total += said.terms[i];
      }
      lanes.sync();
      return 1 + wanted;
    };
    serve(box, lanes, question, answer, stops, add_up, first);
  });
}

void ask_many(unsigned lanes, std::uint32_t questions, std::uint32_t first = 1) {
  const auto box = std::make_unique<box_type>();
  std::jthread kernel{[&] { serve_on(lanes, *box, first); }};
  mailbox_client client{*box, first};
  for (std::uint32_t n = 0; n < questions; ++n) {
    const std::uint32_t wanted = n % 40;
    sums answer{};
    const error e = client.ask({{wanted, n}}, answer, 60.0, lives);
    ASSERT_EQ(e.code, errc::ok) << e.message;
    EXPECT_EQ(answer.total, wanted * n + wanted * (wanted - 1) / 2);
    for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(answer.terms[i], i < wanted ? n + i : 0) << i;
  }
  EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);
}

TEST(CudaMailbox, AnswersInTurn) { ask_many(1, 400); }

TEST(CudaMailbox, AnyNumberOfLanesAnswers) {
  for (const unsigned lanes : {2u, 3u, 8u}) ask_many(lanes, 80);
}

// Past the last number, which is followed by the first: what was never written carries 0.
TEST(CudaMailbox, NumbersComeAgain) {
  for (const unsigned lanes : {1u, 3u}) ask_many(lanes, 60, detail::last_number - 20);
  // No word of an answer is left with a number that it may carry when that comes again.
  for (const std::uint32_t number : {detail::last_number, 1u}) {
    const auto box = std::make_unique<box_type>();
    std::jthread kernel{[&] { serve_on(2, *box, number); }};
    mailbox_client client{*box, number};
    sums answer{};
    ASSERT_EQ(client.ask({{2, 5}}, answer, 60.0, lives).code, errc::ok);
    ASSERT_EQ(client.stop(60.0, lives).code, errc::ok);
    kernel.join();
    for (std::size_t i = 1; i <= box->answer_words; ++i) EXPECT_EQ(box->answer[i] >> 32, number) << i;
  }
}

TEST(CudaMailbox, StopsWhenAsked) {
  const auto box = std::make_unique<box_type>();
  std::atomic<bool> ended = false;
  std::jthread kernel{[&] {
    serve_on(2, *box);
    ended = true;
  }};
  mailbox_client client{*box};
  EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);
  kernel.join();
  EXPECT_TRUE(ended);
  sums answer{};
  const error e = client.ask({}, answer, 60.0, lives);
  EXPECT_EQ(e.code, errc::io);
  EXPECT_EQ(e.message, "mailbox: closed, since it was stopped or an answer did not come");
}

// The kernel is stopped whether it begins after the question was given up, or is still at it.
TEST(CudaMailbox, StopsWhatIsLate) {
  for (const unsigned lanes : {1u, 2u, 5u}) {
    const auto box = std::make_unique<box_type>();
    mailbox_client client{*box};
    sums answer{};
    EXPECT_EQ(client.ask({{3, 1}}, answer, 0.01, lives).code, errc::io);
    std::jthread kernel{[&] { serve_on(lanes, *box); }};
    EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);
  }
  const auto box = std::make_unique<box_type>();
  mailbox_client client{*box};
  std::atomic<bool> goes_on = false, is_asked = false;
  std::jthread kernel{[&] {
    sum_of question{};
    sums said{};
    std::uint32_t stops = 0;
    serve(*box, one_lane{}, question, said, stops, [&](const sum_of&, sums&) -> std::size_t {
      is_asked = true;
      goes_on.wait(false);
      return 1;
    });
  }};
  sums answer{};
  const auto waits = [&] { return !is_asked; };
  EXPECT_EQ(client.ask({}, answer, 60.0, waits).message, "mailbox: no answer to question 1: the kernel is gone");
  EXPECT_EQ(client.stop(0.25, lives).message, "mailbox: the stop was not acknowledged within 0.250000 s");
  goes_on = true;
  goes_on.notify_all();
  EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);
  EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);  // as it was
}

TEST(CudaMailbox, TakesTheLastWordOfAKernel) {
  const auto box = std::make_unique<box_type>();
  mailbox_client client{*box};
  const auto ends_meanwhile = [&] {
    serve_on(1, *box);
    return false;
  };
  EXPECT_EQ(client.stop(60.0, ends_meanwhile).code, errc::ok);
}

TEST(CudaMailbox, GivesUpAtTheLimit) {
  const auto box = std::make_unique<box_type>();
  mailbox_client client{*box};
  sums answer{};
  const error e = client.ask({}, answer, 0.25, lives);
  EXPECT_EQ(e.code, errc::io);
  EXPECT_EQ(e.message, "mailbox: no answer to question 1 within 0.250000 s");
  EXPECT_EQ(client.ask({}, answer, 0.25, lives).message.substr(0, 15), "mailbox: closed");
}

TEST(CudaMailbox, NoticesThatTheKernelIsGone) {
  const auto box = std::make_unique<box_type>();
  mailbox_client client{*box};
  sums answer{};
  const error e = client.ask({}, answer, 3600.0, [] { return false; });
  EXPECT_EQ(e.code, errc::io);
  EXPECT_EQ(e.message, "mailbox: no answer to question 1: the kernel is gone");
}

// The messages in use: a request, and a record as far as it is filled.
TEST(CudaMailbox, DecidesForAHost) {
  using record = decision_record<8>;
  const auto box = std::make_unique<mailbox<request, record>>();
  std::jthread kernel{[&] {
    controller_state<8> state;
    state.policy = device_policy<>::bsp();
    decide_workspace<> space{};
    request question;
    record answer;
    std::uint32_t stops = 0;
    test::on_lanes(2, [&](const test::thread_lanes& lanes) {
      serve(*box, lanes, question, answer, stops, [&](const request& asked, record& said) {
        decide(state, asked, lanes, space, said);
        return words_of(said);
      });
    });
  }};
  mailbox_client client{*box};
  record answer;
  ASSERT_EQ(client.ask({.what = request::kind::start, .worker = 2}, answer, 60.0, lives).code, errc::ok);
  EXPECT_EQ(answer.released, 3u);
  EXPECT_EQ(answer.release[2], 2u);
  for (std::uint32_t w = 0; w < 3; ++w) {
    ASSERT_EQ(client.ask({.worker = w, .now = 1.0 + w}, answer, 60.0, lives).code, errc::ok);
    EXPECT_EQ(answer.what, verdict::accumulate);
    EXPECT_EQ(answer.action, w < 2 ? release_action::hold : release_action::all);
  }
  EXPECT_TRUE(answer.flushes);
  EXPECT_EQ(answer.released, 3u);
  device_policy<> policy = device_policy<>::k_sync(1);  // what a question points at is read when it comes
  ASSERT_EQ(client.ask({.what = request::kind::change, .now = 5.0, .policy = &policy}, answer, 60.0, lives).code,
            errc::ok);
  policy = device_policy<>::asp();
  ASSERT_EQ(client.ask({.what = request::kind::change, .now = 6.0, .policy = &policy}, answer, 60.0, lives).code,
            errc::ok);
  ASSERT_EQ(client.ask({.worker = 0, .now = 7.0}, answer, 60.0, lives).code, errc::ok);
  EXPECT_EQ(answer.what, verdict::apply);
  EXPECT_EQ(client.stop(60.0, lives).code, errc::ok);
}

}  // namespace
}  // namespace mailbox_tests
}  // namespace rubato::cuda
