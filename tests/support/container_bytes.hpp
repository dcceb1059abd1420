#ifndef RUBATO_TESTS_SUPPORT_CONTAINER_BYTES_HPP
#define RUBATO_TESTS_SUPPORT_CONTAINER_BYTES_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::test {

/// The eight bytes of a header length, a header and data, whatever they are.
inline std::string container(std::uint64_t length, std::string_view header, std::string_view data = {}) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((length >> (8 * i)) & 0xFF);
  return text.append(header).append(data);
}
inline std::string container(std::string_view header, std::string_view data = {}) {
  return container(header.size(), header, data);
}

}  // namespace rubato::test

#endif
