#include "figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "style.hpp"

namespace rubato::lab::page {
namespace {

constexpr double file_width = 760, file_margin = 16;

// At most two digits behind the point.
[[nodiscard]] std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::isfinite(value) ? std::clamp(value, -1e6, 1e6) : 0.0);
  std::string digits{text};
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

[[nodiscard]] std::string pair(std::string_view name, double value, std::string_view unit = "") {
  return " " + std::string{name} + "=\"" + number(value) + std::string{unit} + "\"";
}

[[nodiscard]] std::string class_of(tone is) {
  switch (is) {
    case tone::good: return "good";
    case tone::bad: return "bad";
    case tone::faint: return "faint";
    case tone::plain: break;
  }
  return "plain";
}

// An element with what is shown where a pointer rests, if there is that.
[[nodiscard]] std::string tipped(const std::string& tag, const std::string& attributes, std::string_view tip) {
  if (tip.empty()) return "<" + tag + attributes + "/>";
  return "<" + tag + attributes + "><title>" + escaped(tip) + "</title></" + tag + ">";
}

// Towards the side at which something is cut off.
[[nodiscard]] std::string mark_arrow(double x, double y, tone is) {
  const std::string shape = x > 50 ? "M-7 -5L0 0L-7 5Z" : "M7 -5L0 0L7 5Z";
  return "<svg" + pair("x", x, "%") + pair("y", y) + " overflow=\"visible\"><path class=\"arrow " + class_of(is) +
         "\" d=\"" + shape + "\"/></svg>";
}

[[nodiscard]] std::string mark_interval(const interval_row& row, const axis& scale, double y) {
  const double low = scale.at(row.low), high = scale.at(row.high);
  std::string marks = mark_line(low, y, high, y, "whisker");
  if (!scale.below(row.low)) marks += mark_line(low, y - 4, low, y + 4, "whisker");
  if (!scale.beyond(row.high)) marks += mark_line(high, y - 4, high, y + 4, "whisker");
  return marks;
}

// Text in lines of so many characters at most, unless a word is longer; moves `y` below them.
[[nodiscard]] std::string mark_lines(double& y, std::string_view text, std::size_t most, double spacing,
                                     std::string_view kind) {
  std::string marks;
  while (!text.empty()) {
    std::size_t end = text.size() <= most ? text.size() : text.rfind(' ', most);
    if (end == 0 || end == std::string_view::npos) end = std::min(text.find(' ', most), text.size());
    marks += "<text" + pair("x", file_margin) + pair("y", y) + " class=\"" + std::string{kind} + "\">" +
             escaped(text.substr(0, end)) + "</text>\n";
    y += spacing;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return marks;
}

}  // namespace

std::string mark_box(double x, double y, double width, double height, tone is, std::string_view tip) {
  return tipped("rect", pair("x", x, "%") + pair("y", y) + pair("width", std::max(width, 0.0), "%") +
                            pair("height", std::max(height, 0.0)) + " class=\"" + class_of(is) + "\"",
                tip);
}

std::string mark_line(double x1, double y1, double x2, double y2, std::string_view kind) {
  return "<line" + pair("x1", x1, "%") + pair("y1", y1) + pair("x2", x2, "%") + pair("y2", y2) + " class=\"" +
         std::string{kind} + "\"/>";
}

std::string mark_dot(double x, double y, tone is, std::string_view tip) {
  return tipped("circle", pair("cx", x, "%") + pair("cy", y) + " r=\"4.5\" class=\"" + class_of(is) + "\"", tip);
}

std::string mark_text(double x, double y, std::string_view anchor, std::string_view text, std::string_view kind,
                      double shift) {
  return "<text" + pair("x", x, "%") + pair("y", y) + (shift == 0 ? "" : pair("dx", shift)) + " text-anchor=\"" +
         std::string{anchor} + "\" class=\"" + std::string{kind} + "\">" + escaped(text) + "</text>";
}

std::string mark_path(const std::vector<point>& points, std::string_view kind, double height) {
  std::string path;
  for (const point& each : points) path += (path.empty() ? "M" : "L") + number(10 * each.x) + " " + number(each.y);
  return "<svg width=\"100%\"" + pair("height", height) + " viewBox=\"0 0 1000 " + number(height) +
         "\" preserveAspectRatio=\"none\"><path vector-effect=\"non-scaling-stroke\" class=\"" + std::string{kind} +
         "\" d=\"" + path + "\"/></svg>";
}

std::string mark_ticks(const axis& scale, double top, double bottom, int about, std::string_view unit) {
  std::string marks;
  for (const double each : scale.ticks(about)) {
    const double x = scale.at(each);
    marks += mark_line(x, top, x, bottom, "grid");
    marks += mark_text(x, bottom + 14, x < 3 ? "start" : x > 97 ? "end" : "middle",
                       tick_text(each) + std::string{unit}, "tick");
  }
  return marks;
}

panel rows_panel(const std::vector<interval_row>& rows, const axis& scale, bool bars, std::string_view unit) {
  constexpr double row_height = 38, bar_top = 19, bar_height = 9;
  const double bottom = row_height * static_cast<double>(rows.size());
  panel made{.height = bottom + 20};
  made.marks = mark_ticks(scale, 0, bottom, 5, unit);
  double top = 0;
  for (const interval_row& row : rows) {
    const double middle = top + bar_top + bar_height / 2, x = scale.at(row.at);
    const std::string tip = row.name + ": " + row.value;
    made.marks += mark_text(0, top + 13, "start", shortened(row.name, 20), "label");
    made.marks += mark_text(100, top + 13, "end", row.value, "value");
    if (std::isfinite(row.at)) {
      const tone is = row.is;
      if (bars) made.marks += mark_box(0, top + bar_top, x, bar_height, is, tip);
      if (std::isfinite(row.low) && std::isfinite(row.high)) made.marks += mark_interval(row, scale, middle);
      if (!bars) made.marks += mark_dot(x, middle, is, tip);
      if (row.also >= 0) made.marks += mark_line(scale.at(row.also), middle - 7, scale.at(row.also), middle + 7, "also");
      if (scale.beyond(std::max(row.at, row.high))) made.marks += mark_arrow(100, middle, is);
      if (!bars && scale.below(std::min(row.at, row.low))) made.marks += mark_arrow(0, middle, is);
    }
    made.marks += "\n";
    top += row_height;
  }
  return made;
}

std::string as_html(const figure& f) {
  std::string drawn;
  for (const panel& each : f.panels) {
    std::string heading;
    if (!each.title.empty())
      heading = element("p", "class=\"panel-title\"",
                        escaped(each.title) + (each.note.empty() ? "" : " " + element("small", escaped(each.note))));
    drawn += element("div", "class=\"panel\"",
                     heading + "<svg style=\"margin-left:" + number(each.left) + "px;width:calc(100% - " +
                         number(each.left + each.right) + "px)\"" + pair("height", each.height) + ">\n" + each.marks +
                         "</svg>") +
             "\n";
  }
  const std::string columns =
      f.narrowest > 0 ? " style=\"grid-template-columns:repeat(auto-fill,minmax(min(100%," + number(f.narrowest) +
                            "px),1fr))\""
                      : "";
  return element("figure", "id=\"" + f.id + "\"",
                 element("figcaption", element("h3", escaped(f.title)) + element("p", escaped(f.caption))) + "\n" +
                     element("div", "class=\"panels\" role=\"img\" aria-label=\"" + escaped(f.description) + "\"" + columns,
                             "\n" + drawn) +
                     "\n" + (f.data.rows.empty() ? "" : folded("As a table", as_html(f.data)))) +
         "\n";
}

std::string as_svg(const figure& f) {
  const double room = file_width - 2 * file_margin, gap = 24;
  const auto columns = f.narrowest > 0 ? std::max(1, static_cast<int>((room + gap) / (f.narrowest + gap))) : 1;
  const double width = (room - gap * (columns - 1)) / columns;
  double top = 28;
  std::string drawn = mark_lines(top, f.title, 80, 22, "title");
  drawn += mark_lines(top, f.caption, 112, 16, "tick");
  double row_bottom = top += 4;
  for (std::size_t i = 0; i < f.panels.size(); ++i) {
    const panel& each = f.panels[i];
    const auto column = static_cast<int>(i) % columns;
    if (column == 0) top = row_bottom;
    const double left = file_margin + column * (width + gap), head = each.title.empty() ? 0 : 22;
    if (head > 0)
      drawn += "<text" + pair("x", left) + pair("y", top + 14) + " class=\"label\">" + escaped(each.title) + "</text>" +
               "<text" + pair("x", left + width) + pair("y", top + 14) + " text-anchor=\"end\" class=\"value\">" +
               escaped(each.note) + "</text>\n";
    drawn += "<svg overflow=\"visible\"" + pair("x", left + each.left) + pair("y", top + head) +
             pair("width", width - each.left - each.right) + pair("height", each.height) + ">\n" + each.marks + "</svg>\n";
    row_bottom = std::max(row_bottom, top + head + each.height + 12);
  }
  const double height = row_bottom + file_margin;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + pair("width", file_width) + pair("height", height) +
         " viewBox=\"0 0 " + number(file_width) + " " + number(height) + "\" role=\"img\">\n" +
         element("title", escaped(f.title)) + element("desc", escaped(f.description)) + "\n" +
         element("style", figure_style()) + "\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n" + drawn + "</svg>\n";
}

}  // namespace rubato::lab::page
