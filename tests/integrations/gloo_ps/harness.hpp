#ifndef RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HARNESS_HPP
#define RUBATO_TESTS_INTEGRATIONS_GLOO_PS_HARNESS_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <rubato/gloo_ps/loopback.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rubato::test {

/// A server in this process, and the threads of its conversations; connect() is what a rendezvous is elsewhere.
template <Observer Watcher = no_observer>
class watched_loopback_host {
 public:
  watched_loopback_host(gloo_ps::server_options options, gloo_ps::named_policy policy, Watcher watcher = {})
      : ps{options, std::move(policy), std::vector<float>(options.job.model.parameters),
           [this](const std::string& line) { keep(line); }, std::move(watcher)} {}
  ~watched_loopback_host() { stop(); }

  /// A new connection, served by a thread of its own.
  gloo_ps::loopback_link connect(gloo_ps::loopback_faults of_client = {}, gloo_ps::loopback_faults of_server = {}) {
    auto both = gloo_ps::loopback_link::pair(of_client, of_server);
    const std::lock_guard lock{mutex_};
    threads_.emplace_back([this, link = std::move(both.second)]() mutable { ps.serve(link); });
    return std::move(both.first);
  }
  void stop() {
    ps.close();
    std::vector<std::thread> ending;
    {
      const std::lock_guard lock{mutex_};
      ending.swap(threads_);
    }
    for (std::thread& t : ending) t.join();
  }
  std::vector<std::string> log() {
    const std::lock_guard lock{mutex_};
    return lines_;
  }

 private:
  void keep(const std::string& line) {
    const std::lock_guard lock{mutex_};
    lines_.push_back(line);
  }
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::vector<std::string> lines_;

 public:
  gloo_ps::server<Watcher> ps;
};
using loopback_host = watched_loopback_host<>;

/// Whether it comes true within ten seconds.
inline bool eventually(const std::function<bool()>& what) {
  for (const auto until = gloo_ps::after(10); gloo_ps::steady::now() < until;) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return what();
}

}  // namespace rubato::test

#endif
