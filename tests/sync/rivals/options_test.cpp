// What the rules say of themselves, and of options that make no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <rubato/rivals.hpp>
#include <rubato/rubato.hpp>
#include <string>
#include <vector>

#include "../../support/all_policies.hpp"

namespace {

using namespace rubato;

// Every rule; a test below compares with the headers.
std::vector<any_policy> with_defaults() {
  return {aap{},
          ada_sync{},
          aimd{},
          backup_workers{},
          buffered{},
          capped{},
          dssp{},
          k_async{},
          k_batch_async{},
          k_batch_sync{},
          k_sync{},
          m_fastest{},
          rennala{},
          ringmaster{},
          sync_switch<>{},
          zipline{},
          knee{},
          bsp{},
          asp{},
          ssp{},
          scaled{asp{}},
          concurrency_scaled{asp{}},
          loss_decayed{asp{}}};
}

// The kinds of the rules in headers of this folder.
std::vector<std::string> kinds_in(const std::filesystem::path& folder) {
  std::vector<std::string> kinds;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream file{entry.path()};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const std::string declares = "static constexpr std::string_view kind = \"";
    const std::size_t at = text.find(declares);
    if (at == std::string::npos) continue;
    const std::size_t from = at + declares.size();
    kinds.push_back(text.substr(from, text.find('"', from) - from));
  }
  return kinds;
}

TEST(RivalOptions, EveryRuleIsInTheListsOfTheTests) {
  const auto has = [](const auto& list, const std::string& kind) {
    return std::any_of(list.begin(), list.end(), [&](const any_policy& each) { return each.kind() == kind; });
  };
  const std::filesystem::path sync = std::filesystem::path{RUBATO_SOURCE_DIR} / "include/rubato/sync";
  const std::vector<std::string> rivals = kinds_in(sync / "rivals");
  EXPECT_GE(rivals.size(), 15u);
  for (const std::filesystem::path& folder : {sync, sync / "rivals"})
    for (const std::string& kind : kinds_in(folder)) {
      EXPECT_TRUE(has(with_defaults(), kind)) << kind;
      EXPECT_TRUE(has(test::policies_of(test::all_policies()), kind)) << kind;
    }
}

TEST(RivalOptions, MustFitTheNumberOfWorkers) {
  EXPECT_EQ(k_sync{.k = 4}.problem(4), "");
  EXPECT_EQ(k_sync{.k = 5}.problem(4), "k is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ(k_sync{.k = 0}.problem(4), "k is 0, expected 1 to 4, the number of workers");
  EXPECT_EQ(k_async{.k = 5}.problem(4), "k is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ(m_fastest{.m = 5}.problem(4), "m is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ(backup_workers{.backups = 3}.problem(4), "");
  EXPECT_EQ(backup_workers{.backups = 4}.problem(4), "backups is 4, expected 0 to 3, one less than there are workers");
}

TEST(RivalOptions, OfBatchesMayExceedTheNumberOfWorkers) {
  EXPECT_EQ(k_batch_sync{.k = 9}.problem(4), "");
  EXPECT_EQ(k_batch_sync{.k = 0}.problem(4), "k is 0, expected at least 1");
  EXPECT_EQ(k_batch_async{.k = 9}.problem(4), "");
  EXPECT_EQ(k_batch_async{.k = 0}.problem(4), "k is 0, expected at least 1");
  EXPECT_EQ(rennala{.batch = 9}.problem(4), "");
  EXPECT_EQ(rennala{.batch = 0}.problem(4), "batch is 0, expected at least 1");
  EXPECT_EQ(ringmaster{.delay = 0}.problem(4), "delay is 0, expected at least 1");
  EXPECT_EQ(capped{.running = 9}.problem(4), "") << "an upper limit that is never reached";
  EXPECT_EQ(capped{.running = 0}.problem(4), "running is 0, expected at least 1");
  EXPECT_EQ(capped{.order = static_cast<release_order>(7)}.problem(4), "order is 7, expected fifo, fastest or random");
}

TEST(RivalOptions, OfABufferFitEachOther) {
  EXPECT_EQ((buffered{.active = 4, .buffer = 9, .open = 4}.problem(4)), "");
  EXPECT_EQ((buffered{.active = 5, .buffer = 1, .open = 1}.problem(4)),
            "active is 5, expected 1 to 4, the number of workers");
  EXPECT_EQ((buffered{.active = 4, .buffer = 0, .open = 1}.problem(4)), "buffer is 0, expected at least 1");
  EXPECT_EQ((buffered{.active = 2, .buffer = 1, .open = 3}.problem(4)),
            "open is 3, expected 1 to 2, those that may run");
}

TEST(RivalOptions, DefaultsFitEveryCluster) {
  for (const any_policy& each : with_defaults()) EXPECT_EQ(each.problem(1), "") << each.kind();
}

TEST(RivalOptions, AreInTheDescription) {
  EXPECT_EQ(k_sync{.k = 4}.describe().json, R"({"kind":"ksync","k":4})");
  EXPECT_EQ(k_batch_sync{.k = 4}.describe().json, R"({"kind":"kbatch","k":4})");
  EXPECT_EQ(k_async{.k = 4}.describe().json, R"({"kind":"kasync","k":4})");
  EXPECT_EQ(k_batch_async{.k = 4}.describe().json, R"({"kind":"kbatchasync","k":4})");
  EXPECT_EQ((buffered{.active = 8, .buffer = 4, .open = 2}.describe().json),
            R"({"kind":"buffer","active":8,"buffer":4,"open":2})");
  EXPECT_EQ(backup_workers{.backups = 2}.describe().json, R"({"kind":"backup","backups":2})");
  EXPECT_EQ(rennala{.batch = 5}.describe().json, R"({"kind":"rennala","batch":5})");
  EXPECT_EQ((ringmaster{.delay = 20, .stops = true}.describe().json),
            R"({"kind":"ringmaster","delay":20,"stops":true})");
  EXPECT_EQ((m_fastest{.m = 4, .probe = 9}.describe().json), R"({"kind":"mfastest","m":4,"probe":9})");
  EXPECT_EQ((capped{.running = 3, .order = release_order::fastest}.describe().json),
            R"({"kind":"cap","running":3,"order":"fastest"})");
}

TEST(RivalOptions, AreReadInTheLine) {
  EXPECT_EQ(k_sync{.k = 4}.describe().line, "ksync: an update by the first 4 workers, the others are cancelled");
  EXPECT_EQ((buffered{.active = 8, .buffer = 4, .open = 2}.describe().line),
            "buffer: at most 8 workers run, an update by every 4 gradients, new steps when 2 slots are open");
  EXPECT_EQ((m_fastest{.m = 4, .probe = 9}.describe().line),
            "mfastest: only the 4 fastest workers run, asynchronously; every 9 pushes another one is tried");
  EXPECT_EQ(ringmaster{}.describe().line, "ringmaster: nobody waits, gradients 20 updates old are dropped");
}

}  // namespace
