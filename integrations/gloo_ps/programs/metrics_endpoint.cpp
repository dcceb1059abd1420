#include "metrics_endpoint.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <rubato/io/metrics_text.hpp>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

using rubato::errc;
using rubato::error;

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t largest_request = 8192;  // bytes up to the blank line; what comes behind it is no part of a GET
constexpr std::chrono::seconds longest_request{5}, longest_answer{5};
constexpr std::chrono::milliseconds longest_goodbye{200};  // for a peer that is still sending
constexpr int glance = 50;                                 // milliseconds: how late the end may be noticed

// Whether a socket is ready for that before the deadline, and the end.
bool ready(int socket, short what, steady::time_point deadline, const std::atomic<bool>& over) {
  while (!over) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
    if (left <= 0) return false;
    pollfd at{socket, what, 0};
    const int found = ::poll(&at, 1, static_cast<int>((std::min)(std::int64_t{left}, std::int64_t{glance})));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
  return false;
}

struct request {
  int status = 0;  // 0: nobody to answer; 200: a GET of that path
  std::string path;
};
// Reads up to the blank line, and nothing of what follows it.
request read_request(int socket, const std::atomic<bool>& over) {
  std::array<char, largest_request> room;
  std::size_t used = 0;
  const auto deadline = steady::now() + longest_request;
  std::string_view text;
  while (text.find("\r\n\r\n") == text.npos) {
    if (used == room.size()) return {.status = 431, .path = {}};
    if (!ready(socket, POLLIN, deadline, over)) return {};
    const ssize_t n = ::recv(socket, room.data() + used, room.size() - used, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return {};
    used += static_cast<std::size_t>(n);
    text = {room.data(), used};
  }
  const std::string_view line = text.substr(0, text.find("\r\n"));
  const auto end = line.rfind(" HTTP/1.");
  if (!line.starts_with("GET ") || end == line.npos || end < 4)
    return {.status = line.ends_with("HTTP/1.1") || line.ends_with("HTTP/1.0") ? 405 : 400, .path = {}};
  const std::string_view path = line.substr(4, end - 4);
  return {.status = 200, .path = std::string{path.substr(0, path.find('?'))}};
}

void send_all(int socket, std::string_view bytes, const std::atomic<bool>& over) {
  const auto deadline = steady::now() + longest_answer;
  while (!bytes.empty() && ready(socket, POLLOUT, deadline, over)) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EAGAIN && errno != EINTR)
      return;
  }
}

// Closing a socket with unread bytes would tear down the connection before the peer has read its answer.
void say_goodbye(int socket, const std::atomic<bool>& over) {
  ::shutdown(socket, SHUT_WR);
  const auto deadline = steady::now() + longest_goodbye;
  std::array<char, 4096> unread;
  while (ready(socket, POLLIN, deadline, over))
    if (const ssize_t n = ::recv(socket, unread.data(), unread.size(), 0); n == 0 || (n < 0 && errno != EAGAIN)) return;
}

std::string answer_of(int status, const char* reason, std::string_view type, std::string_view body) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + reason;
  text.append("\r\nConnection: close\r\nContent-Type: ").append(type);
  text += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text.append(body);
}

std::string answer_to(const request& asked, const std::function<std::string()>& page) {
  if (asked.status == 431) return answer_of(431, "Request Header Fields Too Large", "text/plain", "too long\n");
  if (asked.status == 405) return answer_of(405, "Method Not Allowed", "text/plain", "there is GET\n");
  if (asked.status == 400) return answer_of(400, "Bad Request", "text/plain", "no HTTP\n");
  if (asked.path == "/metrics") return answer_of(200, "OK", rubato::metrics_content_type, page());
  if (asked.path == "/healthz") return answer_of(200, "OK", "text/plain", "ok\n");
  return answer_of(404, "Not Found", "text/plain", "there are /metrics and /healthz\n");
}

std::uint16_t port_of(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  in_port_t port = 0;
  const std::size_t offset =
      at.ss_family == AF_INET6 ? offsetof(sockaddr_in6, sin6_port) : offsetof(sockaddr_in, sin_port);
  std::memcpy(&port, reinterpret_cast<const char*>(&at) + offset, sizeof port);
  return ntohs(port);
}

// A socket that listens there, or -1; `why` says what was wrong last.
int listening(const std::string& host, std::uint16_t port, std::string& why) {
  addrinfo wish{}, *all = nullptr;
  wish.ai_socktype = SOCK_STREAM;
  wish.ai_flags = AI_PASSIVE;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wish, &all) != 0) return why = "no such address", -1;
  int found = -1;
  for (const addrinfo* at = all; at != nullptr && found < 0; at = at->ai_next) {
    found = ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
    const int yes = 1;
    if (found >= 0 && ::setsockopt(found, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(found, at->ai_addr, at->ai_addrlen) == 0 && ::listen(found, 16) == 0)
      break;
    why = std::strerror(errno);
    if (found >= 0) ::close(std::exchange(found, -1));
  }
  ::freeaddrinfo(all);
  return found;
}

}  // namespace

struct metrics_endpoint::listener {
  int socket = -1;
  std::atomic<bool> over = false;
  std::function<std::string()> page;
  std::string url;
  std::array<std::thread, 2> threads;

  void answer() noexcept {
    while (!over) {
      if (!ready(socket, POLLIN, steady::now() + std::chrono::hours{1}, over)) continue;
      const int peer = ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (peer < 0) {  // the other thread was faster; or there is no file left, which passes
        if (errno != EAGAIN) std::this_thread::sleep_for(std::chrono::milliseconds{glance});
        continue;
      }
      try {
        if (const request asked = read_request(peer, over); asked.status != 0) {
          send_all(peer, answer_to(asked, page), over);
          say_goodbye(peer, over);
        }
      } catch (const std::exception&) {  // no memory for a page
      }
      ::close(peer);
    }
  }
  ~listener() {
    over = true;
    for (std::thread& each : threads)
      if (each.joinable()) each.join();
    if (socket >= 0) ::close(socket);
  }
};

rubato::result<metrics_endpoint> metrics_endpoint::open(const std::string& host, std::uint16_t port,
                                                        std::function<std::string()> page) {
  auto at = std::make_unique<listener>();
  std::string why;
  at->socket = listening(host, port, why);
  if (at->socket < 0)
    return error{errc::io, "--metrics: nothing can listen on " + host + " port " + std::to_string(port) + ": " + why};
  at->page = std::move(page);
  at->url = "http://" + (host.find(':') == host.npos ? host : "[" + host + "]") + ":" +
            std::to_string(port_of(at->socket)) + "/metrics";
  try {
    for (std::thread& each : at->threads) each = std::thread{[here = at.get()] { here->answer(); }};
  } catch (const std::system_error& e) {
    return error{errc::io, std::string{"--metrics: no thread: "} + e.what()};
  }
  return metrics_endpoint{std::move(at)};
}

metrics_endpoint::metrics_endpoint(std::unique_ptr<listener> at) noexcept : at_{std::move(at)} {}
metrics_endpoint::metrics_endpoint(metrics_endpoint&&) noexcept = default;
metrics_endpoint& metrics_endpoint::operator=(metrics_endpoint&&) noexcept = default;
metrics_endpoint::~metrics_endpoint() = default;
const std::string& metrics_endpoint::url() const noexcept { return at_->url; }
