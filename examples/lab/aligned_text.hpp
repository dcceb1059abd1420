#ifndef RUBATO_EXAMPLES_LAB_ALIGNED_TEXT_HPP
#define RUBATO_EXAMPLES_LAB_ALIGNED_TEXT_HPP

#include <algorithm>
#include <string>
#include <vector>

namespace rubato::lab {

/// Rows of cells as text for a terminal, each column as wide as its widest cell.
[[nodiscard]] inline std::string aligned_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace rubato::lab

#endif
