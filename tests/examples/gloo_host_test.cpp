#include "../../examples/lab/gloo_host.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <rubato/rubato.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../examples/support/child_process.hpp"
#include "../support/sanitizers.hpp"
#include "../support/thread_shortage.hpp"
#include "real_setting.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using namespace rubato::lab;
using rubato::test::go_on;
using rubato::test::images;
using rubato::test::small;

// The children of a process, of all its threads.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> all;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/" + std::to_string(parent) + "/task", gone}) {
    std::ifstream list{thread.path() / "children"};
    for (pid_t each = 0; list >> each;) all.push_back(each);
  }
  return all;
}

// The fourth of its words, see gloo_worker_arguments.
std::string index_of_worker(pid_t process) {
  std::ifstream words{"/proc/" + std::to_string(process) + "/cmdline"};
  std::string word;
  for (int i = 0; i < 4; ++i) std::getline(words, word, '\0');
  return word;
}

bool within(double seconds, const std::function<bool()>& what) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds};
  while (!what()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

// One of this process, to somebody else.
bool break_a_connection() {
  for (int each = 3; each < 1024; ++each) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(each, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family == AF_INET)
      return shutdown(each, SHUT_RDWR) == 0;
  }
  return false;
}

// No file can be opened between begin() and end(). Which numbers are in use is looked up before the run begins: then
// no thread of it opens files and closes them.
class file_shortage {
 public:
  file_shortage() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    low_ = {static_cast<rlim_t>(next), before_.rlim_max};
  }
  ~file_shortage() { end(); }
  file_shortage(const file_shortage&) = delete;
  file_shortage& operator=(const file_shortage&) = delete;
  void begin() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low_), 0); }
  void end() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{}, low_{};
};

