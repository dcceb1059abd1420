#include "../../examples/lab/result_cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/ssp.hpp>
#include <set>
#include <string>

#include "../../examples/lab/report.hpp"
#include "../../examples/support/user_error.hpp"
#include "lab_bench.hpp"
#include "temporary_directory.hpp"

namespace {

using namespace rubato::lab;
using rubato::test::lab_bench;
using rubato::test::quick;
using rubato::test::temporary_directory;

std::string content(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST(ResultCache, ASecondComparisonRunsNothingAndSaysTheSame) {
  temporary_directory folder;
  lab_bench bench;
  const auto asked = quick("bsp:mean,asp", 5);
  std::string first, stored;
  {
    result_cache cache{folder.path(), "v"};
    first = to_json(bench.compare(asked, cache)).dump();
    stored = content(folder.path() / "v.jsonl");
    EXPECT_EQ(std::ranges::count(stored, '\n'), 10);
  }
  result_cache cache{folder.path(), "v"};
  EXPECT_EQ(to_json(bench.compare(asked, cache)).dump(), first);
  EXPECT_EQ(content(folder.path() / "v.jsonl"), stored);
}

TEST(ResultCache, TheHostIsPartOfTheKey) {
  setting at;
  const auto key = [&](host_kind host, double unit) {
    at.host = host, at.unit_seconds = unit;
    return result_key(at, 1, rubato::asp{}, 1);
  };
  const std::set<std::string> all{key(host_kind::simulator, 0), key(host_kind::threads, 0.02),
                                  key(host_kind::gloo, 0.02), key(host_kind::threads, 0.01),
                                  key(host_kind::gloo, 0.01)};
  EXPECT_EQ(all.size(), 5u);
}

TEST(ResultCache, ATornLineCostsOneRun) {
  temporary_directory folder;
  lab_bench bench;
  const auto asked = quick("asp", 4);
  const auto file = folder.path() / "v.jsonl";
  std::string first;
  {
    result_cache cache{folder.path(), "v"};
    first = to_json(bench.compare(asked, cache)).dump();
  }
  const std::string whole = content(file);
  std::filesystem::resize_file(file, whole.size() - 20);
  for (int round = 0; round < 2; ++round) {
    result_cache cache{folder.path(), "v"};
    EXPECT_EQ(to_json(bench.compare(asked, cache)).dump(), first);
  }
  EXPECT_EQ(content(file),
            whole.substr(0, whole.size() - 20) + "\n" + whole.substr(whole.rfind('\n', whole.size() - 2) + 1));
}

// Numbers that no count can be, and lines that would overflow the stack of whoever writes them again.
TEST(ResultCache, LinesThatNobodyHasWrittenArePassedOver) {
  temporary_directory folder;
  auto result = to_json(measurement{.end = "target"});
  ASSERT_TRUE(measurement_from(result));
  for (const nlohmann::json& count : {nlohmann::json(1e300), nlohmann::json(-1), nlohmann::json(1.5)}) {
    result["pushes"] = count;
    EXPECT_FALSE(measurement_from(result)) << count;
  }
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  folder.write("v.jsonl",
               "{\"key\": " + deep + ", \"result\": " + to_json(measurement{.end = "target"}).dump() + "}\n");
  EXPECT_FALSE(result_cache(folder.path(), "v").find(deep));
}

TEST(ResultCache, LinesOfNoMeaningArePassedOver) {
  temporary_directory folder;
  folder.write("v.jsonl", "\n[]\n{\"key\": 1}\n{\"key\": {}, \"result\": {\"time\": \"x\"}}\nnonsense\n");
  result_cache cache{folder.path(), "v"};
  EXPECT_FALSE(cache.find("{}"));
}

TEST(ResultCache, VersionsAreApart) {
  temporary_directory folder;
  {
    result_cache cache{folder.path(), "a"};
    cache.store("{}", {.time = 2, .end = "reached"});
  }
  EXPECT_EQ((result_cache{folder.path(), "a"}).find("{}")->time, 2);
  EXPECT_FALSE((result_cache{folder.path(), "b"}).find("{}"));
}

TEST(ResultCache, KeyDependsOnSettingDataPolicyAndSeed) {
  const setting plain{quick("asp", 1).scenario, 0};
  const std::string key = result_key(plain, 1, rubato::asp{}, 1);
  EXPECT_NE(key, result_key(plain, 2, rubato::asp{}, 1));
  EXPECT_NE(key, result_key(plain, 1, rubato::asp{}, 2));
  EXPECT_NE(key, result_key(plain, 1, rubato::ssp{}, 1));
  EXPECT_NE(key, result_key({plain.scenario, 1}, 1, rubato::asp{}, 1));
  setting other = plain;
  other.scenario.run.learning_rate.base *= 2;
  EXPECT_NE(key, result_key(other, 1, rubato::asp{}, 1));
  other = plain;
  other.scenario.name = "another";
  EXPECT_EQ(key, result_key(other, 1, rubato::asp{}, 1));
}

// A limit on the size of files, as a disk that is full in the middle of a line.
struct full_disk {
  rlimit before{};
  void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  explicit full_disk(rlim_t size) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{size, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~full_disk() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
};

TEST(ResultCache, AFullDiskIsSaidAndTearsNoLine) {
  temporary_directory folder;
  const auto file = folder.path() / "v.jsonl";
  result_cache cache{folder.path(), "v"};
  cache.store("\"first\"", measurement{.end = "target"});
  const std::string whole = content(file);
  {
    const full_disk disk{whole.size() + 10};
    EXPECT_EQ(rubato::test::message_of<rubato::support::user_error>([&] {
                cache.store("\"second\"", measurement{.end = "target"});
                return 0;
              }),
              "--cache: " + file.string() + ": cannot be written: File too large");
  }
  EXPECT_EQ(content(file), whole);
  cache.store("\"second\"", measurement{.end = "target"});
  EXPECT_TRUE(content(file).starts_with(whole + "{\"key\":\"second\""));
}

TEST(ResultCache, APipeIsRefusedAndNotWaitedFor) {
  temporary_directory folder;
  ASSERT_EQ(mkfifo((folder.path() / "v.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(result_cache(folder.path(), "v"), rubato::support::user_error);
}

TEST(ResultCache, RefusesAFolderThatItCannotUse) {
  temporary_directory folder;
  folder.write("file", "");
  EXPECT_THROW(result_cache(folder.path() / "file" / "below", "v"), rubato::support::user_error);
}

}  // namespace
