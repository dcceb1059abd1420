#include <rubato/sync/asp.hpp>

#include "recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(Asp, NobodyWaits) {
  bench<asp> b{{}, 3};
  for (std::uint32_t i = 0; i < 30; ++i) {
    const std::uint32_t w = i * i % 3;
    EXPECT_EQ(b.push(w), words{"release " + std::to_string(w) + "@" + std::to_string(i + 1)});
  }
  EXPECT_EQ(b.sync.counts().overrides(), 0u);
}

TEST(Asp, StalenessIsWorkersMinusOne) {
  bench<asp> b{{}, 5};
  for (std::uint32_t i = 0; i < 50; ++i) {
    const admitted a = b.admit(i % 5);
    if (i >= 5) {
      EXPECT_EQ(a.staleness, 4u);
    }
    b.finish(a);
  }
}

}  // namespace
