#ifndef RUBATO_GLOO_PS_PROGRAMS_METRICS_ENDPOINT_HPP
#define RUBATO_GLOO_PS_PROGRAMS_METRICS_ENDPOINT_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <rubato/core/result.hpp>
#include <string>

/// Answers GET /metrics with a page that somebody else makes, GET /healthz with "ok", other paths with 404 and other
/// methods with 405, one request a connection. It reads 8 KiB of a request at most, and no body; the request may take
/// five seconds in all, and the peer five to take its answer. Two threads of its own; who asks without end keeps them
/// busy, and nothing else: memory does not grow with what is sent.
/// Tests   tests/integrations/gloo_ps/metrics_test.cpp
class metrics_endpoint {
 public:
  /// `page` is called by those threads, at most two at a time. `port` 0: any that is free.
  /// Errors  io: the address is taken, or none of this machine; or there is no thread
  [[nodiscard]] static rubato::result<metrics_endpoint> open(const std::string& host, std::uint16_t port,
                                                             std::function<std::string()> page);
  metrics_endpoint(metrics_endpoint&&) noexcept;
  metrics_endpoint& operator=(metrics_endpoint&&) noexcept;
  ~metrics_endpoint();  ///< cuts answers that are under way short

  /// "http://127.0.0.1:9464/metrics"
  [[nodiscard]] const std::string& url() const noexcept;

 private:
  struct listener;
  explicit metrics_endpoint(std::unique_ptr<listener> at) noexcept;
  std::unique_ptr<listener> at_;
};

#endif
