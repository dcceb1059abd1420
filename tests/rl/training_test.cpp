#include <rubato/rl/training.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents.hpp"
#include "support/corridor.hpp"
#include "support/folder_test.hpp"

namespace rubato::rl {
namespace {

namespace fs = std::filesystem;
using test::corridor;
using test::parameters;
using test::saved;
using training = trainer<corridor, dqn<>>;

dqn_options quick(dqn_options options) {
  options.replay_capacity = (std::min)(options.replay_capacity, std::size_t{200});
  options.batch = (std::min)(options.batch, std::size_t{16});
  options.learn_after = 32;
  options.learning_rate = 0.01;
  return options;
}
dqn_options fancy() {
  dqn_options options = quick(dqn_options::robust());
  options.dueling = true;
  options.sample = sampling::prioritised;
  return options;
}
dqn<> agent_of(const dqn_options& options) {
  return *dqn<>::make(test::drawn({2, 16, options.dueling ? 4U : 3U}, 5), options);
}
dqn<> plain_agent() { return agent_of(quick(dqn_options::robust())); }

class Training : public test::folder_test {
 protected:
  [[nodiscard]] training_options options(const char* file) const {
    return {.seed = 3,
            .task = "corridor",
            .evaluate_every = 100,
            .evaluation_episodes = 3,
            .checkpoint = file == nullptr ? std::string{} : at(file),
            .checkpoint_every = 4};
  }
  [[nodiscard]] static std::string content(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  corridor task;
};

TEST_F(Training, SameSeedSameBits) {
  const auto run = [this](std::uint64_t seed) {
    training_options o = options(nullptr);
    o.seed = seed;
    training t{task, plain_agent(), o};
    EXPECT_TRUE(t.run({.episodes = 30}));
    return saved(t.agent());
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

// Interrupted after every number of episodes, and continued by an object that knows the checkpoint only.
TEST_F(Training, ResumesBitForBit) {
  for (const dqn_options& how : {quick(dqn_options::paper()), quick(dqn_options::robust()), fancy()}) {
    std::vector<episode_report> reports;
    training whole{task, agent_of(how), options("whole")};
    ASSERT_TRUE(whole.run({.episodes = 24}, {.episode = [&](const episode_report& r) {
                            reports.push_back(r);
                            return true;
                          }}));
    for (const std::uint64_t stop : {1U, 4U, 7U, 23U}) {
      training first{task, agent_of(how), options("part")};
      ASSERT_TRUE(first.run({.episodes = stop}));
      training second{task, agent_of(how), options("part")};
      ASSERT_TRUE(second.resume());
      EXPECT_EQ(second.episodes(), stop);
      std::vector<episode_report> rest;
      ASSERT_TRUE(second.run({.episodes = 24}, {.episode = [&](const episode_report& r) {
                               rest.push_back(r);
                               return true;
                             }}));
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), reports.begin() + static_cast<std::ptrdiff_t>(stop)));
      EXPECT_EQ(content(at("part")), content(at("whole"))) << stop;
      EXPECT_EQ(parameters(second.best()), parameters(whole.best()));
    }
  }
}

// A corridor whose process is killed in the middle of a step, as by kill -9.
struct deadly : corridor {
  int steps_left = 150;
  step_outcome step(std::uint32_t action) {
    if (--steps_left == 0) ::raise(SIGKILL);
    return corridor::step(action);
  }
};

TEST_F(Training, KilledAndResumedBitForBit) {
  training whole{task, agent_of(fancy()), options("whole")};
  ASSERT_TRUE(whole.run({.episodes = 24}));
  ASSERT_GT(whole.steps(), 150u);

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    deadly mortal;
    trainer<deadly, dqn<>> doomed{mortal, agent_of(fancy()), options("part")};
    static_cast<void>(doomed.run({.episodes = 24}));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

  training resumed{task, agent_of(fancy()), options("part")};
  ASSERT_TRUE(resumed.resume());
  EXPECT_GT(resumed.episodes(), 0u);
  EXPECT_LT(resumed.episodes(), 24u);
  ASSERT_TRUE(resumed.run({.episodes = 24}));
  EXPECT_EQ(content(at("part")), content(at("whole")));
}

TEST_F(Training, EvaluationDoesNotDisturb) {
  training_options silent = options(nullptr);
  silent.evaluate_every = 0;
  training with{task, plain_agent(), options(nullptr)}, without{task, plain_agent(), silent};
  ASSERT_TRUE(with.run({.episodes = 30}));
  ASSERT_TRUE(without.run({.episodes = 30}));
  EXPECT_GT(with.evaluations().size(), 2u);
  EXPECT_EQ(saved(with.agent()), saved(without.agent()));
}

TEST_F(Training, BudgetsAreKept) {
  training t{task, plain_agent(), options(nullptr)};
  ASSERT_TRUE(t.run({.episodes = 3}));
  EXPECT_EQ(t.episodes(), 3u);
  const std::uint64_t more = t.steps() + 2;  // no corridor is that short
  ASSERT_TRUE(t.run({.steps = more}));
  EXPECT_EQ(t.steps(), more);
  EXPECT_EQ(t.episodes(), 4u);
  EXPECT_EQ(t.agent().counters().steps, more);
}

TEST_F(Training, LearnsTheCorridor) {
  training t{task, plain_agent(), options(nullptr)};
  ASSERT_TRUE(t.run({.steps = 2000}));
  dqn<> best = t.agent();
  best.adopt(t.best());
  EXPECT_NEAR(evaluate(task, best, 3, 100).mean, -5, 0.3) << "five steps of mean length 1";
}

TEST_F(Training, KeepsTheBest) {
  training t{task, plain_agent(), options(nullptr)};
  std::vector<std::pair<double, std::vector<float>>> seen;
  ASSERT_TRUE(t.run({.steps = 2000}, {.evaluated = [&](const evaluation& e) {
                      seen.emplace_back(e.mean, parameters(t.agent().policy()));
                      return true;
                    }}));
  ASSERT_EQ(seen.size(), t.evaluations().size());
  const auto best = std::ranges::max_element(seen, {}, [](const auto& s) { return s.first; });
  EXPECT_EQ(t.best_mean(), best->first);
  EXPECT_EQ(parameters(t.best()), best->second);
}

TEST_F(Training, CallbackEndsTheRun) {
  training t{task, plain_agent(), options("part")};
  ASSERT_TRUE(t.run({.episodes = 24}, {.episode = [](const episode_report& r) { return r.episode < 5; }}));
  EXPECT_EQ(t.episodes(), 6u);
  training resumed{task, plain_agent(), options("part")};
  ASSERT_TRUE(resumed.resume());
  EXPECT_EQ(resumed.episodes(), 6u) << "also what ends by a callback leaves a checkpoint";
}

TEST_F(Training, AnotherConfigurationIsRefused) {
  training t{task, plain_agent(), options("part")};
  ASSERT_TRUE(t.run({.episodes = 2}));
  const auto refused = [&](const dqn<>& agent, const training_options& o) {
    training other{task, agent, o};
    const auto before = saved(other.agent());
    const auto answer = other.resume();
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::wrong_kind);
    EXPECT_EQ(saved(other.agent()), before);
    return answer.error().message;
  };
  dqn_options changed = quick(dqn_options::robust());
  changed.gamma = 0.5;
  EXPECT_EQ(refused(agent_of(changed), options("part")), at("part") + ": trained with gamma=0.99, expected gamma=0.5");
  training_options o = options("part");
  o.seed = 4;
  EXPECT_EQ(refused(plain_agent(), o), at("part") + ": trained with seed=3, expected seed=4");
  o = options("part");
  o.task = "maze";
  EXPECT_EQ(refused(plain_agent(), o), at("part") + ": trained with task=corridor, expected task=maze");
  const auto wide = *dqn<>::make(test::drawn({2, 17, 3}, 5), quick(dqn_options::robust()));
  EXPECT_EQ(refused(wide, options("part")), at("part") + ": trained with layer=16, expected layer=17");
  const auto deep = *dqn<>::make(test::drawn({2, 16, 3, 3}, 5), quick(dqn_options::robust()));
  EXPECT_NE(refused(deep, options("part")).find("expected layer=3"), std::string::npos);
}

TEST_F(Training, LinesBeyondTheConfigurationAreRefusedWhateverTheySay) {
  const auto nothing = [](archive&) {};
  ASSERT_TRUE(detail::write_checkpoint(at("part"), {"a=1", "no more settings"}, nothing));
  const error refused = detail::read_checkpoint(at("part"), {"a=1"}, nothing);
  EXPECT_EQ(refused.code, errc::wrong_kind);
  EXPECT_EQ(refused.message, at("part") + ": trained with no more settings, expected no more settings");
}

TEST_F(Training, DamagedCheckpointsAreRefused) {
  training t{task, plain_agent(), options("part")};
  ASSERT_TRUE(t.run({.episodes = 2}));
  const std::string good = content(at("part"));
  const auto code = [&](const std::string& bytes) {
    std::ofstream{at("part"), std::ios::binary} << bytes;
    training other{task, plain_agent(), options("part")};
    const auto answer = other.resume();
    return answer ? errc::ok : answer.error().code;
  };
  std::string bad = good;
  bad[good.size() / 2] = static_cast<char>(bad[good.size() / 2] ^ 1);
  EXPECT_EQ(code(bad), errc::corrupt);
  EXPECT_EQ(code(good.substr(0, good.size() - 1)), errc::corrupt);
  EXPECT_EQ(code("hello"), errc::wrong_kind);
  EXPECT_EQ(code(""), errc::wrong_kind);
  EXPECT_EQ(code(good), errc::ok);
}

TEST_F(Training, WhatCannotBeLoadedIsNotWritten) {
  std::ofstream{at("part"), std::ios::binary} << "good";
  const auto answer = rl::detail::write_checkpoint(at("part"), {}, [](archive& bytes) { bytes.fail(); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::corrupt);
  EXPECT_EQ(content(at("part")), "good");
}

TEST_F(Training, MissingCheckpointIsAnIoError) {
  training t{task, plain_agent(), options("none")};
  const auto answer = t.resume();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::io);
  EXPECT_NE(answer.error().message.find(at("none")), std::string::npos);
  training_options nowhere = options("no/folder");
  training lost{task, plain_agent(), nowhere};
  EXPECT_EQ(lost.run({.episodes = 5}).error().code, errc::io);
}

TEST_F(Training, OfNoRegularFileAndOfTooLargeOnesNothingIsRead) {
  training t{task, plain_agent(), options("part")};
  const auto refusal = [&] {
    const auto answer = t.resume();
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::io);
    return answer.error().message;
  };
  const std::string part = at("part"), before = "cannot read " + part + ": ";
  ASSERT_EQ(::mkfifo(part.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), before + "found a device or pipe, expected a regular file");
  std::filesystem::remove(part);
  ASSERT_TRUE(t.run({.episodes = 1}));
  std::filesystem::resize_file(part, (std::uintmax_t{1} << 32) + 1);  // by zeros, which no disk has to hold
  EXPECT_EQ(refusal(), before + "found 4294967297 bytes, expected at most 4294967296");
}

