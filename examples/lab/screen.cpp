#include "screen.hpp"

#include <algorithm>

namespace rubato::lab {
namespace {

[[nodiscard]] std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string{text};
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;  // not within a character
  return std::string{text.substr(0, end)} + "...";
}

[[nodiscard]] std::string left_out(std::size_t count) { return "... and " + std::to_string(count) + " more"; }

}  // namespace

void screen::begin(std::string_view key) {
  text_.append(key).append(key.size() < indent ? indent - key.size() : 1, ' ');
}

void screen::line(std::string_view key, std::string_view value) {
  begin(key);
  text_ += cut(value.empty() ? "-" : value, most_text) + '\n';
}

void screen::list(std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return line(key, "");
  begin(key);
  std::size_t column = indent, lines = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string word = cut(values[i], most_word) + (i + 1 < values.size() ? "," : "");
    if (i > 0 && column + 1 + word.size() > columns) {
      text_ += '\n' + std::string(indent, ' ');
      column = indent;
      if (++lines > most_lines) {
        text_ += left_out(values.size() - i);
        break;
      }
    } else if (i > 0) {
      text_ += ' ';
      ++column;
    }
    text_ += word;
    column += word.size();
  }
  text_ += '\n';
}

void screen::rows(std::string_view key, const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return line(key, "");
  const std::size_t shown = std::min(rows.size(), most_lines);
  std::vector<std::size_t> widths;
  for (std::size_t r = 0; r < shown; ++r) {
    widths.resize(std::max(widths.size(), rows[r].size()));
    for (std::size_t c = 0; c < rows[r].size(); ++c) widths[c] = std::max(widths[c], cut(rows[r][c], most_word).size());
  }
  for (std::size_t r = 0; r < shown; ++r) {
    begin(r == 0 ? key : "");
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const std::string cell = cut(rows[r][c], most_word);
      text_ += cell;
      if (c + 1 < rows[r].size()) text_.append(widths[c] + 2 - cell.size(), ' ');
    }
    text_ += '\n';
  }
  if (shown < rows.size()) line("", left_out(rows.size() - shown));
}

}  // namespace rubato::lab
