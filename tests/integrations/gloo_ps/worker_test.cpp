#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/rivals/k_batch_sync.hpp>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "harness.hpp"

namespace gloo_ps_worker_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::test::eventually;

// A server that says what it is told to, to one worker, one connection after the other.
struct script {
  using act = std::function<void(ps::loopback_link&)>;
  std::vector<act> acts;
  std::vector<std::thread> threads{};
  std::mutex lock{};
  std::vector<ps::message> hellos{};  // guarded by lock; to be read once the threads have ended

  ~script() {
    for (std::thread& t : threads) t.join();
  }
  std::optional<ps::loopback_link> operator()(rubato::worker_id, ps::steady::time_point) {
    if (threads.size() == acts.size()) return std::nullopt;
    auto both = ps::loopback_link::pair();
    threads.emplace_back([this, &perform = acts[threads.size()], link = std::move(both.second)]() mutable {
      if (auto hello = hear(link)) {
        const std::lock_guard guard{lock};
        hellos.push_back(*hello);
      }
      perform(link);
    });
    return std::move(both.first);
  }
  static std::optional<ps::message> hear(ps::loopback_link& link) {
    ps::bytes raw;
    if (!link.recv(raw, 10'000, ps::after(5))) return std::nullopt;
    return ps::decode(raw, 1).what;
  }
  template <class Body>
  static void say(ps::loopback_link& link, const Body& body, std::uint32_t life = 1,
                  std::span<const float> floats = {}) {
    static_cast<void>(link.send(ps::encode({.job = 1, .life = life}, body, floats), ps::after(1)));
  }
};
using scripted = std::function<std::optional<ps::loopback_link>(rubato::worker_id, ps::steady::time_point)>;

ps::worker<scripted> worker_of(script& server, double give_up = 5) {
  return {{.job = 1, .id = {3, 2}, .model = {4, 1}, .reply_limit = 0.2, .give_up = give_up, .retry = 0.001},
          [&server](rubato::worker_id who, ps::steady::time_point by) { return server(who, by); }};
}

TEST(Worker, GivesUpWithASentence) {
  script nobody{};
  auto w = worker_of(nobody, 0.05);
  std::vector<float> parameters(4);
  const auto step = w.begin(parameters);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, rubato::errc::io);
  EXPECT_EQ(step.error().message, "no server of job 1 took worker 3 within 0.05 s; none was found");
}

TEST(Worker, ForeignJobIsAnErrorForGood) {
  script server{{[](auto& link) {
    script::say(link, ps::reject_message{.why = ps::refusal::wrong_shape, .sentence = "a model of 4, expected 5"});
  }}};
  auto w = worker_of(server);
  std::vector<float> parameters(4);
  const auto step = w.begin(parameters);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message, "worker 3 was refused, wrong_shape: a model of 4, expected 5");
  EXPECT_EQ(w.begin(parameters).error().message, step.error().message) << "and stays so";
}

TEST(Worker, PausesGrowWhereWelcomesLeadToNothing) {
  constexpr int turns = 6;
  script server{std::vector<script::act>(turns, [](auto& link) {
    script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 1});
    link.close();
  })};
  ps::worker<scripted> w{{.job = 1, .id = {3, 2}, .model = {4, 1}, .reply_limit = 1, .give_up = 2, .retry = 0.01},
                         [&server](rubato::worker_id who, ps::steady::time_point by) { return server(who, by); }};
  std::vector<float> parameters(4);
  const auto start = ps::steady::now();
  EXPECT_FALSE(w.begin(parameters));
  EXPECT_EQ(w.connections(), static_cast<std::uint32_t>(turns));
  // 10, 20, 40, 80 and 160 ms before the last of them
  EXPECT_GE(ps::steady::now() - start, std::chrono::milliseconds{310});
}