// Nothing may be touched: a learner for longer observations reads beyond them.
TEST_F(Training, LearnersThatDoNotFitAreRefused) {
  const auto refused = [&](std::initializer_list<std::size_t> widths) {
    training t{task, *dqn<>::make(test::drawn(widths, 5), quick(dqn_options::robust())), options("part")};
    const auto answer = t.run({.episodes = 1});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_option);
    EXPECT_EQ(t.resume().error().message, answer.error().message);
    EXPECT_EQ(t.select().error().message, answer.error().message);
    EXPECT_FALSE(fs::exists(at("part")));
    return answer.error().message;
  };
  EXPECT_EQ(refused({3, 4, 3}),
            "training: the task has observations of 2 and 3 actions, the learner is for "
            "observations of 3 and 3 actions");
  EXPECT_EQ(refused({2, 4, 5}),
            "training: the task has observations of 2 and 3 actions, the learner is for "
            "observations of 2 and 5 actions");
  EXPECT_NE(refused({1, 2}).find("observations of 1 and 2 actions"), std::string::npos);
  training_options o = options(nullptr);
  o.task = std::string(241, 'x');
  EXPECT_EQ((training{task, plain_agent(), o}.select().error().code), errc::invalid_option);
}

TEST_F(Training, OlderCheckpointsReplaceEverything) {
  training whole{task, plain_agent(), options("whole")};
  ASSERT_TRUE(whole.run({.episodes = 24}));
  training t{task, plain_agent(), options("part")};
  ASSERT_TRUE(t.run({.episodes = 8}));
  const std::string old = content(at("part"));
  const std::size_t curve = t.evaluations().size();
  ASSERT_TRUE(t.run({.episodes = 60}));
  ASSERT_GT(t.evaluations().size(), curve);
  std::ofstream{at("part"), std::ios::binary} << old;
  ASSERT_TRUE(t.resume());
  EXPECT_EQ(t.evaluations().size(), curve);
  ASSERT_TRUE(t.run({.episodes = 24}));
  EXPECT_EQ(content(at("part")), content(at("whole")));
}

