#include "../../examples/lab/log_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <rubato/io/decision_log.hpp>
#include <rubato/sync.hpp>
#include <string>
#include <vector>

#include "../../examples/lab/read_stats.hpp"
#include "../../examples/support/user_error.hpp"
#include "gzipped.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato;
using lab::log_line;

const std::string header = R"({"format":"rubato.decisions","version":1,"policy":"asp: all","describe":{"kind":"asp"}})"
                           "\n";
const std::string join = R"({"now":1,"what":"join","worker":0,"incarnation":0,"version":0,"parked":0})"
                         "\n";

std::string said_of(const std::string& line) {
  log_line read;
  return lab::read_log_line(line, read);
}

TEST(LogLines, WhatIsWrittenIsRead) {
  std::vector<record> written;
  for (int k = 0; k <= static_cast<int>(record::kind::change_policy); ++k)
    written.push_back({.what = static_cast<record::kind>(k), .why = cause::death, .worker = {3, 2}, .now = 1.5});
  for (const record::kind of_all : {record::kind::flush, record::kind::discard, record::kind::change_policy})
    written[static_cast<std::size_t>(of_all)].worker = {};
  written[static_cast<std::size_t>(record::kind::admit)] = {.what = record::kind::admit,
                                                    .decided = verdict::accumulate,
                                                    .worker = {3, 2},
                                                    .now = 0.1,
                                                    .clock = 9,
                                                    .version = 8,
                                                    .staleness = 4,
                                                    .round = 5,
                                                    .step = 6,
                                                    .value = 0.25F,
                                                    .loss = std::nanf(""),
                                                    .parked = 7};
  written.push_back({.what = record::kind::flush, .now = 2, .round = 3, .count = 4, .value = 0.5F});
  written.push_back({.what = record::kind::admit, .decided = verdict::drop, .because = reason::stale, .worker = {1, 0}});
  std::string text;
  decision_log log{[&](std::string_view piece) noexcept { text += piece; }, any_policy{ssp{.staleness = 3}}};
  text.clear();
  for (const record& r : written) {
    text.clear();
    log(r);
    log_line read;
    ASSERT_EQ(said_of(text), "") << text;
    ASSERT_EQ(lab::read_log_line(text, read), "");
    // What the line has of a record, is what makes the same line again.
    const std::string first = text;
    text.clear();
    log(read.event);
    EXPECT_EQ(text, first);
  }
}

TEST(LogLines, WhatIsWrongIsSaid) {
  EXPECT_EQ(said_of(header), "");
  EXPECT_EQ(said_of(R"({"now":null,"what":"change_policy","version":0,"parked":0,"more":[{}]})"), "");
  EXPECT_EQ(said_of(R"({"now":null,"what":"policy","policy":"asp","describe":{}})"), "");
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"now":1,"what":"dance"})", "found what = \"dance\", expected a kind"},
      {R"({"now":1,"what":"join","worker":-1,"incarnation":0,"version":0,"parked":0})", "found worker = -1"},
      {R"({"now":1,"what":"join","version":0,"parked":0})", "no member \"worker\""},
      {R"({"now":1,"what":"join","worker":4294967295,"incarnation":0,"version":0,"parked":0})",
       "found worker = 4294967295, expected a whole number from 0 to 4294967294"},
      {R"({"now":1,"what":"refuse","worker":4294967295,"incarnation":0,"because":"stale","version":0,"parked":0})",
       "found worker = 4294967295"},
      {R"({"now":"1","what":"flush","round":0,"count":1,"scale":1,"version":0,"parked":0})", "found now = \"1\""},
      {R"({"now":1,"what":"flush","round":0,"count":1,"scale":1e300,"version":0,"parked":0})", "a float can hold"},
      {R"({"now":1,"what":"refuse","because":"\u001b[31m","version":0,"parked":0})", "because = \"\\x1b[31m\""},
      {R"({"now":1,"what":"depart","worker":0,"incarnation":0,"why":"push","clock":0,"version":0,"parked":0})",
       "expected leave, death or done"},
      {R"({"format":"rubato.decisions","version":2,"policy":"","describe":{}})", "found version 2, expected 1"},
      {R"({"format":"others","version":1,"policy":"","describe":{}})", "found format = \"others\""},
  };
  for (const auto& [line, part] : wrong) {
    const std::string said = said_of(line);
    EXPECT_NE(said.find(part), said.npos) << line << ": " << said;
    EXPECT_NE(said.find("expected"), said.npos) << said;
  }
}

// Of what is about all, a worker is a member that is not known.
TEST(LogLines, WhatIsAboutAllHasNoWorker) {
  log_line read;
  EXPECT_EQ(lab::read_log_line(R"({"now":1,"what":"flush","worker":4000000000,"incarnation":0,"round":0,"count":1,)"
                               R"("scale":1,"version":0,"parked":0})",
                               read),
            "");
  EXPECT_EQ(read.event.worker.index, no_worker);
}

