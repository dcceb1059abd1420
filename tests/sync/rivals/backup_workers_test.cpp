#include <rubato/sync/rivals/backup_workers.hpp>

#include "../recorder.hpp"

namespace {

using namespace rubato;
using test::bench;
using test::words;

TEST(BackupWorkers, TheLateAreDroppedAndNobodyIsCancelled) {
  bench<backup_workers> b{{.backups = 1}, 3};
  EXPECT_EQ(b.push(0), words{});
  EXPECT_EQ(b.push(2), (words{"flush 0 x0.5 n2", "release 0@1", "release 2@1"}));
  EXPECT_EQ(b.push(1), words{"release 1@1"});
  EXPECT_EQ(b.count(reason::stale), 1u);
  EXPECT_EQ(b.push(1), words{});
  EXPECT_EQ(b.push(0), (words{"flush 1 x0.5 n2", "release 1@2", "release 0@2"}));
}

TEST(BackupWorkers, NFollowsTheLiving) {
  bench<backup_workers> b{{.backups = 1}, 4};
  b.depart(3);
  b.push(0);
  EXPECT_EQ(b.push(1), (words{"flush 0 x0.5 n2", "release 0@1", "release 1@1"}));
  b.join(3, 1);
  b.push(0), b.push(1);
  EXPECT_EQ(b.push(3), (words{"flush 1 x0.333333 n3", "release 0@2", "release 1@2", "release 3@2"}));
  b.push(0), b.push(1);
  EXPECT_EQ(b.depart(2), (words{"flush 2 x0.5 n2", "release 0@3", "release 1@3"})) << "now two of three are enough";
  EXPECT_EQ(b.count(reason::degraded), 0u);
}

TEST(BackupWorkers, DegradedWhenOnlyBackupsAreLeft) {
  bench<backup_workers> b{{.backups = 1}, 2};
  EXPECT_EQ(b.push(0), (words{"flush 0 x1 n1", "release 0@1"}));
  EXPECT_EQ(b.count(reason::degraded), 0u);
  b.depart(1);
  EXPECT_EQ(b.push(0), (words{"flush 1 x1 n1", "release 0@2"}));
  EXPECT_EQ(b.count(reason::degraded), 1u);
}

}  // namespace
