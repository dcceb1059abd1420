#include <rubato/sim/indexed_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>

namespace rubato::sim {
namespace {

TEST(IndexedHeap, AgreesWithASort) {
  constexpr std::uint32_t slots = 40;
  indexed_heap<std::pair<std::uint64_t, std::uint32_t>> heap{slots};
  std::vector<std::pair<std::uint64_t, std::uint32_t>> reference;  // (key, slot)
  random_sequence random{1};
  for (int step = 0; step < 50'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random.below(slots));
    std::erase_if(reference, [&](const auto& e) { return e.second == slot; });
    if (random.below(3) == 0) {
      heap.erase(slot);
    } else {
      const std::uint64_t key = random.below(100);
      heap.set(slot, {key, slot});
      reference.emplace_back(key, slot);
    }
    ASSERT_EQ(heap.size(), reference.size());
    ASSERT_EQ(heap.contains(slot), !reference.empty() && reference.back().second == slot);
    if (!reference.empty()) {
      ASSERT_EQ(heap.top(), std::ranges::min_element(reference)->second);
    }
  }
  std::ranges::sort(reference);
  for (const auto& expected : reference) {
    ASSERT_EQ(heap.top_key(), expected);
    heap.erase(heap.top());
  }
  EXPECT_TRUE(heap.empty());
}

TEST(IndexedHeap, MovesEntriesBothWays) {
  indexed_heap<int> heap{3};
  heap.set(0, 10);
  heap.set(1, 20);
  heap.set(2, 30);
  heap.set(2, 5);
  EXPECT_EQ(heap.top(), 2U);
  heap.set(2, 25);
  EXPECT_EQ(heap.top(), 0U);
  EXPECT_EQ(heap.key(2), 25);
}

TEST(IndexedHeap, ErasesFromTheMiddle) {
  indexed_heap<int> heap{5};
  for (std::uint32_t slot = 0; slot < 5; ++slot) heap.set(slot, static_cast<int>(slot));
  heap.erase(1);
  heap.erase(1);
  EXPECT_EQ(heap.size(), 4U);
  heap.erase(0);
  EXPECT_EQ(heap.top(), 2U);
}

}  // namespace
}  // namespace rubato::sim