TEST(Worker, SeatOfADeadPredecessorIsWaitedFor) {
  const auto taken = [](ps::refusal why, bool connected) {
    return [why, connected](ps::loopback_link& link) {
      script::say(link,
                  ps::reject_message{.why = why, .connected = connected, .known_incarnation = 6, .sentence = "no"});
      script::hear(link);
    };
  };
  script server{
      {taken(ps::refusal::old_incarnation, true), taken(ps::refusal::duplicate_rank, true),
       taken(ps::refusal::old_incarnation, false), [](auto& link) {
         script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 1});
         script::say(
             link, ps::reject_message{.why = ps::refusal::old_incarnation, .connected = true, .sentence = "replaced"});
         while (script::hear(link)) {
         }
       }}};
  auto w = worker_of(server);
  std::vector<float> parameters(4);
  const auto step = w.begin(parameters);
  EXPECT_EQ(w.connections(), 4U);
  EXPECT_EQ(w.id().incarnation, 7U);
  ASSERT_FALSE(step) << "it had the seat, and does not fight for it";
  EXPECT_EQ(step.error().code, rubato::errc::old_incarnation);
  w.leave();
}

TEST(Worker, SilentServersAreLeft) {
  // One that does not welcome, one that gives no grant in the time that it said, one that sends no parameters.
  const auto hangs_on = [](ps::loopback_link& link) {
    while (script::hear(link)) {
    }
  };
  script server{{[&](auto& link) { hangs_on(link); },
                 [&](auto& link) {
                   script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 0.05});
                   hangs_on(link);
                 },
                 [&](auto& link) {
                   script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 1});
                   script::say(link, ps::grant_message{.terms = {9}, .step_limit = 1, .wait = 1});
                   hangs_on(link);
                 },
                 [&](auto& link) {
                   script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 1}, 2);
                   script::say(link, ps::bye_message{}, 2);
                   hangs_on(link);
                 }}};
  {
    auto w = worker_of(server);
    std::vector<float> parameters(4);
    const auto step = w.begin(parameters);
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_FALSE(*step) << "the last one said that the job has ended";
    EXPECT_EQ(w.connections(), 4U);
    EXPECT_EQ(w.id().incarnation, 5U) << "each connection is of a new life";
    EXPECT_EQ(w.life(), 2U);
  }
  for (std::thread& t : server.threads) t.join();
  server.threads.clear();
  ASSERT_EQ(server.hellos.size(), 4U);
  EXPECT_EQ(std::get<ps::hello_message>(server.hellos[2].body).seen, 0U);
  EXPECT_EQ(std::get<ps::hello_message>(server.hellos[3].body).seen, 9U) << "what the third had granted";
  EXPECT_EQ(server.hellos[3].head.life, 1U) << "in its life";
}

TEST(Worker, ServerThatSpeaksNonsenseIsLeft) {
  const std::vector<float> five(5), four{1, 2, 3, 4};
  script server{{[&](auto& link) {  // parameters of another size
                   script::say(link, ps::welcome_message{.nominal_samples = 7, .wait = 1});
                   script::say(link, ps::grant_message{.wait = 1});
                   script::hear(link);
                   script::say(link, ps::parameters_message{}, 1, five);
                   script::hear(link);
                 },
                 [&](auto& link) { static_cast<void>(link.send(ps::bytes(60), ps::after(1))), script::hear(link); },
                 [&](auto& link) {
                   script::say(link, ps::welcome_message{.nominal_samples = 7, .wait = 1});
                   script::say(link, ps::grant_message{.terms = {.batch = 0}, .wait = 1});
                   script::hear(link);
                   script::say(link, ps::parameters_message{.version = 12}, 1, four);
                   script::hear(link);
                 }}};
  auto w = worker_of(server);
  std::vector<float> parameters(4);
  const auto step = w.begin(parameters);
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_TRUE(*step);
  EXPECT_EQ(parameters, four);
  EXPECT_EQ((*step)->samples, 7U);
  EXPECT_EQ((*step)->number, 1U);
  EXPECT_EQ(w.seen(), 12U);
  EXPECT_EQ(w.connections(), 3U);
  w.leave();
}

