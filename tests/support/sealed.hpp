#ifndef RUBATO_TESTS_SUPPORT_SEALED_HPP
#define RUBATO_TESTS_SUPPORT_SEALED_HPP

#include <rubato/core/archive.hpp>
#include <string>
#include <string_view>

namespace rubato::test {

/// The content, and a checksum that is right: as archive::seal() makes it.
[[nodiscard]] inline std::string sealed(std::string_view content) {
  archive out;
  for (char each : content) out(each);
  out.seal();
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

}  // namespace rubato::test

#endif
