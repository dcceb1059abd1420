#include "image_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <rubato/core/fnv1a.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "packed_file.hpp"
#include "user_error.hpp"

namespace rubato::support {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t maximum_elements = std::uint64_t{1} << 28;
constexpr std::uint32_t maximum_inputs = 65'535;  // what a model here takes
constexpr std::uint32_t class_count = 10;
constexpr std::size_t chunk_size = std::size_t{1} << 20;

/// A plain or gzip file read from front to back; knows the offset, for messages.
class byte_stream {
 public:
  explicit byte_stream(const fs::path& file) : file_{file} {}

  [[nodiscard]] const std::string& name() const noexcept { return file_.name(); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

  /// Fills `out` as far as the file goes and returns the number of bytes read.
  std::size_t read_some(std::span<std::uint8_t> out) {
    const std::size_t got = file_.read({reinterpret_cast<char*>(out.data()), out.size()});
    offset_ += got;
    if (got < out.size() && !file_.problem().empty()) fail(offset_, file_.problem());
    return got;
  }

  /// Appends exactly `count` bytes to `out`; `what` names them in the error.
  void append(std::vector<std::uint8_t>& out, std::uint64_t count, std::string_view what) {
    const std::uint64_t start = offset_;
    for (std::uint64_t left = count; left > 0;) {
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk_size));
      const std::size_t before = out.size();
      out.resize(before + step);
      const std::size_t got = read_some(std::span{out}.subspan(before));
      if (got < step)
        fail(offset_, "the end of the file",
             std::to_string(count) + " bytes of " + std::string{what} + " from byte " + std::to_string(start) + " on");
      left -= step;
    }
  }

  [[nodiscard]] std::uint32_t read_big_endian(std::string_view what) {
    std::array<std::uint8_t, 4> bytes{};
    const std::uint64_t start = offset_;
    if (read_some(bytes) < bytes.size())
      fail(offset_, "the end of the file",
           "4 bytes of " + std::string{what} + " from byte " + std::to_string(start) + " on");
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
  }

  void expect_end() {
    std::array<std::uint8_t, 1> extra{};
    const std::uint64_t end = offset_;
    if (read_some(extra) > 0) fail(end, "more bytes", "the end of the file");
  }

  [[noreturn]] void fail(std::uint64_t at, std::string_view found, std::string_view expected) const {
    fail(at, "found " + std::string{found} + ", expected " + std::string{expected});
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& problem) const {
    throw user_error{name() + ": byte " + std::to_string(at) + ": " + problem};
  }

  packed_file file_;
  std::uint64_t offset_ = 0;
};

[[nodiscard]] bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

/// `directory/name` or `directory/name.gz`, whichever is there; both is ambiguous.
[[nodiscard]] std::optional<fs::path> plain_or_gzip(const fs::path& directory, const std::string& name) {
  const fs::path plain = directory / name;
  const fs::path compressed = directory / (name + ".gz");
  if (is_there(plain) && is_there(compressed))
    throw user_error{directory.string() + ": found both " + name + " and " + name + ".gz, expected one of them"};
  if (is_there(plain)) return plain;
  if (is_there(compressed)) return compressed;
  return std::nullopt;
}

constexpr const char* image_name = "train-images-idx3-ubyte";
constexpr const char* label_name = "train-labels-idx1-ubyte";

/// Of a file that may end in .gz.
[[nodiscard]] std::string_view plain_name(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return name;
}

/// The N of `data_batch_N.bin`.
[[nodiscard]] std::optional<unsigned> batch_number(std::string_view name) {
  constexpr std::string_view front = "data_batch_", back = ".bin";
  if (!name.starts_with(front) || !name.ends_with(back) || name.size() <= front.size() + back.size())
    return std::nullopt;
  name = name.substr(front.size(), name.size() - front.size() - back.size());
  unsigned number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failure != std::errc{} || end != name.data() + name.size() || std::to_string(number) != name) return std::nullopt;
  return number;
}

