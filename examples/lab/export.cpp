// `export`: a policy file as a header of the library.
#include "export.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <rubato/learned/residual_file.hpp>
#include <span>
#include <string_view>

#include "commands.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using support::value_or_refuse;

// The shortest decimal that is read back bit for bit.
[[nodiscard]] std::string literal(float number) {
  char digits[32];
  std::string text{digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "F";
}

[[nodiscard]] std::string array_of(std::string_view name, std::span<const float> numbers) {
  std::string text =
      "inline constexpr std::array<float, " + std::to_string(numbers.size()) + "> " + std::string{name} + "{";
  std::string line = "\n   ";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string next = " " + literal(numbers[i]) + (i + 1 < numbers.size() ? "," : "};\n");
    if (line.size() + next.size() > 120) {
      text += line;
      line = "\n   ";
    }
    line += next;
  }
  return text + line;
}

// What follows a line of a comment begins one, too. A backslash at the end of a line would take in the next one, to
// some compilers also one with spaces behind it.
[[nodiscard]] std::string comment(const std::string& text) {
  std::string lines, line = "//";
  const auto ended = [](std::string one) {
    one.resize(one.find_last_not_of(" \t") + 1);
    return one + (one.ends_with('\\') ? "." : "") + "\n";
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = " " + text.substr(at, end - at);
    if (line.size() + word.size() > 120) {
      lines += ended(line);
      line = "//  ";
    }
    line += word;
    at = end + 1;
  }
  return lines + ended(line);
}

}  // namespace

std::string as_header(const std::string& file) {
  const policy_card card = value_or_refuse(read_policy_card(value_or_refuse(safetensors::load(file))));
  const auto policy = value_or_refuse(load_residual_policy<progress_state>(file));
  if (!std::isfinite(policy.range().most.front()))
    throw user_error{file + ": found no obs_range/, expected a policy that knows what it was trained on"};
  std::string widths;
  for (const std::uint32_t width : card.layers) widths += (widths.empty() ? "" : ", ") + std::to_string(width);
  const nn::activation& hidden = policy.network().options().hidden;
  const std::string activation = card.layers.size() == 2
                                     ? ""
                                     : "inline constexpr rubato::nn::activation hidden{rubato::nn::activation_kind::" +
                                           std::string{name(hidden.kind)} + ", " + nlohmann::json(hidden.slope).dump() +
                                           "};\n";
  return comment("Trained by: " + card.command) + R"(#pragma once

#include <algorithm>
#include <array>
#include <rubato/nn/mlp.hpp>

namespace exported {

using network = rubato::nn::mlp<)" +
         widths + ">;\n" + activation + array_of("parameters", policy.network().parameters()) +
         array_of("least", policy.range().least) + array_of("most", policy.range().most) + R"(
inline network trained() {
  network made)" +
         (activation.empty() ? "" : "{{.hidden = hidden}}") + R"(;
  std::ranges::copy(parameters, made.parameters().begin());
  return made;
}

}  // namespace exported
)";
}

int run_export(const std::string& file) {
  std::cout << as_header(file) << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace rubato::lab
