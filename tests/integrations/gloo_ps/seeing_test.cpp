// Who is slow, who is missing, what happened to my gradients? One job, asked in every way that there is.
#include "http.hpp"

#if defined(RUBATO_HTTPLIB) && defined(RUBATO_LAB_BINARY)
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gloo_ps_seeing_test {
namespace {

using rubato::test::metrics_at;
using samples = std::map<std::string, double>;

class Seeing : public rubato::test::metrics_test {
 protected:
  static constexpr int workers = 5, slow = 1, dead = 2, late = 3, absent = 4;

  pid_t start_worker(int w, int milliseconds, int steps) {
    return start(
        "worker" + std::to_string(w),
        worker_words(workers, w, {"--compute", std::to_string(milliseconds), "--steps", std::to_string(steps)}));
  }
  // What the lab prints on standard output.
  std::string lab(std::vector<std::string> words) {
    words.insert(words.begin(), RUBATO_LAB_BINARY);
    std::filesystem::remove(folder / "lab.log");
    EXPECT_EQ(wait(start("lab", words)), 0);
    return read(folder / "lab.log");
  }
  static double of(const samples& at, const std::string& name, int worker) {
    const auto found = at.find(name + "{worker=\"" + std::to_string(worker) + "\"}");
    return found == at.end() ? 0 : found->second;
  }
};

TEST_F(Seeing, SlowDeadAndLateWorkersAreTold) {
  const pid_t server = start("server", server_words(workers, {"--policy", "ssp:4", "--quorum", "3", "--metrics", "0",
                                                              "--log", at("run.jsonl"), "--control", at("control")}));
  const std::string url = url_of("server");
  const pid_t first = start_worker(0, 4, 80), second = start_worker(slow, 100, 80), third = start_worker(dead, 4, 0);
  const auto pushed = [&](int w, double least) {
    return within(60, [&] { return of(metrics_at(url), "rubato_gradients_pushed_total", w) >= least; });
  };
  ASSERT_TRUE(pushed(dead, 5) && pushed(slow, 5));
  kill_now(third);
  const pid_t fourth = start_worker(late, 4, 20);
  ASSERT_TRUE(pushed(late, 3));
  std::ofstream{at("draft")} << "policy bsp\n";
  std::filesystem::rename(at("draft"), at("control"));
  for (const pid_t w : {first, second, fourth}) EXPECT_EQ(wait(w), 0);
  ASSERT_TRUE(within(20, [&] { return metrics_at(url)["rubato_workers{state=\"done\"}"] == 3; }));

  // The metrics, while the server lives.
  const samples page = metrics_at(url);
  for (const int w : {0, late}) {
    EXPECT_LT(of(page, "rubato_worker_relative_score", slow), of(page, "rubato_worker_relative_score", w));
    EXPECT_GT(of(page, "rubato_worker_step_seconds", slow), of(page, "rubato_worker_step_seconds", w));
  }
  EXPECT_GT(of(page, "rubato_worker_waited_seconds_total", 0), of(page, "rubato_worker_waited_seconds_total", slow));
  EXPECT_EQ(page.at("rubato_worker_state{worker=\"2\",state=\"dead\"}"), 1);
  EXPECT_EQ(page.at("rubato_worker_state{worker=\"4\",state=\"absent\"}"), 1);
  EXPECT_EQ(page.at("rubato_workers{state=\"dead\"}"), 1);
  EXPECT_EQ(page.at("rubato_sessions_ended_total{how=\"died\"}"), 1);
  double contributed = 0, all = 0;
  for (int w = 0; w < absent; ++w) {
    EXPECT_EQ(of(page, "rubato_worker_late", w), w == late) << w;
    double dropped = 0;
    for (const auto& [key, value] : page)
      if (key.starts_with("rubato_gradients_dropped_total{worker=\"" + std::to_string(w) + '"')) dropped += value;
    EXPECT_EQ(of(page, "rubato_gradients_pushed_total", w),
              of(page, "rubato_gradients_contributed", w) + dropped + of(page, "rubato_gradients_in_flight", w));
    contributed += of(page, "rubato_gradients_contributed", w);
    all += of(page, "rubato_gradients_pushed_total", w);
  }
  EXPECT_GT(page.at("rubato_gradients_applied_total"), 0) << "under ssp";
  EXPECT_GT(page.at("rubato_gradients_flushed_total"), 0) << "under bsp";
  EXPECT_EQ(contributed, page.at("rubato_gradients_applied_total") + page.at("rubato_gradients_flushed_total") +
                             page.at("rubato_gradients_pending"));

  // The live view: of the page, and of the log that the server still writes.
  const std::string view = lab({"watch", url, "--once"});
  EXPECT_NE(view.find("absent 1, dead 1, done 3"), view.npos) << view;
  EXPECT_NE(view.find("joined late"), view.npos) << view;
  EXPECT_FALSE(std::filesystem::exists(folder / "run.jsonl"));
  const std::string draft = lab({"watch", at("run.jsonl"), "--once"});  // as far as it has left the buffer
  const auto count = draft.find("gradients  ");
  ASSERT_NE(count, draft.npos) << draft;
  EXPECT_GT(std::stod(draft.substr(count + 11)), 0) << draft;

  ::kill(server, SIGTERM);
  EXPECT_EQ(wait(server), 0);

  // The log.
  const std::string shown = lab({"watch", at("run.jsonl"), "--once"});
  EXPECT_NE(shown.find("bsp: "), shown.npos) << "the policy in force at the end: " << shown;
  const auto stats = nlohmann::json::parse(lab({"stats", at("run.jsonl"), "--json", "-"}));
  ASSERT_FALSE(stats["slow"].empty()) << stats;
  EXPECT_EQ(stats["slow"][0]["worker"], slow);
  ASSERT_FALSE(stats["missing"].empty()) << stats;
  EXPECT_EQ(stats["missing"][0]["worker"], dead);
  EXPECT_EQ(stats["missing"][0]["because"], "died");
  const auto& fates = stats["gradients"];
  EXPECT_EQ(fates["pushed"].get<std::uint64_t>(),
            fates["applied"].get<std::uint64_t>() + fates["flushed"].get<std::uint64_t>() +
                fates["dropped"].get<std::uint64_t>() + fates["in_round"].get<std::uint64_t>() +
                fates["at_server"].get<std::uint64_t>());
  EXPECT_EQ(fates["pushed"], all) << "the log and the metrics agree";
  EXPECT_EQ(fates["applied"], page.at("rubato_gradients_applied_total"));
  for (int w = 0; w < absent; ++w) {
    EXPECT_EQ(stats["workers"][static_cast<std::size_t>(w)]["late"], w == late) << w;
    EXPECT_EQ(stats["workers"][static_cast<std::size_t>(w)]["gradients"]["pushed"],
              of(page, "rubato_gradients_pushed_total", w))
        << w;
  }

  // The report.
  lab({"report", at("run.jsonl"), "-o", at("report.html")});
  const std::string report = read(folder / "report.html");
  const auto dropped = fates["dropped"].get<std::uint64_t>();
  const std::string pushes = std::to_string(fates["pushed"].get<std::uint64_t>());
  for (const std::string& said : {std::string{"Who is slow? worker 1 ("}, std::string{"worker 2 died at "},
                                  dropped == 0 ? "None of " + pushes + " was dropped"
                                               : std::to_string(dropped) + " of " + pushes + " were dropped"})
    EXPECT_NE(report.find(said), report.npos) << said;
}

}  // namespace
}  // namespace gloo_ps_seeing_test
#endif
