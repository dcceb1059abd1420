#include "http_get.hpp"

#include <httplib.h>

namespace rubato::lab {

std::string http_get(const std::string& url) {
  const auto fail = [&url](const std::string& what) { throw support::user_error{url + ": " + what}; };
  constexpr const char* expected = "expected http://HOST:PORT/metrics";
  if (!url.starts_with("http://")) fail(expected);  // httplib throws for other schemes
  const auto slash = url.find('/', sizeof "http://" - 1);
  httplib::Client client{url.substr(0, slash)};
  if (!client.is_valid()) fail(expected);
  client.set_connection_timeout(5);
  client.set_read_timeout(5);
  std::string page;
  bool too_long = false;
  const auto answer =
      client.Get(slash == url.npos ? "/metrics" : url.substr(slash), [&](const char* bytes, std::size_t size) {
        too_long = size > largest_page - page.size();
        if (!too_long) page.append(bytes, size);
        return !too_long;
      });
  if (too_long) fail("more than " + std::to_string(largest_page) + " bytes");
  if (!answer && answer.error() == httplib::Error::Connection) throw no_server{url + ": nobody listens there"};
  if (!answer) fail("no answer: " + httplib::to_string(answer.error()));
  if (answer->status != 200) fail("status " + std::to_string(answer->status) + ", expected 200");
  return page;
}

}  // namespace rubato::lab
