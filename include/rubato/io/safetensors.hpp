#ifndef RUBATO_IO_SAFETENSORS_HPP
#define RUBATO_IO_SAFETENSORS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "json_reader.hpp"
#include "regular_file.hpp"
#include "tensor.hpp"
#include "utf8.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a reader takes at most, besides safetensors::max_tensors and its neighbours.
struct safetensors_limits {
  std::uint64_t header = std::uint64_t{1} << 20;  ///< bytes
  std::uint64_t data = std::uint64_t{1} << 30;    ///< bytes
};

/// A file in the safetensors format, read whole: named tensors, and a map of strings.
///
///     result<safetensors> file = safetensors::load("policy.safetensors");
///     if (!file) return complain(file.error().message);
///     const tensor* weight = file->find("policy/layer0/weight");
///
/// Anyone may have written the bytes. Nothing of a size that they claim is allocated before it is checked, and refused
/// is everything that the format does not allow: a header that is not one JSON object from its first byte on, with
/// only spaces after it; keys given twice; other members of a tensor than dtype, shape and data_offsets; numbers that
/// are not integers of 0 to 2^53; sizes that overflow or disagree; gaps, overlaps and bytes that belong to no tensor;
/// metadata that is not text. So is what the format allows but rubato has no use for: types other than F32, F64, I64
/// and U64, names that are not plain (see is_plain), and whatever exceeds the limits. Values are not looked at: NaN
/// passes.
///
/// Errors  corrupt, or io if the file cannot be read; the message gives source, byte or tensor, found and expected.
/// Cost    one copy of the data; its address is a multiple of 16. Not copyable; views stay valid when moved.
/// Thread  reading one object from many threads is safe.
/// Tests   tests/io/safetensors_test.cpp: ReadsWhatPythonWrote, RoundTrip, LoadsFiles, FileErrors, ViewsSurviveAMove
///         tests/io/safetensors_hostile_test.cpp
/// Source  github.com/huggingface/safetensors, README, "Format"
class safetensors {
 public:
  static constexpr std::size_t max_tensors = 4096;  ///< in one file
  static constexpr std::size_t max_rank = 8;        ///< dimensions of one tensor
  static constexpr std::size_t max_name = 256;      ///< bytes

  /// One pair of the map of strings.
  struct metadata_entry {
    std::string key;    ///< at most max_name bytes, plain
    std::string value;  ///< any UTF-8
  };

  /// Reads from memory, which is copied. `source` is what messages begin with.
  [[nodiscard]] static result<safetensors> parse(std::span<const std::byte> bytes, std::string source = "safetensors",
                                                 safetensors_limits limits = {}) {
    input memory{.memory = bytes.data()};
    return read(memory, bytes.size(), std::move(source), limits);
  }

  /// Reads a regular file.
  [[nodiscard]] static result<safetensors> load(const std::string& path, safetensors_limits limits = {}) {
    result<regular_file> file = regular_file::open(path);
    if (!file) return unreadable(path, file.error().message);
    const result<std::uint64_t> size = file->size();
    if (!size) return unreadable(path, size.error().message);
    input from{.file = &*file};
    return read(from, *size, path, limits);
  }

  /// In the order of their bytes.
  [[nodiscard]] std::span<const tensor> tensors() const noexcept { return {tensors_.data(), tensors_.size()}; }
  /// The tensor of that name, or nullptr. O(number of tensors).
  [[nodiscard]] const tensor* find(std::string_view name) const noexcept {
    for (const tensor& each : tensors_)
      if (each.name == name) return &each;
    return nullptr;
  }

  /// In the order of the file.
  [[nodiscard]] std::span<const metadata_entry> metadata() const noexcept {
    return {metadata_.data(), metadata_.size()};
  }
  /// The metadata under that key, or nullptr.
  [[nodiscard]] const std::string* metadata(std::string_view key) const noexcept {
    for (const metadata_entry& each : metadata_)
      if (each.key == key) return &each.value;
    return nullptr;
  }

