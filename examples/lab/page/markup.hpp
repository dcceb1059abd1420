#ifndef RUBATO_EXAMPLES_LAB_PAGE_MARKUP_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_MARKUP_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab::page {

/// Any bytes as text of HTML or XML, within an element or a quoted attribute. What is no plain character, or no UTF-8,
/// becomes U+FFFD: no control character, and none that turns the direction of writing, gets into a page.
/// Tests   tests/examples/report_page_test.cpp: HostileNamesStayText
[[nodiscard]] std::string escaped(std::string_view text);

/// At most so many characters, the middle cut out: names in drawings. Not escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// <TAG ATTRIBUTES>CONTENT</TAG>; the latter two are markup already.
[[nodiscard]] std::string element(std::string_view tag, std::string_view attributes, std::string_view content);
[[nodiscard]] inline std::string element(std::string_view tag, std::string_view content) {
  return element(tag, "", content);
}

/// "a", "a and b", "a, b and c", or "a, b and 3 others". Not escaped.
[[nodiscard]] std::string enumeration(const std::vector<std::string>& names, std::size_t most = 6);

/// A table of plain text: the first column names the rows, the others are numbers or short words.
struct table {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

/// In a box of its own that scrolls where it is too wide, and that the keyboard reaches.
[[nodiscard]] std::string as_html(const table&);

/// The same, folded away under a line.
[[nodiscard]] std::string folded(std::string_view line, std::string_view content);

}  // namespace rubato::lab::page

#endif
