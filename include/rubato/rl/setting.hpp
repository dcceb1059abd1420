#ifndef RUBATO_RL_SETTING_HPP
#define RUBATO_RL_SETTING_HPP

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI::rl::detail {

// One line of a configuration, "name=value": a number so that it reads back as the same, an enumerator by its name().
// Tests   tests/rl/dqn_options_test.cpp: SettingsAreReadable
template <class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] std::string setting(std::string_view name, T value) {
  std::array<char, 40> text{};
  std::to_chars_result end{};
  if constexpr (std::same_as<T, bool>)
    end = std::to_chars(text.data(), text.data() + text.size(), value ? 1 : 0);
  else
    end = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string line{name};
  line += '=';
  line.append(text.data(), end.ptr);
  return line;
}
template <class T>
requires std::is_enum_v<T>
[[nodiscard]] std::string setting(std::string_view what, T value) {
  std::string line{what};
  line += '=';
  line += name(value);
  return line;
}

// A problem() of options, "name: expected ...", with what was found: "name: found 2, expected ...". The value is looked
// for in the configuration of the same options; a problem that names none of its settings stays as it is.
// Tests   tests/rl/ppo_test.cpp: BadOptionsAreRefused
[[nodiscard]] inline std::string with_value(std::string_view problem, const std::vector<std::string>& configuration) {
  const std::size_t end = problem.find(": ");
  for (const std::string& line : configuration) {
    if (end == std::string_view::npos || line.find('=') != end || !line.starts_with(problem.substr(0, end))) continue;
    return std::string{problem.substr(0, end + 2)} + "found " + line.substr(end + 1) + ", " +
           std::string{problem.substr(end + 2)};
  }
  return std::string{problem};
}

// The lines that tell networks of other shapes or activations apart, each with this prefix.
template <class Network>
void add_settings(std::vector<std::string>& lines, const Network& network, const std::string& prefix = {}) {
  for (const auto& layer : network.layers()) lines.push_back(setting(prefix + "layer", layer.outputs));
  lines.push_back(setting(prefix + "hidden", network.options().hidden.kind));
  lines.push_back(setting(prefix + "hidden.slope", network.options().hidden.slope));
  lines.push_back(setting(prefix + "output", network.options().output.kind));
  lines.push_back(setting(prefix + "output.slope", network.options().output.slope));
}

}  // namespace rubato::inline RUBATO_ABI::rl::detail

#endif
