// The launcher: starts, ends and leaves nothing behind.
#include <filesystem>
#include <string>
#include <vector>

#include "processes.hpp"

namespace gloo_ps_launch_test {
namespace {

class Launch : public rubato::test::process_test {
 protected:
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    const std::string script = RUBATO_SOURCE_DIR "/integrations/gloo_ps/launch.py";
    return with({"python3", "-B", script, "--bin", program(""), "--logs", at("logs")}, more);
  }
  // Processes, of any group, whose command line names this test's folder.
  int left() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"})
      if (read(entry.path() / "cmdline").find(folder.string()) != std::string::npos) ++count;
    return count;
  }
};

TEST_F(Launch, RunsAJobThroughKills) {
  const auto launcher = start("launch", words({"--workers", "3", "--steps", "300", "--policy", "ssp:2", "--kills", "2",
                                               "--time-limit", "60", "--task", "count", "--", "--learning-rate", "1"}));
  EXPECT_EQ(wait(launcher), 0);
  EXPECT_TRUE(logged("launch", "worker 2: 300 steps", 1));
  EXPECT_EQ(left(), 0);
  std::string workers;
  for (const char* each : {"worker0.log", "worker1.log", "worker2.log"}) workers += read(folder / "logs" / each);
  EXPECT_NE(workers.find("incarnation 1 "), std::string::npos) << "nobody was killed and came back";
  std::filesystem::rename(folder / "logs" / "report.json", folder / "report.json");
  const std::vector<double> sums = numbers("parameters");
  ASSERT_EQ(sums.size(), 64U);
  EXPECT_EQ(number("version"), -(sums[0] + sums[1] + sums[2]));
}

TEST_F(Launch, TrainsImages) {
  const auto launcher = start(
      "launch", words({"--workers", "2", "--steps", "150", "--policy", "ssp:3", "--compute", "0", "--stragglers", "0",
                       "--time-limit", "60", "--task", "images", "--", "--learning-rate", "0.1", "--samples", "16"}));
  const int status = wait(launcher);
  if (read(folder / "launch.log").find("built without zlib") != std::string::npos) GTEST_SKIP() << "no zlib here";
  EXPECT_EQ(status, 0);
  std::filesystem::rename(folder / "logs" / "report.json", folder / "report.json");
  EXPECT_EQ(number("version"), 300);
  EXPECT_GT(number("accuracy"), 0.6) << "ten classes";
}

TEST_F(Launch, EndsEverythingWhenTimeIsUp) {
  const auto launcher = start("launch", words({"--workers", "2", "--steps", "1000000", "--time-limit", "2"}));
  EXPECT_EQ(wait(launcher), 1);
  EXPECT_TRUE(within(10, [&] { return left() == 0; }));
}

class LaunchInterrupted : public Launch, public testing::WithParamInterface<int> {};

TEST_P(LaunchInterrupted, EndsEverything) {
  const auto launcher = start("launch", words({"--workers", "2", "--steps", "1000000", "--time-limit", "60"}));
  ASSERT_TRUE(
      within(20, [&] { return read(folder / "logs" / "worker1.log").find("incarnation") != std::string::npos; }));
  EXPECT_GE(left(), 3);
  ::kill(launcher, GetParam());
  EXPECT_EQ(wait(launcher), 1);
  EXPECT_TRUE(within(10, [&] { return left() == 0; }));
}
INSTANTIATE_TEST_SUITE_P(Signals, LaunchInterrupted, testing::Values(SIGTERM, SIGINT, SIGHUP));

TEST_F(Launch, WrongOptionsAreRefused) {
  EXPECT_EQ(wait(start("launch", words({"--workers", "2", "--stragglers", "3"}))), 2);
  EXPECT_EQ(wait(start("launch", {"python3", "-B", RUBATO_SOURCE_DIR "/integrations/gloo_ps/launch.py", "--bin", "/"})),
            2);
}

}  // namespace
}  // namespace gloo_ps_launch_test
