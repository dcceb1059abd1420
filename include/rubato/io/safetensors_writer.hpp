#ifndef RUBATO_IO_SAFETENSORS_WRITER_HPP
#define RUBATO_IO_SAFETENSORS_WRITER_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "atomic_file.hpp"
#include "byte_sink.hpp"
#include "json_writer.hpp"
#include "safetensors.hpp"
#include "tensor.hpp"
#include "utf8.hpp"

namespace rubato::inline RUBATO_ABI {

/// Writes files in the safetensors format.
///
///     safetensors_writer file;
///     file.metadata("rubato", card).add("policy/layer0/weight", {out, in}, weights).add("step", {}, std::span{&n, 1});
///     if (auto done = file.save("policy.safetensors"); !done) complain(done.error().message);
///
/// The same metadata and tensors give the same bytes, in whichever order the tensors were added: they are sorted as the
/// Python package sorts them (U64, I64, F64, F32; then by name). Data begins at a multiple of 8, so every tensor lies
/// at a multiple of its value's size. What is written, `safetensors` reads.
///
/// Values are not copied: they must stay where they are until they have been written.
/// Errors  invalid_option before a byte is written: a name or key that is repeated, too long or not plain UTF-8, values
///         that do not fill the shape, a rank, header or sum of data beyond the reader's limits (safetensors_limits).
///         save() also io, and leaves the old file.
/// Cost    the header is made in memory; data goes to the sink in one call per tensor. Not thread-safe.
/// Tests   tests/io/safetensors_test.cpp: SameBytesAsPython, RoundTrip, SameContentSameBytes, RefusesToWrite,
///         RefusesMoreThanIsRead, SavesOrLeavesTheOldFile, SwapsBigEndianValues
class safetensors_writer {
 public:
  /// Adds a text; texts are written in the order they were added. Values may be any UTF-8.
  safetensors_writer& metadata(std::string key, std::string value) {
    metadata_.push_back({std::move(key), std::move(value)});
    return *this;
  }

  /// Adds a tensor, row-major. `values` is anything contiguous of a TensorValue that is not a temporary.
  template <class Values>
  requires(std::ranges::contiguous_range<Values>&& std::ranges::sized_range<Values>&&
               std::ranges::borrowed_range<Values>&& TensorValue<std::ranges::range_value_t<Values>>)
      safetensors_writer& add(std::string name, std::vector<std::uint64_t> shape, Values&& values) {
    const std::span in_place{std::ranges::cdata(values), std::ranges::size(values)};
    tensors_.push_back({.what = {.name = std::move(name),
                                 .type = dtype_of<std::ranges::range_value_t<Values>>,
                                 .shape = std::move(shape),
                                 .bytes = std::as_bytes(in_place)},
                        .order = std::endian::native});
    return *this;
  }

  /// Adds a tensor as bytes, such as one that was read.
  safetensors_writer& add(tensor what, std::endian order = std::endian::little) {
    tensors_.push_back({.what = std::move(what), .order = order});
    return *this;
  }

  /// Writes everything to a sink; the number of bytes. May be repeated.
  template <ByteSink Sink>
  result<std::uint64_t> write(Sink& sink) const {
    const std::vector<const entry*> sorted = in_order();
    if (error e = check(sorted); e.code != errc::ok) return e;
    const std::string text = header(sorted);
    if (text.size() > safetensors_limits{}.header)
      return refused("a header of " + std::to_string(text.size()) + " bytes", "at most 1 MiB");

    std::array<char, 8> length;
    const std::uint64_t size = text.size();
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>((size >> (8 * i)) & 0xFF);
    sink(std::string_view{length.data(), length.size()});
    sink(std::string_view{text});
    std::uint64_t written = length.size() + text.size();
    for (const entry* e : sorted) {
      put(sink, *e);
      written += e->what.bytes.size();
    }
    return written;
  }

  /// Writes everything to a file that appears complete or not at all; the number of bytes.
  [[nodiscard]] result<std::uint64_t> save(std::string path) const {
    result<atomic_file> file = atomic_file::create(std::move(path));
    if (!file) return file.error();
    if (result<std::uint64_t> written = write(*file); !written) return written;
    return file->commit();
  }

 private:
  struct entry {
    tensor what;
    std::endian order;
  };

  [[nodiscard]] static error refused(const std::string& found, const std::string& expected) {
    return {errc::invalid_option, "safetensors: found " + found + ", expected " + expected};
  }

