// The real programs: server and workers that are killed, hang, come back, lie, are cut off and are switched.
#include "processes.hpp"
#include "../../support/sanitizers.hpp"

#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <rubato/core/rng.hpp>
#include <rubato/gloo_ps/checkpoint.hpp>
#include <rubato/gloo_ps/messages.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gloo_ps_processes_test {
namespace {

namespace ps = rubato::gloo_ps;

class Processes : public rubato::test::process_test {
 protected:
  // Gradients that the decision log says were applied, by worker.
  std::map<int, double> applied_by_the_log() const {
    std::map<int, double> counts;
    std::istringstream lines{read(folder / "decisions.jsonl")};
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"what\":\"commit\"") == std::string::npos ||
          line.find("\"verdict\":\"apply\"") == std::string::npos)
        continue;
      ++counts[std::atoi(line.c_str() + line.find("\"worker\":") + 9)];
    }
    return counts;
  }
  // Samples that the decision log says each worker was granted last.
  std::map<int, int> last_batches() const {
    std::map<int, int> batches;
    std::istringstream lines{read(folder / "decisions.jsonl")};
    for (std::string line; std::getline(lines, line);)
      if (line.find("\"what\":\"release\"") != std::string::npos)
        batches[std::atoi(line.c_str() + line.find("\"worker\":") + 9)] =
            std::atoi(line.c_str() + line.find("\"batch\":") + 8);
    return batches;
  }
  // For the server, complete or not at all.
  void command(const char* lines) const {
    std::ofstream{at("draft")} << lines << '\n';
    std::filesystem::rename(at("draft"), at("control"));
  }
  // Workers 2 and 3 are killed and started again, at seeded instants; 0 and 1 must not notice.
  void kill_workers(const std::string& policy, std::uint64_t seed, int kills) {
    const std::string steps = std::to_string(kills * 150);
    time_limit = 80 + 2 * kills;
    const pid_t server =
        start("server",
              server_words(4, {"--policy", policy, "--quorum", "4", "--done", "2", "--log", at("decisions.jsonl")}));
    std::vector<pid_t> worker;
    for (int w = 0; w < 4; ++w)
      worker.push_back(start("worker" + std::to_string(w), worker_words(4, w, {"--steps", w < 2 ? steps : "0"})));
    ASSERT_TRUE(logged("worker3", "incarnation 0 at"));
    rubato::random_sequence random{seed};
    int done = 0;
    for (; done < kills; ++done) {
      const auto victim = static_cast<std::size_t>(2 + random.below(2));
      std::this_thread::sleep_for(std::chrono::microseconds{random.below(200'000)});
      if (read(folder / "worker0.log").find("done") != std::string::npos) break;
      kill_now(worker[victim]);
      worker[victim] = start("worker" + std::to_string(victim), worker_words(4, static_cast<int>(victim), {}));
    }
    EXPECT_EQ(done, kills) << "the survivors had finished before";
    EXPECT_EQ(wait(worker[0]), 0);
    EXPECT_EQ(wait(worker[1]), 0);
    EXPECT_EQ(wait(server), 0);
    EXPECT_EQ(wait(worker[2]), 0) << "who was there at the end hears of it";
    EXPECT_EQ(wait(worker[3]), 0);
    const std::vector<double> sums = numbers("parameters");
    ASSERT_EQ(sums.size(), 4U);
    EXPECT_EQ(sums[0], -std::stod(steps));
    EXPECT_EQ(sums[1], -std::stod(steps));
    EXPECT_EQ(-(sums[0] + sums[1] + sums[2] + sums[3]), number("version"));
    std::map<int, double> applied = applied_by_the_log();
    for (int w = 0; w < 4; ++w) EXPECT_EQ(-sums[static_cast<std::size_t>(w)], applied[w]) << "worker " << w;
    std::printf("%d kills under %s: %.0f updates in %.1f s, %.0f of the killed workers\n", done, policy.c_str(),
                number("version"), number("seconds"), -(sums[2] + sums[3]));
  }
};

// RUBATO_GLOO_KILLS=200: the long run.
int kills() {
  const char* wish = std::getenv("RUBATO_GLOO_KILLS");
  return wish == nullptr ? 20 : std::atoi(wish);
}

TEST_F(Processes, KilledWorkersLeaveExactSumsUnderSsp) { kill_workers("ssp:2", 11, kills() / 2); }
TEST_F(Processes, KilledWorkersLeaveExactSumsUnderBsp) { kill_workers("bsp:sum", 12, (kills() + 1) / 2); }

TEST_F(Processes, HangingWorkerIsGivenUpAndComesBack) {
  const pid_t server =
      start("server", server_words(3, {"--policy", "bsp:sum", "--done", "3", "--floor", "0.5", "--ceiling", "2"}));
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(3, w, {"--steps", "1500"})));
  ASSERT_TRUE(logged("worker2", "incarnation 0 at"));
  ::kill(worker[2], SIGSTOP);
  EXPECT_TRUE(logged("server", "refused worker 2, silent")) << "a barrier that waits for it, and then no longer";
  ::kill(worker[2], SIGCONT);
  EXPECT_TRUE(logged("worker2", "incarnation 1 at"));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(server), 0);
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[0], -1500);
  EXPECT_EQ(sums[1], -1500);
  EXPECT_GE(sums[2], -1500);
  EXPECT_LE(sums[2], -1499) << "at most the gradient that it was computing is lost";
}

