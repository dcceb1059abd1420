#if __has_include(<gloo/rendezvous/store.h>) && defined(USE_C10D_GLOO)

#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include <algorithm>
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
    for (std::uint32_t round = 1; round <= 5; ++round) {
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

// Each member is drawn to a place of its own, by SGD with momentum.
TEST_F(AveragingGroup, AveragingAfterEachStepIsSynchronousSgd) {
  constexpr float rate = 0.1F, momentum = 0.9F;
  constexpr int rounds = 20;
  const std::vector<float> places{1, 3, -7};
  members(3, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    ASSERT_TRUE(join(group, m, 3, mine));
    torch::Tensor x = torch::from_blob(mine.data(), {1});
    torch::optim::SGD optimizer{{x}, torch::optim::SGDOptions(rate).momentum(momentum)};
    for (int n = 0; n < rounds; ++n) {
      x.mutable_grad() = x - places[m];
      optimizer.step();
      ASSERT_TRUE(group->average(mine));
    }
    float synchronous = 0, velocity = 0;
    for (int n = 0; n < rounds; ++n) {
      velocity = momentum * velocity + synchronous - (places[0] + places[1] + places[2]) / 3;
      synchronous -= rate * velocity;
    }
    EXPECT_NEAR(mine[0], synchronous, 1e-4);
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

TEST_F(AveragingGroup, ADeathBeforeTheFirstAverageLosesNoLocalStep) {
  members(3, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    ASSERT_TRUE(join(group, m, 3, mine));
    if (m == 2) return group.reset();
    mine = {static_cast<float>(m + 1)};
    const auto of = group->average(mine);
    ASSERT_TRUE(of) << of.error().message;
    EXPECT_EQ(*of, 2U);
    EXPECT_EQ(mine, floats{1.5F});
    EXPECT_EQ(group->replaced(), 0U);
  });
}

TEST_F(AveragingGroup, WhoIsTooLateIsReplacedAndCanAskAgain) {
  std::atomic<bool> is_alone = false, has_asked = false, is_in = false;
  members(2, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    auto impatient = options(m, 2);
    impatient.exchange = impatient.gather = 0.5;
    impatient.patience = m == 0 ? 20 : 2;
    auto made = lt::averaging_group::join(store(), impatient, mine);
    ASSERT_TRUE(made) << made.error().message;
    group.emplace(std::move(*made));
    const auto wait_for = [](const std::atomic<bool>& flag) {
      while (!flag) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    };
    if (m == 0) {
      mine = {7};
      const auto alone = group->average(mine);
      ASSERT_TRUE(alone) << alone.error().message;
      EXPECT_EQ(*alone, 1U);
      is_alone = true;
      for (wait_for(has_asked); !is_in; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
        const auto of = group->average(mine);
        ASSERT_TRUE(of) << of.error().message;
      }
      EXPECT_EQ(group->replaced(), 0U);
      return;
    }
    wait_for(is_alone);
    mine = {100};
    const auto nobody = group->average(mine);
    has_asked = true;
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, rubato::errc::io);
    EXPECT_EQ(mine, floats{100}) << "what they were";
    // The other one may be between two averages for longer than the patience here.
    auto of = group->average(mine);
    for (int i = 0; i < 20 && !of; ++i) of = group->average(mine);
    is_in = true;
    ASSERT_TRUE(of) << of.error().message;
    EXPECT_EQ(mine, floats{7}) << "those of the group";
    EXPECT_EQ(group->replaced(), 1U);
  });
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

// Would those who were let in after a failure go on with steps, the others would wait for them in vain.
TEST_F(AveragingGroup, AfterAFailureAllBeginTheirNextStepsTogether) {
  std::atomic<bool> is_dead = false;
  std::atomic<int> went_on = 0;
  const auto wait_for = [](const auto& flag, int value) {
    while (flag < value) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  };
  const auto wait_for_two_in_line = [this] {
    const auto board = store();
    const std::string arrivals = "rubato/1/3/arrivals";  // of the third group
    for (int looks = 0; looks < 4000; ++looks, std::this_thread::sleep_for(std::chrono::milliseconds{5}))
      if (board->check({arrivals}) && board->get(arrivals) == std::vector<std::uint8_t>{'2'}) return;
    ADD_FAILURE() << "nobody waits to be let in";
  };
  const auto a_period_of_steps = [] { std::this_thread::sleep_for(std::chrono::seconds{5}); };
  members(5, [&](std::uint32_t m, kept& group) {
    floats mine{static_cast<float>(m)};
    auto hasty = options(m, 4);
    hasty.exchange = hasty.gather = 2;
    const auto average = [&](std::size_t expected) {
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, expected) << "member " << m;
    };
    if (m == 4) wait_for(went_on, 3);  // a newcomer
    auto made = lt::averaging_group::join(store(), hasty, mine);
    ASSERT_TRUE(made) << made.error().message;
    group.emplace(std::move(*made));
    if (m < 3) {
      mine = {6};
      average(3);  // member 3 is late
      ++went_on;
      wait_for_two_in_line();
      if (m == 2) return group.reset(), void(is_dead = true);
      wait_for(is_dead, 1);
      mine = {m == 0 ? 7.0F : 9.0F};
      average(4);  // fails, for member 2 is dead, and is made again
    } else if (m == 3) {
      wait_for(went_on, 3);
      average(4);
    }
    EXPECT_EQ(group->round(), 2U) << "member " << m;
    const float together = mine[0];
    EXPECT_TRUE(together == 7.5F || together == 8.5F) << together << ", the mean of 7, 9 and twice one of them";
    a_period_of_steps();
    average(4);
    EXPECT_EQ(group->round(), 3U);
    EXPECT_FLOAT_EQ(mine[0], together);
    EXPECT_EQ(group->replaced(), m == 3 ? 1U : 0U) << "member " << m;
  });
}

