#ifndef RUBATO_EXAMPLES_LAB_GROWTH_JSON_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_JSON_HPP

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/json_nesting.hpp"
#include "support/user_error.hpp"

// What reads models, vocabularies and weights has in common: these files may be anybody's. All of it is here, since
// torch_growth has growth_weights.cpp without the rest of the lab.

namespace rubato::lab {

/// The object that a JSON file has. No more than `largest` bytes and one are read.
/// Errors  user_error, naming the file: it cannot be read, has more than `largest` bytes, is nested deeper than
///         support::deepest_nesting, or is no JSON object
/// Tests   tests/examples/growth_tables_test.cpp: AModelThatIsNestedTooDeepIsRefused, AModelThatIsTooLargeIsRefused;
///         tests/examples/growth_eval_test.cpp: AFileThatIsNestedTooDeepIsRefused, AFileThatIsTooLargeIsRefused
[[nodiscard]] inline nlohmann::json object_in(const std::filesystem::path& file, std::size_t largest) {
  const auto refuse = [&](const std::string& what) { throw support::user_error{file.string() + ": " + what}; };
  std::ifstream stream{file, std::ios::binary};
  if (!stream) refuse("cannot be read");
  std::string text;
  std::vector<char> some(std::size_t{1} << 16);
  while (text.size() <= largest && stream) {
    stream.read(some.data(), static_cast<std::streamsize>(some.size()));
    text.append(some.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) refuse("cannot be read");
  if (text.size() > largest) refuse("found more than " + std::to_string(largest) + " bytes, expected at most that");
  if (support::nesting_of(text) > support::deepest_nesting)
    refuse("found nesting deeper than " + std::to_string(support::deepest_nesting) +
           " levels, expected a document of few");
  nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_object()) refuse("found no JSON object, expected one");
  return all;
}

/// A value of such a file as messages quote it: JSON in ASCII, at most 60 characters.
/// Tests   tests/examples/growth_tables_test.cpp: ALongValueOfAModelIsNotRepeatedWhole;
///         tests/examples/growth_eval_test.cpp: ALongValueIsNotRepeatedWhole
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
  constexpr std::size_t longest = 60;
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest - 3) + "...";
  return text;
}

/// A message that quotes a layer, which may be of any length: of a long one the beginning and the end.
/// Tests   tests/examples/growth_eval_test.cpp: ALongLayerIsNotRepeatedWhole
[[nodiscard]] inline std::string shortened(const std::string& message) {
  constexpr std::size_t first = 200, last = 100;
  if (message.size() <= first + last) return message;
  return message.substr(0, first) + "..." + message.substr(message.size() - last);
}

}  // namespace rubato::lab

#endif
