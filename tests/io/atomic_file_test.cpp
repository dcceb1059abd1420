#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <rubato/io/atomic_file.hpp>
#include <string>

#include "../support/folder_test.hpp"

namespace {

namespace fs = std::filesystem;
using rubato::atomic_file;
using rubato::errc;
using rubato::write_file;

class AtomicFile : public rubato::test::folder_test {
 protected:
  [[nodiscard]] static std::string content(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}));
  }
};

TEST_F(AtomicFile, NothingBeforeCommit) {
  auto file = atomic_file::create(at("a"));
  ASSERT_TRUE(file);
  (*file)("hello ");
  (*file)("world");
  EXPECT_FALSE(fs::exists(at("a")));
  const auto bytes = file->commit();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, 11U);
  EXPECT_EQ(content(at("a")), "hello world");
  EXPECT_EQ(files(), 1U) << "the temporary file is gone";
}

TEST_F(AtomicFile, LargerThanItsBuffer) {
  const std::string block(100'000, 'x');
  auto file = atomic_file::create(at("a"));
  ASSERT_TRUE(file);
  (*file)("begin");
  for (int i = 0; i < 7; ++i) (*file)(std::string_view{block}.substr(0, 30'000));
  (*file)(block);
  (*file)("end");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(at("a")), "begin" + std::string(310'000, 'x') + "end");
}

TEST_F(AtomicFile, DestructionWithoutCommitLeavesTheOldFile) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  {
    auto file = atomic_file::create(at("a"));
    ASSERT_TRUE(file);
    (*file)("new");
  }
  EXPECT_EQ(content(at("a")), "old");
  EXPECT_EQ(files(), 1U);
}

// A file size limit makes write() fail half-way, as a full disk does.
TEST_F(AtomicFile, FailureLeavesTheOldFile) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto bytes = write_file(at("a"), std::string(5'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, errc::io);
  EXPECT_EQ(bytes.error().message, "cannot write " + at("a") + ": File too large");
  EXPECT_EQ(content(at("a")), "old");
  EXPECT_EQ(files(), 1U) << "the temporary file is gone";
}

TEST_F(AtomicFile, ErrorsNameFileAndReason) {
  const auto missing = atomic_file::create(at("no/such/folder"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::io);
  EXPECT_EQ(missing.error().message, "cannot create " + at("no/such/folder") + ": No such file or directory");

  const auto device = atomic_file::create("/dev/null");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "cannot write /dev/null: not a regular file");
  EXPECT_FALSE(atomic_file::create(folder.string()));
}

TEST_F(AtomicFile, KeepsPermissions) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  fs::permissions(at("a"), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file(at("a"), "new"));
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFile, FollowsLinks) {
  ASSERT_TRUE(write_file(at("a"), "old"));
  fs::create_symlink(at("a"), at("link"));
  ASSERT_TRUE(write_file(at("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(at("a")), "new");
}

TEST_F(AtomicFile, TwoWritersOfOneFileDoNotMix) {
  auto first = atomic_file::create(at("a"));
  auto second = atomic_file::create(at("a"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  (*first)("first");
  (*second)("second");
  ASSERT_TRUE(second->commit());
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(content(at("a")), "first");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, MovesWithItsContent) {
  auto file = atomic_file::create(at("a"));
  ASSERT_TRUE(file);
  (*file)("one ");
  atomic_file moved{std::move(*file)};
  moved("two");
  auto other = atomic_file::create(at("b"));
  ASSERT_TRUE(other);
  *other = std::move(moved);
  ASSERT_TRUE(other->commit());
  EXPECT_EQ(content(at("a")), "one two");
  EXPECT_EQ(files(), 1U) << "what it was assigned to left nothing behind";
}

TEST_F(AtomicFile, CommitsOnce) {
  auto file = atomic_file::create(at("a"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  const auto again = file->commit();
  EXPECT_FALSE(again);
  EXPECT_TRUE(fs::exists(at("a")));
}

}  // namespace
