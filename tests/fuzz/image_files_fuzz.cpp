// Training images: IDX and CIFAR, plain and gzip. What is accepted is exactly the bytes of the files.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "gzip_file.hpp"
#include "scratch_folder.hpp"
#include "support/image_files.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_image_files {

using support::image_set;

enum shape : std::uint8_t { cifar = 1, as_written = 2, zipped = 4, two_batches = 8, repeated = 16 };  // bits

std::string big_endian(std::uint32_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xFF);
  return bytes;
}

constexpr std::size_t record = 1 + 3072;  // of CIFAR: a label and its pixels

// A whole record out of a few bytes: a fuzzer would have to find 3,072 more. No two of its pixels in a row are alike.
std::string records_of(input bytes) {
  std::string all;
  for (const std::uint8_t each : bytes) {
    all += static_cast<char>(each);
    for (std::size_t i = 1; i < record; ++i) all += static_cast<char>(each / 3 + i);
  }
  return all;
}

bool equals(const std::vector<std::uint8_t>& values, std::string_view bytes) {
  return std::ranges::equal(values, bytes, {}, {}, [](char c) { return static_cast<std::uint8_t>(c); });
}

void require_is(const image_set& set, std::string_view pixels, std::string_view labels) {
  require(equals(set.pixels, pixels), "the pixels are those of the file");
  require(equals(set.labels, labels), "the labels are those of the file");
}

void require_are_records(const image_set& set, std::string_view files) {
  require(files.size() == set.samples() * record, "every record is an image");
  std::string pixels, labels;
  for (; !files.empty(); files.remove_prefix(record)) {
    labels += files[0];
    pixels += files.substr(1, record - 1);
  }
  require_is(set, pixels, labels);
}

void require_sound(const image_set& set) {
  require(set.classes == 10 && set.inputs > 0 && set.inputs <= 65'535 && set.samples() > 0, "there are images");
  require(set.pixels.size() == set.samples() * set.inputs, "every image has its pixels");
  require(std::ranges::all_of(set.labels, [&](std::uint8_t label) { return label < set.classes; }),
          "labels are classes");
  require(set.training_samples() <= set.samples() && !set.description.empty(), "it can be described");
  static_cast<void>(fingerprint(set));
}

void run(input bytes) {
  static const scratch_folder folder;
  for (const auto& old : std::filesystem::directory_iterator{folder.path()}) std::filesystem::remove(old.path());
  input_reader in{bytes};
  const std::uint8_t how = in.byte();
  const auto write = [&](const std::string& name, std::string_view content) {
    if ((how & zipped) != 0)
      write_gzip(folder.at(name + ".gz"), content);
    else if ((how & repeated) != 0)  // whatever the bytes are, they are to be gzip
      folder.write(name + ".gz", content);
    else
      folder.write(name, content);
  };
  std::string first, second;
  if ((how & cifar) != 0) {
    const input part = in.take_part();
    first = (how & as_written) != 0 ? std::string{text_of(part)} : records_of(part);
    second = (how & as_written) != 0 ? std::string{text_of(in.rest())}
                                     : records_of(in.rest().first(std::min<std::size_t>(in.rest().size(), 8)));
    write("data_batch_1.bin", first);
    if ((how & two_batches) != 0) write("data_batch_2.bin", second);
  } else {
    const std::uint32_t count = in.byte(), rows = in.byte(), columns = in.byte();
    const input labels = in.take_part();
    if ((how & as_written) == 0) {
      first = big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
      second = big_endian(0x801) + big_endian(count);
    }
    first += text_of(in.rest());
    second += text_of(labels);
    write("train-images-idx3-ubyte", first);
    write("train-labels-idx1-ubyte", second);
  }
  // What begins like gzip is unpacked, whatever its name is: then these are not the images' bytes.
  const auto as_it_is = [&](std::string_view content) {
    return (how & zipped) != 0 || !content.starts_with("\x1F\x8B");
  };
  try {
    const image_set set = support::read_image_set(folder.path());
    require_sound(set);
    if (!as_it_is(first) || !as_it_is(second)) return;
    if ((how & cifar) != 0)
      require_are_records(set, (how & two_batches) != 0 ? first + second : first);
    else
      require_is(set, std::string_view{first}.substr(16), std::string_view{second}.substr(8));
  } catch (const support::user_error& e) {
    const std::string_view what = e.what();
    require(what.starts_with(folder.path().string()) && what.find("found") != what.npos &&
                what.find("expected") != what.npos,
            "a refusal says where, what was found and what was expected:", what);
  }
}

const registered here{"image_files", run};

}  // namespace of_image_files
}  // namespace rubato::fuzz