  [[nodiscard]] std::vector<const entry*> in_order() const {
    std::vector<const entry*> sorted;
    for (const entry& e : tensors_) sorted.push_back(&e);
    std::sort(sorted.data(), sorted.data() + sorted.size(), [](const entry* a, const entry* b) {
      return a->what.type != b->what.type ? a->what.type > b->what.type : a->what.name < b->what.name;
    });
    return sorted;
  }

  [[nodiscard]] error check(const std::vector<const entry*>& sorted) const {
    if (sorted.size() > safetensors::max_tensors)
      return refused(std::to_string(sorted.size()) + " tensors", "at most " + std::to_string(safetensors::max_tensors));
    std::vector<std::string_view> names, keys;
    for (const entry* e : sorted) names.push_back(e->what.name);
    for (const auto& [key, value] : metadata_) {
      keys.push_back(key);
      if (!is_utf8(value)) return refused("metadata " + in_quotes(key) + " that is not UTF-8", "UTF-8");
    }
    if (error e = check_names(std::move(keys), "metadata "); e.code != errc::ok) return e;
    if (error e = check_names(std::move(names), "tensor "); e.code != errc::ok) return e;
    std::uint64_t left = safetensors_limits{}.data;
    for (const entry* e : sorted) {
      const auto& [name, type, shape, bytes] = e->what;
      if (shape.size() > safetensors::max_rank)
        return refused("tensor " + in_quotes(name) + " of rank " + std::to_string(shape.size()), "at most 8");
      for (const std::uint64_t dimension : shape)
        if (dimension > std::uint64_t{1} << 53)
          return refused("tensor " + in_quotes(name) + " of shape " + to_text(shape), "dimensions of at most 2^53");
      if (name == "__metadata__") return refused("tensor \"__metadata__\"", "another name");
      if (const auto size = bytes_of(type, shape); !size || *size != bytes.size())
        return refused(std::to_string(e->what.size()) + " values of tensor " + in_quotes(name),
                       "as many as fill its shape " + to_text(shape));
      if (bytes.size() > left)
        return refused("tensor " + in_quotes(name) + " of " + std::to_string(bytes.size()) + " bytes",
                       "at most " + std::to_string(left) + " more bytes of data");
      left -= bytes.size();
    }
    return {};
  }

  [[nodiscard]] static error check_names(std::vector<std::string_view> names, const std::string& what) {
    if (const std::string_view* const twice = detail::repeated(names); twice != nullptr)
      return refused(what + in_quotes(*twice) + " twice", "each name once");
    for (const std::string_view name : names)
      if (name.size() > safetensors::max_name || !is_plain(name))
        return refused(what + in_quotes(name),
                       "a name of at most 256 bytes of UTF-8 without control or hidden characters");
    return {};
  }

  [[nodiscard]] static bool is_utf8(std::string_view text) noexcept {
    while (const std::size_t length = utf8_length(text)) text.remove_prefix(length);
    return text.empty();
  }

  [[nodiscard]] std::string header(const std::vector<const entry*>& sorted) const {
    std::string text;
    auto sink = [&](std::string_view bytes) noexcept { text += bytes; };
    json_writer json{sink};
    json.begin_object();
    if (!metadata_.empty()) {
      json.key("__metadata__").begin_object();
      for (const auto& [key, value] : metadata_) json.member(key, std::string_view{value});
      json.end_object();
    }
    std::uint64_t begin = 0;
    for (const entry* e : sorted) {
      json.key(e->what.name).begin_object().member("dtype", name(e->what.type)).key("shape").begin_array();
      for (const std::uint64_t dimension : e->what.shape) json.value(dimension);
      const std::uint64_t end = begin + e->what.bytes.size();
      json.end_array().key("data_offsets").begin_array().value(begin).value(end).end_array().end_object();
      begin = end;
    }
    json.end_object();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  }

  template <class Sink>
  static void put(Sink& sink, const entry& e) {
    const auto text = [](std::span<const std::byte> bytes) {
      return std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    };
    if (e.what.bytes.empty()) return;
    if (e.order == std::endian::little) return sink(text(e.what.bytes));
    const std::size_t size = size_of(e.what.type);
    std::string swapped{text(e.what.bytes)};
    for (std::size_t i = 0; i < swapped.size(); i += size)
      std::reverse(swapped.data() + i, swapped.data() + i + size);
    sink(std::string_view{swapped});
  }

  std::vector<entry> tensors_;
  std::vector<safetensors::metadata_entry> metadata_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
