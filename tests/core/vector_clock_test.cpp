#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/core/vector_clock.hpp>
#include <vector>

namespace rubato {
namespace {

// The same, by scans.
struct scanned {
  std::vector<clock_type> clock;
  std::vector<bool> counts;

  explicit scanned(std::uint32_t n) : clock(n), counts(n) {}
  [[nodiscard]] std::vector<clock_type> counted() const {
    std::vector<clock_type> some;
    for (std::size_t w = 0; w < clock.size(); ++w)
      if (counts[w]) some.push_back(clock[w]);
    return some;
  }
};

void expect_same(const vector_clock& v, const scanned& s) {
  const std::vector<clock_type> some = s.counted();
  ASSERT_EQ(v.size(), some.size());
  for (std::uint32_t w = 0; w < s.clock.size(); ++w) {
    ASSERT_EQ(v.clock(w), s.clock[w]);
    ASSERT_EQ(v.counts(w), s.counts[w]);
  }
  ASSERT_EQ(v.minimum(), some.empty() ? 0 : *std::ranges::min_element(some));
  ASSERT_EQ(v.maximum(), some.empty() ? 0 : *std::ranges::max_element(some));
  if (some.empty())
    ASSERT_EQ(v.slowest(), no_worker);
  else
    ASSERT_TRUE(v.counts(v.slowest()) && v.clock(v.slowest()) == v.minimum());
}

TEST(VectorClock, AgreesWithAScan) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    random_sequence random{seed};
    const auto n = static_cast<std::uint32_t>(1 + random.below(12));
    vector_clock v{n};
    scanned s{n};
    for (int step = 0; step < 2000; ++step) {
      const auto w = static_cast<std::uint32_t>(random.below(n));
      switch (random.below(12)) {
        case 0:
          if (s.counts[w]) v.erase(w);
          s.counts[w] = false;
          break;
        case 1:
          if (!s.counts[w]) v.set(w, s.clock[w] = random.below(20));
          break;
        case 2:
        case 3:
          if (!s.counts[w]) v.insert(w);
          s.counts[w] = true;
          break;
        case 4: {
          const clock_type limit = random.below(30);
          const clock_type shift = v.minimum();
          std::uint32_t clamped = 0;
          v.rebase([&](std::uint32_t who) { return limit + who; }, [&](std::uint32_t) { ++clamped; });
          for (std::uint32_t i = 0; i < n; ++i) {
            s.clock[i] -= std::min(s.clock[i], shift);
            if (!s.counts[i] || s.clock[i] <= limit + i) continue;
            s.clock[i] = limit + i;
            --clamped;
          }
          ASSERT_EQ(clamped, 0u);
          break;
        }
        default:
          v.tick(w);
          ++s.clock[w];
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(v, s)) << "seed " << seed << ", step " << step;
    }
  }
}

// Whom slowest() names does not depend on when it is asked for the first time.
TEST(VectorClock, SlowestCameLast) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    random_sequence random{seed};
    const auto n = static_cast<std::uint32_t>(1 + random.below(12));
    const std::uint64_t first = random.below(800);
    vector_clock v{n};
    std::vector<std::uint64_t> came(n);  // when each worker came to its clock
    for (std::uint64_t step = 1; step < 1000; ++step) {
      const auto w = static_cast<std::uint32_t>(random.below(seed % 2 == 0 ? n : (n + 1) / 2));
      if (random.below(10) > 0 && v.counts(w))
        v.tick(w);
      else if (v.counts(w))
        v.erase(w);
      else
        v.set(w, random.below(200)), v.insert(w);
      came[w] = step;
      if (step < first) continue;
      std::uint32_t last = no_worker;
      for (std::uint32_t i = 0; i < n; ++i)
        if (v.counts(i) && v.clock(i) == v.minimum() && (last == no_worker || came[i] > came[last])) last = i;
      ASSERT_EQ(v.slowest(), last) << "seed " << seed << ", step " << step;
    }
  }
}

// All clocks different is the most buckets that there can be; they fit into what was made at construction.
TEST(VectorClock, NeverAllocates) {
  constexpr std::uint32_t n = 50;
  vector_clock v{n};
  for (std::uint32_t w = 0; w < n; ++w) v.insert(w);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t w = 0; w < n; ++w)
      for (std::uint32_t step = 0; step < 1000 * w; ++step) v.tick(w);
  EXPECT_EQ(v.minimum(), 0u);
  EXPECT_EQ(v.maximum(), 3u * 1000 * (n - 1));
  for (std::uint32_t w = 0; w + 1 < n; ++w) {
    v.erase(w);
    EXPECT_EQ(v.slowest(), w + 1);
  }
}

TEST(VectorClock, RebaseKeepsDifferences) {
  vector_clock v{4};
  for (std::uint32_t w = 0; w < 4; ++w) v.set(w, 10 + 3 * w);
  for (std::uint32_t w = 1; w < 4; ++w) v.insert(w);  // worker 0, at 10, does not count
  v.rebase([](std::uint32_t) { return unbounded; }, [](std::uint32_t) { FAIL() << "nobody is limited"; });
  EXPECT_EQ(v.minimum(), 0u);
  for (std::uint32_t w = 1; w < 4; ++w) EXPECT_EQ(v.clock(w), 3 * (w - 1));
  EXPECT_EQ(v.clock(0), 0u) << "those who do not count go no lower than 0";
}

TEST(VectorClock, RebaseClamps) {
  vector_clock v{4};
  for (std::uint32_t w = 0; w < 4; ++w) v.set(w, 5 + 2 * w), v.insert(w);
  std::vector<std::uint32_t> clamped;
  v.rebase([](std::uint32_t w) { return w == 2 ? clock_type{4} : clock_type{3}; },
           [&](std::uint32_t w) { clamped.push_back(w); });
  EXPECT_EQ(clamped, (std::vector{3u}));
  EXPECT_EQ(v.clock(1), 2u);
  EXPECT_EQ(v.clock(2), 4u);
  EXPECT_EQ(v.clock(3), 3u);
  EXPECT_EQ(v.maximum(), 4u);
}

}  // namespace
}  // namespace rubato
