#ifndef RUBATO_TESTS_FUZZ_SEALED_HPP
#define RUBATO_TESTS_FUZZ_SEALED_HPP

#include <rubato/core/archive.hpp>
#include <string>
#include <string_view>

namespace rubato::fuzz {

/// The content, and a checksum that is right.
[[nodiscard]] inline std::string sealed(std::string_view content) {
  archive out;
  for (char each : content) out(each);
  out.seal();
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

}  // namespace rubato::fuzz

#endif