  /// What messages about this file begin with: its path, or what parse() was told.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  // Where bytes come from. They are read in order and without gaps.
  struct input {
    const std::byte* memory = nullptr;  // or else
    regular_file* file = nullptr;

    [[nodiscard]] error next(const std::string& path, void* target, std::size_t size) {
      if (file == nullptr) {
        if (size > 0) std::memcpy(target, memory, size), memory += size;
        return {};
      }
      const result<std::size_t> got = file->read({static_cast<std::byte*>(target), size});
      if (!got) return unreadable(path, got.error().message);
      return *got == size ? error{} : unreadable(path, "it became shorter while it was read");
    }
  };

  struct range {
    std::uint64_t begin = 0, end = 0;
    std::size_t tensor = 0;  // its place in the header
  };

  static constexpr std::uint64_t prefix = 8;  // bytes that hold the length of the header

  [[nodiscard]] static error unreadable(const std::string& path, const std::string& why) {
    return {errc::io, "cannot read " + path + ": " + why};
  }
  [[nodiscard]] error corrupt(const std::string& what) const { return {errc::corrupt, source_ + ": " + what}; }

  [[nodiscard]] static result<safetensors> read(input& from, std::uint64_t total, std::string source,
                                                safetensors_limits limits) {
    constexpr std::uint64_t most = (std::numeric_limits<std::ptrdiff_t>::max)();  // what a machine has addresses for
    limits = {(std::min)(limits.header, most), (std::min)(limits.data, most)};
    safetensors file;
    file.source_ = std::move(source);
    if (total < prefix)
      return file.corrupt("found " + std::to_string(total) + " bytes, expected at least 8 for the header's length");

    std::byte bytes[prefix] = {};
    if (error e = from.next(file.source_, bytes, prefix); e.code != errc::ok) return e;
    const auto length = from_little_endian<std::uint64_t>(bytes);
    if (length > total - prefix)
      return file.corrupt("byte 0: found a header of " + std::to_string(length) + " bytes, expected at most " +
                          std::to_string(total - prefix) + ", which is what follows");
    if (length > limits.header)
      return file.corrupt("byte 0: found a header of " + std::to_string(length) + " bytes, expected at most " +
                          std::to_string(limits.header) + ", which is the limit");

    std::string header(static_cast<std::size_t>(length), '\0');
    if (error e = from.next(file.source_, header.data(), header.size()); e.code != errc::ok) return e;
    std::vector<tensor> tensors;
    std::vector<range> ranges;
    if (error e = file.read_header(header, tensors, ranges); e.code != errc::ok) return e;

    const std::uint64_t size = total - prefix - length;
    if (error e = file.check_tiling(tensors, ranges, size); e.code != errc::ok) return e;
    if (size > limits.data)
      return file.corrupt("found " + std::to_string(size) + " bytes of data, expected at most " +
                          std::to_string(limits.data));

    file.data_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(size)]);
    if (!file.data_) return unreadable(file.source_, "no memory for " + std::to_string(size) + " bytes");
    if (error e = from.next(file.source_, file.data_.get(), static_cast<std::size_t>(size)); e.code != errc::ok)
      return e;
    file.tensors_.reserve(ranges.size());
    for (const range& r : ranges) {
      tensor& t = file.tensors_.emplace_back(std::move(tensors[r.tensor]));
      t.bytes = {file.data_.get() + r.begin, file.data_.get() + r.end};
    }
    return result<safetensors>{std::move(file)};
  }

  [[nodiscard]] error read_header(std::string_view text, std::vector<tensor>& tensors, std::vector<range>& ranges) {
    if (!text.starts_with('{'))
      return corrupt("byte 8: found " + (text.empty() ? "nothing" : in_quotes(text.substr(0, 1))) + ", expected \"{\"");
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    json_reader json{text, {.source = source_, .offset = prefix}};
    json.object([&](std::string_view key) {
      if (key.size() > max_name)
        json.refuse("a name of " + std::to_string(key.size()) + " bytes", "at most " + std::to_string(max_name));
      else if (!is_plain(key))
        json.refuse("a control or hidden character in the name", "none");
      else if (key == "__metadata__")
        read_metadata(json);
      else if (tensors.size() == max_tensors)
        json.refuse("one more tensor", "at most " + std::to_string(max_tensors));
      else
        read_tensor(json, key, tensors.emplace_back(), ranges.emplace_back(range{.tensor = ranges.size()}));
    });
    return json.end() ? error{} : json.problem();
  }

  void read_metadata(json_reader& json) {
    json.object([&](std::string_view key) {
      if (key.size() > max_name || !is_plain(key))
        json.refuse("the key " + in_quotes(key),
                    "at most " + std::to_string(max_name) + " bytes, no control or hidden characters");
      metadata_entry pair{.key = std::string{key}, .value = {}};
      if (json.string(pair.value)) metadata_.push_back(std::move(pair));
    });
  }

  static void read_tensor(json_reader& json, std::string_view name, tensor& what, range& data) {
    what.name = name;
    bool has_type = false, has_shape = false, has_range = false;
    json.object([&](std::string_view key) {
      if (key == "dtype") {
        has_type = read_type(json, what.type);
      } else if (key == "shape") {
        has_shape = json.array([&] {
          if (what.shape.size() == max_rank) json.refuse("one more dimension", "at most " + std::to_string(max_rank));
          json.integer(what.shape.emplace_back());
        });
      } else if (key == "data_offsets") {
        has_range = read_range(json, data);
      } else {
        json.refuse("the key " + in_quotes(key), "dtype, shape and data_offsets only");
      }
    });
    if (!has_type || !has_shape || !has_range)
      json.refuse("no " + std::string{!has_type    ? "dtype"
                                      : !has_shape ? "shape"
                                                   : "data_offsets"},
                  "dtype, shape and data_offsets");
    const auto bytes = bytes_of(what.type, what.shape);
    const std::string words = std::string{rubato::name(what.type)} + " of shape " + to_text(what.shape);
    if (!bytes) json.refuse(words, "less than 2^64 bytes");
    if (bytes && *bytes != data.end - data.begin)
      json.refuse("data_offsets " + std::to_string(data.end - data.begin) + " bytes apart",
                  std::to_string(*bytes) + " for " + words);
  }

  static bool read_type(json_reader& json, dtype& type) {
    std::string text;
    if (!json.string(text)) return false;
    const auto known = dtype_named(text);
    if (!known) return json.refuse("the unsupported type " + in_quotes(text), "F32, F64, I64 or U64");
    type = *known;
    return true;
  }

  static bool read_range(json_reader& json, range& data) {
    std::size_t count = 0;
    json.array([&] {
      std::uint64_t offset = 0;
      json.integer(offset);
      if (count == 2) json.refuse("a third offset", "begin and end");
      (count++ == 0 ? data.begin : data.end) = offset;
    });
    if (count != 2) return json.refuse(std::to_string(count) + " offsets", "begin and end");
    if (data.begin > data.end)
      return json.refuse('[' + std::to_string(data.begin) + ", " + std::to_string(data.end) + ']', "begin <= end");
    return json.ok();
  }

  // Sorts by place; then each tensor must begin where the one before it ends, the first at 0, the last with the data.
  [[nodiscard]] error check_tiling(const std::vector<tensor>& tensors, std::vector<range>& ranges,
                                   std::uint64_t size) const {
    std::sort(ranges.data(), ranges.data() + ranges.size(), [](const range& a, const range& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.tensor < b.tensor;
    });
    std::uint64_t end = 0;
    for (const range& r : ranges) {
      if (r.begin != end)
        return corrupt("tensor " + in_quotes(tensors[r.tensor].name) + ": found its begin at byte " +
                       std::to_string(r.begin) + " of the data, expected " + std::to_string(end) + ": " +
                       (r.begin > end ? "a gap" : "an overlap"));
      end = r.end;
    }
    if (end == size) return {};
    return corrupt("found " + std::to_string(size) + " bytes of data, expected " + std::to_string(end) +
                   ", where the last tensor ends");
  }

  std::string source_;
  std::unique_ptr<std::byte[]> data_;
  std::vector<tensor> tensors_;
  std::vector<metadata_entry> metadata_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
