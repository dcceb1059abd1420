// SSP bounds the distance to the slowest worker. What is often called SSP on ps-lite, a worker that lets a few of its
// own pushes be under way, does not: these tests tell one from the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <rubato/core/rng.hpp>
#include <vector>

#include "bench.hpp"

namespace rubato::test {
namespace {

constexpr int racers = 5;
constexpr std::uint64_t most_ahead = 3;

// Worker 0 takes a step where the others could take twenty. Returns how far ahead of the slowest anybody started a
// step. A worker goes on once its push of `own` steps ago is answered: 1 is to wait for the last one.
std::uint64_t largest_lead(any_policy policy, std::size_t own, park_on park = park_on::push) {
  server_bench b{{.capacity = racers, .park = park}, std::move(policy)};
  std::array<std::uint64_t, racers> finished{};
  std::array<std::deque<server_bench::request>, racers> open;
  for (int w = 0; w < racers; ++w) b.pull(w);
  random_sequence random{7};
  std::uint64_t lead = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto w = static_cast<std::size_t>(random.below(racers));
    if (w == 0 && random.uniform() < 0.95) continue;
    while (!open[w].empty() && b.answered(open[w].front())) open[w].pop_front();
    if (open[w].size() >= own) continue;
    lead = std::max(lead, finished[w] - *std::min_element(finished.begin(), finished.end()));
    open[w].push_back(b.push_pull(static_cast<int>(w), 1.0));
    ++finished[w];
  }
  EXPECT_GT(finished[0], 100u);
  return lead;
}

TEST(PsLiteStaleness, SspBoundsTheDistanceToTheSlowest) {
  for (const park_on park : {park_on::push, park_on::pull}) {
    EXPECT_EQ(largest_lead(ssp{.staleness = most_ahead}, 1, park), most_ahead);
    EXPECT_EQ(largest_lead(ssp{.staleness = 0}, 1, park), 0u);
  }
}

TEST(PsLiteStaleness, WaitingForOnesOwnOldPushBoundsNothing) {
  EXPECT_GT(largest_lead(asp{}, most_ahead + 1), 1'000u) << "its own pushes are answered, however slow others are";
}

TEST(PsLiteStaleness, BspLetsNobodyGoAhead) {
  for (const park_on park : {park_on::push, park_on::pull}) EXPECT_EQ(largest_lead(bsp{}, 1, park), 0u);
}

// Keys on two servers, each with an adapter of its own; a worker goes on when both have answered. Messages arrive late,
// in another order at each server.
TEST(PsLiteStaleness, TwoServersThatDecideForThemselvesKeepTheBoundAndNobodyWaitsForEver) {
  for (const std::uint64_t s : {std::uint64_t{0}, most_ahead}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::array<server_bench, 2> servers{
          {{{.capacity = racers}, ssp{.staleness = s}}, {{.capacity = racers}, ssp{.staleness = s}}}};
      for (int w = 0; w < racers; ++w) servers[0].pull(w), servers[1].pull(w);
      std::array<std::vector<int>, 2> under_way;  // racers whose push has not arrived there
      std::array<std::array<server_bench::request, 2>, racers> last{};
      std::array<std::array<bool, 2>, racers> arrived{};
      std::array<std::uint64_t, racers> finished{};
      const auto free_to_go = [&](std::size_t w) {
        if (finished[w] == 0) return true;
        return arrived[w][0] && arrived[w][1] && servers[0].answered(last[w][0]) && servers[1].answered(last[w][1]);
      };
      random_sequence random{seed};
      for (int turn = 0; turn < 3'000; ++turn) {
        const auto at = static_cast<std::size_t>(random.below(2));
        if (auto& queue = under_way[at]; !queue.empty() && random.uniform() < 0.6) {
          const auto pick = static_cast<std::ptrdiff_t>(random.below(queue.size()));
          const int w = queue[static_cast<std::size_t>(pick)];
          queue.erase(queue.begin() + pick);
          last[static_cast<std::size_t>(w)][at] = servers[at].push(w, 1.0);
          arrived[static_cast<std::size_t>(w)][at] = true;
          continue;
        }
        const auto w = static_cast<std::size_t>(random.below(racers));
        if (!free_to_go(w)) continue;
        EXPECT_LE(finished[w] - *std::min_element(finished.begin(), finished.end()), s);
        ++finished[w];
        arrived[w] = {};
        for (auto& queue : under_way) queue.push_back(static_cast<int>(w));
      }
      for (std::size_t at = 0; at < 2; ++at)
        for (const int w : under_way[at])
          last[static_cast<std::size_t>(w)][at] = servers[at].push(w, 1.0),
          arrived[static_cast<std::size_t>(w)][at] = true;
      bool somebody = false;
      for (std::size_t w = 0; w < racers; ++w) somebody = somebody || free_to_go(w);
      EXPECT_TRUE(somebody) << "seed " << seed;
      EXPECT_GT(finished[0], 50u);
    }
  }
}

}  // namespace
}  // namespace rubato::test
