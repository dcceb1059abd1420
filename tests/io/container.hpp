// Bytes of safetensors files: made by hand, made by the Python package, read, and written again.
#ifndef RUBATO_TESTS_IO_CONTAINER_HPP
#define RUBATO_TESTS_IO_CONTAINER_HPP

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <rubato/io/safetensors.hpp>
#include <rubato/io/safetensors_writer.hpp>
#include <span>
#include <string>
#include <string_view>

#include "../support/container_bytes.hpp"

namespace rubato::test {

/// A file that tests/io/golden/make.py made.
inline std::string golden_path(const std::string& name) {
  return RUBATO_SOURCE_DIR "/tests/io/golden/" + name + ".safetensors";
}
inline std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
inline std::string golden(const std::string& name) { return content_of(golden_path(name)); }

inline result<safetensors> parsed(std::string_view bytes, safetensors_limits limits = {}) {
  return safetensors::parse(std::as_bytes(std::span{bytes}), "file", limits);
}

/// The message of the refusal, or "accepted".
inline std::string refusal(std::string_view bytes, safetensors_limits limits = {}) {
  const auto file = parsed(bytes, limits);
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, errc::corrupt) << file.error().message;
  return file.error().message;
}

inline std::string written(const safetensors_writer& writer) {
  std::string text;
  auto sink = [&](std::string_view bytes) noexcept { text += bytes; };
  const auto size = writer.write(sink);
  EXPECT_TRUE(size) << size.error().message;
  EXPECT_TRUE(!size || *size == text.size());
  return text;
}

/// The same metadata and tensors, written here.
inline std::string rewritten(const safetensors& file) {
  safetensors_writer writer;
  for (const auto& [key, value] : file.metadata()) writer.metadata(key, value);
  for (const tensor& t : file.tensors()) writer.add(t);
  return written(writer);
}

}  // namespace rubato::test

#endif
