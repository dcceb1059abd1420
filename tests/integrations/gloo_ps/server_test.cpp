#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "../../support/folder_test.hpp"
#include "../../support/thread_shortage.hpp"
#include "harness.hpp"

namespace gloo_ps_server_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::test::eventually;
using rubato::test::loopback_host;

constexpr std::uint32_t workers = 4, steps = 50;

// Gradients have a one in the place of their worker: each parameter is minus the number of that worker's updates.
ps::server_options options() {
  return {.job = {.job = 9,
                  .model = {workers, 2},
                  .workers = workers,
                  .nominal_samples = 1,
                  .rule = rubato::threads_ps::sgd{{.learning_rate = 1}},
                  .limits = {.floor = 0.3, .ceiling = 5, .slack = 4, .hello = 0.5}},
          .tick = std::chrono::milliseconds{5}};
}
ps::named_policy asp() { return {"asp", rubato::asp{}}; }

using connector = std::function<std::optional<ps::loopback_link>(rubato::worker_id, ps::steady::time_point)>;
ps::worker<connector> worker_of(loopback_host& host, std::uint32_t index, std::uint32_t incarnation = 0,
                                ps::loopback_faults first_connection = {}) {
  auto faults = std::make_shared<ps::loopback_faults>(first_connection);
  return {{.job = 9, .id = {index, incarnation}, .model = {workers, 2}, .reply_limit = 2, .give_up = 10},
          [&host, faults](rubato::worker_id, ps::steady::time_point) {
            return std::optional{host.connect(std::exchange(*faults, {}))};
          }};
}

struct outcome {
  std::uint32_t pushed = 0;
  bool ended = false;  // by the server
  std::string error{};
};
outcome run_steps(ps::worker<connector>& w, std::uint32_t count) {
  std::vector<float> parameters(workers), gradient(workers);
  gradient[w.id().index] = 1;
  outcome o;
  while (o.pushed < count) {
    const auto step = w.begin(parameters);
    if (!step) return o.error = step.error().message, o;
    if (!*step) return o.ended = true, o;
    if (w.push(gradient, (*step)->samples, 0.5F)) ++o.pushed;
  }
  std::vector<float> again(workers);
  static_cast<void>(w.begin(again));  // the last push is in once its grant has come
  w.leave();
  return o;
}

TEST(Server, SumsAreExactUnderEveryRule) {
  const ps::named_policy rules[] = {
      asp(), {"ssp:1", rubato::ssp{1}}, {"bsp:sum", rubato::bsp{.aggregate = rubato::bsp::sum}}};
  for (const ps::named_policy& rule : rules) {
    loopback_host host{options(), rule};
    std::vector<std::thread> threads;
    for (std::uint32_t w = 0; w < workers; ++w)
      threads.emplace_back([&host, w] {
        auto self = worker_of(host, w);
        const outcome o = run_steps(self, steps);
        EXPECT_EQ(o.pushed, steps) << o.error;
      });
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(eventually([&] { return host.ps.connected() == 0; }));
    EXPECT_EQ(host.ps.parameters(), std::vector<float>(workers, -float{steps})) << rule.name;
    EXPECT_EQ(host.ps.decide().version(), workers * steps);
    EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::done) == workers; }));
    EXPECT_TRUE(host.log().empty());
  }
}

TEST(Server, EndsAfterSoManyUpdates) {
  ps::server_options o = options();
  o.job.max_updates = 60;
  loopback_host host{o, {"ssp:1", rubato::ssp{1}}};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&host, w] {
      auto self = worker_of(host, w);
      EXPECT_TRUE(run_steps(self, 1000).ended);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_GE(host.ps.decide().version(), 60U);
  EXPECT_LT(host.ps.decide().version(), 60U + workers);
}

// A raw conversation, to say what a worker of this library would not.
struct peer {
  ps::loopback_link link;
  ps::envelope head{.job = 9, .worker = {0, 0}};

