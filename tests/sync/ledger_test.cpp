#include <rubato/sync/ledger.hpp>

#include <gtest/gtest.h>

namespace {

using rubato::ledger;

TEST(Ledger, UpdatesAreDecidedBeforeTheyAreIn) {
  ledger book{4};
  book.decide_apply(), book.decide_apply();
  EXPECT_EQ(book.updates(), 2u);
  EXPECT_EQ(book.version(), 0u);
  book.commit_apply();
  EXPECT_EQ(book.version(), 1u);
}

TEST(Ledger, AnEmptyRoundCompletesWithoutAnUpdate) {
  ledger book{4};
  EXPECT_FALSE(book.complete(1.0F).ready);
  EXPECT_FALSE(book.abandon().ready);
  EXPECT_EQ(book.updates(), 0u);
}

TEST(Ledger, ManyRoundsMayWaitForTheirLastCommit) {
  ledger book{3};
  std::uint32_t slot[3];
  for (auto& s : slot) {
    s = book.open_slot();
    book.admit();
    EXPECT_FALSE(book.complete(3.0F).ready);
  }
  EXPECT_EQ(book.updates(), 3u);
  const auto second = book.commit_add(slot[1], true);
  EXPECT_TRUE(second.flushed);
  EXPECT_EQ(second.round, 1u);
  EXPECT_EQ(second.scale, 3.0F);
  EXPECT_EQ(book.commit_add(slot[0], false).adds, 0u) << "every add failed: discarded";
  EXPECT_EQ(book.version(), 2u) << "and yet a version, with a gap";
  EXPECT_EQ(book.commit_add(slot[2], true).round, 2u);
  EXPECT_EQ(book.open_round(), 3u);
}

TEST(Ledger, AnAbandonedRoundAdvancesNoVersion) {
  ledger book{2};
  book.admit();
  const auto slot = book.open_slot();
  book.commit_add(slot, true);
  const auto gone = book.abandon();
  EXPECT_TRUE(gone.ready);
  EXPECT_FALSE(gone.flushed);
  EXPECT_EQ(gone.adds, 1u);
  EXPECT_EQ(book.version(), 0u);
  EXPECT_EQ(book.updates(), 0u);
}

}  // namespace
