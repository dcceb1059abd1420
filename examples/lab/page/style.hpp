#ifndef RUBATO_EXAMPLES_LAB_PAGE_STYLE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_STYLE_HPP

#include <string>

namespace rubato::lab::page {

/// CSS of the page. Colours are variables, once for light and once for dark.
/// Tests   tests/examples/report_page_test.cpp: ColoursCanBeTold
[[nodiscard]] std::string page_style();

/// CSS of what is drawn, for a file of its own.
[[nodiscard]] std::string figure_style();

}  // namespace rubato::lab::page

#endif
