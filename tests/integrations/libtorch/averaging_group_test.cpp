#if __has_include(<gloo/rendezvous/store.h>) && defined(USE_C10D_GLOO)

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <rubato/libtorch/averaging_group.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../support/folder_test.hpp"

namespace libtorch_averaging_group_test {
namespace {

namespace lt = rubato::libtorch;
using floats = std::vector<float>;

// Members are threads; one dies by letting its group go. The others keep theirs until all have ended.
class AveragingGroup : public rubato::test::folder_test {
 protected:
  c10::intrusive_ptr<c10d::Store> store() {
    return c10::make_intrusive<c10d::FileStore>((folder / "store").string(), -1);
  }
  lt::group_options options(std::uint32_t index, std::uint32_t founders) {
    return {.index = index, .founders = founders, .gather = 5, .patience = 20, .exchange = 5};
  }
  using kept = std::optional<lt::averaging_group>;
  template <class Member>
  void members(std::uint32_t count, Member&& member) {
    std::vector<kept> groups(count);
    std::vector<std::jthread> threads;
    for (std::uint32_t m = 0; m < count; ++m) threads.emplace_back([m, &member, &groups] { member(m, groups[m]); });
    threads.clear();
  }
  // False, and told, if it cannot.
  bool join(kept& group, std::uint32_t index, std::uint32_t founders, floats& parameters) {
    auto made = lt::averaging_group::join(store(), options(index, founders), parameters);
    EXPECT_TRUE(made) << made.error().message;
    if (made) group.emplace(std::move(*made));
    return made.has_value();
  }
};

TEST_F(AveragingGroup, FoundersBeginWithTheParametersOfRankZero) {
  std::vector<floats> all{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  std::vector<std::size_t> ranks(3);
  members(3, [&](std::uint32_t m, kept& group) {
    ASSERT_TRUE(join(group, m, 3, all[m]));
    EXPECT_EQ(group->size(), 3U);
    EXPECT_EQ(group->generation(), 1U);
    ranks[m] = group->rank();
  });
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[1], all[2]);
  EXPECT_EQ(all[0][0],
            std::vector<float>(
                {1, 4, 7})[static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), 0U) - ranks.begin())]);
}

TEST_F(AveragingGroup, AveragesAreMeans) {
  members(3, [&](std::uint32_t m, kept& group) {
    floats mine{0, 0};
    ASSERT_TRUE(join(group, m, 3, mine));
    for (int round = 1; round <= 5; ++round) {
      mine = {static_cast<float>(m * round), -1};
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, 3U);
      EXPECT_FLOAT_EQ(mine[0], static_cast<float>(round));
      EXPECT_EQ(mine[1], -1);
    }
    EXPECT_EQ(group->round(), 5U);
    EXPECT_EQ(group->generation(), 1U);
  });
}

TEST_F(AveragingGroup, SurvivorsOfADeathGoOnAndLoseNoLocalStep) {
  std::atomic<int> survivors = 0;
  members(4, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    ASSERT_TRUE(join(group, m, 4, mine));
    for (int round = 1; round <= 6; ++round) {
      if (m == 2 && round == 4) return group.reset();
      mine[0] += static_cast<float>(m);
      const auto begin = std::chrono::steady_clock::now();
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, round < 4 ? 4U : 3U);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{4}) << "nobody waits for the dead";
    }
    // Three rounds of (0 + 1 + 2 + 3) / 4, then three of (0 + 1 + 3) / 3.
    EXPECT_NEAR(mine[0], 3 * 1.5 + 3 * 4.0 / 3, 1e-5);
    EXPECT_EQ(group->generation(), 2U);
    EXPECT_EQ(group->size(), 3U);
    ++survivors;
  });
  EXPECT_EQ(survivors, 3);
}