TEST_F(Processes, GradientsThatAreNoNumbersAreTold) {
  const std::vector<std::string> task{"--task", "regression", "--dimension", "4"};
  const pid_t server =
      start("server", with(server_words(1, {"--learning-rate", "100000", "--done", "1", "--policy", "asp"}), task));
  EXPECT_EQ(wait(start("worker", with(worker_words(1, 0, {"--steps", "50"}), task))), 0);
  EXPECT_EQ(wait(server), 0);
  EXPECT_TRUE(logged("server", "\ngradients without effect: non_finite "));
}

TEST_F(Processes, BatchesFollowTheSpeedsOfWorkers) {
  const pid_t server = start("server", server_words(3, {"--policy", "bsp+lb-bsp:96", "--samples", "32", "--done", "3",
                                                        "--log", at("decisions.jsonl")}));
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(start("worker" + std::to_string(w),
                           worker_words(3, w, {"--steps", "40", "--compute-sample", w == 2 ? "0.4" : "0.1"})));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(server), 0);
  std::map<int, int> batches = last_batches();
  EXPECT_NEAR(batches[0] + batches[1] + batches[2], 3 * 96, 2) << "as many as before, all together";
  EXPECT_LT(2 * batches[2], batches[0]) << "it needs four times as long for a sample";
  EXPECT_LT(2 * batches[2], batches[1]);
  EXPECT_GE(batches[2], 32);
}

TEST_F(Processes, KilledServerGoesOnFromItsCheckpoint) {
  const std::vector<std::string> words =
      server_words(3, {"--policy", "ssp:3", "--done", "3", "--checkpoint", at("state"), "--checkpoint-every", "100"});
  const pid_t first = start("server", words);
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(3, w, {"--steps", "1200"})));
  ASSERT_TRUE(within(30, [&] {
    const auto saved = ps::read_checkpoint(at("state"));
    return saved && saved->version >= 300;
  }));
  std::this_thread::sleep_for(std::chrono::milliseconds{37});  // somewhere between two checkpoints
  kill_now(first);
  const auto saved = ps::read_checkpoint(at("state"));
  ASSERT_TRUE(saved) << saved.error().message;
  const pid_t second = start("server", words);
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(second), 0);
  EXPECT_TRUE(logged("server", "restored version " + std::to_string(saved->version) + " from", 1));
  EXPECT_EQ(number("life"), 2);
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 3U);
  const double version = number("version"), lost = number("lost"), missing = 3 * 1200 - version;
  EXPECT_EQ(-(sums[0] + sums[1] + sums[2]), version) << "what is in it is in it once";
  // Lost are the updates since the checkpoint, of which each worker saw all but its last, and what was on its way.
  EXPECT_GE(missing, lost);
  EXPECT_LE(missing, lost + 2 * 3);
  EXPECT_LE(lost, 100 + 100) << "updates between two checkpoints, and those while one is written";
  std::printf("server killed: %.0f updates lost, %.0f of them reported, checkpoint of version %llu\n", missing, lost,
              static_cast<unsigned long long>(saved->version));
}

