#include "markup.hpp"

#include <algorithm>
#include <rubato/io/utf8.hpp>

namespace rubato::lab::page {
namespace {

constexpr std::string_view unreadable = "\xEF\xBF\xBD";

[[nodiscard]] std::string_view entity(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = plain_length(text);
    const std::string_view special = entity(text.front());
    out += length == 0 ? unreadable : special.empty() ? text.substr(0, length) : special;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    characters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  std::string out;
  const std::size_t front = most / 2, back = most - front - 1;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const bool kept = characters.size() <= most || i < front || i >= characters.size() - back;
    if (kept) out += characters[i];
    if (!kept && i == front) out += "\xE2\x80\xA6";
  }
  return out;
}

std::string element(std::string_view tag, std::string_view attributes, std::string_view content) {
  std::string out{"<"};
  out.append(tag);
  if (!attributes.empty()) out.append(" ").append(attributes);
  return out.append(">").append(content).append("</").append(tag).append(">");
}

std::string enumeration(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  const std::size_t shown = names.size() > most ? most - 1 : names.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    out += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  if (shown < names.size()) out += " and " + std::to_string(names.size() - shown) + " others";
  return out;
}

std::string as_html(const table& t) {
  std::string head, body;
  for (const std::string& each : t.head) head += element("th", "scope=\"col\"", escaped(each));
  for (const auto& row : t.rows) {
    std::string cells;
    for (std::size_t c = 0; c < row.size(); ++c)
      cells += c == 0 ? element("th", "scope=\"row\"", escaped(row[c])) : element("td", escaped(row[c]));
    body += element("tr", cells) + "\n";
  }
  const std::string label = escaped(t.caption);
  return element("div", "class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"" + label + "\"",
                 element("table", element("caption", label) + element("thead", element("tr", head)) + "\n" +
                                      element("tbody", body))) +
         "\n";
}

std::string folded(std::string_view line, std::string_view content) {
  return element("details", element("summary", escaped(line)) + "\n" + std::string{content}) + "\n";
}

}  // namespace rubato::lab::page
