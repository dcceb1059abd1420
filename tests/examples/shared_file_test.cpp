#include "../../examples/support/shared_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "../../examples/lab/run_board.hpp"
#include "temporary_directory.hpp"

namespace {

using rubato::lab::run_board;
using rubato::support::shared_file;
using rubato::test::temporary_directory;

TEST(SharedFile, WhatOneWritesTheOtherSees) {
  const temporary_directory folder;
  const shared_file one = shared_file::make(folder.path() / "file", 5000);
  const shared_file other = shared_file::open(folder.path() / "file");
  ASSERT_EQ(other.bytes().size(), 5000u);
  EXPECT_EQ(other.bytes()[4999], std::byte{0});
  one.bytes()[4999] = std::byte{7};
  EXPECT_EQ(other.bytes()[4999], std::byte{7});
}

TEST(SharedFile, FilesThatAreNotThereOrAreAlready) {
  const temporary_directory folder;
  EXPECT_THROW(static_cast<void>(shared_file::open(folder.path() / "file")), std::system_error);
  folder.write("file", "1234");
  EXPECT_THROW(static_cast<void>(shared_file::make(folder.path() / "file", 8)), std::system_error);
}

TEST(SharedFile, WhereThereIsNoRoomNothingIsLeft) {
  const temporary_directory folder;
  EXPECT_THROW(static_cast<void>(shared_file::make(folder.path() / "file", std::size_t{1} << 62)), std::system_error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "file"));
}

TEST(SharedFile, ABoardIsTheSameForAll) {
  const temporary_directory folder;
  const auto file = folder.path() / "board";
  run_board here{file, 3, 1, rubato::sim::loss_source::worker_ema};
  const pid_t child = fork();
  if (child == 0) {
    run_board there{file};
    there.of(2).steps = 5;
    there.of(2).made.spent.took = 0.5;
    there.cores(1, std::chrono::duration<double>{1}).acquire();
    _exit(there.begun() || there.stopped() || there.seen_loss({.loss = 4}, false) != 4 ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(here.of(2).steps, 5u);
  EXPECT_EQ(here.of(0).steps, 0u);
  EXPECT_EQ(here.of(2).made.spent.took, 0.5);
  EXPECT_EQ(here.computing(), 1u);
  here.vacate(1);
  EXPECT_EQ(here.computing(), 0u);
  EXPECT_FLOAT_EQ(here.seen_loss({.loss = 14}, false), 5) << "the average of all processes";
  here.begin();
  here.stop();
  run_board again{file};
  EXPECT_TRUE(again.begun() && again.stopped());
  EXPECT_GE(again.seconds_since_begin(), 0.0);
}

}  // namespace