TEST_F(Processes, SecondServerOfAJobIsRefused) {
  const std::vector<std::string> words =
      server_words(2, {"--policy", "ssp:3", "--done", "2", "--checkpoint", at("state"), "--checkpoint-every", "50"});
  const pid_t first = start("first", words);
  std::vector<pid_t> worker;
  for (int w = 0; w < 2; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(2, w, {"--steps", "1200"})));
  ASSERT_TRUE(within(30, [&] { return ps::read_checkpoint(at("state")).has_value(); }));
  EXPECT_EQ(wait(start("second", words)), 1);
  EXPECT_TRUE(logged("second", "a server of job 1 is at work in this store: end it first", 1));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(first), 0);
  EXPECT_EQ(number("life"), 1);
  EXPECT_EQ(number("version"), 2 * 1200) << "and the job did not notice";
}

TEST_F(Processes, StoppedServerThatWasReplacedEndsWhenItWakes) {
  const std::vector<std::string> words =
      server_words(2, {"--policy", "ssp:3", "--done", "2", "--checkpoint", at("state")});
  const pid_t first = start("first", words);
  ASSERT_TRUE(logged("first", "life 1 of job 1"));
  ::kill(first, SIGSTOP);
  const pid_t second = start("second", words);
  ASSERT_TRUE(logged("second", "life 2 of job 1"));
  ::kill(first, SIGCONT);
  EXPECT_EQ(wait(first), 1);
  EXPECT_TRUE(logged("first", "life 2 of job 1 has begun: this server ends, at version 0", 1));
  std::vector<pid_t> worker;
  for (int w = 0; w < 2; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(2, w, {"--steps", "100"})));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(second), 0);
  EXPECT_EQ(number("version"), 2 * 100);
}

TEST_F(Processes, QuorumThatIsWaitedForIsSaid) {
  const pid_t server = start("server", server_words(2, {}));
  start("worker0", worker_words(2, 0, {}));
  EXPECT_TRUE(logged("server", "1 workers are here; nobody runs before there are 2", 15));
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
}

TEST_F(Processes, StoppedServerLosesNothing) {
  const std::vector<std::string> words = server_words(
      2, {"--policy", "ssp:1", "--checkpoint", at("state"), "--checkpoint-every", "1000000", "--done", "2"});
  const pid_t first = start("server", words);
  std::vector<pid_t> worker;
  for (int w = 0; w < 2; ++w) worker.push_back(start("worker" + std::to_string(w), worker_words(2, w, {})));
  ASSERT_TRUE(logged("worker0", "incarnation 0 at") && logged("worker1", "incarnation 0 at"));
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  ::kill(first, SIGTERM);
  EXPECT_EQ(wait(first), 0);
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_TRUE(logged("worker1", "the job has ended", 1));
  const double version = number("version");
  EXPECT_GT(version, 0);
  const pid_t second = start("server", words);
  worker.clear();
  for (int w = 0; w < 2; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(2, w, {"--steps", "50"})));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(second), 0);
  EXPECT_EQ(number("version"), version + 100);
  EXPECT_EQ(number("lost"), 0);
}

TEST_F(Processes, DamagedCheckpointIsRefusedByASentence) {
  std::ofstream{at("state")} << "rubato.gloo_ps.checkpoint\nwith something else in it";
  const pid_t server = start("server", server_words(2, {"--checkpoint", at("state")}));
  EXPECT_EQ(wait(server), 1);
  EXPECT_TRUE(logged("server", "the checkpoint was cut short or changed", 1));
}

