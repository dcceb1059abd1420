#ifndef RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HTTP_HPP
#define RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HTTP_HPP
#ifdef RUBATO_HTTPLIB

#include <gtest/gtest.h>
#include <httplib.h>

#include <map>
#include <sstream>
#include <string>

namespace rubato::test {

/// What a server answers to GET.
struct http_answer {
  int status = -1;  ///< -1: it did not
  std::string body, type;
};
inline http_answer get(const std::string& url) {
  const auto path = url.find('/', url.find("//") + 2);
  httplib::Client client{url.substr(0, path)};
  client.set_connection_timeout(10), client.set_read_timeout(20);
  const auto answer = client.Get(url.substr(path));
  return answer ? http_answer{answer->status, answer->body, answer->get_header_value("Content-Type")} : http_answer{};
}

/// The samples of a page of metrics, by what stands before the space.
inline std::map<std::string, double> metrics_at(const std::string& url) {
  std::map<std::string, double> all;
  const http_answer page = get(url);
  EXPECT_EQ(page.status, 200) << url;
  std::istringstream lines{page.body};
  for (std::string line; std::getline(lines, line);)
    if (const auto space = line.rfind(' '); line.front() != '#')
      all[line.substr(0, space)] = std::stod(line.substr(space + 1));
  return all;
}

}  // namespace rubato::test

#endif
#endif
