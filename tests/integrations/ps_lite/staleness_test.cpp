// SSP bounds the distance to the slowest worker. What is often called SSP on ps-lite, a worker that lets a few of its
// own pushes be under way, does not: these tests tell one from the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
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

// Workers that send a push and a pull and wait for the pull only, at a server whose queue keeps no order.
TEST(PsLiteStaleness, TheBoundHoldsWhereAPullMayOvertakeItsPush) {
  server_bench b{{.capacity = racers, .park = park_on::pull}, ssp{.staleness = most_ahead}};
  std::array<std::uint64_t, racers> finished{};
  std::array<server_bench::request, racers> waits{};
  for (int w = 0; w < racers; ++w) waits[static_cast<std::size_t>(w)] = b.pull(w);
  random_sequence random{11};
  std::uint64_t lead = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto w = static_cast<std::size_t>(random.below(racers));
    if (!b.answered(waits[w]) || (w == 0 && random.uniform() < 0.95)) continue;
    lead = std::max(lead, finished[w] - *std::min_element(finished.begin(), finished.end()));
    const int node = b.node(static_cast<int>(w));
    int& next = b.next_timestamp[{static_cast<int>(w), 0}];
    const server_bench::request push{node, 0, next}, pull{node, 0, next + 1};
    next += 2;
    const bool overtakes = random.uniform() < 0.5;
    if (overtakes) b.resend(pull, false, true, b.key());
    b.resend(push, true, false, b.of(1.0));
    if (!overtakes) b.resend(pull, false, true, b.key());
    ++finished[w];
    waits[w] = pull;
  }
  EXPECT_EQ(lead, most_ahead);
  EXPECT_EQ(b.count(reason::repeated), 0u);
  EXPECT_EQ(b.store.values[0],
            static_cast<double>(std::accumulate(finished.begin(), finished.end(), std::uint64_t{0})));
}

TEST(PsLiteStaleness, BspLetsNobodyGoAhead) {
  for (const park_on park : {park_on::push, park_on::pull}) EXPECT_EQ(largest_lead(bsp{}, 1, park), 0u);
}

// Keys on two servers, each with an adapter of its own; a worker goes on when both have answered. Pushes are under way
// for a while, and arrive at each server in another order.
struct two_servers {
  std::array<server_bench, 2> servers;
  std::array<std::vector<std::size_t>, 2> under_way;  ///< whose push has not arrived there
  std::array<std::array<std::optional<server_bench::request>, 2>, racers> arrived{};  ///< the last push of each
  std::array<std::uint64_t, racers> finished{};                                       ///< steps that are in at both

  explicit two_servers(std::uint64_t s)
      : servers{{{{.capacity = racers}, ssp{.staleness = s}}, {{.capacity = racers}, ssp{.staleness = s}}}} {
    for (int w = 0; w < racers; ++w) servers[0].pull(w), servers[1].pull(w);
  }
  bool free_to_go(std::size_t w) {
    if (std::count(under_way[0].begin(), under_way[0].end(), w) +
        std::count(under_way[1].begin(), under_way[1].end(), w))
      return false;
    return finished[w] == 0 || (servers[0].answered(*arrived[w][0]) && servers[1].answered(*arrived[w][1]));
  }
  void start(std::size_t w) {
    arrived[w] = {};
    for (auto& queue : under_way) queue.push_back(w);
  }
  void arrive(std::size_t at, std::size_t which) {
    const std::size_t w = under_way[at][which];
    under_way[at].erase(under_way[at].begin() + static_cast<std::ptrdiff_t>(which));
    arrived[w][at] = servers[at].push(static_cast<int>(w), 1.0);
    finished[w] += arrived[w][1 - at].has_value();
  }
};

TEST(PsLiteStaleness, TwoServersThatDecideForThemselvesKeepTheBoundAndNobodyWaitsForEver) {
  for (const std::uint64_t s : {std::uint64_t{0}, most_ahead}) {
    std::uint64_t lead = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      two_servers both{s};
      random_sequence random{seed};
      for (int turn = 0; turn < 3'000; ++turn) {
        const auto at = static_cast<std::size_t>(random.below(2));
        if (!both.under_way[at].empty() && random.uniform() < 0.6) {
          both.arrive(at, static_cast<std::size_t>(random.below(both.under_way[at].size())));
          continue;
        }
        const auto w = static_cast<std::size_t>(random.below(racers));
        if (!both.free_to_go(w) || (w == 0 && random.uniform() < 0.8)) continue;
        lead = std::max(lead, both.finished[w] - *std::min_element(both.finished.begin(), both.finished.end()));
        both.start(w);
      }
      for (std::size_t at = 0; at < 2; ++at)
        while (!both.under_way[at].empty()) both.arrive(at, 0);
      int free = 0;
      for (std::size_t w = 0; w < racers; ++w) free += both.free_to_go(w);
      EXPECT_GT(free, 0) << "seed " << seed << ": both servers wait for each other";
      EXPECT_GT(both.finished[0], 20u);
    }
    EXPECT_EQ(lead, s);
  }
}

}  // namespace
}  // namespace rubato::test
