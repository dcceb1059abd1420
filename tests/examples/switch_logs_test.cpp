#include "../../examples/lab/switch_logs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <rubato/core/number_text.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/switch_report.hpp"
#include "../../examples/support/user_error.hpp"
#include "../adapt/logged_runs.hpp"
#include "gzipped.hpp"
#include "summary_file.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::support::user_error;
using rubato::test::csv_of;
using rubato::test::logged_row;
using rubato::test::message_of;
using rubato::test::summary_csv;
using rubato::test::temporary_directory;

switch_logs read_logs(const std::string& csv, const std::string& workload = "w") {
  const temporary_directory folder;
  folder.write("summary.csv", csv);
  return read_switch_logs(folder.path().string(), workload);
}

TEST(SwitchLogs, TooManyTrainingsAreRefused) {
  std::string csv = csv_of({{"w/bsp_1", 8'000, 0.92, 10'000}});
  const std::string row = csv.substr(csv.find('\n') + 1);
  for (int i = 0; i < 100'000; ++i) csv += row;
  const std::string message = message_of<user_error>([&] { return read_logs(csv); });
  EXPECT_NE(message.find("summary.csv: found more than 100000 trainings"), std::string::npos) << message;
}

TEST(SwitchLogs, ARowThatIsTooLongIsRefused) {
  const std::string csv = csv_of({{"w/bsp_1", 8'000, 0.92, 10'000}});
  const auto message = [&](std::size_t size) {
    return message_of<user_error>([&] { return read_logs(csv + std::string(size, 'x')); });
  };
  EXPECT_NE(message(65'537).find("summary.csv:3: found a line of more than 65536 bytes"), std::string::npos);
  EXPECT_EQ(message(65'536).find("found a line of more than"), std::string::npos);
}

TEST(SwitchLogs, APathThatIsTooLongIsRefused) {
  const auto message = [](std::size_t size) {
    const std::string csv = csv_of({{"w/bsp_1", 8'000, 0.92, 10'000}, {std::string(size, 'x'), 8'000, 0.92, 10'000}});
    return message_of<user_error>([&] { return read_logs(csv); });
  };
  EXPECT_NE(message(4097).find("summary.csv:3: dir: found a path of 4097 bytes, expected at most 4096"),
            std::string::npos)
      << message(4097);
  EXPECT_EQ(message(4096).find("found a path of"), std::string::npos);
}

TEST(SwitchLogs, AnUnknownWorkloadIsRefusedBeforeAFewOfThoseThereAre) {
  std::vector<logged_row> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back({"w" + std::to_string(i) + "/bsp_1", 8'000, 0.92, 10'000});
  const std::string message = message_of<user_error>([&] { return read_logs(csv_of(rows), "other\u202E"); });
  EXPECT_NE(message.find("found \"other\\xe2\\x80\\xae\", expected one of those in"), std::string::npos) << message;
  EXPECT_NE(message.find("\"w0\", \"w1\", "), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(", ...")) << message;
  EXPECT_LT(message.size(), 400u);
}

TEST(SwitchLogs, SearchesTheLogsOfThePaper) {
  const temporary_directory folder;
  folder.write("summary.csv", summary_csv());
  for (const rubato::test::logged_workload& workload : rubato::test::logged_workloads()) {
    const switch_logs logs = read_switch_logs(folder.path().string(), std::string{workload.name});
    EXPECT_EQ(logs.workers, workload.workers);
    EXPECT_EQ(logs.steps(), workload.steps);
    const auto shares = shares_of(logs);
    ASSERT_EQ(shares.size(), workload.shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_EQ(shares[i].share, workload.shares[i].share);
      EXPECT_EQ(shares[i].runs.size(), workload.shares[i].runs.size());
    }
    const auto reference = rubato::adapt::replay({}, workload.shares);
    const logged_search made = search_logs(logs, {});
    EXPECT_EQ(made.search.share(), reference->share());
    ASSERT_EQ(made.settings.size(), 30u);
    for (const switch_setting& each : made.settings)
      EXPECT_DOUBLE_EQ(each.costs.cost, rubato::adapt::expected_cost(*reference, each.target_runs, each.runs).cost);
    const bool has_five = workload.workers == 8;
    EXPECT_EQ(made.settings.back().success, has_five ? std::optional{1.0} : std::nullopt);
  }
}

// Of 8 workers and 8,000 rounds, or 64,000 steps; asynchronous workers overshoot the end.
const std::vector<logged_row> good_rows{{"w/bsp_1", 8'000, 0.92, 10'000},
                                        {"w/bsp_2", 8'000, 0.92, 10'100},
                                        {"w/asp_1", 64'013, 0.89, 1'600},
                                        {"w/x/b50-a50", 36'014, 0.92, 6'000},
                                        {"w/b5-a95-run1", 61'210, 0.92, 2'000}};

TEST(SwitchLogs, LastStepsTellTheShare) {
  std::vector<logged_row> rows = good_rows;
  rows.push_back({"w/12_88_1", 57'011, 0.92, 2'600});
  rows.push_back({"w/b6-a94-run3", 60'512, 0.92, 2'100});
  rows.push_back({"w/5050_run1", 36'010, 0.92, 6'000});
  rows.push_back({"w/b50_a50_run5", 36'013, 0.92, 6'000});
  rows.push_back({"w/b2-a98", 62'894, 0.92, 1'700});
  const switch_logs logs = read_logs(csv_of(rows));
  EXPECT_EQ(logs.workers, 8u);
  EXPECT_EQ(logs.rounds, 8'000u);
  std::vector<double> shares;
  for (const logged_training& each : logs.used) shares.push_back(each.share);
  EXPECT_EQ(shares, (std::vector<double>{1, 1, 0, 0.5, 0.05, 0.125, 0.0625, 0.5, 0.5, 0.02}));
  EXPECT_TRUE(logs.unused.empty());
}

TEST(SwitchLogs, SaysWhatIsNotUsedAndWhy) {
  std::vector<logged_row> rows = good_rows;
  rows.push_back({"w/bsp_3", 8'000, 0.92, 18'207});
  rows.push_back({"w/b15-a85-run4", 50'014, 0.92, 3'500});
  rows.push_back({"w/bsp", 5'000, 0.86, 1'248});
  rows.push_back({"w/a25-b75-run1", 22'000, 0.90, 8'100});
  rows.push_back({"w/dynamic_1", 53'535, 0.90, 3'140});
  rows.push_back({"w/b60-a30", 36'000, 0.90, 3'140});
  std::string csv = csv_of(rows);
  csv += "w/b10-a90-run1,,,,,,,2500\n";
  csv += "elsewhere/b50-a50,,36000,0.9,,,,2500\n";
  const switch_logs logs = read_logs(csv);
  EXPECT_EQ(logs.used.size(), good_rows.size());
  std::vector<std::string> said;
  for (const unused_training& each : logs.unused)
    said.push_back((each.named ? "" : "? ") + each.name + ": " + each.why);
  EXPECT_EQ(said, (std::vector<std::string>{
                      "w/b15-a85-run4: its last step is 50014, by its name it would be about 55600",
                      "w/bsp: its last step is 5000, by its name it would be about 8000",
                      "w/a25-b75-run1: it begins asynchronously", "? w/dynamic_1: its name says no share",
                      "? w/b60-a30: its name says no share", "w/b10-a90-run1: it has no accuracy, last step or time",
                      "w/bsp_3: it took 18207 s, more than 1.5 times the median of its share, 10100 s"}));
}

TEST(SwitchLogs, AnAccuracyThatIsNoNumberHasDiverged) {
  std::vector<logged_row> rows = good_rows;
  rows.push_back({"w/b50-a50-run2", 36'010, std::nan(""), 5'000});
  const switch_logs logs = read_logs(csv_of(rows));
  EXPECT_TRUE(logs.used.back().outcome.diverged);
  const logged_search made = search_logs(logs, {});
  EXPECT_EQ(made.search.share(), 1) << "a candidate that diverges has failed";
}

// Training that breaks down stops early, or was never evaluated: names have per cents, of which 12 are 12.5 here.
TEST(SwitchLogs, DivergedTrainingsMayEndEarly) {
  std::vector<logged_row> rows = good_rows;
  rows.push_back({"w/12_88_1", 57'011, 0.92, 2'600});
  rows.push_back({"w/12_88_2", 900, std::nan(""), 50});
  rows.push_back({"w/b2-a98-run1", 300, std::nan(""), 20});
  rows.push_back({"w/bsp_3", 100, std::nan(""), 30});
  const switch_logs logs = read_logs(csv_of(rows) + "w/b50-a50-run9,,,inf,,,,\n");
  EXPECT_EQ(logs.workers, 8u);
  EXPECT_TRUE(logs.unused.empty()) << logs.unused.front().why;
  std::vector<double> shares;
  for (const logged_training& each : logs.used)
    if (each.outcome.diverged) shares.push_back(each.share);
  EXPECT_EQ(shares, (std::vector<double>{0.125, 0.02, 1, 0.5}));
  EXPECT_EQ(logs.used.back().outcome.time, 0);
  EXPECT_EQ(search_logs(logs, {}).search.share(), 1) << "a run at 50 % has diverged";
}

// Or short ones of diverged trainings would make sound ones look slow.
TEST(SwitchLogs, TimesOfDivergedTrainingsTellNothing) {
  std::vector<logged_row> rows = good_rows;
  for (const char* name : {"w/b50-a50-run2", "w/b50-a50-run3", "w/b50-a50-run4"})
    rows.push_back({name, 36'014, std::nan(""), 500});
  rows.push_back({"w/b50-a50-run5", 36'014, std::nan(""), 9'500});
  const switch_logs logs = read_logs(csv_of(rows));
  EXPECT_TRUE(logs.unused.empty()) << logs.unused.front().name;
}

TEST(SwitchLogs, SaysWhyThereIsNoAnswer) {
  std::vector<logged_row> rows = good_rows;
  rows[1].accuracy = std::nan("");
  const rubato::adapt::switch_search_options by_test{.acceptance = rubato::adapt::switch_acceptance::welch};
  EXPECT_NE(table(search_logs(read_logs(csv_of(rows)), by_test))
                .find("no answer: 1 synchronous training came to its end, expected at least 2 for a test\n"),
            std::string::npos);
  rows[0].accuracy = std::nan("");
  EXPECT_NE(
      table(search_logs(read_logs(csv_of(rows)), {})).find("no answer: no synchronous training came to its end\n"),
      std::string::npos);
}

TEST(SwitchLogs, RefusesBadFiles) {
  const auto refusal = [](const std::string& csv, const std::string& workload = "w") {
    std::string message = message_of<user_error>([&] { return read_logs(csv, workload); });
    if (const std::size_t at = message.find("/tmp/"); at != std::string::npos)  // a folder of its own
      message.erase(at, message.find("summary.csv") - at);
    return message;
  };
  const std::string good = csv_of(good_rows), header = good.substr(0, good.find('\n') + 1);
  EXPECT_EQ(refusal(good), "");
  EXPECT_EQ(refusal("dir\r\n" + good).find("summary.csv:1: found no column \"acc_laststep\""), 0u);
  EXPECT_EQ(refusal(""), "summary.csv: found an empty file, expected a line of column names");
  EXPECT_EQ(refusal(good + "w/b1-a99,1\n"), "summary.csv:7: found 2 cells, expected 8 as in the first line");
  EXPECT_EQ(refusal(good + "w/b1-a99,,many,0.9,,,,10\n"),
            "summary.csv:7: acc_laststep: found \"many\", expected a number or nothing");
  EXPECT_EQ(refusal(good + "w/b1-a99,,-5,0.9,,,,10\n"),
            "summary.csv:7: acc_laststep: found \"-5\", expected a finite number of 0 or more, or nothing");
  EXPECT_EQ(refusal(good + "w/b1-a99,,5,0.9,,,,inf\n"),
            "summary.csv:7: loss_T: found \"inf\", expected a finite number of 0 or more, or nothing");
  EXPECT_EQ(refusal(good + "w/b1-a99,,5,0.9x,,,,1\n"),
            "summary.csv:7: acc_final: found \"0.9x\", expected a number or nothing");
  EXPECT_EQ(refusal(good + "v/bsp,,5,0.9,,,,1\n", "u"),
            "--workload: found \"u\", expected one of those in summary.csv: \"v\", \"w\"");
  EXPECT_EQ(refusal(header + "w/asp_1,,64000,0.9,,,,1\n"),
            "summary.csv: found no synchronous training of w, expected one named such as bsp_1");
  EXPECT_EQ(refusal(header + "w/bsp_1,,8000,0.9,,,,1\n"),
            "summary.csv: found no training of w that switches and does not diverge, expected one named such as "
            "b50-a50-run1");
  EXPECT_EQ(refusal(header + "w/bsp_1,,8000,0.9,,,,1\nw/asp_1,,8000,0.9,,,,1\n"),
            "summary.csv: found last steps of w that fit 1 workers, expected at least 2");
  const temporary_directory nothing;
  EXPECT_NE(message_of<user_error>([&] {
              return read_switch_logs(nothing.path().string(), "w");
            }).find("summary.csv: cannot be opened: No such file"),
            std::string::npos);
}

TEST(SwitchLogs, OfGzipDataNothingIsReadForTheWhole) {
  const std::string good = csv_of(good_rows);
  const temporary_directory folder;
  const std::string file = (folder.path() / "summary.csv").string();
  folder.write("summary.csv", rubato::test::gzipped(good));
  const auto refusal = [&] {
    return message_of<user_error>([&] { return read_switch_logs(folder.path().string(), "w"); });
  };
  EXPECT_EQ(refusal(), "");
  std::ofstream{file, std::ios::app | std::ios::binary} << "w/asp_1,,64000,0.9,,,,1\n";
  EXPECT_NE(refusal().find(": found bytes after the end of the gzip data"), std::string::npos) << refusal();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 30);
  EXPECT_NE(refusal().find(": found a gzip file that ends early"), std::string::npos) << refusal();
}

TEST(SwitchLogs, WindowsLineEndsAreRead) {
  std::string csv = csv_of(good_rows);
  for (std::size_t at = 0; (at = csv.find('\n', at)) != std::string::npos; at += 2) csv.insert(at, "\r");
  EXPECT_EQ(read_logs(csv).used.size(), good_rows.size());
}

}  // namespace
