#ifndef RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HTTP_HPP
#define RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HTTP_HPP
#ifdef RUBATO_HTTPLIB

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "processes.hpp"

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

/// A connection to that server of this machine, for what no client would say.
class raw_connection {
 public:
  explicit raw_connection(const std::string& url) : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    const auto port = std::stoul(url.substr(url.rfind(':') + 1));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0) << url;
  }
  raw_connection(const raw_connection&) = delete;
  raw_connection& operator=(const raw_connection&) = delete;
  ~raw_connection() { ::close(socket_); }

  /// False once the other side is gone.
  [[nodiscard]] bool say(std::string_view bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// All that comes until the other side ends it.
  [[nodiscard]] std::string answer() const {
    std::string all;
    char room[4096];
    for (ssize_t n; (n = ::recv(socket_, room, sizeof room, 0)) > 0;) all.append(room, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int socket_;
};

/// Asks for something, and stops in the middle, for as long as it lives.
struct half_request : raw_connection {
  explicit half_request(const std::string& url) : raw_connection{url} {
    EXPECT_TRUE(say("GET /metrics HTTP/1.1\r\nHost: "));
  }
};

/// A test of servers that have a page of metrics.
class metrics_test : public process_test {
 protected:
  /// Where that of the server of this name is, as it says.
  std::string url_of(const std::string& name) {
    EXPECT_TRUE(logged(name, "/metrics\n"));
    const std::string said = read(folder / (name + ".log"));
    const auto begin = said.find("http://"), end = said.find('\n', begin);
    return said.substr(begin, end - begin);
  }
};

}  // namespace rubato::test

#endif
#endif