/// The numbers N of `data_batch_N.bin[.gz]`, ascending, each once.
[[nodiscard]] std::vector<unsigned> batch_numbers(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entries{directory, error};
  if (error)
    throw user_error{directory.string() + ": cannot be read as a directory: " + error.message() +
                     ", expected a folder with the training files of MNIST or CIFAR-10"};
  std::vector<unsigned> numbers;
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (const auto number = batch_number(plain_name(name))) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

void expect_label(const byte_stream& file, std::uint64_t at, std::uint8_t label) {
  if (label >= class_count)
    file.fail(at, "label " + std::to_string(label), "a label from 0 to " + std::to_string(class_count - 1));
}

[[nodiscard]] std::string hexadecimal(std::uint32_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += digits[value >> shift & 0xf];
  return text;
}

void expect_magic(byte_stream& file, std::uint32_t magic, std::string_view meaning) {
  const std::uint32_t found = file.read_big_endian("the IDX magic number");
  if (found != magic)
    file.fail(0, "magic number " + hexadecimal(found), hexadecimal(magic) + " (" + std::string{meaning} + ")");
}

[[nodiscard]] image_set read_idx(const fs::path& image_file, const fs::path& label_file) {
  byte_stream images{image_file};
  expect_magic(images, 0x803, "IDX, unsigned bytes, 3 dimensions");
  std::array<std::uint32_t, 3> shape{};
  std::uint64_t elements = 1;
  for (std::uint32_t& size : shape) {
    const std::uint64_t at = images.offset();
    size = images.read_big_endian("a dimension");
    if (size == 0 || size > maximum_elements / elements)
      images.fail(at, "a dimension of " + std::to_string(size),
                  "at least 1 and at most " + std::to_string(maximum_elements) + " pixels in all");
    elements *= size;
  }
  if (shape[1] * shape[2] > maximum_inputs)  // no overflow: the elements were bounded
    images.fail(8, "images of " + std::to_string(shape[1]) + "x" + std::to_string(shape[2]),
                "at most " + std::to_string(maximum_inputs) + " pixels each");

  image_set set;
  set.inputs = shape[1] * shape[2];
  set.classes = class_count;
  set.description = "IDX (MNIST format), " + std::to_string(shape[0]) + " images of " + std::to_string(shape[1]) + "x" +
                    std::to_string(shape[2]);
  images.append(set.pixels, elements, "pixels");
  images.expect_end();

  byte_stream labels{label_file};
  expect_magic(labels, 0x801, "IDX, unsigned bytes, 1 dimension");
  const std::uint32_t count = labels.read_big_endian("the number of labels");
  if (count != shape[0])
    labels.fail(4, std::to_string(count) + " labels",
                std::to_string(shape[0]) + ", one for each image of " + images.name());
  labels.append(set.labels, count, "labels");
  labels.expect_end();
  for (std::size_t i = 0; i < set.labels.size(); ++i) expect_label(labels, 8 + i, set.labels[i]);
  return set;
}

[[nodiscard]] image_set read_cifar(const fs::path& directory, std::span<const unsigned> numbers) {
  constexpr std::size_t pixels = 32 * 32 * 3;
  image_set set;
  set.inputs = pixels;
  set.classes = class_count;
  for (const unsigned number : numbers) {
    const std::string name = "data_batch_" + std::to_string(number) + ".bin";
    byte_stream file{plain_or_gzip(directory, name).value_or(directory / name)};
    std::array<std::uint8_t, 1 + pixels> record{};
    while (const std::size_t got = file.read_some(record)) {
      const std::uint64_t start = file.offset() - got;
      if (got < record.size())
        file.fail(file.offset(), "the end of the file",
                  "a record of 3073 bytes from byte " + std::to_string(start) + " on");
      expect_label(file, start, record[0]);
      if (set.pixels.size() + pixels > maximum_elements)
        file.fail(start, "more images", "at most " + std::to_string(maximum_elements) + " pixels in all");
      set.labels.push_back(record[0]);
      set.pixels.insert(set.pixels.end(), record.begin() + 1, record.end());
    }
    if (file.offset() == 0) file.fail(0, "an empty file", "records of 3073 bytes");
  }
  set.description = "CIFAR-10 (binary), " + std::to_string(set.samples()) + " images of 32x32x3 from " +
                    std::to_string(numbers.size()) + (numbers.size() == 1 ? " batch" : " batches");
  return set;
}

}  // namespace

image_set read_image_set(const fs::path& directory) {
  const auto batches = batch_numbers(directory);
  const auto images = plain_or_gzip(directory, image_name);
  const auto labels = plain_or_gzip(directory, label_name);
  const std::string where = directory.string() + ": ";

  if (!batches.empty() && (images || labels))
    throw user_error{where +
                     "found both IDX (train-*-ubyte) and CIFAR-10 (data_batch_*.bin) files, expected one format"};
  if (!batches.empty()) return read_cifar(directory, batches);
  if (!images && !labels)
    throw user_error{
        where +
        "found no training images, expected train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz], "
        "or data_batch_1.bin[.gz] and following"};
  if (!images) throw user_error{where + "found labels only, expected train-images-idx3-ubyte[.gz] beside them"};
  if (!labels) throw user_error{where + "found images only, expected train-labels-idx1-ubyte[.gz] beside them"};
  return read_idx(*images, *labels);
}

std::vector<fs::path> image_files(const fs::path& directory) {
  std::error_code none;  // read_image_set says what is wrong with it
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{directory, none}) {
    const std::string whole = entry.path().filename().string();
    const std::string_view name = plain_name(whole);
    if (name == image_name || name == label_name || batch_number(name)) files.push_back(entry.path());
  }
  return files;
}

std::uint64_t fingerprint(const image_set& images) {
  const std::string shape = std::to_string(images.samples()) + "x" + std::to_string(images.inputs) + "/" +
                            std::to_string(images.classes) + ";";
  return fnv1a(images.labels, fnv1a(images.pixels, fnv1a(shape)));
}

}  // namespace rubato::support
