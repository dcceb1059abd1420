#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/core/parking.hpp>
#include <rubato/core/rng.hpp>
#include <vector>

namespace rubato {
namespace {

std::vector<std::uint32_t> in_order(const parking& p) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t w = p.front(); w != no_worker; w = p.after(w)) all.push_back(w);
  return all;
}

TEST(Parking, FifoIsParkOrder) {
  parking p{5};
  EXPECT_EQ(p.next(release_order::fifo, 0), no_worker);
  for (const std::uint32_t w : {3u, 0u, 4u, 1u}) p.park(w, 7);
  EXPECT_EQ(in_order(p), (std::vector{3u, 0u, 4u, 1u}));
  EXPECT_EQ(p.next(release_order::fifo, 0), 3u);
  p.unpark(0);
  p.unpark(3);
  p.park(3, 7);
  EXPECT_EQ(in_order(p), (std::vector{4u, 1u, 3u}));
  EXPECT_EQ(p.size(), 3u);
}

// Against a queue, over many turns, so that slots are used again in every order.
TEST(Parking, FrontIsTakenInParkOrder) {
  constexpr std::uint32_t workers = 9;
  parking p{workers};
  std::vector<std::uint32_t> queue;
  random_sequence random{4};
  for (int turn = 0; turn < 5'000; ++turn) {
    const auto chosen = static_cast<std::uint32_t>(random.below(workers));
    if (const auto at = std::find(queue.begin(), queue.end(), chosen); at == queue.end()) {
      p.park(chosen, 1);
      queue.push_back(chosen);
    } else if (random.below(3) == 0) {
      p.unpark(chosen);
      queue.erase(at);
    } else {
      const auto most = static_cast<std::uint32_t>(random.below(workers)), refused = chosen;
      std::vector<std::uint32_t> taken;
      const std::uint32_t count = p.take_front(most, [&](std::uint32_t worker) {
        if (worker == refused) return false;
        taken.push_back(worker);
        return true;
      });
      const auto first = std::find(queue.begin(), queue.end(), refused);
      const auto end = queue.begin() + std::min<std::ptrdiff_t>(most, first - queue.begin());
      ASSERT_EQ(taken, (std::vector<std::uint32_t>(queue.begin(), end)));
      ASSERT_EQ(count, taken.size());
      queue.erase(queue.begin(), end);
    }
    ASSERT_EQ(in_order(p), queue);
    ASSERT_EQ(p.size(), queue.size());
  }
  EXPECT_NE(p.next(release_order::fastest, 0), no_worker);
  EXPECT_EQ(p.take_front(workers, [](std::uint32_t) { return true; }), 0u) << "an order is kept, besides";
  EXPECT_EQ(in_order(p), queue);
}

TEST(Parking, FastestPrefersShortStepTimes) {
  parking p{6};
  p.park(0, 200);
  p.park(1, 65);
  p.park(2, 64);
  EXPECT_EQ(p.next(release_order::fastest, 0), 2u) << "asked for the first time with workers parked";
  p.park(3, 0);
  p.park(4, 255);
  p.park(5, 0);
  std::vector<std::uint32_t> released;
  while (p.size() > 0) {
    released.push_back(p.next(release_order::fastest, 0));
    p.unpark(released.back());
  }
  EXPECT_EQ(released, (std::vector{3u, 5u, 2u, 1u, 0u, 4u})) << "fifo within a class";
  EXPECT_EQ(p.next(release_order::fastest, 0), no_worker);
}

TEST(Parking, RandomIsUniform) {
  constexpr std::uint32_t n = 5;
  constexpr int draws = 20'000;
  parking p{n + 2};
  random_sequence random{1};
  for (std::uint32_t w = 0; w < n + 2; ++w) p.park(w, 1);
  EXPECT_LT(p.next(release_order::random, random()), n + 2);
  p.unpark(2);
  p.unpark(6);
  std::vector<int> drawn(n + 2);
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t w = p.next(release_order::random, random());
    ++drawn[w];
    p.unpark(w);  // what is drawn must not depend on who left and came back
    p.park(w, 1);
  }
  EXPECT_EQ(drawn[2] + drawn[6], 0);
  for (const std::uint32_t w : {0u, 1u, 3u, 4u, 5u}) EXPECT_NEAR(drawn[w], draws / 5.0, 4 * 57);  // 4 deviations
}

// All orders at once, against a plain list.
TEST(Parking, OrdersAgree) {
  constexpr std::uint32_t n = 9;
  parking p{n};
  random_sequence random{2};
  std::vector<std::uint32_t> list;
  std::vector<std::uint32_t> speed(n);
  for (int step = 0; step < 5000; ++step) {
    const auto w = static_cast<std::uint32_t>(random.below(n));
    if (const auto place = std::ranges::find(list, w); place != list.end()) {
      p.unpark(w);
      list.erase(place);
    } else {
      p.park(w, speed[w] = static_cast<std::uint32_t>(random.below(4) * 70));
      list.push_back(w);
    }
    ASSERT_EQ(in_order(p), list);
    if (list.empty() || step < 100) continue;
    ASSERT_EQ(p.next(release_order::fastest, 0), *std::ranges::min_element(list, {}, [&](auto i) { return speed[i]; }));
    ASSERT_EQ(std::ranges::count(list, p.next(release_order::random, random())), 1);
  }
}

}  // namespace
}  // namespace rubato
