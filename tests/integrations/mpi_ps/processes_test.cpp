#include "../gloo_ps/processes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../support/sanitizers.hpp"

namespace mpi_ps_processes_test {
namespace {

// mpirun and its ranks. Workers count: each parameter is minus the number of that worker's updates.
class MpiProcesses : public rubato::test::process_test {
 protected:
  MpiProcesses() { time_limit = 60; }

  pid_t run_ranks(const std::string& name, int ranks, const std::vector<std::string>& of_mpirun,
                  const std::vector<std::string>& of_program) {
    // Not with the environment of this process: other tests may have made it a rank.
    const char* const path = std::getenv("PATH");
    std::vector<std::string> words{"env",
                                   "-i",
                                   std::string{"PATH="} + (path == nullptr ? "" : path),
                                   "HOME=" + folder.string(),
                                   "mpirun",
                                   "--oversubscribe",
                                   "-n",
                                   std::to_string(ranks)};
    if (const char* const asan = std::getenv("ASAN_OPTIONS"))
      words.insert(words.begin() + 2, std::string{"ASAN_OPTIONS="} + asan);
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    words = with(with(words, of_mpirun), of_rank_0);
    words = with(words, {program("mpi_train"), "--task", "count", "--dimension",
                         std::to_string((std::max)(ranks - 1, 1)), "--learning-rate", "1", "--samples", "1",
                         "--time-limit", std::to_string(time_limit), "--report", report()});
    return start(name, with(words, of_program));
  }
  // Behind the words of a job: one rank more, which has words of its own.
  [[nodiscard]] std::vector<std::string> and_one_rank(const std::vector<std::string>& of_program) const {
    return with({":", "-n", "1", program("mpi_train"), "--time-limit", std::to_string(time_limit)}, of_program);
  }
  [[nodiscard]] std::string report() const { return (folder / "report.json").string(); }
  std::vector<std::string> of_rank_0{};  // put before its program
  [[nodiscard]] std::string state() const { return (folder / "state").string(); }
  [[nodiscard]] nlohmann::json reported() const { return nlohmann::json::parse(read(report())); }

