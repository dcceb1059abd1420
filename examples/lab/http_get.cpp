#include "http_get.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace rubato::lab {
namespace {

using steady = std::chrono::steady_clock;

struct place {
  std::string host, port = "80", path = "/metrics";
};

std::optional<place> place_of(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return std::nullopt;
  for (const char c : url)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return std::nullopt;  // it would end a word of the request
  url.remove_prefix(scheme.size());
  place at;
  if (const auto slash = url.find('/'); slash != url.npos) {
    at.path = url.substr(slash);
    url = url.substr(0, slash);
  }
  const auto bracket = url.find(']');
  const auto colon = url.find(':', url.starts_with('[') && bracket != url.npos ? bracket : 0);
  if (colon != url.npos) {
    std::uint16_t port = 0;
    const std::string_view text = url.substr(colon + 1);
    const auto [rest, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (wrong != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
    at.port = text;
    url = url.substr(0, colon);
  }
  if (url.starts_with('[')) {
    if (!url.ends_with(']')) return std::nullopt;
    url = url.substr(1, url.size() - 2);
  }
  if (url.empty()) return std::nullopt;
  at.host = url;
  return at;
}

// A connection, for a limited time in all.
class connection {
 public:
  explicit connection(steady::time_point deadline) : deadline_{deadline} {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { close(); }

  // What was wrong with the last address, nothing if one took it.
  struct refusal {
    bool nobody = false;  // listens there
    std::string why{};
  };
  [[nodiscard]] std::optional<refusal> open(const place& to) {
    addrinfo wish{}, *all = nullptr;
    wish.ai_socktype = SOCK_STREAM;
    if (const int wrong = ::getaddrinfo(to.host.c_str(), to.port.c_str(), &wish, &all); wrong != 0)
      return refusal{.why = wrong == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(wrong)};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{all, ::freeaddrinfo};
    int wrong = 0;
    for (const addrinfo* at = all; at != nullptr; at = at->ai_next) {
      close();
      socket_ = ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
      wrong = socket_ < 0 ? errno : connected(*at);
      if (wrong == 0) return std::nullopt;
    }
    return refusal{.nobody = wrong == ECONNREFUSED, .why = std::strerror(wrong)};
  }
  // False: it could not be, or time is up.
  [[nodiscard]] bool send(std::string_view bytes) {
    while (!bytes.empty() && ready(POLLOUT)) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0)
        bytes.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EAGAIN && errno != EINTR)
        return false;
    }
    return bytes.empty();
  }
  // Bytes that came; 0: the end of them; -1: it broke, or time is up.
  [[nodiscard]] ssize_t receive(char* to, std::size_t most) {
    while (ready(POLLIN)) {
      const ssize_t n = ::recv(socket_, to, most, 0);
      if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return n;
    }
    return -1;
  }
  [[nodiscard]] bool late() const { return steady::now() >= deadline_; }

 private:
  // 0, or an errno.
  [[nodiscard]] int connected(const addrinfo& to) const {
    if (::connect(socket_, to.ai_addr, to.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!ready(POLLOUT)) return ETIMEDOUT;
    int wrong = 0;
    socklen_t size = sizeof wrong;
    return ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &wrong, &size) == 0 ? wrong : errno;
  }
  [[nodiscard]] bool ready(short what) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady::now()).count();
      if (left <= 0) return false;
      pollfd at{socket_, what, 0};
      const int found = ::poll(&at, 1, static_cast<int>(left));
      if (found > 0) return true;
      if (found < 0 && errno != EINTR) return false;
    }
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  steady::time_point deadline_;
  int socket_ = -1;
};

// What stands behind NAME: in the lines of headers; empty if there is none.
std::string header(std::string_view lines, std::string_view name) {
  for (auto end = lines.find("\r\n"); end != lines.npos; end = lines.find("\r\n")) {
    lines.remove_prefix(end + 2);
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        !std::equal(name.begin(), name.end(), line.begin(), same))
      continue;
    const auto begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == line.npos ? std::string{} : std::string{line.substr(begin)};
  }
  return {};
}

// -1 if it is no answer over HTTP.
int status_of(std::string_view head) {
  int status = -1;
  if (!head.starts_with("HTTP/1.") || head.size() < 12 || head[8] != ' ') return -1;
  return std::from_chars(head.data() + 9, head.data() + 12, status).ec == std::errc{} ? status : -1;
}

}  // namespace

// Not cpp-httplib: its client takes in headers without a limit, and its limits on time begin anew with each byte.
std::string http_get(const std::string& url, std::chrono::milliseconds limit) {
  const auto fail = [&url](const std::string& what) { throw support::user_error{url + ": " + what}; };
  const std::optional<place> at = place_of(url);
  if (!at) fail("expected http://HOST:PORT/metrics");
  connection to{steady::now() + limit};
  const auto too_late = [&] { fail("no whole answer within " + std::to_string(limit.count()) + " ms"); };
  if (const auto refused = to.open(*at)) {
    if (to.late()) too_late();
    if (refused->nobody) throw no_server{url + ": nobody listens there"};
    fail("no connection: " + refused->why);
  }
  const bool in_brackets = at->host.find(':') != at->host.npos;
  const std::string host = in_brackets ? "[" + at->host + "]" : at->host;
  // 1.0: the answer comes in one piece, and ends with the connection.
  if (!to.send("GET " + at->path + " HTTP/1.0\r\nHost: " + host + ":" + at->port + "\r\nConnection: close\r\n\r\n"))
    fail("no answer: it takes no request");
  std::string answer;
  std::array<char, 1 << 16> room;
  std::size_t head = 0, whole = answer.npos;  // bytes up to the blank line, and in all
  while (answer.size() < whole) {
    const ssize_t n = to.receive(room.data(), room.size());
    if (n < 0 && to.late()) too_late();
    if (n < 0) fail(std::string{"no answer: "} + std::strerror(errno));
    if (n == 0) break;
    const std::size_t seen = answer.size() < 3 ? 0 : answer.size() - 3;
    answer.append(room.data(), static_cast<std::size_t>(n));
    if (head == 0) {
      if (const auto blank = answer.find("\r\n\r\n", seen); blank != answer.npos) head = blank + 4;
      if ((head == 0 ? answer.size() : head) > largest_head)
        fail("more than " + std::to_string(largest_head) + " bytes of headers");
      if (head == 0) continue;
      const std::string_view lines{answer.data(), head - 2};
      const int status = status_of(lines);
      if (status < 0) fail("no answer: it does not speak HTTP");
      if (status != 200) fail("status " + std::to_string(status) + ", expected 200");
      if (!header(lines, "Transfer-Encoding").empty() || !header(lines, "Content-Encoding").empty())
        fail("no answer: it is encoded, expected a plain one");
      if (const std::string length = header(lines, "Content-Length"); !length.empty()) {
        std::uint64_t size = 0;
        const auto [rest, wrong] = std::from_chars(length.data(), length.data() + length.size(), size);
        if (wrong != std::errc{} || rest != length.data() + length.size())
          fail("no answer: a length that is no number");
        if (size > largest_page) fail("more than " + std::to_string(largest_page) + " bytes");
        whole = head + static_cast<std::size_t>(size);
      }
    }
    if (answer.size() - head > largest_page) fail("more than " + std::to_string(largest_page) + " bytes");
  }
  if (head == 0) fail("no answer: it hung up");
  if (whole != answer.npos && answer.size() < whole) fail("no answer: it hung up in the middle");
  if (whole != answer.npos) answer.resize(whole);
  answer.erase(0, head);
  return answer;
}

}  // namespace rubato::lab
