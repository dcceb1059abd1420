#ifndef RUBATO_BENCH_EXPERIMENTS_NUMBERS_HPP
#define RUBATO_BENCH_EXPERIMENTS_NUMBERS_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rubato::bench {

/// The parts of a list like "10,100".
inline std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

/// The number that the whole text is; nothing if it is none, or not in [least, most].
template <class Number>
std::optional<Number> number(std::string_view text, Number least, Number most) {
  Number n{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (bad != std::errc{} || end != text.data() + text.size() || !(n >= least && n <= most)) return std::nullopt;
  return n;
}

/// A number of 0 or more, rounded: "12,345".
inline std::string with_commas(double n) {
  std::string text = std::to_string(static_cast<std::uint64_t>(n + 0.5));
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace rubato::bench

#endif