// Each test has a folder for what is temporary, which must be empty again; and no process may be left, of which this
// program is made the parent when its own is no more.
class GlooHost : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = not_on_gloo(small().scenario); !missing.empty()) GTEST_SKIP() << missing;
    setenv("TMPDIR", folder_.path().c_str(), 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    tested_ = true;
  }
  void TearDown() override {
    if (!tested_) return;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    unsetenv("TMPDIR");
    EXPECT_TRUE(no_process_is_left());
    EXPECT_TRUE(lab_was_killed_ || std::filesystem::is_empty(folder_.path()));
  }
  static bool no_process_is_left() {
    return within(20, [] { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; });
  }
  static auto run(const setting& at, const any_policy& policy, std::uint64_t seed,
                  const std::atomic<bool>& stop = go_on, any_observer* watcher = nullptr) {
    return run_on_gloo(at, images(), policy, seed, stop, watcher, RUBATO_LAB_BINARY);
  }
  // What it says where it is one that ends with an error; else how it ended.
  static std::string error_of_run(const setting& at, any_observer& watcher, const std::atomic<bool>& stop = go_on) {
    try {
      const auto made = run(at, asp{}, 1, stop, &watcher);
      return made ? made->end : "stopped";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  // A comparison that would take for ever, in a process of its own, once its workers are there.
  support::child_process lab_at_work() const {
    support::child_process lab{RUBATO_LAB_BINARY,
                               {"rubato-lab", "compare", "--host", "gloo", "--policies", "asp", "--seeds", "1", "--set",
                                "workers=3", "--set", "objective.target_accuracy=1", "--no-cache"},
                               folder_.path() / "said"};
    EXPECT_TRUE(within(20, [&] { return children_of(lab.id()).size() == 3; }));
    return lab;
  }

  test::temporary_directory folder_;
  bool lab_was_killed_ = false;

 private:
  bool tested_ = false;
};

TEST_F(GlooHost, ReachesWhatTheSimulatorReaches) {
  for (const any_policy& policy : {any_policy{bsp{}}, any_policy{ssp{.staleness = 2}}, any_policy{knee{}}}) {
    const setting at = small({"objective.target_accuracy=0.8"});
    const auto real = run(at, policy, 3);
    const auto virtual_run = workbench{images()}.run(at, policy, 3, go_on);
    ASSERT_TRUE(real && virtual_run);
    EXPECT_TRUE(real->reached) << real->end;
    EXPECT_TRUE(virtual_run->reached);
    EXPECT_GE(real->final_accuracy, 0.8);
    // The same batches from the same parameters: what differs is the order in which they come.
    EXPECT_GT(real->pushes, virtual_run->pushes / 4);
    EXPECT_LT(real->pushes, virtual_run->pushes * 4);
    EXPECT_EQ(real->overrides, 0u);
    EXPECT_GT(real->overhead, 0.0);
  }
}

TEST_F(GlooHost, AccountsForEveryGradient) {
  std::map<record::kind, std::uint64_t> records;
  any_observer watcher{[&](const record& r) { ++records[r.what]; }};
  const auto real = run(small({"stop=workload", "objective.workload=4000"}), asp{}, 1, go_on, &watcher);
  ASSERT_TRUE(real);
  EXPECT_TRUE(real->reached);
  EXPECT_EQ(records[record::kind::commit], records[record::kind::admit]);
  EXPECT_GE(records[record::kind::commit], 4000u / 16);
  EXPECT_EQ(records[record::kind::join], 4u);
  EXPECT_EQ(real->dropped, 0u);
}

TEST_F(GlooHost, FollowsTheSchedulesOfTheSeed) {
  // Behind a barrier on cores of their own a step takes as long as its slowest worker: never less than in the
  // simulator.
  const setting at = small({"stop=workload", "objective.workload=1280", "cluster.cores=0"});
  const auto real = run(at, bsp{}, 5);
  const auto virtual_run = workbench{images()}.run(at, bsp{}, 5, go_on);
  ASSERT_TRUE(real && virtual_run);
  EXPECT_GE(real->time, 0.98 * virtual_run->time);
}

// Everybody at once, under terms that the host is not used to.
struct odd_terms {
  std::uint32_t batch = 0;
  float rate = 1;
  decision release(const cluster_view& view, const event& what) noexcept { return asp{}.release(view, what); }
  void shape(const cluster_view&, std::uint32_t, grant& g) noexcept { g.batch = batch, g.lr_scale = rate; }
  static constexpr std::string_view kind = "odd_terms";
};

TEST_F(GlooHost, LearningRateAndBatchOfAGrantCount) {
  const setting at = small({"stop=workload", "objective.workload=3200", "objective.evaluate_every=5"});
  const auto usual = run(at, odd_terms{}, 1), doubled = run(at, odd_terms{.batch = 32}, 1),
             still = run(at, odd_terms{.rate = 0}, 1);
  ASSERT_TRUE(usual && doubled && still);
  EXPECT_GE(usual->pushes, 200u);
  EXPECT_GE(doubled->pushes, 100u);
  EXPECT_LT(doubled->pushes, 150u) << "100 of 32 samples each, and some more until the end was seen";
  EXPECT_GT(usual->final_accuracy, 0.5);
  EXPECT_LT(still->final_accuracy, 0.3) << "the parameters are those of the start";
}

TEST_F(GlooHost, WorkersDieAndComeBack) {
  std::map<record::kind, std::uint64_t> records;
  bool two_died = false, one_came_back = false, goes_on = false;
  std::atomic<bool> stop{false};
  any_observer watcher{[&](const record& r) {  // called under the controller's lock
    if (stop) return;
    ++records[r.what];
    two_died |= r.what == record::kind::depart && r.worker.index == 3;
    one_came_back |= r.what == record::kind::commit && r.worker.index == 1 && r.worker.incarnation == 1;
    goes_on |= two_died && one_came_back && r.what == record::kind::commit && r.worker.index == 0;
    stop = goes_on;
  }};
  const setting at =
      small({"objective.target_accuracy=1", "objective.max_time=10000",
             R"(cluster.failures=[{"time":5,"worker":1,"kind":"death"},{"time":8,"worker":2,"kind":"leave"},)"
             R"({"time":12,"worker":1,"kind":"join"},{"time":15,"worker":3,"kind":"death"}])"});
  EXPECT_FALSE(run(at, bsp{}, 2, stop, &watcher));
  EXPECT_TRUE(goes_on);
  EXPECT_EQ(records[record::kind::join], 5u);
  EXPECT_EQ(records[record::kind::depart], 3u);
}

TEST_F(GlooHost, EndsAtMaxTime) {
  const auto real = run(small({"objective.target_accuracy=1", "objective.max_time=1000"}), asp{}, 1);
  ASSERT_TRUE(real);
  EXPECT_FALSE(real->reached);
  EXPECT_EQ(real->end, "out_of_time");
  EXPECT_EQ(real->time, 1000);
  EXPECT_GT(real->pushes, 0u);
}

TEST_F(GlooHost, StopsWhenAsked) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=1000000"});
  std::atomic<bool> stop{false};
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::commit) stop = true;
  }};
  EXPECT_FALSE(run(at, bsp{}, 1, stop, &watcher));
  EXPECT_TRUE(children_of(getpid()).empty());
  const std::atomic<bool> at_once{true};
  EXPECT_FALSE(run(at, bsp{}, 1, at_once));
  EXPECT_TRUE(children_of(getpid()).empty());
}

TEST_F(GlooHost, LeavesNoProcess) {
  ASSERT_TRUE(run(small({"stop=workload", "objective.workload=160"}), asp{}, 1));
  EXPECT_TRUE(children_of(getpid()).empty());
}

TEST_F(GlooHost, InterruptedLabEndsInGoodOrder) {
  auto lab = lab_at_work();
  kill(lab.id(), SIGINT);
  ASSERT_TRUE(lab.wait(std::chrono::steady_clock::now() + std::chrono::seconds{30}));
  EXPECT_EQ(lab.end(), "ended with status 130");
  std::filesystem::remove(folder_.path() / "said");
}

TEST_F(GlooHost, WorkersEndWithTheLab) {
  lab_was_killed_ = true;  // and nobody removes its folder
  auto lab = lab_at_work();
  lab.kill();
  EXPECT_TRUE(no_process_is_left());
}

