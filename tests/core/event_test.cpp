#include <gtest/gtest.h>

#include <rubato/core/event.hpp>
#include <rubato/core/record.hpp>
#include <set>
#include <string_view>

namespace rubato {
namespace {

TEST(Event, SaysNothingThatNobodyReported) {
  const event none;
  EXPECT_EQ(none.worker, no_worker);
  EXPECT_EQ(none.why_dropped, reason::none);
  EXPECT_EQ(none.staleness, 0u);
  EXPECT_EQ(none.now, 0.0);
  EXPECT_EQ(none.loss, 0.0F);
  EXPECT_EQ(none.samples, 0u);
  EXPECT_FALSE(none.pending || none.dropped || none.flushed);
}

TEST(Cause, EveryCauseHasItsName) {
  std::set<std::string_view> names;
  for (int why = 0; why <= static_cast<int>(cause::deadline); ++why) names.insert(name(static_cast<cause>(why)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(cause::deadline) + 1);
  EXPECT_EQ(name(cause::readmit), "readmit");
  EXPECT_EQ(name(static_cast<cause>(99)), "invalid");
}

TEST(Record, EveryKindHasItsName) {
  using kind = record::kind;
  std::set<std::string_view> names;
  for (int what = 0; what <= static_cast<int>(kind::change_policy); ++what) names.insert(name(static_cast<kind>(what)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kind::change_policy) + 1);
  EXPECT_EQ(name(kind::adjust), "adjust");
  EXPECT_EQ(name(static_cast<kind>(static_cast<int>(kind::change_policy) + 1)), "invalid");
}

}  // namespace
}  // namespace rubato
