// The programs, on the images in the tree: workers, members and servers are killed while they train.
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <rubato/libtorch/state_file.hpp>
#include <string>
#include <vector>

#include "../gloo_ps/processes.hpp"

namespace libtorch_processes_test {
namespace {

const std::string data = std::string{RUBATO_SOURCE_DIR} + "/examples/data";

// That the programs train on MNIST.
torch::nn::Sequential perceptron() {
  return torch::nn::Sequential{torch::nn::Flatten(), torch::nn::Linear(784, 128), torch::nn::ReLU(),
                               torch::nn::Linear(128, 10)};
}

class TorchProcesses : public rubato::test::process_test {
 protected:
  void SetUp() override {
    if (::access(program("torch_server").c_str(), X_OK) != 0) GTEST_SKIP() << "no torch_server: built without Gloo";
    process_test::SetUp();
  }
  [[nodiscard]] std::vector<std::string> words(const char* name, const std::vector<std::string>& more) const {
    return with({program(name), "--store", store(), "--data", data, "--shards", "3", "--time-limit",
                 std::to_string(time_limit), "--connect-limit", "5"},
                more);
  }
  pid_t start_server() {
    return start(
        "server",
        words("torch_server",
              {"--workers",       "3",           "--policy",           "ssp:3", "--optimizer", "adam",
               "--learning-rate", "0.002",       "--samples",          "32",    "--updates",   "600",
               "--checkpoint",    at("state"),   "--checkpoint-every", "20",    "--report",    at("report.json"),
               "--model",         at("model.pt")}));
  }
  pid_t start_worker(int index) {
    return start("worker" + std::to_string(index),
                 words("torch_worker", {"--index", std::to_string(index), "--compute", "3", "--give-up", "40"}));
  }
  // Whether the server writes it in time.
  bool written(const char* file) const {
    return within(60, [&] { return ::access(at(file).c_str(), F_OK) == 0; });
  }
};

TEST_F(TorchProcesses, TrainThroughTheDeathOfAWorkerAndOfTheServer) {
  pid_t server = start_server();
  std::vector<pid_t> workers;
  for (int w = 0; w < 3; ++w) workers.push_back(start_worker(w));
  ASSERT_TRUE(written("state"));
  kill_now(workers[1]);
  kill_now(server);
  server = start_server();
  EXPECT_TRUE(logged("server", "restored version")) << "from its checkpoint, with what the optimizers remember";
  EXPECT_EQ(wait(server), 0);
  EXPECT_EQ(wait(workers[0]), 0);
  EXPECT_EQ(wait(workers[2]), 0);
  EXPECT_GE(number("version"), 600);
  EXPECT_LE(number("version"), 602) << "gradients of others may be on their way";
  EXPECT_GT(number("accuracy"), 0.8);

  const auto read = rubato::libtorch::load_state(at("model.pt"), *perceptron());
  EXPECT_TRUE(read) << read.error().message;
}

TEST_F(TorchProcesses, AreLaunchedTogether) {
  const pid_t launcher = start(
      "launch", {"python3", "-B", RUBATO_SOURCE_DIR "/integrations/gloo_ps/launch.py", "--bin", program(""),
                 "--programs", "torch", "--workers", "2", "--steps", "20", "--compute", "0", "--time-limit", "60"});
  EXPECT_EQ(wait(launcher), 0);
  EXPECT_TRUE(logged("launch", "ended at version 40", 1));
  EXPECT_EQ(wait(start("wrong", {"python3", "-B", RUBATO_SOURCE_DIR "/integrations/gloo_ps/launch.py", "--bin",
                                 program(""), "--programs", "torch", "--task", "count"})),
            2);
  EXPECT_TRUE(logged("wrong", "--task count: the programs of torch train images"));
}

// programs/own_module.cpp, which the README has for programs of others.
TEST_F(TorchProcesses, AModuleAndAPolicyOfOnesOwn) {
  const auto own = [&](const char* name, const std::vector<std::string>& index) {
    return start(name, with({program("torch_own_module"), store(), "127.0.0.1"}, index));
  };
  const pid_t server = own("server", {}), first = own("first", {"0"}), second = own("second", {"1"});
  EXPECT_EQ(wait(server), 0);
  EXPECT_TRUE(logged("server", "0.5 * 0.5 = 0.", 1));
  for (const pid_t worker : {first, second}) EXPECT_EQ(wait(worker), 0);
  for (const char* name : {"first", "second"}) EXPECT_TRUE(logged(name, ": the job has ended", 1)) << name;
}

TEST_F(TorchProcesses, WrongOptionsAreTold) {
  const pid_t server = start("server", words("torch_server", {"--workers", "1", "--optimizer", "lbfgs"}));
  const pid_t other = start("other", words("torch_server", {"--workers", "1", "--learning-rate", "-1"}));
  const pid_t adam =
      start("adam", words("torch_server", {"--workers", "1", "--optimizer", "adam", "--momentum", "0.9"}));
  const pid_t worker = start("worker", {program("torch_worker"), "--store", store(), "--index", "0"});
  for (const pid_t each : {server, other, adam, worker}) EXPECT_EQ(wait(each), 2);
  EXPECT_TRUE(logged("server", "--optimizer lbfgs: expected sgd or adam"));
  EXPECT_TRUE(logged("other", "optimizer: Invalid learning rate: -1"));
  EXPECT_TRUE(logged("adam", "--momentum: adam has none"));
  EXPECT_TRUE(logged("worker", "--data: a folder with images is needed"));
}

TEST_F(TorchProcesses, HaveNoOptionsOfOtherTasks) {
  for (const char* name : {"torch_server", "torch_worker"}) {
    EXPECT_EQ(wait(start(name, words(name, {"--workers", "1", "--index", "0", "--hidden-units", "64"}))), 2);
    EXPECT_TRUE(logged(name, "--hidden-units"));
  }
  EXPECT_EQ(wait(start("launch", {"python3", "-B", RUBATO_SOURCE_DIR "/integrations/gloo_ps/launch.py", "--bin",
                                  program(""), "--programs", "torch", "--dimension", "5"})),
            2);
  EXPECT_TRUE(logged("launch", "--dimension 5: the nets of the programs of torch have their own"));
}

TEST_F(TorchProcesses, WriteTheirFilesBeforeTheyJudge) {
  const pid_t server =
      start("server", words("torch_server", {"--workers", "1", "--updates", "5", "--samples", "8", "--checkpoint",
                                             at("state"), "--log", at("run.jsonl"), "--model", at("model.pt")}));
  EXPECT_EQ(wait(start_worker(0)), 0);
  ASSERT_TRUE(logged("server", "ended at version 5"));
  for (const char* file : {"state", "run.jsonl", "model.pt"}) EXPECT_EQ(::access(at(file).c_str(), R_OK), 0) << file;
  EXPECT_EQ(wait(server), 0);
  EXPECT_TRUE(logged("server", ", accuracy "));
}

// The same over MPI, which needs no Gloo.
class TorchMpi : public rubato::test::process_test {
 protected:
  void SetUp() override {
    if (::access(program("torch_mpi").c_str(), X_OK) != 0) GTEST_SKIP() << "no torch_mpi: built without MPI";
    process_test::SetUp();
  }
  pid_t run_ranks(int ranks, const std::vector<std::string>& more) {
    std::vector<std::string> words{"mpirun", "--oversubscribe", "-n", std::to_string(ranks)};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    words = with(words, {program("torch_mpi"), "--data", data, "--time-limit", std::to_string(time_limit)});
    return start("job", with(words, more));
  }
};

TEST_F(TorchMpi, Trains) {
  const pid_t job =
      run_ranks(3, {"--policy", "ssp:2", "--optimizer", "adam", "--learning-rate", "0.002", "--samples", "32",
                    "--updates", "400", "--compute", "0", "--report", at("report.json"), "--model", at("model.pt")});
  EXPECT_EQ(wait(job), 0);
  EXPECT_GE(number("version"), 400);
  EXPECT_LE(number("version"), 402) << "the other worker's gradient may be on its way";
  EXPECT_GT(number("accuracy"), 0.7);
  EXPECT_EQ(::access(at("model.pt").c_str(), R_OK), 0);
}

TEST_F(TorchMpi, WrongOptionsAreTold) {
  EXPECT_EQ(wait(run_ranks(3, {"--data", "/nowhere"})), 1);
  EXPECT_TRUE(logged("job", "torch_mpi: --data /nowhere: cannot be read as a directory: No such file or directory"));
  EXPECT_EQ(wait(run_ranks(1, {})), 2);
  EXPECT_TRUE(logged("job", "one rank, expected the server and at least one worker"));
}

// Workers that are threads.
class TorchTrain : public rubato::test::process_test {
 protected:
  pid_t train(const std::vector<std::string>& more) {
    return start(
        "train",
        with({program("torch_train"), "--data", data, "--policy", "asp", "--workers", "2", "--samples", "8"}, more));
  }
};

TEST_F(TorchTrain, WritesItsFilesBeforeItJudges) {
  const pid_t job = train({"--steps", "50", "--look", "0.01", "--target", "1", "--log", at("run.jsonl"), "--trace",
                           at("trace.json"), "--save", at("model.pt")});
  ASSERT_TRUE(logged("train", "; judging "));
  ::kill(job, SIGKILL);
  wait(job);
  EXPECT_NE(read(at("run.jsonl")).find("policy"), std::string::npos);
  EXPECT_NE(read(at("trace.json")).find("traceEvents"), std::string::npos);
  EXPECT_TRUE(rubato::libtorch::load_state(at("model.pt"), *perceptron()));
}

TEST_F(TorchTrain, StepsHaveATimeLimitOnlyIfOneIsGiven) {
  EXPECT_EQ(wait(train({"--steps", "4"})), 0);
  EXPECT_TRUE(logged("train", "2 workers, 4 steps a run, target"));
  EXPECT_EQ(wait(train({"--steps", "1000000", "--seconds", "0.2"})), 1);
  EXPECT_TRUE(logged("train", "2 workers, 1000000 steps within 0.2 s a run, target"));
  EXPECT_TRUE(logged("train", "--steps 1000000: found them unfinished after 0.2 s, expected longer --seconds"));
  EXPECT_EQ(wait(train({"--seconds", "0.2"})), 0);
  EXPECT_TRUE(logged("train", "2 workers, 0.2 s a run, target"));
}

TEST_F(TorchTrain, WhatIsWrongIsToldBeforeItTrains) {
  EXPECT_EQ(wait(start("train", {program("torch_train"), "--data", "/nowhere"})), 1);
  EXPECT_TRUE(
      logged("train", "torch_train: --data /nowhere: cannot be read as a directory: No such file or directory"));
  for (const char* option : {"--log", "--trace", "--save"}) {
    EXPECT_EQ(wait(train({option, at("nowhere/file")})), 1);
    EXPECT_TRUE(logged("train", std::string{"torch_train: "} + option + ": cannot create " + at("nowhere/file")));
  }
  EXPECT_EQ(std::ranges::count(read(folder / "train.log"), '\n'), 4) << "nothing else: it did not begin";
}

// Members without a server: one is killed and comes back, another is killed and stays away.
class LocalSgd : public rubato::test::process_test {
 protected:
  void SetUp() override {
    if (::access(program("torch_local_sgd").c_str(), X_OK) != 0)
      GTEST_SKIP() << "no torch_local_sgd: built without Gloo";
    process_test::SetUp();
  }
  // That nobody listens at now; 0 if there is none.
  static int free_port() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    socklen_t size = sizeof at;
    const bool found = ::bind(listener, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
                       ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0;
    ::close(listener);
    return found ? ntohs(at.sin_port) : 0;
  }
  pid_t start_member(int index, const std::vector<std::string>& more) {
    return start("member" + std::to_string(index),
                 with({program("torch_local_sgd"), "--store", "file:" + (folder / "c10d").string(), "--data", data,
                       "--index", std::to_string(index), "--founders", "4", "--samples", "32", "--compute", "2",
                       "--time-limit", std::to_string(time_limit)},
                      more));
  }
};

TEST_F(LocalSgd, GoesOnThroughTheDeathOfMembers) {
  const std::vector<std::string> phases{"--phases", "1:100,4:150"};
  std::vector<pid_t> members;
  for (int m = 0; m < 4; ++m) members.push_back(start_member(m, phases));
  ASSERT_TRUE(logged("member0", "group 1, 4 members"));
  kill_now(members[2]);
  ASSERT_TRUE(logged("member0", "group 2, 3 members")) << "a new group, of those who are left";
  kill_now(members[1]);
  ASSERT_TRUE(logged("member0", "group 3, 2 members"));
  members[1] = start_member(1, phases);
  ASSERT_TRUE(logged("member0", "group 4, 3 members")) << "who comes back is taken in";
  for (const int m : {0, 1, 3}) EXPECT_EQ(wait(members[static_cast<std::size_t>(m)]), 0) << m;
  EXPECT_TRUE(logged("member0", " 250 averages")) << "as many as were asked for";
  EXPECT_TRUE(logged("member1", " 250 averages"));
  const std::string all = read(folder / "member0.log") + read(folder / "member1.log") + read(folder / "member3.log");
  const std::size_t found = all.find("accuracy ");
  ASSERT_NE(found, std::string::npos);
  EXPECT_GT(std::stod(all.substr(found + 9)), 80);
}

// As GoesOnThroughTheDeathOfMembers, but for the store, which the first member keeps.
TEST_F(LocalSgd, FindEachOtherOverTcp) {
  const std::string store = "tcp:127.0.0.1:" + std::to_string(free_port());
  const std::vector<std::string> more{"--store", store, "--founders", "3", "--phases", "1:20,4:180", "--samples", "8"};
  std::vector<pid_t> members{start_member(0, with(more, {"--keeps-store"}))};
  for (int m = 1; m < 3; ++m) members.push_back(start_member(m, more));
  ASSERT_TRUE(logged("member0", "group 1, 3 members"));
  kill_now(members[2]);
  ASSERT_TRUE(logged("member0", "group 2, 2 members"));
  for (const int m : {0, 1}) EXPECT_EQ(wait(members[static_cast<std::size_t>(m)]), 0) << m;
  EXPECT_TRUE(logged("member0", " 200 averages"));
  EXPECT_TRUE(logged("member1", " 200 averages"));
}

// Stopped beyond the time of an exchange: the others go on, and it is told that it was too late.
TEST_F(LocalSgd, AMemberThatHangsIsGoneOnWithoutAndTakenInAgain) {
  const std::string store = "tcp:127.0.0.1:" + std::to_string(free_port());  // a FileStore could be locked just then
  const std::vector<std::string> more{"--store",   store, "--founders", "3", "--phases", "8:150",
                                      "--samples", "8",   "--exchange", "2", "--gather", "2"};
  std::vector<pid_t> members{start_member(0, with(more, {"--keeps-store"}))};
  for (int m = 1; m < 3; ++m) members.push_back(start_member(m, more));
  for (const char* member : {"member0", "member2"}) ASSERT_TRUE(logged(member, "group 1, 3 members"));
  ::kill(members[2], SIGSTOP);
  ASSERT_TRUE(logged("member0", "group 2, 2 members"));
  ::kill(members[2], SIGCONT);
  ASSERT_TRUE(logged("member0", "group 3, 3 members"));
  for (const pid_t each : members) EXPECT_EQ(wait(each), 0);
  EXPECT_TRUE(logged("member2", " times too late"));
}

TEST_F(LocalSgd, TakesTheFolderOfAServersJobForItsStore) {
  const std::vector<std::string> more{"--store", store(), "--founders", "2", "--phases", "1:3"};
  const std::vector<pid_t> members{start_member(0, more), start_member(1, more)};
  for (const pid_t each : members) EXPECT_EQ(wait(each), 0);
  EXPECT_TRUE(logged("member0", " 3 averages", 1));
  EXPECT_EQ(::access(at("store/store").c_str(), R_OK), 0);
}

TEST_F(LocalSgd, WritesItsModelBeforeItJudges) {
  const pid_t alone = start_member(0, {"--founders", "1", "--phases", "1:3", "--save", at("model.pt")});
  ASSERT_TRUE(logged("member0", " 3 averages"));
  EXPECT_EQ(::access(at("model.pt").c_str(), R_OK), 0);
  EXPECT_EQ(wait(alone), 0);
  EXPECT_TRUE(logged("member0", ", accuracy ", 1));
}

TEST_F(LocalSgd, WrongOptionsAreTold) {
  const std::string other = at("not_a_store");
  std::ofstream{other} << "text";
  struct refusal {
    std::vector<std::string> options;
    int status;
    std::string sentence;
  };
  const std::vector<refusal> refusals{
      {{"--phases", "0:3"}, 2, "expected PERIOD:AVERAGES, say 8:100"},
      {{"--store", "nowhere"}, 2, "--store nowhere: expected file:PATH or tcp:HOST:PORT"},
      {{"--patience", "0"}, 2, "patience is not above 0"},
      {{"--store", "tcp:127.0.0.1:1", "--patience", "1e300"}, 2, "patience is not above 0 and up to 86400"},
      {{"--store", "file:/nowhere/at/all"},
       1,
       "--store: the file /nowhere/at/all cannot be opened: No such file or directory"},
      {{"--store", "file:" + other}, 1, "not_a_store is not that of a store, expected a new one, or a folder for it"},
      {{"--keeps-store"}, 2, "--keeps-store: --store file:" + at("c10d") + " needs no keeper"},
      {{"--data", "/nowhere"}, 1, "torch_local_sgd: --data /nowhere: cannot be read as a directory"},
      {{"--store", "tcp:127.0.0.1:1", "--patience", "1"}, 1, "--store tcp:127.0.0.1:1: "}};
  std::vector<pid_t> members;
  for (const refusal& each : refusals) members.push_back(start_member(static_cast<int>(members.size()), each.options));
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(wait(members[i]), refusals[i].status) << refusals[i].sentence;
    EXPECT_TRUE(logged("member" + std::to_string(i), refusals[i].sentence));
  }
  EXPECT_TRUE(logged("member8", "(a member there keeps it: --keeps-store)"));
}

}  // namespace
}  // namespace libtorch_processes_test