// A corridor whose rewards are NaN until somebody says otherwise.
struct unmeasured : corridor {
  bool* blind;
  explicit unmeasured(bool* flag) : blind{flag} {}
  step_outcome step(std::uint32_t action) {
    step_outcome outcome = corridor::step(action);
    if (*blind) outcome.reward = std::nanf("");
    return outcome;
  }
};

TEST_F(Training, NanIsTheWorstMean) {
  bool blind = true;
  unmeasured dark{&blind};
  trainer<unmeasured, dqn<>> t{dark, plain_agent(), options(nullptr)};
  ASSERT_TRUE(t.select());
  EXPECT_TRUE(std::isnan(t.best_mean()));
  blind = false;
  ASSERT_TRUE(t.run({.episodes = 20}));
  ASSERT_GT(t.evaluations().size(), 1u);
  double most = t.evaluations()[1].mean;
  for (const evaluation& e : t.evaluations().subspan(1)) most = (std::max)(most, e.mean);
  EXPECT_EQ(t.best_mean(), most);
  blind = true;
  ASSERT_TRUE(t.select());
  EXPECT_EQ(t.best_mean(), most) << "and replaces nothing";
}

TEST_F(Training, SelectIsAnEvaluation) {
  training_options o = options(nullptr);
  o.evaluate_every = 0;
  training t{task, plain_agent(), o};
  std::vector<evaluation> seen;
  const training_callbacks callbacks{.evaluated = [&](const evaluation& e) { return seen.push_back(e), false; }};
  EXPECT_TRUE(*t.select(callbacks));
  ASSERT_TRUE(t.run({.episodes = 100}, callbacks));
  EXPECT_EQ(t.evaluations().size(), 1u);
  const auto last = parameters(t.agent().policy());
  EXPECT_TRUE(*t.select(callbacks));
  EXPECT_TRUE(std::ranges::equal(t.evaluations(), seen));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].steps, 0u);
  EXPECT_EQ(seen[1].steps, t.steps());
  EXPECT_EQ(seen[1].episodes, 100u);
  evaluation expected = evaluate(task, t.agent(), o.seed, o.evaluation_episodes, purpose::selection);
  expected.steps = t.steps();
  expected.episodes = 100;
  EXPECT_EQ(seen[1], expected);
  ASSERT_GT(seen[1].mean, seen[0].mean) << "it has learned";
  EXPECT_EQ(t.best_mean(), seen[1].mean);
  EXPECT_EQ(parameters(t.best()), last);
}

