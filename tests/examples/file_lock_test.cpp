#include "../../examples/support/file_lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "temporary_directory.hpp"

namespace {

using rubato::support::file_lock;
using rubato::support::user_error;
using rubato::test::message_of;

TEST(FileLock, OnlyOneHoldsIt) {
  const rubato::test::temporary_directory folder;
  const std::string path = (folder.path() / "lock").string();
  std::optional<file_lock> first{std::in_place, path, "somebody works here"};
  EXPECT_EQ(message_of<user_error>([&] { return file_lock{path, "somebody works here"}, 0; }),
            path + ": somebody works here");
  first.reset();
  EXPECT_EQ(message_of<user_error>([&] { return file_lock{path, ""}, 0; }), "");
  EXPECT_NE(message_of<user_error>([&] { return file_lock{path + "/no/where", ""}, 0; }), "");
}

TEST(FileLock, GoesWithTheObject) {
  const rubato::test::temporary_directory folder;
  const auto path = folder.path() / "lock";
  {
    const file_lock held{path.string(), ""};
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileLock, OtherFilesStay) {
  const rubato::test::temporary_directory folder;
  folder.write("poetry.lock", "precious");
  const std::string path = (folder.path() / "poetry.lock").string();
  EXPECT_EQ(message_of<user_error>([&] { return file_lock{path, ""}, 0; }),
            path + ": found a file of 8 bytes, expected none, or the empty one of a training");
  EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

// A holder removes the file while others have it open already.
TEST(FileLock, ManyTakeTurns) {
  const rubato::test::temporary_directory folder;
  const std::string path = (folder.path() / "lock").string();
  std::atomic<int> inside = 0, crowds = 0, turns = 0;
  std::vector<std::jthread> programs;
  for (int i = 0; i < 4; ++i)
    programs.emplace_back([&] {
      for (int attempt = 0; attempt < 5'000; ++attempt) {
        try {
          const file_lock held{path, ""};
          if (++inside > 1) ++crowds;
          ++turns;
          --inside;
        } catch (const user_error&) {
        }
      }
    });
  programs.clear();
  EXPECT_EQ(crowds, 0);
  EXPECT_GT(turns, 1'000);
}

TEST(FileLock, LeftBehindIsFree) {
  const rubato::test::temporary_directory folder;
  folder.write("lock", "");
  EXPECT_EQ(message_of<user_error>([&] { return file_lock{(folder.path() / "lock").string(), ""}, 0; }), "");
}

}  // namespace
