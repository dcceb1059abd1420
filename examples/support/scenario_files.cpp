#include "scenario_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "random_scenario.hpp"
#include "regular_file.hpp"
#include "user_error.hpp"

namespace rubato::support {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 20;
constexpr std::string_view random_prefix = "random:";

[[nodiscard]] scenario random_scenario_named(std::string_view name) {
  const std::string_view digits = name.substr(random_prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw user_error{"--scenario: found \"" + std::string{name} + "\", expected random:NUMBER, such as random:17"};
  return random_scenario(number);
}

}  // namespace

scenario load_scenario(const fs::path& file) {
  const std::string name = file.string();
  std::error_code error;
  if (!fs::exists(fs::status(file, error))) throw user_error{name + ": found no such file, expected a scenario (JSON)"};
  return read_scenario(regular_file{file}.content(largest_file), name);
}

std::vector<std::string> scenario_names(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entries{directory, error};
  if (error) throw user_error{directory.string() + ": cannot be read as a directory of scenarios: " + error.message()};
  std::vector<std::string> names;
  for (const auto& entry : entries)
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string scenario_file(std::string_view name_or_file) {
  const bool is_file = name_or_file.ends_with(".json") || name_or_file.find('/') != std::string_view::npos;
  return is_file ? std::string{name_or_file} : "";
}

scenario find_scenario(std::string_view name_or_file, const fs::path& directory) {
  if (!scenario_file(name_or_file).empty()) return load_scenario(name_or_file);
  if (name_or_file.starts_with(random_prefix)) return random_scenario_named(name_or_file);
  const auto names = scenario_names(directory);
  if (std::ranges::find(names, name_or_file) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw user_error{"--scenario: found \"" + std::string{name_or_file} +
                     "\", expected a .json file, random:NUMBER or one of " + known};
  }
  return load_scenario(directory / (std::string{name_or_file} + ".json"));
}

}  // namespace rubato::support