TEST_F(Training, SelectIsDoneOncePerStep) {
  training t{task, plain_agent(), options(nullptr)};
  int asked = 0;
  const training_callbacks counted{.evaluated = [&](const evaluation&) { return ++asked, true; }};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(*t.select(counted));
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(t.run({.steps = 150}, {.evaluated = [](const evaluation&) { return false; }}));
  EXPECT_EQ(t.evaluations().size(), 2u);
  EXPECT_TRUE(*t.select(counted)) << "the periodic one was at this step";
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(t.evaluations().size(), 2u);
}

// Selections are part of the state; what is saved has those before.
TEST_F(Training, SelectIsKept) {
  training whole{task, plain_agent(), options("whole")}, first{task, plain_agent(), options("part")};
  for (training* t : {&whole, &first}) ASSERT_TRUE(t->select() && t->save());
  training second{task, plain_agent(), options("part")};
  ASSERT_TRUE(second.resume());
  EXPECT_EQ(second.evaluations().size(), 1u);
  for (training* t : {&whole, &second}) {
    ASSERT_TRUE(t->run({.episodes = 10}));
    ASSERT_TRUE(t->select());
    ASSERT_TRUE(t->save());
  }
  EXPECT_EQ(content(at("part")), content(at("whole")));
  training third{task, plain_agent(), options("part")};
  ASSERT_TRUE(third.resume());
  EXPECT_EQ(third.evaluations().back().steps, whole.steps());
}

// A training that is stopped early chooses among its networks; it goes on from its checkpoint as if it had not.
TEST_F(Training, SelectWritesNothing) {
  const auto seldom = [this](const char* file) {
    training_options o = options(file);
    o.evaluate_every = 1'000'000;
    return o;
  };
  training whole{task, plain_agent(), seldom("whole")}, part{task, plain_agent(), seldom("part")};
  ASSERT_TRUE(part.run({.episodes = 5}) && part.select());
  training longer{task, plain_agent(), seldom("part")};
  ASSERT_TRUE(longer.resume());
  EXPECT_LT(longer.evaluations().size(), part.evaluations().size());
  ASSERT_TRUE(longer.run({.episodes = 10}) && whole.run({.episodes = 10}));
  EXPECT_EQ(content(at("part")), content(at("whole")));
}