TEST_F(Processes, PolicyIsSwitchedInARunningJob) {
  const pid_t server = start("server", server_words(3, {"--policy", "bsp", "--done", "3", "--control", at("control")}));
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(
        start("worker" + std::to_string(w),
              worker_words(3, w, {"--steps", "400", "--straggle", w == 2 ? "0.5" : "0", "--straggle-for", "10"})));
  ASSERT_TRUE(logged("worker0", "incarnation 0 at"));
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  command("policy asp");
  EXPECT_TRUE(logged("server", "switched bsp -> asp"));
  command("policy nonsense:3");
  EXPECT_TRUE(logged("server", "command refused: \"policy nonsense:3\""));
  command("policy ssp:5");
  EXPECT_TRUE(logged("server", "switched asp -> ssp:5"));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(server), 0);
  std::istringstream lines{read(folder / "server.log")};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("switched")) std::printf("%s (Sync-Switch reports 36 s)\n", line.c_str());
  EXPECT_GE(number("pause"), 0);
  EXPECT_LT(number("pause"), 36);
}

TEST_F(Processes, OperatorEvictsTheStraggler) {
  const pid_t server =
      start("server", server_words(3, {"--policy", "bsp:sum", "--done", "3", "--control", at("control")}));
  const pid_t slow = start("worker2", worker_words(3, 2, {"--compute", "2000"}));
  const pid_t a = start("worker0", worker_words(3, 0, {"--steps", "100"}));
  const pid_t b = start("worker1", worker_words(3, 1, {"--steps", "100"}));
  ASSERT_TRUE(logged("worker2", "incarnation 0 at"));
  command("evict 2\nevict 7");
  EXPECT_TRUE(logged("server", "worker 2 is taken out"));
  EXPECT_TRUE(logged("server", "no worker 7 is connected"));
  EXPECT_EQ(wait(slow), 0);
  EXPECT_TRUE(logged("worker2", "the operator took this worker out", 1));
  EXPECT_EQ(wait(a), 0);
  EXPECT_EQ(wait(b), 0);
  EXPECT_EQ(wait(server), 0) << "who was taken out counts as one that has finished";
  EXPECT_EQ(numbers("parameters"), (std::vector<double>{-100, -100, 0}));
  EXPECT_LT(number("seconds"), 60) << "a hundred of its steps take 200 s";
}

TEST_F(Processes, WhoComesBackIsCountedOnce) {
  const pid_t server = start("server", server_words(2, {"--policy", "asp", "--done", "2", "--control", at("control")}));
  const auto begin = [&](int w, const char* steps) {
    return start("worker" + std::to_string(w), worker_words(2, w, {"--steps", steps}));
  };
  const pid_t stays = begin(0, "0"), goes = begin(1, "0");
  ASSERT_TRUE(logged("worker0", "incarnation 0 at") && logged("worker1", "incarnation 0 at"));
  command("evict 1");
  EXPECT_EQ(wait(goes), 0);
  EXPECT_EQ(wait(begin(1, "50")), 0);
  EXPECT_TRUE(logged("worker1", "worker 1: 50 steps", 1));
  EXPECT_EQ(wait(server, 0.5), -1) << "one worker has finished, and no other is out";
  command("evict 0");
  EXPECT_EQ(wait(stays), 0);
  EXPECT_EQ(wait(server), 0);
  EXPECT_EQ(number("evicted"), 2);
  EXPECT_EQ(number("done"), 1);
}

TEST_F(Processes, StragglerIsEvicted) {
  const pid_t server =
      start("server", server_words(4, {"--policy", "bsp:sum", "--evict-stragglers", "3", "--straggler-window", "0.1"}));
  const auto begin = [&](int w, const char* compute, const char* steps) {
    return start("worker" + std::to_string(w), worker_words(4, w, {"--compute", compute, "--steps", steps}));
  };
  const pid_t slow = begin(3, "40", "0");
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w) worker.push_back(begin(w, "2", "0"));
  ASSERT_TRUE(logged("server", "worker 3, incarnation 0, is taken out at "));
  EXPECT_EQ(wait(slow), 0);
  EXPECT_TRUE(logged("worker3", "this worker was taken out: its steps take 0.0", 1));
  EXPECT_EQ(wait(begin(3, "2", "200")), 0) << "repaired, say";
  EXPECT_TRUE(logged("worker3", "incarnation 1 at", 1));
  EXPECT_TRUE(logged("worker3", "worker 3: 200 steps", 1)) << "several windows";
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  for (int w = 0; w < 3; ++w) EXPECT_TRUE(logged("worker" + std::to_string(w), "the job has ended", 1));
  EXPECT_EQ(number("evicted"), 1) << "nobody else, and it only once";
  EXPECT_EQ(number("worker"), 3);
  EXPECT_GT(number("step_time"), 0.040);
  EXPECT_LT(number("median"), number("step_time") / 3);
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 4U);
  for (int w = 1; w < 3; ++w)
    EXPECT_NEAR(sums[static_cast<std::size_t>(w)], sums[0], 1) << "all but the round that was open at the end";
  EXPECT_LE(sums[3], -200);
  EXPECT_GT(sums[3], sums[0]) << "it was missing for a while";
  std::istringstream lines{read(folder / "server.log")};
  for (std::string line; std::getline(lines, line);)
    if (line.find("is taken out") != std::string::npos) std::printf("%s\n", line.c_str());
}

