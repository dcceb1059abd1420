#include "../../examples/support/file_lock.hpp"

#include <gtest/gtest.h>

#include <optional>

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

TEST(FileLock, LeftBehindIsFree) {
  const rubato::test::temporary_directory folder;
  folder.write("lock", "");
  EXPECT_EQ(message_of<user_error>([&] { return file_lock{(folder.path() / "lock").string(), ""}, 0; }), "");
}

}  // namespace
