#ifndef RUBATO_GLOO_PS_STORES_HPP
#define RUBATO_GLOO_PS_STORES_HPP

#include <fcntl.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/file_store.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <rubato/core/result.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
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

/// Gloo's store of files, in which a key is written once also when several want to at the same time: with Gloo's own
/// the second overwrites the first, both believe that the key is theirs, or neither does. With three hundred workers
/// that knock at once that is the rule.
///
/// Where the file system has no hard links it is Gloo's own set() again.
/// Tests   tests/integrations/gloo_ps/many_workers_test.cpp: KeysAreWrittenOnce
class exclusive_file_store : public gloo::rendezvous::FileStore {
 public:
  using gloo::rendezvous::FileStore::FileStore;
  /// Writes a key, once. Throws gloo::IoException if it is there already, or the file cannot be made.
  void set(const std::string& key, const std::vector<char>& data) override {
    static std::atomic<std::uint64_t> count = 0;
    // Unlike the name that any other process or machine takes.
    const std::string beside = tmpPath(key) + "." + std::to_string(std::random_device{}()) + "." +
                               std::to_string(::getpid()) + "." + std::to_string(++count);
    {
      std::ofstream file{beside, std::ios::binary};
      file.write(data.data(), static_cast<std::streamsize>(data.size()));
      if (!file.flush()) {
        ::unlink(beside.c_str());
        throw gloo::IoException("the file " + beside + " cannot be written");
      }
    }
    const std::string path = objectPath(key);
    const int failure = ::link(beside.c_str(), path.c_str()) == 0 ? 0 : errno;
    ::unlink(beside.c_str());
    if (failure == EPERM || failure == EOPNOTSUPP || failure == ENOSYS) return FileStore::set(key, data);
    if (failure != 0) throw gloo::IoException("the file " + path + " cannot be made: " + std::strerror(failure));
  }

 protected:
  /// Whether all keys are there. Gloo's own says "24 vs 2" where too many files are open; this throws a sentence.
  bool check(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      const std::string path = objectPath(key);
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC), failure = errno;
      if (file >= 0)
        ::close(file);
      else if (failure == ENOENT)
        return false;
      else
        throw std::runtime_error("the file " + path + " cannot be read: " + std::strerror(failure));
    }
    return true;
  }
};

/// One of Gloo's stores, that looks for keys after 10 ms, 20, 40 and so on, up to 100 ms, so that a thousand workers
/// which wait for their answers leave the machine to those who write them. A wait ends at its limit, of which Gloo's
/// own FileStore sees whole seconds; one of a millisecond looks once.
template <class Store>
class attentive_store final : public Store {
 public:
  using Store::Store;
  using Store::wait;
  /// Until all keys are there. Throws gloo::IoException at the limit.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) override {
    using std::chrono::milliseconds;
    const steady::time_point until = steady::now() + limit;
    for (milliseconds pause{10}; !this->check(keys); pause = (std::min)(2 * pause, milliseconds{100})) {
      if (limit.count() <= 1 || steady::now() >= until) throw gloo::IoException("the key was not written in time");
      std::this_thread::sleep_for((std::min)(limit, pause));
    }
  }
};

/// A store by its name: `file:FOLDER`, a folder that all machines of the job see, or `redis:HOST[:PORT]`.
/// Errors  invalid_option: another word, or no Redis in this build; io: out of reach
[[nodiscard]] inline result<std::shared_ptr<gloo::rendezvous::Store>> open_store(const std::string& name) {
  using made = std::shared_ptr<gloo::rendezvous::Store>;
  try {
    if (name.starts_with("file:") && name.size() > 5) {
      std::error_code bad;
      if (!std::filesystem::is_directory(name.substr(5), bad))
        return error{errc::io, "store " + name + ": there is no such folder, expected one made for this job"};
      return made{std::make_shared<attentive_store<exclusive_file_store>>(name.substr(5))};
    }
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
