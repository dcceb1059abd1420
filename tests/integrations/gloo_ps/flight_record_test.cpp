// gloo_server leaves the latest decisions behind, however it ends.
#include "processes.hpp"

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../../support/sanitizers.hpp"

namespace gloo_ps_flight_record_test {
namespace {

class FlightRecord : public rubato::test::process_test {
 protected:
  // Server and two workers without an end.
  pid_t start_job(const std::vector<std::string>& more = {}) {
    const pid_t server =
        start("server", with(server_words(2, {"--policy", "ssp:2", "--flight-record", at("flight")}), more));
    for (int w = 0; w < 2; ++w) start("worker" + std::to_string(w), worker_words(2, w, {}));
    EXPECT_TRUE(logged("worker0", "incarnation 0 at") && logged("worker1", "incarnation 0 at"));
    return server;
  }
  // Lines of a complete record after the first; -1 if it is none.
  int lines_of_record() const {
    std::istringstream lines{read(folder / "flight")};
    std::string first, line;
    std::getline(lines, first);
    EXPECT_TRUE(first.starts_with("{\"format\":\"rubato.decisions\",\"version\":1,\"policy\":\"ssp: ")) << first;
    EXPECT_NE(first.find("\"earlier\":"), first.npos) << first;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
      EXPECT_TRUE(line.starts_with("{\"now\":") && line.ends_with("}")) << line;
    }
    return count;
  }
  [[nodiscard]] bool draft_is_left() const {
    for (const auto& entry : std::filesystem::directory_iterator{folder})
      if (entry.path().filename().string().starts_with("flight.")) return true;
    return false;
  }
  [[nodiscard]] bool there() const { return std::filesystem::exists(folder / "flight"); }
};

TEST_F(FlightRecord, WrittenAtTheEndOnASignalAndOnAFault) {
  for (const int fault : {SIGABRT, SIGSEGV, SIGALRM}) {
    const pid_t server = start_job();
    ::kill(server, SIGUSR1);
    EXPECT_TRUE(within(20, [this] { return there(); })) << "asked for";
    EXPECT_TRUE(logged("server", "flight record written"));
    EXPECT_GE(lines_of_record(), 2) << "two have joined";
    std::filesystem::remove(folder / "flight");
    ::kill(server, fault);
    EXPECT_EQ(wait(server), rubato::test::status_after(fault));
    EXPECT_EQ(logged("server", "ended by its --time-limit", 0), fault == SIGALRM)
        << "what was there before has its turn";
    EXPECT_TRUE(there());
    EXPECT_GE(lines_of_record(), 2);
    EXPECT_FALSE(draft_is_left());
    std::filesystem::remove(folder / "flight");
    for (const pid_t worker : std::set<pid_t>{children_}) kill_now(worker);
    for (const char* log : {"worker0.log", "worker1.log", "server.log"}) std::filesystem::remove(folder / log);
  }
  const pid_t server = start_job();
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
  EXPECT_GE(lines_of_record(), 2);
}

TEST_F(FlightRecord, EachPolicyStandsWhereItTookOver) {
  const pid_t server = start_job({"--control", at("control")});
  std::ofstream{at("draft")} << "policy ssp:7\n";
  std::filesystem::rename(at("draft"), at("control"));
  EXPECT_TRUE(logged("server", "switched ssp:2 -> ssp:7"));
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);
  const std::string record = read(folder / "flight"), first = record.substr(0, record.find('\n'));
  EXPECT_NE(first.find(R"("describe":{"kind":"ssp","staleness":2},"earlier":0})"), first.npos) << first;
  const auto change = record.find(R"("what":"change_policy")"), line = record.find(R"("what":"policy")");
  ASSERT_NE(change, record.npos);
  ASSERT_NE(line, record.npos);
  EXPECT_LT(change, line);
  const std::string taken_over = record.substr(line, record.find('\n', line) - line);
  EXPECT_TRUE(taken_over.ends_with(R"("describe":{"kind":"ssp","staleness":7}})")) << taken_over;
}

TEST_F(FlightRecord, LinksAreFollowedAndNothingButFilesIsReplaced) {
  std::ofstream{at("target")} << "old";
  std::filesystem::create_symlink(at("target"), at("flight"));
  const pid_t server = start_job();
  std::ofstream{at("victim")} << "precious";
  std::filesystem::create_symlink(at("victim"), at("target") + "." + std::to_string(server) + ".tmp");
  ::kill(server, SIGUSR1);
  EXPECT_TRUE(logged("server", "cannot write " + at("target") + ": "));
  EXPECT_EQ(read(folder / "victim"), "precious") << "a link in the place of the draft is not followed";
  std::filesystem::remove(at("target") + "." + std::to_string(server) + ".tmp");
  ::kill(server, SIGUSR1);
  EXPECT_TRUE(logged("server", "flight record written"));
  EXPECT_TRUE(std::filesystem::is_symlink(at("flight")));
  EXPECT_GE(lines_of_record(), 2);
  std::filesystem::remove(at("target"));
  ASSERT_EQ(::mkfifo(at("target").c_str(), 0600), 0);
  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 1);
  EXPECT_TRUE(std::filesystem::is_fifo(at("target")));
}

TEST_F(FlightRecord, FolderThatIsNotThereIsSaid) {
  EXPECT_EQ(wait(start("server", server_words(2, {"--flight-record", at("none/flight")}))), 1);
  EXPECT_TRUE(logged("server", "--flight-record " + at("none/flight") + ": no file can be made in", 1));
}

}  // namespace
}  // namespace gloo_ps_flight_record_test
