// The explorer finds what is wrong, by the shortest way, counts each state once, and knows every rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "program.hpp"
#include "rules.hpp"

namespace rubato {
namespace {

using test::model::explorer;
using test::model::findings;
using test::model::plan_of;
using test::model::rule;
using test::model::scope;

const scope quiet{.name = "quiet", .workers = 2, .lead = 1, .faults = 0, .switches = 0, .reloads = 0};

// Lets whoever joins go, and nobody ever again.
struct once {
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::push ? decision::hold() : decision::all();
  }
};

// asp, with a batch size that is told by nothing that it saves or that anybody could see.
struct secretive {
  [[nodiscard]] decision release(const cluster_view&, const event& what) noexcept {
    return (what.why == cause::push ? decision::submitter() : decision::all()).with_batch(++asked / 2 % 3);
  }
  std::uint32_t asked = 0;
};

TEST(Explorer, FindsAShortestCounterExample) {
  const findings found = explorer{plan_of({"once", once{}}, quiet), 10'000}.run();
  EXPECT_EQ(found.problem, "nobody runs and somebody waits");
  ASSERT_EQ(found.path.size(), 6u) << "a beginning and two actions, each with the state after it";
  EXPECT_EQ(found.path[0], "everybody has joined");
  EXPECT_EQ(found.path[2], "  1. push 0 -> apply");
  EXPECT_EQ(found.path[4], "  2. push 1 -> apply");
}

// Of two workers that differ in nothing but their index there is one state for two.
TEST(Explorer, CountsStatesModuloRenaming) {
  const findings renamed = explorer{plan_of({"asp", asp{}}, quiet), 10'000}.run();
  const findings named = explorer{plan_of({"asp", asp{}, {.named = true}}, quiet), 10'000}.run();
  EXPECT_TRUE(renamed.complete && named.complete);
  EXPECT_EQ(renamed.problem + named.problem, "");
  EXPECT_LT(renamed.states, named.states);
  EXPECT_LE(named.states, 2 * renamed.states);
}

// Clocks, versions and rounds grow for ever: only their differences make a state, so that there is an end.
TEST(Explorer, CountsStatesModuloTheirOffset) {
  for (const any_policy& policy : {any_policy{bsp{}}, any_policy{ssp{.staleness = 1}}, any_policy{asp{}}}) {
    const findings found = explorer{plan_of({"", policy}, quiet), 10'000}.run();
    EXPECT_TRUE(found.complete) << policy.kind() << " has " << found.states << " states and more";
  }
}

TEST(Explorer, NoticesAFingerprintThatSaysTooLittle) {
  const findings found = explorer{plan_of({"secretive", secretive{}}, test::model::scopes()[0]), 20'000}.run();
  EXPECT_NE(found.problem.find("not the same futures"), std::string::npos) << found.problem;
}

class EveryRuleInSmall : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Model, EveryRuleInSmall, ::testing::Values("two", "three", "entered"),
                         [](const auto& tested) { return tested.param; });

TEST_P(EveryRuleInSmall, KeepsItsPromises) {
  for (const scope& s : test::model::scopes()) {
    if (s.name != GetParam()) continue;
    for (const rule& r : test::model::all_rules()) {
      if (!r.policy.problem(s.workers).empty() || (r.is.arbitrary && s.entered)) continue;
      EXPECT_EQ((explorer{plan_of(r, s), 500}.run().problem), "") << r.name;
    }
  }
}

TEST(Rules, NoneIsMissing) {
  std::set<std::string> explored;
  for (const rule& r : test::model::all_rules()) explored.insert(std::string{r.policy.kind()});
  const std::filesystem::path sync = std::filesystem::path{RUBATO_SOURCE_DIR} / "include/rubato/sync";
  const std::regex states_its_kind{R"re(std::string_view kind = "(\w+)")re"};
  std::size_t found = 0;
  for (const std::filesystem::path& folder : {sync, sync / "rivals"})
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file{entry.path()};
      const std::string text{std::istreambuf_iterator<char>{file}, {}};
      std::smatch match;
      if (!std::regex_search(text, match, states_its_kind)) continue;
      ++found;
      EXPECT_TRUE(explored.contains(match[1].str())) << entry.path();
    }
  EXPECT_GE(found, 20u) << "rules in " << sync;
}

}  // namespace
}  // namespace rubato
