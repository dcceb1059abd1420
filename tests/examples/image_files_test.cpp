#include "../../examples/support/image_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "../../examples/support/user_error.hpp"
#include "gzipped.hpp"
#include "temporary_directory.hpp"

namespace {

using rubato::support::image_files;
using rubato::support::read_image_set;
using rubato::support::user_error;
using rubato::test::bytes;
using rubato::test::temporary_directory;

const std::string images_name = "train-images-idx3-ubyte";
const std::string labels_name = "train-labels-idx1-ubyte";

void append_big_endian(bytes& out, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& shape, const bytes& content) {
  bytes out;
  append_big_endian(out, magic);
  for (const auto size : shape) append_big_endian(out, size);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

// Six images of 2x1 and their labels.
bytes small_images() { return idx(2051, {6, 2, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}); }
bytes small_labels() { return idx(2049, {6}, {3, 1, 4, 1, 5, 9}); }

bytes gzip(const bytes& plain) {
  const std::string packed = rubato::test::gzipped({plain.begin(), plain.end()});
  return {packed.begin(), packed.end()};
}

bytes cifar_records(const std::vector<std::uint8_t>& labels) {
  bytes out;
  for (const auto label : labels) {
    out.push_back(label);
    for (std::size_t i = 0; i < 3072; ++i) out.push_back(static_cast<std::uint8_t>(i + label));
  }
  return out;
}

/// What reading a directory with these files says; it always begins with the directory.
std::string refusal_of_files(const std::vector<std::pair<std::string, bytes>>& files) {
  const temporary_directory d;
  for (const auto& [name, content] : files) d.write(name, content);
  std::string message = rubato::test::message_of<user_error>([&] { return read_image_set(d.path()); });
  const std::string prefix = d.path().string();
  for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) message.replace(at, prefix.size(), "DIR");
  return message;
}

std::string refusal_of_images(const bytes& images) {
  return refusal_of_files({{images_name, images}, {labels_name, small_labels()}});
}
std::string refusal_of_labels(const bytes& labels) {
  return refusal_of_files({{images_name, small_images()}, {labels_name, labels}});
}

TEST(ImageFiles, ReadsPlainIdx) {
  const temporary_directory d;
  d.write(images_name, small_images());
  d.write(labels_name, small_labels());
  const auto set = read_image_set(d.path());
  EXPECT_EQ(set.samples(), 6u);
  EXPECT_EQ(set.training_samples(), 5u);
  EXPECT_EQ(set.inputs, 2u);
  EXPECT_EQ(set.classes, 10u);
  EXPECT_EQ(set.pixels, (bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
  EXPECT_EQ(set.labels, (bytes{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(set.description, "IDX (MNIST format), 6 images of 2x1");
}

TEST(ImageFiles, GzipAndPlainReadTheSame) {
  const temporary_directory plain, packed;
  plain.write(images_name, small_images());
  plain.write(labels_name, small_labels());
  packed.write(images_name + ".gz", gzip(small_images()));
  packed.write(labels_name + ".gz", gzip(small_labels()));
  const auto a = read_image_set(plain.path()), b = read_image_set(packed.path());
  EXPECT_EQ(a.pixels, b.pixels);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(fingerprint(a), fingerprint(b));
}

TEST(ImageFiles, FingerprintTellsContentApart) {
  const temporary_directory d;
  d.write(images_name, small_images());
  d.write(labels_name, small_labels());
  auto set = read_image_set(d.path());
  const auto before = fingerprint(set);
  set.labels[2] = 5;
  EXPECT_NE(fingerprint(set), before);
}

TEST(ImageFiles, ReadsCifarBatchesInNumericalOrder) {
  const temporary_directory d;
  d.write("data_batch_2.bin.gz", gzip(cifar_records({2})));
  d.write("data_batch_10.bin", cifar_records({9, 8}));
  d.write("data_batch_1.bin", cifar_records({0, 1}));
  d.write("test_batch.bin", "not read");
  d.write("data_batch_x.bin", "not read");
  const auto set = read_image_set(d.path());
  EXPECT_EQ(set.labels, (bytes{0, 1, 2, 9, 8}));
  EXPECT_EQ(set.inputs, 3072u);
  ASSERT_EQ(set.pixels.size(), 5u * 3072);
  EXPECT_EQ(set.pixels[2 * 3072 + 7], 9);  // third image, label 2
  EXPECT_EQ(set.description, "CIFAR-10 (binary), 5 images of 32x32x3 from 3 batches");
}

TEST(ImageFiles, RefusesADirectoryWithoutImages) {
  EXPECT_EQ(refusal_of_files({}),
            "DIR: found no training images, expected train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz], or "
            "data_batch_1.bin[.gz] and following");
  EXPECT_EQ(refusal_of_files({{images_name, small_images()}}),
            "DIR: found images only, expected train-labels-idx1-ubyte[.gz] beside them");
  EXPECT_EQ(refusal_of_files({{labels_name, small_labels()}}),
            "DIR: found labels only, expected train-images-idx3-ubyte[.gz] beside them");
}

TEST(ImageFiles, RefusesWhatIsNoDirectory) {
  const auto message = rubato::test::message_of<user_error>([] { return read_image_set("/nowhere/at/all"); });
  EXPECT_EQ(message,
            "/nowhere/at/all: cannot be read as a directory: No such file or directory, expected a folder with the "
            "training files of MNIST or CIFAR-10");
}

TEST(ImageFiles, RefusesBothFormats) {
  EXPECT_EQ(refusal_of_files({{images_name, small_images()}, {labels_name, small_labels()}, {"data_batch_1.bin", {}}}),
            "DIR: found both IDX (train-*-ubyte) and CIFAR-10 (data_batch_*.bin) files, expected one format");
}

TEST(ImageFiles, RefusesAFileThatIsThereTwice) {
  EXPECT_EQ(refusal_of_files({{images_name, small_images()}, {images_name + ".gz", {}}, {labels_name, small_labels()}}),
            "DIR: found both train-images-idx3-ubyte and train-images-idx3-ubyte.gz, expected one of them");
  EXPECT_EQ(refusal_of_files({{"data_batch_1.bin", cifar_records({1})}, {"data_batch_1.bin.gz", {}}}),
            "DIR: found both data_batch_1.bin and data_batch_1.bin.gz, expected one of them");
}

TEST(ImageFiles, RefusesAWrongMagicNumber) {
  EXPECT_EQ(refusal_of_images(small_labels()),
            "DIR/train-images-idx3-ubyte: byte 0: found magic number 0x00000801, expected 0x00000803 (IDX, unsigned "
            "bytes, 3 dimensions)");
  EXPECT_EQ(refusal_of_labels(small_images()),
            "DIR/train-labels-idx1-ubyte: byte 0: found magic number 0x00000803, expected 0x00000801 (IDX, unsigned "
            "bytes, 1 dimension)");
}

TEST(ImageFiles, RefusesATruncatedHeader) {
  EXPECT_EQ(refusal_of_images({}),
            "DIR/train-images-idx3-ubyte: byte 0: found the end of the file, expected 4 bytes of the IDX magic number "
            "from byte 0 on");
  auto images = small_images();
  images.resize(10);
  EXPECT_EQ(
      refusal_of_images(images),
      "DIR/train-images-idx3-ubyte: byte 10: found the end of the file, expected 4 bytes of a dimension from byte 8 "
      "on");
}

TEST(ImageFiles, RefusesTruncatedData) {
  auto images = small_images();
  images.pop_back();
  EXPECT_EQ(refusal_of_images(images),
            "DIR/train-images-idx3-ubyte: byte 27: found the end of the file, expected 12 bytes of pixels from byte 16 "
            "on");
  auto labels = small_labels();
  labels.pop_back();
  EXPECT_EQ(
      refusal_of_labels(labels),
      "DIR/train-labels-idx1-ubyte: byte 13: found the end of the file, expected 6 bytes of labels from byte 8 on");
}

TEST(ImageFiles, RefusesTrailingBytes) {
  auto images = small_images();
  images.push_back(0);
  EXPECT_EQ(refusal_of_images(images),
            "DIR/train-images-idx3-ubyte: byte 28: found more bytes, expected the end of the file");
  auto labels = small_labels();
  labels.push_back(0);
  EXPECT_EQ(refusal_of_labels(labels),
            "DIR/train-labels-idx1-ubyte: byte 14: found more bytes, expected the end of the file");
}

TEST(ImageFiles, RefusesEmptyAndHugeShapes) {
  EXPECT_EQ(refusal_of_images(idx(2051, {6, 0, 1}, {})),
            "DIR/train-images-idx3-ubyte: byte 8: found a dimension of 0, expected at least 1 and at most 268435456 "
            "pixels in all");
  // The product wraps to 0 in 32 and in 64 bits.
  EXPECT_EQ(refusal_of_images(idx(2051, {0x80000000, 0x80000000, 4}, {})),
            "DIR/train-images-idx3-ubyte: byte 4: found a dimension of 2147483648, expected at least 1 and at most "
            "268435456 pixels in all");
  EXPECT_EQ(refusal_of_images(idx(2051, {0x4000, 0x4000, 2}, {})),
            "DIR/train-images-idx3-ubyte: byte 12: found a dimension of 2, expected at least 1 and at most 268435456 "
            "pixels in all");
}

TEST(ImageFiles, RefusesImagesThatNoModelTakes) {
  EXPECT_EQ(refusal_of_images(idx(2051, {6, 256, 256}, {})),
            "DIR/train-images-idx3-ubyte: byte 8: found images of 256x256, expected at most 65535 pixels each");
}

TEST(ImageFiles, RefusesALabelOutOfRange) {
  EXPECT_EQ(refusal_of_labels(idx(2049, {6}, {3, 1, 10, 1, 5, 9})),
            "DIR/train-labels-idx1-ubyte: byte 10: found label 10, expected a label from 0 to 9");
  EXPECT_EQ(refusal_of_files({{"data_batch_1.bin", cifar_records({1, 200})}}),
            "DIR/data_batch_1.bin: byte 3073: found label 200, expected a label from 0 to 9");
}

TEST(ImageFiles, RefusesDifferentNumbersOfImagesAndLabels) {
  EXPECT_EQ(refusal_of_labels(idx(2049, {5}, {3, 1, 4, 1, 5})),
            "DIR/train-labels-idx1-ubyte: byte 4: found 5 labels, expected 6, one for each image of "
            "DIR/train-images-idx3-ubyte");
}

TEST(ImageFiles, RefusesATruncatedOrEmptyCifarBatch) {
  auto batch = cifar_records({1, 2});
  batch.resize(4'000);
  EXPECT_EQ(
      refusal_of_files({{"data_batch_3.bin", batch}}),
      "DIR/data_batch_3.bin: byte 4000: found the end of the file, expected a record of 3073 bytes from byte 3073 "
      "on");
  EXPECT_EQ(refusal_of_files({{"data_batch_3.bin", {}}}),
            "DIR/data_batch_3.bin: byte 0: found an empty file, expected records of 3073 bytes");
}

TEST(ImageFiles, RefusesTruncatedGzip) {
  auto packed = gzip(small_images());
  packed.resize(packed.size() - 6);  // cuts into checksum and length
  const auto message = refusal_of_files({{images_name + ".gz", packed}, {labels_name, small_labels()}});
  EXPECT_EQ(message,
            "DIR/train-images-idx3-ubyte.gz: byte 28: found a gzip file that ends early, expected the rest of it");
}

TEST(ImageFiles, RefusesCorruptGzip) {
  auto packed = gzip(small_images());
  packed[packed.size() - 8] ^= 1;  // the checksum
  const auto message = refusal_of_files({{images_name + ".gz", packed}, {labels_name, small_labels()}});
  EXPECT_TRUE(message.starts_with("DIR/train-images-idx3-ubyte.gz: byte ")) << message;
  EXPECT_TRUE(message.ends_with(": found corrupt gzip data (incorrect data check), expected intact gzip data"))
      << message;
}

TEST(ImageFiles, RefusesWhatFollowsGzip) {
  auto packed = gzip(small_images());
  packed.push_back('\n');
  EXPECT_EQ(
      refusal_of_files({{images_name + ".gz", packed}, {labels_name, small_labels()}}),
      "DIR/train-images-idx3-ubyte.gz: byte 28: found bytes after the end of the gzip data, expected nothing there");
}

TEST(ImageFiles, OfAFolderAreThoseThatWouldBeRead) {
  const temporary_directory d;
  EXPECT_TRUE(image_files(d.path() / "none").empty());
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "data_batch_2.bin",
                           "data_batch_02.bin", "test_batch.bin", "data_batch_3.bin.gz", "notes"})
    d.write(name, "");
  std::set<std::string> names;
  for (const auto& each : image_files(d.path())) names.insert(each.filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "data_batch_2.bin",
                                          "data_batch_3.bin.gz"}));
}

// Every single flipped bit of a compressed file is either refused or harmless, never a wrong image.
TEST(ImageFiles, NoFlippedBitOfGzipPassesForAnotherImage) {
  const auto intact = gzip(small_images());
  const auto expected = [] {
    const auto raw = small_images();
    return bytes(raw.begin() + 16, raw.end());
  }();
  for (std::size_t bit = 0; bit < intact.size() * 8; ++bit) {
    const temporary_directory d;
    auto packed = intact;
    packed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    d.write(images_name + ".gz", packed);
    d.write(labels_name, small_labels());
    try {
      EXPECT_EQ(read_image_set(d.path()).pixels, expected) << "bit " << bit;
    } catch (const user_error&) {
    }
  }
}

TEST(ImageFiles, RefusesADirectoryInPlaceOfAFile) {
  const temporary_directory d;
  std::filesystem::create_directory(d.path() / images_name);
  d.write(labels_name, small_labels());
  const auto message = rubato::test::message_of<user_error>([&] { return read_image_set(d.path()); });
  EXPECT_NE(message.find("train-images-idx3-ubyte: found a directory, expected a regular file"), std::string::npos)
      << message;
}

TEST(ImageFiles, ALinkThatLeadsNowhereIsNamed) {
  const temporary_directory d;
  std::filesystem::create_symlink("nowhere", d.path() / "data_batch_1.bin");
  const auto message = rubato::test::message_of<user_error>([&] { return read_image_set(d.path()); });
  EXPECT_NE(message.find("data_batch_1.bin: cannot be opened: "), std::string::npos) << message;
}

TEST(ImageFiles, APipeIsRefusedAndNotWaitedFor) {
  const temporary_directory d;
  ASSERT_EQ(mkfifo((d.path() / "data_batch_1.bin").c_str(), 0600), 0);
  const auto message = rubato::test::message_of<user_error>([&] { return read_image_set(d.path()); });
  EXPECT_NE(message.find("data_batch_1.bin: found a device or pipe, expected a regular file"), std::string::npos)
      << message;
}

}  // namespace