  template <class Body>
  void say(const Body& body, std::span<const float> floats = {}) {
    ASSERT_TRUE(link.send(ps::encode(head, body, floats), ps::after(1)));
  }
  std::optional<ps::message> hear() {
    ps::bytes raw;
    if (!link.recv(raw, 10'000, ps::after(5))) return std::nullopt;
    return ps::decode(raw, 9).what;
  }
  template <class Body>
  std::optional<Body> hear_a() {
    for (auto m = hear(); m; m = hear())
      if (auto* body = std::get_if<Body>(&m->body)) return *body;
    return std::nullopt;
  }
  bool enter() {
    say(ps::hello_message{.model = {workers, 2}});
    return hear_a<ps::welcome_message>().has_value();
  }
  ps::refusal refused() {
    const auto no = hear_a<ps::reject_message>();
    EXPECT_FALSE(no && no->sentence.empty());
    return no ? no->why : ps::refusal::none;
  }
};

// The others train while somebody misbehaves, and do not notice.
void undisturbed(const std::function<void(loopback_host&)>& misbehave) {
  ps::server_options o = options();
  o.job.quorum = workers - 1;
  loopback_host host{o, asp()};
  std::atomic<bool> go_on = true;
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> pushed = 0;
  for (std::uint32_t w = 1; w < workers; ++w)
    threads.emplace_back([&, w] {
      auto self = worker_of(host, w);
      std::vector<float> parameters(workers), gradient(workers);
      gradient[w] = 1;
      while (go_on) {
        const auto step = self.begin(parameters);
        ASSERT_TRUE(step && *step);
        ASSERT_TRUE(self.push(gradient, 1, 0));
        ++pushed;
      }
      static_cast<void>(self.begin(parameters));
      EXPECT_EQ(self.connections(), 1U);
      self.leave();
    });
  misbehave(host);
  const std::uint32_t before = pushed;
  EXPECT_TRUE(eventually([&] { return pushed > before + 10; })) << "the others go on";
  go_on = false;
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(eventually([&] { return host.ps.connected() == 0; }));
  const std::vector<float> all = host.ps.parameters();
  EXPECT_EQ(-(all[1] + all[2] + all[3]), static_cast<float>(pushed));
  EXPECT_EQ(all[0], 0) << "nothing of the one who misbehaved";
}

TEST(Server, RefusesWhatIsNoHello) {
  undisturbed([](loopback_host& host) {
    peer wrong_job{host.connect(), {.job = 8}};
    wrong_job.say(ps::hello_message{.model = {workers, 2}});
    EXPECT_EQ(wrong_job.refused(), ps::refusal::wrong_job);
    peer shape{host.connect()};
    shape.say(ps::hello_message{.model = {workers + 1, 2}});
    EXPECT_EQ(shape.refused(), ps::refusal::wrong_shape);
    peer shards{host.connect()};
    shards.say(ps::hello_message{.model = {workers, 1}});
    EXPECT_EQ(shards.refused(), ps::refusal::wrong_shape);
    peer rank{host.connect(), {.job = 9, .worker = {workers, 0}}};
    rank.say(ps::hello_message{.model = {workers, 2}});
    EXPECT_EQ(rank.refused(), ps::refusal::unknown_rank);
    peer eager{host.connect()};
    eager.say(ps::pull_message{});
    EXPECT_EQ(eager.refused(), ps::refusal::out_of_turn);
    peer noise{host.connect()};
    ASSERT_TRUE(noise.link.send(ps::bytes(70, std::byte{0x5A}), ps::after(1)));
    EXPECT_EQ(noise.refused(), ps::refusal::malformed);
    peer large{host.connect()};
    ASSERT_TRUE(large.link.send(ps::bytes(100'000), ps::after(1)));
    EXPECT_EQ(large.refused(), ps::refusal::oversized);
    peer stranger{host.connect()};  // nobody may send that much before he is known
    ASSERT_TRUE(stranger.link.send(ps::bytes(ps::small_message + 1), ps::after(1)));
    EXPECT_EQ(stranger.refused(), ps::refusal::oversized);
    peer mute{host.connect()};
    EXPECT_EQ(mute.refused(), ps::refusal::silent);
    peer cut{host.connect({.truncated = 0})};
    cut.say(ps::hello_message{.model = {workers, 2}});
    EXPECT_EQ(cut.refused(), ps::refusal::damaged);
    EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::refused) == 10; }));
  });
}

TEST(Server, RefusesWhatDoesNotFitTheStep) {
  const std::vector<float> half{9, 9}, whole{9, 9, 9, 9};
  const std::vector<std::pair<ps::refusal, std::function<void(peer&)>>> cases{
      {ps::refusal::wrong_shape, [&](peer& p) { p.say(ps::push_message{.version = 0, .samples = 1}, whole); }},
      {ps::refusal::wrong_shape, [&](peer& p) { p.head.shard = 2, p.say(ps::push_message{.samples = 1}, half); }},
      {ps::refusal::out_of_turn, [&](peer& p) { p.say(ps::push_message{.version = 1'000'000, .samples = 1}, half); }},
      {ps::refusal::out_of_turn,
       [&](peer& p) {
         p.say(ps::hello_message{.model = {workers, 2}});
       }},
      {ps::refusal::out_of_turn, [&](peer& p) { p.head.worker.index = 1, p.say(ps::pull_message{}); }},
      {ps::refusal::malformed, [&](peer& p) { ASSERT_TRUE(p.link.send(ps::bytes(9), ps::after(1))); }},
      {ps::refusal::wrong_job, [&](peer& p) { p.head.job = 1, p.say(ps::pull_message{}); }},
  };
  undisturbed([&](loopback_host& host) {
    std::uint32_t incarnation = 0;
    for (const auto& [why, misdeed] : cases) {
      peer p{host.connect()};
      p.head.worker.incarnation = incarnation++;
      ASSERT_TRUE(p.enter());
      ASSERT_TRUE(p.hear_a<ps::grant_message>());
      p.head.step = 1;
      misdeed(p);
      EXPECT_EQ(p.refused(), why) << name(why) << ", case " << incarnation;
    }
    peer repeats{host.connect()};  // one part twice
    repeats.head.worker.incarnation = incarnation++;
    ASSERT_TRUE(repeats.enter());
    ASSERT_TRUE(repeats.hear_a<ps::grant_message>());
    repeats.head.step = 1;
    repeats.say(ps::pull_message{});
    const auto parameters = repeats.hear_a<ps::parameters_message>();
    ASSERT_TRUE(parameters);
    for (int i = 0; i < 2; ++i) repeats.say(ps::push_message{.version = parameters->version, .samples = 1}, half);
    EXPECT_EQ(repeats.refused(), ps::refusal::out_of_turn);
    peer older{host.connect()};  // speaks for its former self
    older.head.worker.incarnation = incarnation;
    ASSERT_TRUE(older.enter());
    ASSERT_TRUE(older.hear_a<ps::grant_message>());
    older.head.worker.incarnation = 0;
    older.say(ps::pull_message{});
    EXPECT_EQ(older.refused(), ps::refusal::old_incarnation);
  });
}

TEST(Server, RandomMessagesDisturbNobody) {
  undisturbed([](loopback_host& host) {
    rubato::random_sequence random{3};
    for (std::uint32_t round = 0; round < 40; ++round) {
      peer p{host.connect()};
      p.head.worker.incarnation = round;
      if (round % 2 == 0) static_cast<void>(p.enter());
      for (int i = 0; i < 3; ++i) {
        ps::bytes noise = ps::encode(p.head, ps::push_message{.samples = 1}, std::vector<float>(2));
        for (std::uint64_t flips = random.below(40); flips < 44; ++flips)
          noise[random.below(noise.size())] = static_cast<std::byte>(random.below(256));
        static_cast<void>(p.link.send(noise, ps::after(1)));
      }
    }
  });
}

TEST(Server, RefusalsAreCountedAndLoggedOnce) {
  loopback_host host{options(), asp()};
  for (int i = 0; i < 5; ++i) {
    peer p{host.connect(), {.job = 9, .worker = {2, 0}}};
    p.say(ps::hello_message{.model = {1, 1}});
    EXPECT_EQ(p.refused(), ps::refusal::wrong_shape);
  }
  EXPECT_EQ(host.ps.refused(ps::refusal::wrong_shape), 5U);
  ASSERT_EQ(host.log().size(), 1U);
  EXPECT_NE(host.log()[0].find("worker 2"), std::string::npos) << host.log()[0];
}

TEST(Server, DuplicateRankIsRefused) {
  loopback_host host{options(), asp()};
  peer first{host.connect()};
  ASSERT_TRUE(first.enter());
  peer second{host.connect()};
  second.say(ps::hello_message{.model = {workers, 2}});
  const auto no = second.hear_a<ps::reject_message>();
  ASSERT_TRUE(no);
  EXPECT_EQ(no->why, ps::refusal::duplicate_rank);
  EXPECT_TRUE(no->connected);
  EXPECT_EQ(host.ps.connected(), 1U) << "the first is still there";
}

TEST(Server, HigherIncarnationReplaces) {
  ps::server_options o = options();
  o.job.quorum = 1;
  loopback_host host{o, asp()};
  peer first{host.connect()};
  ASSERT_TRUE(first.enter());
  ASSERT_TRUE(first.hear_a<ps::grant_message>());
  peer second{host.connect(), {.job = 9, .worker = {0, 4}}};
  ASSERT_TRUE(second.enter());
  EXPECT_TRUE(second.hear_a<ps::grant_message>());
  EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::replaced) == 1; }));
  EXPECT_EQ(host.ps.connected(), 1U);
  peer third{host.connect(), {.job = 9, .worker = {0, 2}}};
  third.say(ps::hello_message{.model = {workers, 2}});
  EXPECT_EQ(third.refused(), ps::refusal::old_incarnation);
}

