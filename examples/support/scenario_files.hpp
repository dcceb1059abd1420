#ifndef RUBATO_EXAMPLES_SUPPORT_SCENARIO_FILES_HPP
#define RUBATO_EXAMPLES_SUPPORT_SCENARIO_FILES_HPP

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenario.hpp"

namespace rubato::support {

/// Reads one scenario file. Errors: user_error; a file over 1 MiB is refused unread.
[[nodiscard]] scenario load_scenario(const std::filesystem::path& file);

/// Names of the scenarios in `directory` (its `*.json`), sorted. Errors: user_error where it cannot be read.
[[nodiscard]] std::vector<std::string> scenario_names(const std::filesystem::path& directory);

/// What `--scenario` says, if it is a file, which is recognised by ".json" or a slash; else nothing.
[[nodiscard]] std::string scenario_file(std::string_view name_or_file);

/// What `--scenario` takes: a file; random:NUMBER, see random_scenario(); else a name in `directory`.
/// Errors  user_error; for an unknown name, with all known ones.
/// Tests   tests/examples/scenario_files_test.cpp
[[nodiscard]] scenario find_scenario(std::string_view name_or_file, const std::filesystem::path& directory);

}  // namespace rubato::support

#endif
