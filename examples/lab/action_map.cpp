// The maps of `explain` as a picture.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "explain.hpp"

namespace rubato::lab {
namespace {

constexpr int cell = 12, margin = 60, gap = 40;

[[nodiscard]] std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// From blue at -1 through white to red at 1, and no further.
[[nodiscard]] std::string diverging(double x) {
  const double t = std::clamp(x, -1.0, 1.0);
  const auto fade = [t](double end) { return static_cast<int>(std::lround(255 + (end - 255) * std::abs(t))); };
  const std::array<int, 3> rgb =
      t < 0 ? std::array{fade(33), fade(102), fade(172)} : std::array{fade(178), fade(24), fade(43)};
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(rgb[0]), static_cast<unsigned>(rgb[1]),
                static_cast<unsigned>(rgb[2]));
  return text;
}

[[nodiscard]] std::string colour_of(const action_map& map, double answer) {
  constexpr std::array<std::string_view, 3> of_actions{"#7570b3", "#d9d9d9", "#e6ab02"};
  if (map.actions.empty()) return diverging(answer / map.limit);
  if (map.actions.size() > of_actions.size())  // steps down and up
    return diverging(2 * answer / static_cast<double>(map.actions.size() - 1) - 1);
  return std::string{of_actions[static_cast<std::size_t>(answer) % of_actions.size()]};
}

[[nodiscard]] std::string text_at(int x, int y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" + std::string{anchor} +
         "\">" + std::string{text} + "</text>\n";
}

[[nodiscard]] std::string panel(const action_map& map, int left) {
  const int side = cell * static_cast<int>(map.columns), top = margin, bottom = top + side;
  std::string svg = text_at(left + side / 2, top - 30, "middle", map.title);
  for (std::size_t n = 0; n < map.answers.size(); ++n) {
    const int x = left + cell * static_cast<int>(n % map.columns);
    const int y = bottom - cell * static_cast<int>(n / map.columns + 1);
    svg += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + std::to_string(cell) +
           "\" height=\"" + std::to_string(cell) + "\" fill=\"" + colour_of(map, map.answers[n]) + "\"/>\n";
  }
  svg += text_at(left, bottom + 16, "start", number(map.x_least)) +
         text_at(left + side / 2, bottom + 16, "middle", map.x) +
         text_at(left + side, bottom + 16, "end", number(map.x_most));
  svg += text_at(left - 6, bottom, "end", number(map.y_least)) +
         text_at(left - 6, top + 10, "end", number(map.y_most)) + text_at(left, top - 6, "start", map.y + " upwards");
  if (map.actions.empty())
    return svg + text_at(left + side / 2, bottom + 36, "middle",
                         "blue -" + number(map.limit) + ", white 0, red " + number(map.limit) + ": binary logarithm");
  for (std::size_t a = 0; a < map.actions.size(); ++a) {
    const int x = left + static_cast<int>(a) * side / static_cast<int>(map.actions.size());
    svg += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(bottom + 26) +
           "\" width=\"10\" height=\"10\" fill=\"" + colour_of(map, static_cast<double>(a)) + "\"/>\n" +
           text_at(x + 14, bottom + 36, "start", map.actions[a]);
  }
  return svg;
}

}  // namespace

std::string as_svg(const std::vector<action_map>& maps) {
  int width = margin, height = 0;
  std::string panels;
  for (const action_map& map : maps) {
    const int side = cell * static_cast<int>(map.columns);
    panels += panel(map, width);
    width += side + gap + margin;
    height = std::max(height, side + 2 * margin);
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) + "\" height=\"" +
         std::to_string(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + panels + "</svg>\n";
}

}  // namespace rubato::lab
