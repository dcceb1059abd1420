#include <rubato/gloo_ps/checkpoint.hpp>

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../../support/folder_test.hpp"

namespace gloo_ps_checkpoint_test {
namespace {

namespace ps = rubato::gloo_ps;
using rubato::errc;
class Checkpoint : public rubato::test::folder_test {};

ps::checkpoint some() {
  ps::checkpoint c{.job = 3, .model = {5, 2}, .workers = 4, .version = 17, .policy = "ssp:3", .longest_step = 0.25};
  c.controller = {std::byte{1}, std::byte{2}, std::byte{3}};
  c.shards.push_back({.version = 17, .parameters = {1, 2, 3}, .rule = "456", .rounds = {{8, {7, 8, 9}, 1.5F}}});
  c.shards.push_back({.version = 17, .parameters = {1, 2}, .rule = "45"});
  return c;
}

TEST_F(Checkpoint, RoundTrip) {
  const std::string path = at("state");
  const auto written = ps::write_checkpoint(path, some());
  ASSERT_TRUE(written) << written.error().message;
  const auto read = ps::read_checkpoint(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ps::encode(*read), ps::encode(some()));
}

TEST_F(Checkpoint, EveryTruncationIsRefused) {
  const std::string whole = ps::encode(some());
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(ps::decode_checkpoint(whole.substr(0, n), "x").error().code, errc::corrupt) << n;
}

TEST_F(Checkpoint, EveryFlippedBitIsRefused) {
  std::string bytes = ps::encode(some());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ps::decode_checkpoint(bytes, "x")) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST_F(Checkpoint, ForeignFilesAreRefused) {
  EXPECT_EQ(ps::decode_checkpoint("hello", "notes.txt").error().message, "notes.txt: not a checkpoint of this server");
  EXPECT_EQ(ps::read_checkpoint(at("nothing")).error().code, errc::io);
  // Of another format: whole, and written by somebody else.
  std::string other = ps::encode(some());
  other[ps::detail::checkpoint_magic.size()] = 9;
  const std::uint64_t sum = ps::detail::checksum_of(std::string_view{other}.substr(0, other.size() - sizeof(sum)));
  other.replace(other.size() - sizeof sum, sizeof sum, reinterpret_cast<const char*>(&sum), sizeof sum);
  EXPECT_EQ(ps::decode_checkpoint(other, "x").error().code, errc::wrong_kind);
}

TEST_F(Checkpoint, SizesThatDoNotFitAreRefused) {
  ps::checkpoint c = some();
  c.shards[1].parameters.push_back(0);
  EXPECT_FALSE(ps::decode_checkpoint(ps::encode(c), "x"));
  c = some();
  c.shards[1].version = 16;
  EXPECT_FALSE(ps::decode_checkpoint(ps::encode(c), "x")) << "shards of different instants";
  c = some();
  c.shards[0].rounds[0].sum.pop_back();
  EXPECT_FALSE(ps::decode_checkpoint(ps::encode(c), "x"));
  c = some();
  c.shards.pop_back();
  EXPECT_FALSE(ps::decode_checkpoint(ps::encode(c), "x"));
}

TEST_F(Checkpoint, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const std::string& path : {at("pipe"), folder.string(), std::string{"/dev/zero"}}) {
    const auto read = ps::read_checkpoint(path);
    EXPECT_EQ(read.error().code, errc::io);
    EXPECT_EQ(read.error().message, "cannot read " + path + ": found a " +
                                        (path == folder.string() ? "directory" : "device or pipe") +
                                        ", expected a regular file");
  }
  EXPECT_EQ(ps::read_checkpoint(at("none")).error().message,
            "cannot read " + at("none") + ": No such file or directory");
}

// They have holes, and take no room on the disk.
TEST_F(Checkpoint, AFileAboveTheLimitIsRefusedUnread) {
  std::ofstream{at("state")} << ps::encode(some());
  std::filesystem::resize_file(at("state"), ps::largest_checkpoint + 1);
  EXPECT_EQ(ps::read_checkpoint(at("state")).error().message,
            "cannot read " + at("state") + ": found 17179869185 bytes, expected at most 17179869184");
  std::ofstream{at("foreign")} << "hello";
  std::filesystem::resize_file(at("foreign"), ps::largest_checkpoint / 2);
  EXPECT_EQ(ps::read_checkpoint(at("foreign")).error().message, at("foreign") + ": not a checkpoint of this server");
}

TEST_F(Checkpoint, MoreShardsThanParametersAreRefused) {
  ps::checkpoint c = some();
  c.model.parameters = c.model.shards - 1;
  EXPECT_EQ(ps::decode_checkpoint(ps::encode(c), "x").error().code, errc::corrupt);
}

// Limits on steps and waits are multiples of it.
TEST_F(Checkpoint, ALongestStepThatIsNoTimeIsRefused) {
  ps::checkpoint c = some();
  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    c.longest_step = bad;
    EXPECT_EQ(ps::decode_checkpoint(ps::encode(c), "x").error().code, errc::corrupt) << bad;
  }
}

}  // namespace
}  // namespace gloo_ps_checkpoint_test
