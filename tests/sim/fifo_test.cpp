#include <rubato/sim/fifo.hpp>

#include <gtest/gtest.h>

#include <deque>

#include <rubato/core/rng.hpp>

namespace rubato::sim {
namespace {

TEST(Fifo, KeepsOrderWhileGrowing) {
  fifo<int> queue;
  std::deque<int> reference;
  random_sequence random{2};
  for (int i = 0; i < 10'000; ++i) {
    if (random.below(100) < (i < 5'000 ? 60 : 40)) {
      queue.push() = i;
      reference.push_back(i);
    } else if (!reference.empty()) {
      ASSERT_EQ(queue.front(), reference.front());
      queue.pop();
      reference.pop_front();
    }
    ASSERT_EQ(queue.size(), reference.size());
    ASSERT_EQ(queue.empty(), reference.empty());
  }
}

}  // namespace
}  // namespace rubato::sim
