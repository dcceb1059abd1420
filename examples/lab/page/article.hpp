#ifndef RUBATO_EXAMPLES_LAB_PAGE_ARTICLE_HPP
#define RUBATO_EXAMPLES_LAB_PAGE_ARTICLE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "figure.hpp"
#include "result_file.hpp"

namespace rubato::lab::page {

/// What a page says about one file.
struct article {
  std::string id;       ///< letters and digits
  std::string heading{};  ///< the finding, as a sentence; plain text
  std::string body{};     ///< HTML
  std::vector<figure> figures{};

  void add(std::string_view html) { body += html; }
  void add(figure one) {
    body += as_html(one);
    figures.push_back(std::move(one));
  }
  /// A part that cannot be shown, and what would give it.
  void missing(std::string_view part, std::string_view how, std::string_view command);
};

/// One `<dt>NAME<dd>VALUE` of a list; nothing for an empty value.
[[nodiscard]] std::string term(std::string_view name, std::string_view value);

/// About a result; figures are called ID-time, ID-curves and so on.
[[nodiscard]] article article_about(const result_file&, const std::string& id);

}  // namespace rubato::lab::page

#endif