TEST(Server, EvictedWorkerHearsOfItAndMayComeBack) {
  ps::server_options o = options();
  o.job.quorum = 2;
  loopback_host host{o, {"bsp", rubato::bsp{}}};
  EXPECT_FALSE(host.ps.evict(1));
  EXPECT_FALSE(host.ps.evict(77));
  std::atomic<bool> go_on = true;
  std::thread other{[&] {
    auto w = worker_of(host, 0);
    std::vector<float> parameters(workers);
    while (go_on) {
      const auto step = w.begin(parameters);
      ASSERT_TRUE(step && *step);
      ASSERT_TRUE(w.push(std::vector<float>(workers), 1, 0));
    }
  }};
  auto w = worker_of(host, 1);
  std::vector<float> parameters(workers);
  const auto step = w.begin(parameters);
  ASSERT_TRUE(step && *step);
  EXPECT_TRUE(host.ps.evict(1));  // in the middle of its step, while the other waits at the barrier
  EXPECT_TRUE(eventually([&] { return host.ps.decide().version() > 5; })) << "the other goes on";
  static_cast<void>(w.push(std::vector<float>(workers), 1, 0));
  const auto end = w.begin(parameters);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_FALSE(*end);
  EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::evicted) == 1; }));
  auto anew = worker_of(host, 1);
  const auto again = anew.begin(parameters);
  EXPECT_TRUE(again && *again);
  anew.leave();
  go_on = false;
  other.join();
}