TEST_F(Training, StopEndsTheRun) {
  training t{task, plain_agent(), options("part")};
  std::uint64_t asked = 0;
  training_options o = options("part");
  o.evaluate_every = 0;
  training silent{task, plain_agent(), o};
  const auto done = silent.run({.episodes = 24}, {.stop = [&] { return asked++ == 5; }});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->episodes, 5u);
  training resumed{task, plain_agent(), o};
  EXPECT_EQ(*resumed.resume(), *done);
  EXPECT_EQ(t.run({.episodes = 24}, {.stop = [] { return true; }})->episodes, 0u);
}

// Asked to stop at every moment at which it listens, in evaluations too: what is continued ends with the same bytes,
// and nothing is reported twice.
TEST_F(Training, StoppedEvaluationsAreRepeated) {
  std::vector<episode_report> reports;
  std::vector<evaluation> curve;
  const auto watched = [&](std::function<bool()> stop) {
    return training_callbacks{.episode = [&](const episode_report& r) { return reports.push_back(r), true; },
                              .evaluated = [&](const evaluation& e) { return curve.push_back(e), true; },
                              .stop = std::move(stop)};
  };
  std::uint64_t moments = 0;
  training whole{task, plain_agent(), options("whole")};
  ASSERT_TRUE(whole.run({.steps = 210}, watched([&] { return ++moments, false; })));
  const auto all_reports = std::exchange(reports, {});
  const auto all_evaluations = std::exchange(curve, {});
  ASSERT_EQ(all_evaluations.size(), 2u);
  ASSERT_EQ(moments, all_reports.size() + 2 * 3);
  bool inside = false;
  for (std::uint64_t stop = 0; stop < moments; ++stop) {
    std::uint64_t asked = 0;
    reports.clear();
    curve.clear();
    training first{task, plain_agent(), options("part")};
    ASSERT_TRUE(first.run({.steps = 210}, watched([&] { return asked++ == stop; })));
    EXPECT_EQ(asked, stop + 1);
    EXPECT_TRUE(std::ranges::equal(first.evaluations(), curve));
    inside = inside || first.evaluations().size() < first.steps() / 100;
    training second{task, plain_agent(), options("part")};
    ASSERT_EQ(second.resume().has_value(), stop > 0) << "before the first episode there was nothing to write";
    ASSERT_TRUE(second.run({.steps = 210}, watched({})));
    EXPECT_EQ(content(at("part")), content(at("whole"))) << stop;
    EXPECT_EQ(reports, all_reports);
    EXPECT_EQ(curve, all_evaluations);
    fs::remove(at("part"));
  }
  EXPECT_TRUE(inside);
}

TEST_F(Training, StoppedSelectLeavesNoTrace) {
  training t{task, plain_agent(), options("part")};
  ASSERT_TRUE(t.run({.episodes = 3}));
  const std::string before = content(at("part"));
  int asked = 0;
  const training_callbacks interrupted{.stop = [&] { return asked++ == 2; }};
  const auto finished = t.select(interrupted);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(*finished);
  EXPECT_TRUE(t.evaluations().empty());
  ASSERT_TRUE(t.save());
  EXPECT_EQ(content(at("part")), before);
  EXPECT_TRUE(*t.select());
}

// Writes down who is called in which order.
struct spy {
  using network = nn::dynamic_mlp;
  std::shared_ptr<std::string> calls = std::make_shared<std::string>();
  network net = test::linear(2, 3, {});

  [[nodiscard]] static std::size_t observation_size() { return 2; }
  [[nodiscard]] static std::size_t actions() { return 3; }
  std::uint32_t act(std::span<const float>, std::uint32_t, random_sequence&) noexcept { return *calls += 'a', 1U; }
  [[nodiscard]] std::uint32_t greedy(std::span<const float>, std::uint32_t) const noexcept { return 1; }
  void record(const transition& step) noexcept { *calls += step.terminated ? 'T' : 'r'; }
  update_stats update(random_sequence&) noexcept { return *calls += 'u', update_stats{}; }
  [[nodiscard]] bool updates_at_reset() const noexcept { return true; }
  [[nodiscard]] const network& policy() const noexcept { return net; }
  [[nodiscard]] std::vector<std::string> configuration() const { return {}; }
  void state(archive&) {}
};

// At each observation: push what led to it, update, act; the first of an episode has nothing to push.
TEST_F(Training, UpdatesComeInTheOrderOfAlgorithm2) {
  const spy agent;
  trainer<corridor, spy> t{task, agent, {}};
  ASSERT_TRUE(t.run({.episodes = 2}));
  EXPECT_EQ(*agent.calls, "uaruaruaruaruaTuuaruaruaruaruaTu");
}

}  // namespace
}  // namespace rubato::rl