TEST_F(GlooHost, AWorkerThatFailsIsAnError) {
  try {
    static_cast<void>(run_on_gloo(small(), images(), asp{}, 1, go_on, nullptr, "/bin/false"));
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    const std::string said = error.what();
    EXPECT_TRUE(said.starts_with("--host gloo: worker ") && said.ends_with(" ended with status 1")) << said;
  }
  EXPECT_TRUE(children_of(getpid()).empty());
}

TEST_F(GlooHost, AWorkerThatIsKilledIsAnError) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=10000"});
  std::atomic<int> commits{0};
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::commit && ++commits == 10) kill(children_of(getpid()).front(), SIGKILL);
  }};
  EXPECT_THROW(static_cast<void>(run(at, asp{}, 1, go_on, &watcher)), std::runtime_error);
  EXPECT_TRUE(children_of(getpid()).empty());
}

// It is stopped while it fetches a large model, most likely, so that the server cannot tell it to leave.
TEST_F(GlooHost, WhoDoesNotLeaveIsKilledAndComesBack) {
  const setting at =
      small({"workers=3", "objective.hidden_layers=6", "objective.batch=1", "objective.target_accuracy=1",
             "objective.max_time=100000", "objective.evaluate_every=100000",
             R"(cluster.failures=[{"time":100,"worker":2,"kind":"leave"},)"
             R"({"time":101,"worker":2,"kind":"join"}])"});
  std::atomic<bool> stop{false}, fetches{false};
  bool came_back = false;
  any_observer watcher{[&](const record& r) {
    if (r.worker.index != 2) return;
    if (r.what == record::kind::release) fetches = true, fetches.notify_all();
    came_back |= r.what == record::kind::commit && r.worker.incarnation == 1;
    if (came_back) stop = true;
  }};
  std::jthread stopper{[&] {
    pid_t victim = 0;
    EXPECT_TRUE(within(60, [&] {
      for (const pid_t child : children_of(getpid()))
        if (index_of_worker(child) == "2") victim = child;
      return victim != 0;
    }));
    fetches.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    if (victim != 0) kill(victim, SIGSTOP);
  }};
  EXPECT_EQ(error_of_run(at, watcher, stop), "stopped");
  EXPECT_TRUE(came_back);
  fetches = true, fetches.notify_all();
}

// Worker 1 is killed before the server hears of it, and comes at once in its second life. What that life loses counts.
TEST_F(GlooHost, ADeathHidesNoLostConnection) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=10000",
                            R"(cluster.failures=[{"time":0,"worker":1,"kind":"death"},)"
                            R"({"time":0,"worker":1,"kind":"join"}])"});
  bool second_life = false;
  std::atomic<int> commits{0};
  any_observer watcher{[&](const record& r) {
    EXPECT_FALSE(r.what == record::kind::join && r.worker == (worker_id{1, 0}));
    second_life |= r.what == record::kind::join && r.worker == (worker_id{1, 1});
    if (r.what == record::kind::commit && ++commits == 10) {
      EXPECT_TRUE(break_a_connection());
    }
  }};
  EXPECT_EQ(error_of_run(at, watcher), "--host gloo: a worker lost its connection to the server; the run is of no use");
  EXPECT_TRUE(second_life);
}

TEST_F(GlooHost, AWorkerWithoutAThreadIsAnError) {
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=10000",
                            R"(cluster.failures=[{"time":50,"worker":3,"kind":"join"}])"});
  rubato::test::thread_shortage shortage;
  std::atomic<int> commits{0};
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::commit && ++commits == 1) shortage.begin();
  }};
  EXPECT_EQ(error_of_run(at, watcher), "--host gloo: no thread for another worker: Resource temporarily unavailable");
  EXPECT_TRUE(children_of(getpid()).empty());
}

TEST_F(GlooHost, TooManyOpenFilesAreAnError) {
  if (rubato::test::undefined_sanitized) GTEST_SKIP() << "the sanitizer's own look at an object needs a pipe";
  const setting at = small({"objective.target_accuracy=1", "objective.max_time=10000"});
  file_shortage shortage;
  std::atomic<int> commits{0};
  any_observer watcher{[&](const record& r) {
    if (r.what == record::kind::commit && ++commits == 1) shortage.begin();
    if (r.what == record::kind::depart) shortage.end();  // the run is over: its folder can be removed
  }};
  const std::string said = error_of_run(at, watcher);
  EXPECT_TRUE(said.starts_with("--host gloo: ") && said.find("Too many open files") != std::string::npos) << said;
}

TEST_F(GlooHost, SaysWhatItDoesNotHave) {
  EXPECT_EQ(not_on_gloo(small({"cluster.link.bandwidth=1"}).scenario),
            "cluster.link.bandwidth is above 0, expected 0: transfers take what they take");
  EXPECT_EQ(not_on_gloo(small({"workers=257"}).scenario),
            "cluster.workers is 257, expected at most 256: each is a process");
  EXPECT_EQ(not_on_gloo(small({"objective.kind=quadratic"}).scenario),
            "objective.kind is quadratic, expected sgd: it trains images");
}

}  // namespace
