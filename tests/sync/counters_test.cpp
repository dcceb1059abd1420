#include <rubato/sync/counters.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using rubato::counters;
using rubato::reason;

TEST(Counters, OverridesAreWhatTheGuardDidInsteadOfThePolicy) {
  constexpr reason overriding[] = {reason::liveness, reason::bound, reason::overdue, reason::cancel_limit,
                                   reason::rate_limit};
  counters all{1};
  std::uint64_t expected = 0;
  for (const reason why : overriding) {
    all.add(why, 0);
    EXPECT_EQ(all.overrides(), ++expected);
  }
  all.add(reason::stale, 0);
  EXPECT_EQ(all.overrides(), expected);
}

}  // namespace