TEST_F(Processes, EvictedStragglerIsNotWaitedForAtTheEnd) {
  const pid_t server = start("server", server_words(3, {"--policy", "bsp:sum", "--done", "3", "--evict-stragglers", "3",
                                                        "--straggler-window", "0.1"}));
  std::vector<pid_t> worker;
  for (int w = 0; w < 3; ++w)
    worker.push_back(
        start("worker" + std::to_string(w), worker_words(3, w, {"--steps", "150", "--compute", w == 2 ? "40" : "2"})));
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(server), 0);
  EXPECT_EQ(number("evicted"), 1);
  EXPECT_EQ(number("done"), 2);
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[0], -150);
  EXPECT_EQ(sums[1], -150);
  EXPECT_GT(sums[2], -150);
}

TEST_F(Processes, LiarsDisturbNobody) {
  std::signal(SIGPIPE, SIG_IGN);
  const pid_t server =
      start("server", server_words(3, {"--policy", "ssp:2", "--quorum", "2", "--done", "2", "--hello", "0.5"}));
  std::vector<pid_t> worker;
  for (int w = 0; w < 2; ++w)
    worker.push_back(start("worker" + std::to_string(w), worker_words(3, w, {"--steps", "2000"})));
  ASSERT_TRUE(logged("worker0", "incarnation 0 at"));
  {
    const auto device = ps::gloo_device::open("127.0.0.1");
    const auto board = ps::open_store(store());
    ASSERT_TRUE(device && board);
    ps::gloo_connector connect{*device, *board, 1};
    const ps::envelope head{.job = 1, .worker = {2, 0}};
    const ps::hello_message hello{.model = {3, 2}};
    const std::vector<std::pair<ps::refusal, ps::bytes>> lies{
        {ps::refusal::malformed, ps::bytes(100, std::byte{0x55})},
        {ps::refusal::oversized, ps::bytes(1'000'000)},
        {ps::refusal::wrong_job, ps::encode({.job = 2, .worker = {2, 0}}, hello)},
        {ps::refusal::wrong_shape, ps::encode(head, ps::hello_message{.model = {4, 2}})},
        {ps::refusal::unknown_rank, ps::encode({.job = 1, .worker = {3, 0}}, hello)},
        {ps::refusal::duplicate_rank, ps::encode({.job = 1, .worker = {0, 0}}, hello)},
        {ps::refusal::out_of_turn, ps::encode(head, ps::pull_message{})},
    };
    for (const auto& [why, lie] : lies) {
      auto link = connect({2, 0}, ps::after(10));
      ASSERT_TRUE(link);
      static_cast<void>(link->send(lie, ps::after(0.2)));  // the large one is not taken
      ps::bytes raw;
      const ps::transfer heard = link->recv(raw, 1000, ps::after(5));
      if (why == ps::refusal::oversized) continue;  // its own send has broken the connection
      ASSERT_TRUE(heard) << name(why) << ": " << heard.why;
      const ps::decoded answer = ps::decode(raw, 1);
      ASSERT_TRUE(answer) << answer.sentence;
      const auto* no = std::get_if<ps::reject_message>(&answer.what.body);
      ASSERT_NE(no, nullptr);
      EXPECT_EQ(no->why, why);
    }
    auto mute = connect({2, 0}, ps::after(10));
    ASSERT_TRUE(mute);
    EXPECT_TRUE(logged("server", "refused a peer, silent"));
  }
  for (const pid_t w : worker) EXPECT_EQ(wait(w), 0);
  EXPECT_EQ(wait(server), 0);
  for (const char* why :
       {"malformed", "oversized", "wrong_job", "wrong_shape", "unknown_rank", "duplicate_rank", "out_of_turn"})
    EXPECT_EQ(number(why), 1) << why;
  EXPECT_GE(number("silent"), 1);
  EXPECT_EQ(numbers("parameters"), (std::vector<double>{-2000, -2000, 0}));
  for (int w = 0; w < 2; ++w)
    EXPECT_TRUE(logged("worker" + std::to_string(w), "1 connections, done", 1)) << "it noticed";
}