TEST(Server, BusyWorkerIsEvicted) {
  ps::server_options o = options();
  o.job.quorum = 1;
  loopback_host host{o, asp()};
  std::jthread busy{[&] {  // never waits longer than a step takes
    auto w = worker_of(host, 0);
    EXPECT_TRUE(run_steps(w, 1'000'000).ended);
  }};
  EXPECT_TRUE(eventually([&] { return host.ps.decide().version() > 100; }));
  EXPECT_TRUE(host.ps.evict(0));
  EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::evicted) == 1; }));
  host.ps.close();  // ends it also where the eviction did not
}

TEST(Server, NewProcessOfADeadWorkerFindsItsIncarnation) {
  ps::server_options o = options();
  o.job.quorum = 1;
  loopback_host host{o, asp()};
  for (std::uint32_t life = 0; life < 3; ++life) {
    auto w = worker_of(host, 0);  // always says incarnation 0 first
    std::vector<float> parameters(workers);
    const auto step = w.begin(parameters);
    ASSERT_TRUE(step && *step);
    EXPECT_EQ(w.id().incarnation, life);
  }  // and dies without a word
}

TEST(Server, SilentWorkerIsGivenUpAndTheBarrierFalls) {
  ps::server_options o = options();
  o.job.quorum = 2;
  o.job.limits.ceiling = 0.5;
  loopback_host host{o, {"bsp", rubato::bsp{}}};
  peer hangs{host.connect(), {.job = 9, .worker = {1, 0}}};
  ASSERT_TRUE(hangs.enter());
  auto w = worker_of(host, 0);
  const outcome o2 = run_steps(w, 5);
  EXPECT_EQ(o2.pushed, 5U) << o2.error;
  EXPECT_TRUE(eventually([&] { return host.ps.ends(ps::session_end::silent) == 1; }));
  EXPECT_EQ(host.ps.refused(ps::refusal::silent), 1U);
}

