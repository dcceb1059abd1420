#ifndef RUBATO_GLOO_PS_STORES_HPP
#define RUBATO_GLOO_PS_STORES_HPP

#include <gloo/common/error.h>
#include <gloo/rendezvous/file_store.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <memory>
#include <rubato/core/result.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport.hpp"

#if __has_include(<gloo/rendezvous/redis_store.h>) && __has_include(<hiredis/hiredis.h>)
#ifndef HIREDIS_NESTED_INCLUDE
#define HIREDIS_NESTED_INCLUDE
#endif
#include <gloo/rendezvous/redis_store.h>
#endif

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// One of Gloo's stores, that looks for keys a hundred times a second; Gloo's own FileStore looks once a second.
template <class Store>
class attentive_store final : public Store {
 public:
  using Store::Store;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) override {
    const steady::time_point until = steady::now() + limit;
    while (!this->check(keys)) {
      if (steady::now() >= until) throw gloo::IoException("the key was not written in time");
      std::this_thread::sleep_for((std::min)(limit, std::chrono::milliseconds{10}));
    }
  }
};

/// A store by its name: `file:FOLDER`, a folder that all machines of the job see, or `redis:HOST[:PORT]`.
/// Errors  invalid_option: another word, or no Redis in this build; io: out of reach
[[nodiscard]] inline result<std::shared_ptr<gloo::rendezvous::Store>> open_store(const std::string& name) {
  using made = std::shared_ptr<gloo::rendezvous::Store>;
  try {
    if (name.starts_with("file:") && name.size() > 5)
      return made{std::make_shared<attentive_store<gloo::rendezvous::FileStore>>(name.substr(5))};
    if (name.starts_with("redis:") && name.size() > 6) {
#if __has_include(<gloo/rendezvous/redis_store.h>) && __has_include(<hiredis/hiredis.h>)
      std::string host = name.substr(6);
      int port = 6379;
      if (const auto colon = host.rfind(':'); colon != std::string::npos) {
        const char* const end = host.data() + host.size();
        if (const auto [last, bad] = std::from_chars(host.data() + colon + 1, end, port);
            bad != std::errc{} || last != end)
          return error{errc::invalid_option, "store " + name + ": expected a number after the last colon"};
        host.resize(colon);
      }
      return made{std::make_shared<attentive_store<gloo::rendezvous::RedisStore>>(host, port)};
#else
      return error{errc::invalid_option, "store " + name + ": built without Redis (Debian: libhiredis-dev)"};
#endif
    }
  } catch (const std::exception& e) {
    return error{errc::io, "store " + name + ": " + e.what()};
  }
  return error{errc::invalid_option, "store " + name + ": expected file:FOLDER or redis:HOST[:PORT]"};
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