TEST_F(Processes, ReportThatCannotBeWrittenLosesNoOtherFile) {
  const pid_t server = start("server", server_words(2, {"--quorum", "1", "--done", "1", "--checkpoint", at("state"),
                                                        "--log", at("run.jsonl"), "--report", at("folder")}));
  ASSERT_TRUE(logged("server", "life 1 of job 1"));
  std::filesystem::create_directory(folder / "folder");  // one that was there before would be refused
  EXPECT_EQ(wait(start("worker", worker_words(2, 0, {"--steps", "5"}))), 0);
  EXPECT_EQ(wait(server), 1);
  EXPECT_TRUE(logged("server", "cannot write " + at("folder") + ": not a regular file", 1));
  for (const char* file : {"state", "run.jsonl"}) EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;
}

TEST_F(Processes, ALogAboveTheShellsLimitEndsNoJob) {
  const std::vector<std::string> words{"/bin/sh", "-c", R"(ulimit -f 64 && exec "$0" "$@")"};  // 32 or 64 KiB
  const pid_t server = start("server", with(words, server_words(2, {"--quorum", "1", "--done", "1", "--checkpoint",
                                                                    at("state"), "--log", at("run.jsonl")})));
  EXPECT_EQ(wait(start("worker", worker_words(2, 0, {"--steps", "500"}))), 0);
  EXPECT_EQ(wait(server), 1);
  EXPECT_TRUE(logged("server", "run.jsonl: File too large", 1));
  EXPECT_TRUE(std::filesystem::exists(folder / "state"));
}

TEST_F(Processes, ServerWithoutThreadsSaysSo) {
  if (rubato::test::address_sanitized || rubato::test::thread_sanitized)
    GTEST_SKIP() << "sanitizers need more address space than they could be left";
  // Stacks for 64 shards would take half a gigabyte.
  std::vector<std::string> words{"/bin/sh", "-c", R"(ulimit -s 8192 && ulimit -v 300000 && exec "$0" "$@")"};
  EXPECT_EQ(wait(start("server", with(words, server_words(64, {"--shards", "64"})))), 1);
  EXPECT_TRUE(logged("server", "gloo_server: no thread for the server: ", 1));
}

// Which may be renamed, linked to or spelt in another way.
TEST_F(Processes, OneFileForTwoOptionsIsRefused) {
  std::filesystem::create_directory(folder / "sub");
  std::ofstream{at("there")} << "";
  std::filesystem::create_symlink(at("there"), at("link"));
  const std::vector<std::vector<std::string>> all{{"--checkpoint", at("x"), "--log", at("x")},
                                                  {"--log", at("report.json")},
                                                  {"--control", at("x"), "--flight-record", at("sub/../x")},
                                                  {"--checkpoint", at("there"), "--control", at("link")},
                                                  {"--log", at("x"), "--flight-record", at("./x")}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = "server" + std::to_string(i);
    EXPECT_EQ(wait(start(name, server_words(1, all[i]))), 2) << i;
    EXPECT_TRUE(logged(name, ": the same file as that of --", 1)) << i;
  }
}

TEST_F(Processes, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const char* option : {"--checkpoint", "--control", "--log", "--report", "--flight-record"})
    for (const std::string& path : {at("pipe"), folder.string(), std::string{"/dev/null"}}) {
      const std::string name = option + std::to_string(path.size());
      EXPECT_EQ(wait(start(name, server_words(1, {option, path})), 10) > 0, true) << option << ' ' << path;
      if (path != "/dev/null") {
        EXPECT_TRUE(logged(name, option + (" " + path) + ": ", 1)) << option << ' ' << path;
      }
    }
  EXPECT_TRUE(std::filesystem::is_fifo(at("pipe")));
}

