#include "report_page.hpp"

#include "../library_version.hpp"
#include "style.hpp"

namespace rubato::lab::page {

std::string report_page(const std::vector<article>& articles) {
  const bool many = articles.size() > 1;
  std::string list, body;
  for (const article& each : articles) {
    list += element("li", element("a", "href=\"#" + each.id + "\"", escaped(each.heading))) + "\n";
    body += element("article", "id=\"" + each.id + "\" aria-labelledby=\"" + each.id + "-heading\"",
                    "\n" + element("h2", "id=\"" + each.id + "-heading\"", escaped(each.heading)) + "\n" + each.body) +
            "\n";
  }
  // What is not allowed here cannot be asked for by any name in the file, either.
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n" +
         element("title", escaped("rubato: " + articles.front().heading)) + "\n" + element("style", page_style()) +
         "\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the findings</a>\n" +
         element("header", "\n" + element("h1", "Synchronisation policies: report") + "\n" +
                               (many ? element("nav", "aria-label=\"Parts\"", "\n" + element("ul", "\n" + list) + "\n") + "\n"
                                     : "")) +
         "\n" + element("main", "id=\"main\"", "\n" + body) + "\n" +
         element("footer", escaped("Made by rubato-lab " + library_version() +
                                   " report. Times of simulated runs are those of a simulator: see docs/lab.md.")) +
         "\n</body>\n</html>\n";
}

bool looks_like_log(const std::string& beginning) {
  const bool gzip = beginning.starts_with("\x1f\x8b");
  const std::string line = beginning.substr(0, beginning.find('\n'));
  return gzip || line.find("\"rubato.decisions\"") != std::string::npos;
}

}  // namespace rubato::lab::page