// The server waits for that, lest its last word be taken back.
TEST(Worker, HangsUpAfterTheLastWordOfAServer) {
  const std::vector<ps::bytes> last_words{
      ps::encode({.job = 1, .life = 1}, ps::bye_message{.done = true, .why = "the job has ended"}),
      ps::encode({.job = 1, .life = 1}, ps::reject_message{.why = ps::refusal::malformed, .sentence = "no samples"})};
  for (const ps::bytes& last : last_words)
    for (const bool welcomed : {true, false}) {
      ps::transfer heard;
      script server{{[&](auto& link) {
        if (welcomed) script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 5});
        static_cast<void>(link.send(last, ps::after(1)));
        ps::bytes raw;
        heard = link.recv(raw, 10'000, ps::after(5));
      }}};
      auto w = worker_of(server);
      std::vector<float> parameters(4);
      const auto step = w.begin(parameters);
      EXPECT_FALSE(step && *step) << "there is no step";
      server.threads.front().join();
      server.threads.clear();
      EXPECT_EQ(heard.how, ps::transfer::status::closed) << heard.why;
    }
}

TEST(Worker, TellsHowLongItsStepTook) {
  std::vector<rubato::step_metrics> heard;
  script server{{[&](ps::loopback_link& link) {
    script::say(link, ps::welcome_message{.nominal_samples = 1, .wait = 1});
    for (std::uint64_t version = 0; version < 3; ++version) {
      script::say(link, ps::grant_message{.step_limit = 1, .wait = 1});
      ASSERT_TRUE(script::hear(link)) << "a pull";
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      const std::vector<float> parameters(4);
      script::say(link, ps::parameters_message{.version = version}, 1, parameters);
      const auto push = script::hear(link);
      ASSERT_TRUE(push);
      heard.push_back(std::get<ps::push_message>(push->body).measured);
    }
  }}};
  {
    ps::worker<scripted> worker = worker_of(server);
    std::vector<float> parameters(4);
    for (int step = 0; step < 3; ++step) {
      const auto terms = worker.begin(parameters);
      ASSERT_TRUE(terms && *terms);
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      const rubato::step_metrics known{.compute_time = step == 1 ? 3.0F : rubato::not_measured,
                                       .communication_time = step == 2 ? 4.0F : rubato::not_measured,
                                       .memory = 0.5F};
      ASSERT_TRUE(worker.push(std::vector<float>(4), 1, 0.5F, known));
    }
  }
  for (std::thread& t : server.threads) t.join();
  server.threads.clear();
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_GE(heard[0].compute_time, 0.005F);
  EXPECT_GE(heard[0].communication_time, 0.02F);
  EXPECT_EQ(heard[0].memory, 0.5F);
  EXPECT_EQ(heard[1].compute_time, 3) << "the host knows better";
  EXPECT_EQ(heard[2].communication_time, 4);
}

TEST(Worker, CancelledStepIsNoticedAndDropped) {
  rubato::test::loopback_host host{{.job = {.job = 1,
                                            .model = {4, 2},
                                            .workers = 2,
                                            .nominal_samples = 1,
                                            .rule = rubato::threads_ps::sgd{{.learning_rate = 1}}},
                                    .tick = std::chrono::milliseconds{5}},
                                   {"kbatch", rubato::k_batch_sync{.k = 1}}};
  const auto connect = [&host](rubato::worker_id, ps::steady::time_point) { return std::optional{host.connect()}; };
  ps::worker fast{ps::worker_options{.id = {0, 0}, .model = {4, 2}}, connect};
  ps::worker slow{ps::worker_options{.id = {1, 0}, .model = {4, 2}}, connect};
  std::vector<float> parameters(4), others(4);
  std::thread joins{[&] { EXPECT_TRUE(fast.begin(parameters)); }};
  ASSERT_TRUE(slow.begin(others));
  joins.join();
  EXPECT_FALSE(slow.cancelled());
  ASSERT_TRUE(fast.push(std::vector<float>{1, 1, 1, 1}, 1, 0));
  ASSERT_TRUE(fast.begin(parameters));
  EXPECT_TRUE(eventually([&] { return slow.cancelled(); }));
  ASSERT_TRUE(slow.push(std::vector<float>{9, 9, 9, 9}, 1, 0));
  ASSERT_TRUE(slow.begin(others)) << "the step counts";
  EXPECT_FALSE(slow.cancelled());
  EXPECT_EQ(host.ps.parameters(), std::vector<float>(4, -1.0F)) << "the gradient does not";
  EXPECT_EQ(host.ps.decide().inspect([](const auto& sync) { return sync.counts().of(1, rubato::reason::cancelled); }),
            1U);
  fast.leave();
  slow.leave();
}

}  // namespace
}  // namespace gloo_ps_worker_test
