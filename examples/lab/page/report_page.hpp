#ifndef RUBATO_EXAMPLES_LAB_PAGE_REPORT_PAGE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_REPORT_PAGE_HPP

#include <string>
#include <vector>

#include "article.hpp"

namespace rubato::lab::page {

/// One HTML document that needs nothing else: no script, no font, no request. The same articles, the same bytes.
/// Precondition: there is an article.
/// Tests   tests/examples/report_page_test.cpp, tests/browser/report_page.py
[[nodiscard]] std::string report_page(const std::vector<article>&);

/// Of a positional argument: whether a decision log begins so, plain or gzip. What is neither that nor JSON is refused
/// by who reads it.
[[nodiscard]] bool looks_like_log(const std::string& beginning);

}  // namespace rubato::lab::page

#endif