TEST(LogLines, ReadsAsFarAsItIsSound) {
  const test::temporary_directory folder;
  const auto read = [&](const std::string& text) {
    folder.write("log", text);
    return lab::read_log(folder.path() / "log", [](const log_line&) { return std::string{}; });
  };
  EXPECT_EQ(read(header + join).problem, "");
  EXPECT_EQ(read(header + join).lines, 2u);
  const lab::log_reading middle = read(header + join + "oh\n" + join + join);
  EXPECT_EQ(middle.lines, 2u);
  EXPECT_EQ(middle.unread, 3u);
  EXPECT_NE(middle.problem.find("log:3: found what is no JSON object"), std::string::npos) << middle.problem;
  const lab::log_reading cut = read(header + join + join.substr(0, 20));
  EXPECT_EQ(cut.lines, 2u);
  EXPECT_NE(cut.problem.find("log:3: found a line that is cut off"), std::string::npos) << cut.problem;
  const lab::log_reading too_long = read(header + join + std::string(2 * lab::longest_line, ' ') + "\n" + join + join);
  EXPECT_EQ(too_long.lines, 2u);
  EXPECT_EQ(too_long.unread, 3u);
  EXPECT_TRUE(too_long.counted);
  EXPECT_NE(too_long.problem.find("log:3: found a line of more than"), std::string::npos) << too_long.problem;
  EXPECT_THROW(static_cast<void>(read("oh\n")), support::user_error);
  EXPECT_THROW(static_cast<void>(read("")), support::user_error);
  EXPECT_THROW(static_cast<void>(read(join)), support::user_error);
}

TEST(LogLines, CorruptDataAreNotCounted) {
  const test::temporary_directory folder;
  std::string text = header;
  for (int i = 0; i < 20'000; ++i) text += join;
  const std::string file = (folder.path() / "log").string();
  folder.write("log", test::gzipped(text));
  std::fstream{file, std::ios::in | std::ios::out | std::ios::binary}.seekp(-8, std::ios::end).write("oops", 4);
  const lab::log_reading reading = lab::read_log(file, [](const log_line&) { return std::string{}; });
  EXPECT_GT(reading.lines, 1u);
  EXPECT_NE(reading.problem.find("corrupt gzip data"), std::string::npos) << reading.problem;
  EXPECT_FALSE(reading.counted);
  EXPECT_TRUE(lab::left_out(reading).ends_with("(at least 1 line) is left out")) << lab::left_out(reading);
}

TEST(LogLines, WhatACutGzipFileLacksIsAnUnknownNumberOfLines) {
  const test::temporary_directory folder;
  const std::string file = (folder.path() / "log").string(), bytes = test::gzipped(header + join);
  folder.write("log", bytes.substr(0, bytes.size() - 8));
  const lab::log_reading reading = lab::read_log(file, [](const log_line&) { return std::string{}; });
  EXPECT_EQ(reading.lines, 2u);
  EXPECT_TRUE(lab::left_out(reading).ends_with("(an unknown number of lines) is left out")) << lab::left_out(reading);
}

TEST(LogLines, WhatFollowsGzipDataIsNotSound) {
  const test::temporary_directory folder;
  const std::string file = (folder.path() / "log").string(), bytes = test::gzipped(header + join);
  folder.write("log", bytes + join + join);
  const lab::log_reading reading = lab::read_log(file, [](const log_line&) { return std::string{}; });
  EXPECT_EQ(reading.lines, 2u);
  EXPECT_EQ(reading.problem, file + ":2: found bytes after the end of the gzip data, expected nothing there");
  EXPECT_FALSE(reading.counted);
  EXPECT_FALSE(reading.cut_off) << "no crash makes such a file";
}

TEST(LogLines, AGzipFileThatEndsEarlyIsCutOffAndNotEmpty) {
  const test::temporary_directory folder;
  const std::string file = (folder.path() / "log").string(), bytes = test::gzipped(header + join);
  folder.write("log", bytes.substr(0, bytes.size() - 8));
  const lab::log_reading reading = lab::read_log(file, [](const log_line&) { return std::string{}; });
  EXPECT_EQ(reading.lines, 2u);
  EXPECT_EQ(reading.problem, file + ":2: found a gzip file that ends early, expected the rest of it");
  EXPECT_TRUE(reading.cut_off);
  EXPECT_FALSE(reading.counted) << "who knows what is missing";
  for (std::size_t size = 2; size <= 10; ++size) {
    folder.write("log", bytes.substr(0, size));
    EXPECT_EQ(test::message_of<support::user_error>(
                  [&] { return lab::read_log(file, [](const log_line&) { return std::string{}; }); }),
              file + ": found a gzip file that ends early, expected the rest of it");
  }
}

TEST(LogLines, ADraftIsNamedWhereTheLogIsMissing) {
  const test::temporary_directory folder;
  folder.write("log.older.tmp", header);
  folder.write("other.a.tmp", header);
  const auto refusal = [&](const char* name) -> std::string {
    try {
      (void)lab::read_log(folder.path() / name, [](const log_line&) { return std::string{}; });
    } catch (const support::user_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("none"), (folder.path() / "none").string() + ": found no such file, expected a decision log");
  EXPECT_EQ(refusal("log"), (folder.path() / "log").string() + ": found no such file, but " +
                                (folder.path() / "log.older.tmp").string() +
                                ", which its writer has not finished, or never will, expected a decision log");
}

TEST(LogLines, ALogBehindALogIsNotSound) {
  const test::temporary_directory folder;
  std::string newer = header;
  newer.replace(newer.find("version\":1") + 9, 1, "2");
  for (const std::string& second : {header, newer}) {
    folder.write("log", header + join + second + join);
    const lab::log_reading reading =
        lab::read_log(folder.path() / "log", [](const log_line&) { return std::string{}; });
    EXPECT_EQ(reading.lines, 2u);
    EXPECT_EQ(reading.unread, 2u);
    EXPECT_NE(reading.problem.find("log:3: found "), std::string::npos) << reading.problem;
  }
}

}  // namespace
