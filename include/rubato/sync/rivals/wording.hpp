#ifndef RUBATO_SYNC_RIVALS_WORDING_HPP
#define RUBATO_SYNC_RIVALS_WORDING_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../config.hpp"
#include "../../core/number_text.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::detail {

/// "k is 0, expected at least 1"; empty if the option is not below `least`.
[[nodiscard]] inline std::string below(std::string_view option, std::uint64_t value, std::uint64_t least) {
  if (value >= least) return {};
  std::string sentence{option};
  sentence.append(" is ").append(std::to_string(value));
  return sentence.append(", expected at least ").append(std::to_string(least));
}

/// "k is 7, expected 1 to 4, the number of workers"; empty if the option is within these limits.
[[nodiscard]] inline std::string outside(std::string_view option, std::uint64_t value, std::uint64_t least,
                                         std::uint64_t most, std::string_view what_most_is) {
  if (value >= least && value <= most) return {};
  std::string sentence{option};
  sentence.append(" is ").append(std::to_string(value)).append(", expected ").append(std::to_string(least));
  return sentence.append(" to ").append(std::to_string(most)).append(", ").append(what_most_is);
}

/// "tolerance is inf, expected a number above 0"; empty if the option is right.
template <class Number>
[[nodiscard]] std::string unless(bool right, std::string_view option, Number found, std::string_view expected) {
  if (right) return {};
  std::string sentence{option};
  sentence.append(" is ");
  if constexpr (std::is_enum_v<Number>)
    sentence.append(std::to_string(static_cast<unsigned>(found)));
  else
    sentence.append(text_of(found));
  return sentence.append(", expected ").append(expected);
}
template <class Number>
[[nodiscard]] std::string unless_above_0(std::string_view option, Number found) {
  return unless(pinned::is_finite(found) && found > 0, option, found, "a number above 0");
}
template <class Number>
[[nodiscard]] std::string unless_from_0(std::string_view option, Number found) {
  return unless(pinned::is_finite(found) && found >= 0, option, found, "a number of at least 0");
}
/// How far each new value moves an average.
template <class Number>
[[nodiscard]] std::string unless_a_share(std::string_view option, Number found) {
  return unless(pinned::within(found, 0, 1) && found > 0, option, found, "a number above 0, at most 1");
}

/// The first of these that says something.
[[nodiscard]] inline std::string first_of(std::initializer_list<std::string> sentences) {
  for (const std::string& each : sentences)
    if (!each.empty()) return each;
  return {};
}

/// {"kind":"ksync","k":4}
[[nodiscard]] inline std::string json_of(
    std::string_view kind, std::initializer_list<std::pair<std::string_view, std::uint64_t>> options) {
  std::string json = R"({"kind":")";
  json.append(kind).append(R"(")");
  for (const auto& [name, value] : options)
    json.append(R"(,")").append(name).append(R"(":)").append(std::to_string(value));
  return json.append("}");
}

/// Parts of a sentence: texts and numbers in turn.
template <class... Parts>
[[nodiscard]] std::string sentence_of(const Parts&... parts) {
  std::string sentence;
  const auto add = [&](const auto& part) {
    if constexpr (requires { std::string_view{part}; })
      sentence.append(std::string_view{part});
    else
      sentence.append(std::to_string(part));
  };
  (add(parts), ...);
  return sentence;
}

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
