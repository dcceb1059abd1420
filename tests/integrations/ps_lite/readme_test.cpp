// The diff of integrations/ps_lite/README.md, and the server that it makes.
#include "readme.hpp"

#include <fstream>
#include <rubato/ps_lite/request_handler.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace rubato::test::after {
#include "../../../integrations/ps_lite/example/after.hpp"
}  // namespace rubato::test::after

namespace rubato::test {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file{std::string{RUBATO_SOURCE_DIR} + "/integrations/ps_lite/" + name};
  EXPECT_TRUE(file.good()) << name;
  return std::string{std::istreambuf_iterator<char>{file}, {}};
}

TEST(PsLiteReadme, TheDiffLeadsFromTheFirstExampleToTheSecond) {
  const std::string page = text_of("README.md"), opening = "```diff\n";
  const std::size_t from = page.find(opening) + opening.size(), to = page.find("```", from);
  ASSERT_NE(to, std::string::npos);
  std::string patched = text_of("example/before.hpp"), removed, added;
  int changed = 0;
  const auto carry_out = [&] {
    const std::size_t at = patched.find(removed);
    ASSERT_NE(at, std::string::npos) << "not in before.hpp:\n" << removed;
    patched.replace(at, removed.size(), added);
    removed.clear(), added.clear();
  };
  std::istringstream diff{page.substr(from, to - from)};
  for (std::string line; std::getline(diff, line);) {
    const char mark = line.empty() ? ' ' : line[0];
    const std::string rest = line.empty() ? "\n" : line.substr(1) + "\n";
    if (mark == '@') {
      carry_out();
      continue;
    }
    if (mark != '+') removed += rest;
    if (mark != '-') added += rest;
    changed += mark != ' ';
  }
  carry_out();
  EXPECT_EQ(patched, text_of("example/after.hpp"));
  EXPECT_LE(changed, 20);
}

TEST(PsLiteReadme, WithTheDiffNobodyIsMoreThanThreeStepsAhead) {
  ps::KVServer<float> server{0};
  const after::training_server trained{server, 2};
  EXPECT_EQ(lead_of_a_fast_worker(server, after::train), 3) << "three steps ahead it may start; the fourth is its last";
}

TEST(PsLiteReadme, WhoeverSaysThatItIsDoneFreesTheOther) {
  ps::KVServer<float> server{0};
  const after::training_server trained{server, 2};
  lead_of_a_fast_worker(server, after::train);
  int answers = 0;
  float value = 0.0F;
  server.sent = [&](const ps::KVMeta& to, const ps::KVPairs<float>& values) {
    ++answers;
    if (to.pull) value = values.vals[0];
  };
  server.Process({after::finished, true, false, 11, 1, 0}, one_value(0.0F));
  EXPECT_EQ(answers, 2) << "the request itself, and the one that waited";
  server.Process({after::initialise, true, false, 9, 200, 0}, one_value(4.0F));
  server.Process({after::train, false, true, 9, 201, 0}, one_value(0.0F));
  EXPECT_EQ(value, 4.0F - 4 * 0.125F);
}

}  // namespace
}  // namespace rubato::test
