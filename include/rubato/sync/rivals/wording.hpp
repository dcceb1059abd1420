#ifndef RUBATO_SYNC_RIVALS_WORDING_HPP
#define RUBATO_SYNC_RIVALS_WORDING_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "../../config.hpp"

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