TEST_F(AveragingGroup, WhoHasGivenUpIsNotWaitedFor) {
  std::atomic<bool> has_given_up = false, comes_again = false;
  members(3, [&](std::uint32_t m, kept& group) {
    floats mine{0};
    if (m == 2) {
      while (!std::filesystem::exists(folder / "founded")) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      auto impatient = options(m, 2);
      impatient.patience = 0.2;
      for (int attempt = 0; attempt < 2; ++attempt)
        EXPECT_FALSE(lt::averaging_group::join(store(), impatient, mine)) << "nobody averages";
      has_given_up = true;
      while (!comes_again) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      ASSERT_TRUE(join(group, m, 2, mine));
      EXPECT_EQ(group->generation(), 2U);
      return;
    }
    ASSERT_TRUE(join(group, m, 2, mine));
    if (m == 0) std::ofstream{folder / "founded"} << 1;
    while (!has_given_up) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    const auto average = [&] {
      const auto begin = std::chrono::steady_clock::now();
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, 2U);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{4});
    };
    average();
    EXPECT_EQ(group->size(), 2U);
    EXPECT_EQ(group->generation(), 1U) << "no new group was tried";
    comes_again = true;
    while (group->size() == 2 && !HasFailure()) average();
  });
}

TEST_F(AveragingGroup, WhereNobodyIsLeftANewcomerIsToldWhatToDo) {
  floats mine{0};
  kept group;
  ASSERT_TRUE(join(group, 0, 1, mine));
  group.reset();
  auto late = options(0, 1);
  late.patience = 0.2;
  const auto no = lt::averaging_group::join(store(), late, mine);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, rubato::errc::io);
  EXPECT_EQ(no.error().message,
            "no group of job 1 took member 0 in within 0.2 s; it waits for a member of the group: if none of them "
            "is left, the job needs another number or another store");
  late.job = 2;
  EXPECT_TRUE(lt::averaging_group::join(store(), late, mine));
}

TEST_F(AveragingGroup, OneThatNobodyTakesInSaysSo) {
  floats mine{0};
  auto alone = options(0, 2);
  alone.patience = 0.2;
  const auto group = lt::averaging_group::join(store(), alone, mine);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, rubato::errc::io);
  EXPECT_EQ(group.error().message,
            "no group of job 1 took member 0 in within 0.2 s; the last attempt: 1 of 2 founders had come");
}

TEST_F(AveragingGroup, AFounderOfAnotherSizeIsRefused) {
  std::atomic<int> refused = 0;
  members(4, [&](std::uint32_t m, kept& kept_group) {
    floats mine(m == 1 ? 3 : 4);
    auto group = lt::averaging_group::join(store(), options(m, 4), mine);
    ASSERT_EQ(group.has_value(), m != 1);
    if (group) {
      EXPECT_EQ(group->size(), 3U);
      kept_group.emplace(std::move(*group));
      return;
    }
    EXPECT_EQ(group.error().code, rubato::errc::invalid_option);
    EXPECT_EQ(group.error().message, "3 parameters, expected 4 as the group has");
    ++refused;
  });
  EXPECT_EQ(refused, 1);
}

TEST_F(AveragingGroup, ANewcomerOfAnotherSizeIsRefusedAndNobodyElse) {
  std::atomic<bool> is_refused = false;
  members(3, [&](std::uint32_t m, kept& group) {
    if (m == 2) {
      while (!std::filesystem::exists(folder / "averaging")) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      floats mine(5);
      const auto no = lt::averaging_group::join(store(), options(m, 2), mine);
      is_refused = true;
      ASSERT_FALSE(no);
      EXPECT_EQ(no.error().code, rubato::errc::invalid_option);
      EXPECT_EQ(no.error().message, "5 parameters, expected 2 as the group has");
      return;
    }
    floats mine{0, 1};
    ASSERT_TRUE(join(group, m, 2, mine));
    do {
      mine[0] = is_refused ? 1.0F : 0.0F;  // the mean is above 0 for both once one of them knows
      const auto of = group->average(mine);
      ASSERT_TRUE(of) << of.error().message;
      EXPECT_EQ(*of, 2U);
      if (m == 0) std::ofstream{folder / "averaging"} << 1;
    } while (mine[0] == 0);
  });
  EXPECT_TRUE(is_refused);
}

TEST_F(AveragingGroup, AverageRefusesAnotherNumberOfParameters) {
  floats mine{1}, other{1, 2};
  kept group;
  ASSERT_TRUE(join(group, 0, 1, mine));
  const auto no = group->average(other);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, rubato::errc::invalid_option);
  EXPECT_EQ(no.error().message, "2 parameters, expected 1 as there were at first");
  EXPECT_TRUE(group->average(mine));
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