TEST_F(Processes, AnOrderThatIsNoFileHoldsNobodyUp) {
  const pid_t server = start("server", server_words(1, {"--shards", "1", "--control", at("control")}));
  ASSERT_TRUE(logged("server", "life 1 of job 1"));
  ASSERT_EQ(::mkfifo(at("control").c_str(), 0600), 0);
  EXPECT_TRUE(logged("server", "--control " + at("control") + ": found a device or pipe, expected a regular file"));
  std::filesystem::remove(at("control"));
  std::ofstream{at("draft")} << std::string(70'000, 'x');
  std::filesystem::rename(at("draft"), at("control"));
  EXPECT_TRUE(logged("server", "--control " + at("control") + ": found 70000 bytes, expected at most 65536"));
  command("nonsense \x1b[2J");
  EXPECT_TRUE(logged("server", R"(command refused: "nonsense \x1b[2J")"));
  std::ifstream said{at("server.log")};
  int lines = 0;
  for (std::string line; std::getline(said, line);) lines += line.starts_with("--control ") ? 1 : 0;
  EXPECT_EQ(lines, 2) << "each is said once";
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server, 10), 0);
}

TEST_F(Processes, PolicyOfAForgedCheckpointIsBlamedOnItInOneLine) {
  ps::checkpoint c{.job = 1, .model = {1, 1}, .workers = 1, .version = 0, .policy = "\x1b[31mred\nnext"};
  c.shards.push_back({.version = 0, .parameters = {1}});
  ASSERT_TRUE(ps::write_checkpoint(at("state"), c));
  EXPECT_EQ(wait(start("server", server_words(1, {"--shards", "1", "--checkpoint", at("state")}))), 1);
  const std::string said = read(folder / "server.log");
  EXPECT_TRUE(said.starts_with("gloo_server: " + at("state") + R"(: its policy is "\x1b[31mred\x0anext", expected )"))
      << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "one line";
}

TEST_F(Processes, WrongOptionsAreSentences) {
  EXPECT_EQ(wait(start("a", server_words(2, {"--policy", "magic"}))), 2);
  EXPECT_TRUE(logged("a", "--policy magic: expected asp", 1));
  EXPECT_EQ(wait(start("b", server_words(2, {"--shards", "64"}))), 2);
  EXPECT_TRUE(logged("b", "model.shards is 64, expected 1 to the number of parameters, 2", 1));
  EXPECT_EQ(wait(start("c", {program("gloo_worker"), "--store", "paper:x", "--index", "0"})), 2);
  EXPECT_TRUE(logged("c", "expected file:FOLDER or redis:HOST[:PORT]", 1));
  EXPECT_EQ(wait(start("d", worker_words(2, 0, {"--give-up", "0.3"}))), 1);
  EXPECT_TRUE(logged("d", "no server of job 1 answers in " + store() + "; looks for one for up to 0.3 s", 1));
  EXPECT_TRUE(logged("d", "no server of job 1 took worker 0 within 0.3 s; none was found", 1));
  EXPECT_EQ(wait(start("e", {program("gloo_server"), "--store", store()})), 2);
  EXPECT_EQ(wait(start("f", server_words(2, {"--evict-stragglers", "0.8"}))), 2);
  EXPECT_TRUE(logged("f", "--evict-stragglers 0.8: expected a factor above 1", 1));
  EXPECT_EQ(wait(start("g", server_words(2, {"--job", "-1"}))), 2);
  EXPECT_EQ(wait(start("h", server_words(2, {"--task", "images"}))), 2);
  EXPECT_TRUE(logged("h", "--task images: it needs --data FOLDER", 1));
  for (const char* option : {"--checkpoint", "--control", "--report"}) {
    EXPECT_EQ(wait(start("i", server_words(2, {option, at("nowhere/file")}))), 1);
    EXPECT_TRUE(logged("i", std::string{option} + " " + at("nowhere/file") + ": no file can be made in", 1));
  }
}

}  // namespace
}  // namespace gloo_ps_processes_test