TEST(Server, WorkerOfABrokenConnectionComesBack) {
  loopback_host host{options(), {"ssp:1", rubato::ssp{1}}};
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> pushed = 0;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      // The connection of one breaks, that of another falls silent, that of a third cuts a message short.
      ps::loopback_faults faults;
      if (w == 1) faults.closed_at = 20;
      if (w == 2) faults.silent_from = 31;
      if (w == 3) faults.truncated = 41;
      auto self = worker_of(host, w, 0, faults);
      const outcome o = run_steps(self, steps);
      EXPECT_EQ(o.pushed, steps) << w << ": " << o.error;
      EXPECT_EQ(self.connections(), w == 0 ? 1U : 2U);
      EXPECT_EQ(self.id().incarnation, w == 0 ? 0U : 1U);
      pushed += o.pushed;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(eventually([&] { return host.ps.connected() == 0; }));
  const std::vector<float> all = host.ps.parameters();
  EXPECT_EQ(all[0], -float{steps});
  for (std::uint32_t w = 1; w < workers; ++w) {
    EXPECT_LE(-all[w], float{steps});
    EXPECT_GE(-all[w], float{steps} - 1) << "one gradient at most was on the broken connection";
  }
  EXPECT_EQ(host.ps.decide().version(), static_cast<std::uint64_t>(-(all[0] + all[1] + all[2] + all[3])));
}

class ServerFile : public rubato::test::folder_test {};

TEST_F(ServerFile, GoesOnFromItsCheckpoint) {
  ps::server_options o = options();
  o.checkpoint = at("state");
  o.checkpoint_every = 10;
  std::uint64_t saved = 0;
  {
    loopback_host host{o, {"ssp:1", rubato::ssp{1}}};
    std::vector<std::thread> threads;
    for (std::uint32_t w = 0; w < workers; ++w)
      threads.emplace_back([&host, w] {
        auto self = worker_of(host, w);
        EXPECT_EQ(run_steps(self, steps).pushed, steps);
      });
    EXPECT_TRUE(eventually([&] { return host.ps.saves() > 0; })) << "while it runs";
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(host.ps.save());
    saved = host.ps.saved_version();
    EXPECT_EQ(saved, workers * steps);
  }
  auto state = ps::read_checkpoint(o.checkpoint);
  ASSERT_TRUE(state) << state.error().message;
  o.life = 1;
  loopback_host next{o, {"ssp:1", rubato::ssp{1}}};
  ASSERT_TRUE(next.ps.restore(std::move(*state)));
  EXPECT_EQ(next.ps.parameters(), std::vector<float>(workers, -float{steps}));
  auto back = worker_of(next, 2);
  EXPECT_EQ(run_steps(back, 5).pushed, 5U) << "nobody else needs to come first";
  EXPECT_EQ(back.id().incarnation, 1U);
  EXPECT_EQ(next.ps.parameters()[2], -float{steps} - 5);
  peer witness{next.connect(), {.job = 9, .worker = {1, 1}, .life = 0}};
  witness.say(ps::hello_message{.model = {workers, 2}, .seen = saved + 7});
  ASSERT_TRUE(witness.hear_a<ps::welcome_message>());
  EXPECT_EQ(next.ps.decide().lost(), 7U);
  ASSERT_FALSE(next.log().empty());
  EXPECT_NE(next.log().back().find("7 updates"), std::string::npos) << next.log().back();
}

