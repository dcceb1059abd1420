#ifndef RUBATO_NN_ACTIVATION_TEXT_HPP
#define RUBATO_NN_ACTIVATION_TEXT_HPP

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "activation.hpp"
#include "number_from_text.hpp"

namespace rubato::inline RUBATO_ABI::nn {

/// The activation as cards have it: "tanh", "leaky_relu(0.01)".
/// Tests   tests/nn/activation_test.cpp: AsText
[[nodiscard]] inline std::string to_text(const activation& f) {
  std::string text{name(f.kind)};
  if (f.kind != activation_kind::leaky_relu) return text;
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), f.slope).ptr;
  return text.append("(").append(digits.data(), end).append(")");
}

/// The activation that to_text() gives this text; nothing if there is none.
/// Tests   tests/nn/activation_test.cpp: AsText
[[nodiscard]] inline std::optional<activation> activation_named(std::string_view text) {
  for (const auto kind : {activation_kind::identity, activation_kind::relu, activation_kind::tanh})
    if (name(kind) == text) return activation{.kind = kind};
  constexpr std::string_view leaky = "leaky_relu(";
  if (!text.starts_with(leaky) || !text.ends_with(')')) return std::nullopt;
  text.remove_prefix(leaky.size());
  text.remove_suffix(1);
  activation f{.kind = activation_kind::leaky_relu};
  const auto read = detail::number_from_text(text.data(), text.data() + text.size(), f.slope);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || problem(f) != nullptr) return std::nullopt;
  return f;
}

}  // namespace rubato::inline RUBATO_ABI::nn

#endif
