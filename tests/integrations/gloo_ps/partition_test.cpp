// A network that is cut and mended, in namespaces of the kernel: only where this user may make them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "processes.hpp"

namespace gloo_ps_partition_test {
namespace {

// Two namespaces with a cable between them: the server's, and that of one worker. Another worker lives at the server's.
class Partition : public rubato::test::process_test {
 protected:
  void SetUp() override {
    process_test::SetUp();
    const std::string id = std::to_string(::getpid());
    home_ = "rbh" + id, away_ = "rba" + id;
    can_ =
        run({"ip", "netns", "add", home_}) && run({"ip", "netns", "add", away_}) &&
        run({"ip", "-n", home_, "link", "add", "cable0", "type", "veth", "peer", "name", "cable1", "netns", away_}) &&
        run({"ip", "-n", home_, "addr", "add", "10.213.7.1/30", "dev", "cable0"}) &&
        run({"ip", "-n", away_, "addr", "add", "10.213.7.2/30", "dev", "cable1"}) &&
        run({"ip", "-n", home_, "link", "set", "cable0", "up"}) &&
        run({"ip", "-n", away_, "link", "set", "cable1", "up"}) && run({"ip", "-n", home_, "link", "set", "lo", "up"});
  }
  void TearDown() override {
    process_test::TearDown();
    for (const std::string& name : {home_, away_})  // the cable goes with them; no output: it may not be there
      if (std::system(("ip netns del " + name + " > /dev/null 2>&1").c_str()) != 0 && can_)
        ADD_FAILURE() << "network namespace " << name << " is left";
  }
  bool run(const std::vector<std::string>& words) { return wait(start("ip", words), 10) == 0; }
  pid_t start_in(const std::string& space, const std::string& name, const std::vector<std::string>& words) {
    return start(name, with({"ip", "netns", "exec", space}, words));
  }

  std::string home_, away_;
  bool can_ = false;
};

TEST_F(Partition, CutWorkerIsGivenUpAndRejoinsWithTheRightVersion) {
  if (!can_) GTEST_SKIP() << "NOT TESTED: no network namespaces here (needs root and iproute2); " << read(at("ip.log"));
  const auto server = start_in(home_, "server",
                               server_words(2, {"--policy", "bsp:sum", "--host", "10.213.7.1", "--done", "2", "--floor",
                                                "1", "--ceiling", "2", "--hello", "1"}));
  const auto near =
      start_in(home_, "near", worker_words(2, 0, {"--host", "10.213.7.1", "--steps", "2500", "--compute", "2"}));
  const auto far =
      start_in(away_, "far", worker_words(2, 1, {"--host", "10.213.7.2", "--steps", "600", "--reply-limit", "2"}));
  ASSERT_TRUE(logged("far", "incarnation 0 at"));
  ASSERT_TRUE(logged("near", "incarnation 0 at"));
  std::this_thread::sleep_for(std::chrono::milliseconds{300});

  const auto cut = std::chrono::steady_clock::now();
  ASSERT_TRUE(run({"ip", "-n", home_, "link", "set", "cable0", "down"}));
  EXPECT_TRUE(logged("server", "refused worker 1, silent", 5)) << "the other does not wait at the barrier for ever";
  const std::chrono::duration<double> noticed = std::chrono::steady_clock::now() - cut;
  std::this_thread::sleep_until(cut + std::chrono::seconds{5});
  ASSERT_TRUE(run({"ip", "-n", home_, "link", "set", "cable0", "up"}));
  const auto mended = std::chrono::steady_clock::now();
  // Attempts in the dark may have used up incarnations: which one it is does not matter.
  ASSERT_TRUE(within(20, [&] {
    const std::string log = read(at("far.log"));
    return log.find("at life 1", log.find("at life 1") + 1) != std::string::npos;
  })) << "it comes back";
  const std::chrono::duration<double> back = std::chrono::steady_clock::now() - mended;
  EXPECT_EQ(wait(near), 0);
  EXPECT_EQ(wait(far), 0);
  EXPECT_EQ(wait(server), 0);
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0], -2500) << "the near one lost nothing";
  EXPECT_GE(sums[1], -600);
  EXPECT_LE(sums[1], -599);
  EXPECT_EQ(number("version"), -(sums[0] + sums[1]));
  // The version that it was told when it came back is the server's of that moment: more than it had seen before.
  const std::string log = read(at("far.log"));
  const auto second = log.find("version ", log.find("at life 1", log.find("at life 1") + 1));
  ASSERT_NE(second, std::string::npos);
  EXPECT_GT(std::stod(log.substr(second + 8)), 0);
  std::printf("link down for 5 s: given up after %.2f s, back %.2f s after the link, at version %.0f of %.0f\n",
              noticed.count(), back.count(), std::stod(log.substr(second + 8)), number("version"));
}

}  // namespace
}  // namespace gloo_ps_partition_test
