#ifndef RUBATO_EXAMPLES_SUPPORT_JSON_NESTING_HPP
#define RUBATO_EXAMPLES_SUPPORT_JSON_NESTING_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace rubato::support {

/// Levels of objects and arrays that a document from outside may have.
inline constexpr std::size_t deepest_nesting = 64;

/// How deep objects and arrays are nested in JSON text; of other text, some number. To be asked before nlohmann's
/// parser is: that reads any depth, but copies, compares and writes what it has read by functions that call themselves.
/// Tests   tests/examples/json_schema_test.cpp: CountsTheNesting
[[nodiscard]] inline std::size_t nesting_of(std::string_view text) noexcept {
  std::size_t depth = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return most;
}

}  // namespace rubato::support

#endif