// Gloo writes with SIGPIPE: a member that dies between two looks of the others would take them with it.
TEST_F(AveragingGroup, BrokenPipesAreErrorsInEveryThreadOfAGroup) {
  const auto threads = [] {
    std::set<std::string> all;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/task"}) all.insert(each.path().string());
    return all;
  };
  const auto blocks_broken_pipes = [](const std::string& thread) {
    std::ifstream status{thread + "/status"};
    for (std::string word; status >> word;)
      if (word == "SigBlk:" && status >> word) return (std::stoull(word, nullptr, 16) >> (SIGPIPE - 1) & 1) == 1;
    return false;
  };
  const std::set<std::string> before = threads();
  floats mine{1};
  kept group;
  ASSERT_TRUE(join(group, 0, 1, mine));
  std::size_t made = 0;
  for (const std::string& each : threads())
    if (!before.contains(each)) {
      EXPECT_TRUE(blocks_broken_pipes(each)) << each;
      ++made;
    }
  EXPECT_GT(made, 0U);
  EXPECT_FALSE(blocks_broken_pipes("/proc/thread-self")) << "who joins has its signals as before";
}

TEST_F(AveragingGroup, TheLastMemberGoesOnAlone) {
  members(2, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    ASSERT_TRUE(join(group, m, 2, mine));
    if (m == 1) return group.reset();
    mine = {5};
    const auto of = group->average(mine);
    ASSERT_TRUE(of) << of.error().message;
    EXPECT_EQ(*of, 1U);
    EXPECT_EQ(mine, floats{5});
  });
}

TEST_F(AveragingGroup, NewcomerIsTakenInWithTheParametersOfTheGroup) {
  std::atomic<bool> is_in = false;
  members(3, [&](std::uint32_t m, kept& group) {
    floats mine{0, static_cast<float>(m)};
    if (m == 2) {  // comes later
      std::this_thread::sleep_for(std::chrono::milliseconds{300});
      ASSERT_TRUE(join(group, m, 2, mine));
      EXPECT_GT(mine[0], 0);
      EXPECT_EQ(static_cast<float>(group->round()), mine[0]);
      EXPECT_EQ(group->size(), 3U);
      is_in = true;
      mine[0] = static_cast<float>(group->round() + 1);
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, 3U);
      EXPECT_EQ(static_cast<float>(group->round()), mine[0]);
      return;
    }
    ASSERT_TRUE(join(group, m, 2, mine));
    bool all_three = false;
    for (int round = 1; round <= 2000 && !all_three; ++round) {
      mine[0] = static_cast<float>(round);
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      all_three = *of == 3 && is_in;
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
  });
  EXPECT_TRUE(is_in);
}

TEST_F(AveragingGroup, OneThatNobodyTakesInSaysSo) {
  floats mine{0};
  auto alone = options(0, 2);
  alone.patience = 0.2;
  const auto group = lt::averaging_group::join(store(), alone, mine);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, rubato::errc::io);
  EXPECT_EQ(group.error().message, "no group of job 1 took member 0 in within 0.200000 s");
}

TEST_F(AveragingGroup, OtherSizesAreRefused) {
  std::atomic<int> refused = 0;
  members(2, [&](std::uint32_t m, kept&) {
    floats mine(m == 0 ? 3 : 4);
    auto mine_options = options(m, 2);
    mine_options.exchange = 1;
    mine_options.gather = 0.5;
    auto group = lt::averaging_group::join(store(), mine_options, mine);
    if (group) return;
    EXPECT_EQ(group.error().code, rubato::errc::invalid_option);
    EXPECT_NE(group.error().message.find(" as the group has"), std::string::npos) << group.error().message;
    ++refused;
  });
  EXPECT_EQ(refused, 1) << "the other is a group alone";
}

TEST_F(AveragingGroup, WrongOptionsAreSentences) {
  floats mine{0};
  for (const auto& [wrong, sentence] :
       {std::pair{lt::group_options{.founders = 0}, "founders is 0, expected at least 1"},
        {lt::group_options{.gather = 0}, "gather is not above 0 and up to 86400"},
        {lt::group_options{.exchange = -1}, "exchange is not above 0 and up to 86400"},
        {lt::group_options{.patience = 1e9}, "patience is not above 0 and up to 86400"}}) {
    const auto group = lt::averaging_group::join(store(), wrong, mine);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().message, sentence);
  }
}

}  // namespace
}  // namespace libtorch_averaging_group_test

#endif
