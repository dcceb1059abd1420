#ifndef RUBATO_EXAMPLES_SUPPORT_NAME_PARTS_HPP
#define RUBATO_EXAMPLES_SUPPORT_NAME_PARTS_HPP

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace rubato::support {

/// The parts between the separators, at least one.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// All of the text as a number; none if it is not one, or one that the type has not.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional{number} : std::nullopt;
}

}  // namespace rubato::support

#endif
