#ifndef RUBATO_EXAMPLES_LAB_GROWTH_JSON_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_JSON_HPP

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/json_schema.hpp"
#include "support/regular_file.hpp"
#include "support/user_error.hpp"

// What reads models, vocabularies and weights has in common: these files may be anybody's. All of it is here, since
// torch_growth has growth_weights.cpp without the rest of the lab.

namespace rubato::lab {

/// The object that a JSON file has. No more than `largest` bytes and one are read.
/// Errors  user_error, naming the file: it is no regular file, cannot be read, has more than `largest` bytes, is no
///         JSON object, or what parse_json refuses
/// Tests   tests/examples/growth_tables_test.cpp: AModelThatIsNestedTooDeepIsRefused, AModelThatIsTooLargeIsRefused;
///         tests/examples/growth_eval_test.cpp: AFileThatIsNestedTooDeepIsRefused, AFileThatIsTooLargeIsRefused
[[nodiscard]] inline nlohmann::json object_in(const std::filesystem::path& file, std::size_t largest) {
  nlohmann::json all = support::parse_json(support::regular_file{file}.content(largest), file.string());
  if (!all.is_object()) throw support::user_error{file.string() + ": found no JSON object, expected one"};
  return all;
}

}  // namespace rubato::lab

#endif
