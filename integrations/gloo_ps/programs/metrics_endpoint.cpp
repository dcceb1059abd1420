#include "metrics_endpoint.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <rubato/io/metrics_text.hpp>
#include <system_error>
#include <thread>
#include <utility>

using rubato::errc;
using rubato::error;

struct metrics_endpoint::listener {
  httplib::Server http;
  std::thread thread;
  std::atomic<bool> over = false;
  std::string url;
  ~listener() {
    http.stop();
    if (thread.joinable()) thread.join();
  }
};

rubato::result<metrics_endpoint> metrics_endpoint::open(const std::string& host, std::uint16_t port,
                                                        std::function<std::string()> page) {
  auto at = std::make_unique<listener>();
  httplib::Server& http = at->http;
  http.new_task_queue = [] { return new httplib::ThreadPool{2}; };
  http.set_payload_max_length(1024);
  http.set_read_timeout(5);
  http.set_write_timeout(5);
  http.set_keep_alive_timeout(1);
  // The library's own options let two processes listen on one port.
  http.set_socket_options([](socket_t s) {
    const int yes = 1;
    ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.Get("/metrics", [page = std::move(page)](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(page(), std::string{rubato::metrics_content_type});
  });
  http.Get("/healthz",
           [](const httplib::Request&, httplib::Response& answer) { answer.set_content("ok\n", "text/plain"); });
  http.set_error_handler([](const httplib::Request&, httplib::Response& answer) {
    if (answer.status == 404) answer.set_content("there are /metrics and /healthz\n", "text/plain");
  });
  errno = 0;
  const int bound = port > 0 ? (http.bind_to_port(host, port) ? port : -1) : http.bind_to_any_port(host);
  if (bound <= 0)
    return error{errc::io, "--metrics: nothing can listen on " + host + " port " + std::to_string(port) + ": " +
                               (errno != 0 ? std::strerror(errno) : "no such address")};
  at->url =
      "http://" + (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(bound) + "/metrics";
  try {
    at->thread = std::thread{[here = at.get()] {
      try {
        here->http.listen_after_bind();
      } catch (const std::system_error&) {  // no thread for its answers
      }
      here->over = true;
    }};
  } catch (const std::system_error& e) {
    return error{errc::io, std::string{"--metrics: no thread: "} + e.what()};
  }
  while (!http.is_running() && !at->over)
    std::this_thread::yield();  // or the stop of the destructor would come before its start
  if (at->over) return error{errc::io, "--metrics: no threads for its answers"};
  return metrics_endpoint{std::move(at)};
}

metrics_endpoint::metrics_endpoint(std::unique_ptr<listener> at) noexcept : at_{std::move(at)} {}
metrics_endpoint::metrics_endpoint(metrics_endpoint&&) noexcept = default;
metrics_endpoint& metrics_endpoint::operator=(metrics_endpoint&&) noexcept = default;
metrics_endpoint::~metrics_endpoint() = default;
const std::string& metrics_endpoint::url() const noexcept { return at_->url; }