  // The process of a rank; -1 if there is none yet.
  static pid_t process_of(pid_t mpirun, int rank) {
    const std::string parent = std::to_string(mpirun), wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    std::ifstream children{"/proc/" + parent + "/task/" + parent + "/children"};
    for (pid_t child = 0; children >> child;) {
      const std::string environment = '\0' + read("/proc/" + std::to_string(child) + "/environ");
      if (environment.find('\0' + wanted + '\0') != std::string::npos) return child;
    }
    return -1;
  }
  void kill_rank(pid_t mpirun, int rank) {
    pid_t victim = -1;
    ASSERT_TRUE(within(10, [&] { return (victim = process_of(mpirun, rank)) > 0; }));
    ::kill(victim, SIGKILL);
  }
};

TEST_F(MpiProcesses, TrainOverRanks) {
  const pid_t job = run_ranks("job", 4, {}, {"--policy", "bsp:sum", "--steps", "50", "--compute", "0"});
  EXPECT_EQ(wait(job), 0);
  EXPECT_EQ(reported()["version"], 150);
  EXPECT_EQ(reported()["parameters"], (std::vector<double>{-50, -50, -50}));
  EXPECT_EQ(reported()["ends"]["done"], 3);
}

// Between machines, MPI goes over TCP.
TEST_F(MpiProcesses, TrainOverTcp) {
  const pid_t job = run_ranks("job", 3, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"},
                              {"--policy", "ssp:2", "--steps", "30", "--compute", "0", "--dimension", "500000"});
  EXPECT_EQ(wait(job), 0);
  EXPECT_EQ(reported()["version"], 60);
  EXPECT_EQ(reported()["parameters"][1], -30);
}

TEST_F(MpiProcesses, DeadRankEndsTheJobWhichGoesOnFromItsCheckpoint) {
  const std::vector<std::string> both{"--policy", "ssp:3", "--checkpoint", state(), "--checkpoint-every", "20"};
  const pid_t first = run_ranks("first", 4, {}, with(both, {"--steps", "100000", "--compute", "2"}));
  ASSERT_TRUE(within(30, [this] { return std::filesystem::exists(state()); }));
  kill_rank(first, 2);
  EXPECT_EQ(wait(first, 20), 128 + SIGKILL) << "Open MPI ends a job whose rank has died";
  const pid_t second = run_ranks("second", 4, {}, with(both, {"--steps", "20", "--compute", "0"}));
  EXPECT_EQ(wait(second), 0);
  EXPECT_TRUE(logged("second", "restored version "));
  const auto end = reported();
  EXPECT_EQ(end["ends"]["done"], 3);
  EXPECT_GE(end["version"], 80) << "twenty at least of the first job, sixty of the second";
  double sum = 0;
  for (const double each : end["parameters"]) sum -= each;
  EXPECT_EQ(sum, end["version"]) << "no update was lost or made twice since the checkpoint";
}

// What Open MPI does not tell, the time limits of the steps find out.
TEST_F(MpiProcesses, DeadRankIsMissedByNobodyIfMpirunLetsTheOthersLive) {
  const pid_t job = run_ranks(
      "job", 4, {"--enable-recovery", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"},
      {"--policy", "ssp:3", "--steps", "300", "--compute", "2", "--floor", "1", "--ceiling", "2", "--linger", "1"});
  ASSERT_TRUE(logged("job", "worker 1: incarnation 0"));
  kill_rank(job, 2);
  EXPECT_EQ(wait(job), 0);
  const auto end = reported();
  EXPECT_EQ(end["ends"]["done"], 2);
  EXPECT_EQ(end["ends"]["silent"], 1);
  EXPECT_EQ(end["parameters"][0], -300);
  EXPECT_EQ(end["parameters"][2], -300);
  EXPECT_GT(end["parameters"][1], -300);
}

TEST_F(MpiProcesses, DeathOfAllWorkersEndsTheJob) {
  const pid_t job = run_ranks("job", 3, {"--enable-recovery"},
                              {"--policy", "asp", "--steps", "0", "--floor", "0.5", "--ceiling", "1", "--linger", "1"});
  for (const int rank : {1, 2}) {
    ASSERT_TRUE(logged("job", "worker " + std::to_string(rank - 1) + ": incarnation 0"));
    kill_rank(job, rank);
  }
  EXPECT_EQ(wait(job, 30), 0);
  EXPECT_EQ(reported()["ends"]["silent"], 2);
}

TEST_F(MpiProcesses, WorkersEndWithoutTheirServer) {
  const pid_t job = run_ranks(
      "job", 3, {"--enable-recovery"},
      {"--policy", "asp", "--steps", "0", "--give-up", "1", "--reply-limit", "1", "--floor", "1", "--ceiling", "2"});
  ASSERT_TRUE(logged("job", "worker 0: incarnation 0"));
  kill_rank(job, 0);
  EXPECT_GE(wait(job, 40), 0) << "it ends; which status mpirun has is its own affair";
  EXPECT_TRUE(logged("job", "took worker 0 within 1 s"));
  EXPECT_TRUE(logged("job", "took worker 1 within 1 s"));
}

// All others wait for it, and MPI would start nobody in its place.
TEST_F(MpiProcesses, RankThatFailsBeforeItsFirstStepEndsTheJob) {
  const pid_t data = run_ranks(
      "data", 2, {},
      with({"--policy", "bsp", "--dimension", "2"}, and_one_rank({"--task", "images", "--data", at("nowhere")})));
  EXPECT_GT(wait(data, 30), 0);
  EXPECT_TRUE(logged("data", "--data " + at("nowhere")));
  const pid_t model =
      run_ranks("model", 2, {},
                with({"--policy", "bsp", "--dimension", "2"}, and_one_rank({"--task", "count", "--dimension", "7"})));
  EXPECT_EQ(wait(model, 30), 1);
  EXPECT_TRUE(logged("model", "worker 1 was refused, wrong_shape: a model of 7 parameters"));
}

TEST_F(MpiProcesses, JobBeginsWithoutARankThatNeverComesIfMpirunLetsTheOthersLive) {
  const pid_t job =
      run_ranks("job", 3, {"--enable-recovery"},
                with({"--policy", "bsp:sum", "--steps", "50", "--compute", "0", "--give-up", "5", "--linger", "1"},
                     and_one_rank({"--task", "images", "--data", at("nowhere")})));
  EXPECT_GE(wait(job), 0) << "it ends; which status mpirun has is its own affair";
  EXPECT_TRUE(logged("job", "2 of 3 workers have come within 5 s: the job begins with them"));
  EXPECT_EQ(reported()["parameters"], (std::vector<double>{-50, -50}));
  EXPECT_EQ(reported()["ends"]["done"], 2);
}

// What is thrown there too: the workers would look for their server.
TEST_F(MpiProcesses, WhatTheServerThrowsEndsTheJob) {
  if (rubato::test::address_sanitized || rubato::test::thread_sanitized) GTEST_SKIP() << "they need memory themselves";
  of_rank_0 = {"prlimit", "--data=500000000"};
  const pid_t job = run_ranks("job", 1, {}, with({"--dimension", "100000000"}, and_one_rank({"--task", "count"})));
  EXPECT_EQ(wait(job, 30), 1);
  EXPECT_TRUE(logged("job", "mpi_train: std::bad_alloc"));
}

// Stopped beyond its time limit, over TCP, with a push so long that the server would have to take it: the others go on,
// and it comes back as another life.
TEST_F(MpiProcesses, RankThatHangsComesBack) {
  const pid_t job = run_ranks("job", 3, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"},
                              {"--policy", "ssp:3", "--steps", "150", "--compute", "5", "--floor", "1", "--ceiling",
                               "2", "--dimension", "500000", "--linger", "20"});
  ASSERT_TRUE(logged("job", "worker 1: incarnation 0"));
  pid_t victim = -1;
  ASSERT_TRUE(within(10, [&] { return (victim = process_of(job, 2)) > 0; }));
  ::kill(victim, SIGSTOP);
  ASSERT_TRUE(logged("job", "worker 1, incarnation 0: silent"));
  ::kill(victim, SIGCONT);
  EXPECT_TRUE(logged("job", "worker 1: incarnation 1"));
  EXPECT_EQ(wait(job), 0);
  EXPECT_EQ(reported()["ends"]["done"], 2);
  EXPECT_GE(reported()["ends"]["silent"], 1);
}

TEST_F(MpiProcesses, WrongOptionsAreSentences) {
  const pid_t alone = run_ranks("alone", 1, {}, {});
  const pid_t policy = run_ranks("policy", 3, {}, {"--policy", "sspp"});
  const pid_t option = run_ranks("option", 2, {}, {"--stepps", "3"});
  EXPECT_EQ(wait(alone), 2);
  EXPECT_TRUE(logged("alone", "one rank, expected the server and at least one worker"));
  EXPECT_EQ(wait(policy, 20), 2) << "the workers do not look for their server";
  EXPECT_TRUE(logged("policy", "--policy sspp: expected"));
  EXPECT_EQ(wait(option), 2);
  EXPECT_TRUE(logged("option", "not expected: --stepps 3"));
}

}  // namespace
}  // namespace mpi_ps_processes_test