TEST_F(ServerFile, NoCheckpointIsWrittenBeforeAnybodyCame) {
  ps::server_options o = options();
  o.checkpoint = at("state");  // one that could not be restored, say
  { const loopback_host host{o, asp()}; }
  EXPECT_FALSE(std::filesystem::exists(o.checkpoint));
}

TEST_F(ServerFile, UnwritableCheckpointIsSaid) {
  ps::server_options o = options();
  o.checkpoint = at("no/such/folder/state");
  o.checkpoint_every = 1;
  o.job.quorum = 1;
  loopback_host host{o, asp()};
  auto w = worker_of(host, 0);
  EXPECT_EQ(run_steps(w, 3).pushed, 3U) << "the job goes on";
  EXPECT_TRUE(eventually([&] { return !host.log().empty(); }));
  EXPECT_NE(host.log()[0].find("no checkpoint: cannot create"), std::string::npos) << host.log()[0];
  EXPECT_EQ(run_steps(w, 30).pushed, 30U);
  host.ps.close();
  const std::vector<std::string> log = host.log();
  EXPECT_EQ(std::ranges::count_if(log, [](const auto& line) { return line.find("no checkpoint") == 0; }), 1)
      << "once, not again and again";
}

TEST(Server, CloseIsHeardEverywhere) {
  loopback_host host{options(), {"bsp", rubato::bsp{}}};
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> ended = 0;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      auto self = worker_of(host, w);
      if (run_steps(self, 1'000'000).ended) ++ended;
    });
  EXPECT_TRUE(eventually([&] { return host.ps.decide().version() > 20; }));
  host.ps.close();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ended, workers);
}

TEST(Server, ServesAnyJobThatItsOptionsAllow) {
  const rubato::any_policy rule = rubato::asp{};
  EXPECT_EQ(problem(options(), rule), "");
  auto with = [&](auto change) {
    ps::server_options o = options();
    change(o);
    return problem(o, rule);
  };
  EXPECT_NE(with([](auto& o) { o.job.model.parameters = 0; }), "");
  EXPECT_NE(with([](auto& o) { o.job.model.shards = workers + 1; }), "");
  EXPECT_NE(with([](auto& o) { o.job.workers = 0; }), "");
  EXPECT_NE(with([](auto& o) { o.job.quorum = workers + 1; }), "");
  EXPECT_NE(with([](auto& o) { o.checkpoint_every = 0; }), "");
}

TEST(Server, MakeSaysThatThereIsNoThread) {
  const std::vector<float> initial(workers);
  rubato::test::thread_shortage shortage;
  shortage.begin();
  const auto made = ps::server<>::make(options(), asp(), initial);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, rubato::errc::io);
  EXPECT_EQ(made.error().message, "no thread for the server: Resource temporarily unavailable");
}

TEST(Server, ServeMakesNoThread) {
  ps::server<> server{options(), asp(), std::vector<float>(workers)};
  rubato::test::thread_shortage shortage;
  shortage.begin();
  auto both = ps::loopback_link::pair();
  both.first.close();
  EXPECT_EQ(server.serve(both.second), ps::session_end::refused);
}

TEST(Server, MakeRefusesWhatItCannotServe) {
  const ps::named_policy rule{"asp", rubato::asp{}};
  const std::vector<float> initial(options().job.model.parameters);
  EXPECT_TRUE(ps::server<>::make(options(), rule, initial));
  ps::server_options idle = options();
  idle.checkpoint_every = 0;
  const auto wrong = ps::server<>::make(idle, rule, initial);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, rubato::errc::invalid_option);
  EXPECT_EQ(wrong.error().message, problem(idle, rule.rule));
  const auto other_model = ps::server<>::make(options(), rule, std::vector<float>(initial.size() + 1));
  ASSERT_FALSE(other_model);
  EXPECT_EQ(other_model.error().message,
            std::to_string(initial.size() + 1) + " initial values, expected " + std::to_string(initial.size()));
}

}  // namespace
}  // namespace gloo_ps_server_test
