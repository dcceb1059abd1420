#include "../../examples/support/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace {

using rubato::support::share_out;

TEST(ShareOut, EachOnce) {
  for (const unsigned threads : {0U, 1U, 3U, 100U}) {
    std::atomic<bool> stop = false;
    std::atomic<int> tools = 0;
    std::vector<int> done(50);
    share_out(
        done.size(), threads, stop, [&] { return ++tools; }, [&](int&, std::size_t i) { ++done[i]; });
    EXPECT_EQ(done, std::vector<int>(50, 1));
    EXPECT_LE(tools, 50);
  }
}

TEST(ShareOut, StopsWhenAsked) {
  std::atomic<bool> stop = false;
  std::size_t done = 0;
  share_out(
      50, 1, stop, [] { return 0; },
      [&](int, std::size_t i) {
        ++done;
        stop = i == 9;
      });
  EXPECT_EQ(done, 10U);
}

// Nobody would live to see the end of so many calls: it returns because no further ones begin.
TEST(ShareOut, ThrowsTheFirst) {
  std::atomic<bool> stop = false;
  const auto work = [](int, std::size_t i) {
    if (i == 3) throw std::runtime_error{"three"};
  };
  try {
    share_out(
        std::numeric_limits<std::size_t>::max(), 2, stop, [] { return 0; }, work);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "three");
  }
}

}  // namespace
