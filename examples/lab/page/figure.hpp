#ifndef RUBATO_EXAMPLES_LAB_PAGE_FIGURE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_FIGURE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "axis.hpp"
#include "markup.hpp"

namespace rubato::lab::page {

/// A part of a figure that is as wide as there is room: across in per cent, down in pixels, so that its text keeps its
/// size on any screen. Lines that bend are drawn in a box that is stretched.
struct panel {
  std::string title{};
  std::string note{};  ///< smaller, after the title
  double height = 0;
  double left = 0;   ///< pixels that stay free for labels
  double right = 0;
  std::string marks{};  ///< SVG
};

/// What a mark means, beside what its text says; the colours of the page are not the only bearer of anything.
enum class tone : std::uint8_t { plain, good, bad, faint };

/// SVG of a panel. x in per cent, y in pixels; `tip` is plain text, shown where a pointer rests.
[[nodiscard]] std::string mark_box(double x, double y, double width, double height, tone, std::string_view tip = "");
[[nodiscard]] std::string mark_line(double x1, double y1, double x2, double y2, std::string_view kind);
[[nodiscard]] std::string mark_dot(double x, double y, tone, std::string_view tip = "");
[[nodiscard]] std::string mark_text(double x, double y, std::string_view anchor, std::string_view text,
                                    std::string_view kind = "label", double shift = 0);

/// A line, or with `filled` an area, through points whose x is in per cent and whose y is in pixels.
struct point {
  double x = 0, y = 0;
};
[[nodiscard]] std::string mark_path(const std::vector<point>&, std::string_view kind, double height);

/// Lines across the panel, from top to bottom, at the ticks of an axis; their numbers below `bottom`.
[[nodiscard]] std::string mark_ticks(const axis&, double top, double bottom, int about, std::string_view unit = "");

/// A named value with its interval, as one row of a panel.
struct interval_row {
  std::string name;   ///< plain text
  std::string value;  ///< as text, at the right
  double at = 0, low = 0, high = 0;
  tone is = tone::plain;
  double also = -1;  ///< a second mark, where it is not below 0
};

/// Rows with a bar from 0, or with `bars` off a dot; an arrow where something is beyond the axis.
[[nodiscard]] panel rows_panel(const std::vector<interval_row>&, const axis&, bool bars, std::string_view unit = "");

struct figure {
  std::string id;             ///< letters, digits and dashes: in the page, and the name of its file
  std::string title{};        ///< what it shows, as a sentence
  std::string caption{};      ///< what is drawn, with units
  std::string description{};  ///< what someone hears who does not see it
  std::vector<panel> panels{};
  double narrowest = 0;       ///< pixels that a panel needs; 0: one below the other
  table data{};               ///< the same as numbers
};

[[nodiscard]] std::string as_html(const figure&);

/// A file of its own, 760 pixels wide, with its own colours for light and dark.
[[nodiscard]] std::string as_svg(const figure&);

}  // namespace rubato::lab::page

#endif
