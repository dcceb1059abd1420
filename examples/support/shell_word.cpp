#include "shell_word.hpp"

#include <algorithm>

namespace rubato::support {

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view{"_-+./:=,@%"}.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string{text};
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return word + "'";
}

}  // namespace rubato::support
