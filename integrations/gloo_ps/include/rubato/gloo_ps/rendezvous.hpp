#ifndef RUBATO_GLOO_PS_RENDEZVOUS_HPP
#define RUBATO_GLOO_PS_RENDEZVOUS_HPP

#include <gloo/rendezvous/store.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <rubato/core/result.hpp>
#include <rubato/core/types.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gloo_link.hpp"
#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

namespace detail {

/// A store in which each key is written once, without exceptions: what a rendezvous needs of Gloo's stores.
class board {
 public:
  board(std::shared_ptr<gloo::rendezvous::Store> store, std::uint64_t job)
      : store_{std::move(store)}, prefix_{"rubato/" + std::to_string(job) + "/"} {}

  /// What stands under the key by then.
  std::optional<std::vector<char>> read(const std::string& key, steady::time_point deadline) {
    try {
      const auto span = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
      store_->wait({prefix_ + key}, (std::max)(span, std::chrono::milliseconds{1}));
      std::vector<char> content = store_->get(prefix_ + key);
      if (!content.empty()) return content;
    } catch (const std::exception&) {  // not there
    }
    return std::nullopt;
  }
  bool has(const std::string& key) { return read(key, steady::now()).has_value(); }
  /// False if somebody has written it before, or the store is out of reach.
  bool write(const std::string& key, const std::vector<char>& content) {
    try {
      store_->set(prefix_ + key, content);
      return read(key, after(1)) == content;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  std::shared_ptr<gloo::rendezvous::Store> store_;
  std::string prefix_;
};

/// The number of this life of the server, or how to find the newest: lives are numbered from 1.
inline std::string life_key(std::uint32_t life) { return "life/" + std::to_string(life); }
inline std::string knock_key(std::uint32_t life, std::uint64_t n) {
  return std::to_string(life) + "/knock/" + std::to_string(n);
}
inline std::string answer_key(std::uint32_t life, std::uint64_t n) {
  return std::to_string(life) + "/answer/" + std::to_string(n);
}

// An address of Gloo and a number that makes the note unlike any other.
inline std::vector<char> note_of(const std::vector<char>& address, std::uint64_t nonce) {
  std::vector<char> note(8);
  std::memcpy(note.data(), &nonce, 8);
  note.insert(note.end(), address.begin(), address.end());
  return note;
}
inline std::uint64_t draw_nonce() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

}  // namespace detail

/// A connection that a worker has asked for, and that is not made yet: finish() makes it, in the thread that will talk.
struct pending_link {
  gloo_link link;
  std::vector<char> peer;

  /// The link, or nothing if the worker did not come within the connect_limit of the doors.
  std::optional<gloo_link> finish() && {
    if (!link.connect(peer)) return std::nullopt;
    return std::move(link);
  }
};

/// The server's side of a rendezvous in one of Gloo's stores (a folder that all machines see, a Redis server).
///
/// Each life of a server takes the next number. A worker that wants in writes the next `knock`, with the address of its
/// pair; the server answers with that of its own, and both connect. Keys are written once and left behind: a store
/// belongs to one job, and is removed with it.
/// Thread  not thread-safe
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: WorkersMeetTheServer, NewLifeIsFound, TwoKnockAtOnce
class gloo_doors {
 public:
  /// Errors  io: the store cannot be written
  [[nodiscard]] static result<gloo_doors> open(std::shared_ptr<gloo_device> device,
                                               std::shared_ptr<gloo::rendezvous::Store> store, std::uint64_t job,
                                               double connect_limit = 5) {
    gloo_doors doors{std::move(device), {std::move(store), job}, connect_limit};
    const std::vector<char> sign = detail::note_of({}, detail::draw_nonce());
    for (int failures = 0; failures < 3;) {
      while (doors.board_.has(detail::life_key(doors.life_))) ++doors.life_;
      if (doors.board_.write(detail::life_key(doors.life_), sign)) return doors;
      ++failures;
    }
    return error{errc::io, "the rendezvous store cannot be written"};
  }

  /// How many servers of this job were started before, and one: 1 for the first.
  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }

  /// The next worker that knocks, by then.
  std::optional<pending_link> accept(steady::time_point deadline) {
    const auto knock = board_.read(detail::knock_key(life_, next_), deadline);
    if (!knock) return std::nullopt;
    const std::uint64_t n = next_++;
    if (knock->size() <= 8) return std::nullopt;  // not written by a worker
    auto link = gloo_link::make(device_, 0, connect_limit_);
    if (!link) return std::nullopt;
    std::uint64_t nonce = 0;
    std::memcpy(&nonce, knock->data(), 8);
    if (!board_.write(detail::answer_key(life_, n), detail::note_of(link->address(), nonce))) return std::nullopt;
    return pending_link{std::move(*link), {knock->begin() + 8, knock->end()}};
  }

 private:
  gloo_doors(std::shared_ptr<gloo_device> device, detail::board board, double connect_limit)
      : device_{std::move(device)}, board_{std::move(board)}, connect_limit_{connect_limit} {}

  std::shared_ptr<gloo_device> device_;
  detail::board board_;
  double connect_limit_;
  std::uint32_t life_ = 1;
  std::uint64_t next_ = 0;
};

/// The worker's side: a connector for `worker`.
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: WorkersMeetTheServer, AnAddressIsAnnouncedOnce
class gloo_connector {
 public:
  gloo_connector(std::shared_ptr<gloo_device> device, std::shared_ptr<gloo::rendezvous::Store> store, std::uint64_t job,
                 double connect_limit = 5)
      : device_{std::move(device)}, board_{std::move(store), job}, connect_limit_{connect_limit} {}

  /// Knocks at the newest server's, and connects when it answers; nothing if there is none by then.
  std::optional<gloo_link> operator()(worker_id, steady::time_point deadline) {
    if (!board_.read(detail::life_key(life_), deadline)) return std::nullopt;
    while (board_.has(detail::life_key(life_ + 1))) ++life_, next_ = 0;
    // Where another worker wrote the same key, it is not known whose note the server has read. So an address is announced
    // once: a pair that met a second server's pair would have talked to the first already.
    std::optional<gloo_link> link;
    std::uint64_t nonce = 0;
    for (;; ++next_) {
      while (board_.has(detail::knock_key(life_, next_))) ++next_;
      if (steady::now() >= deadline) return std::nullopt;
      auto made = gloo_link::make(device_, 1, connect_limit_);
      if (!made) return std::nullopt;
      nonce = detail::draw_nonce();
      if (!board_.write(detail::knock_key(life_, next_), detail::note_of(made->address(), nonce))) continue;
      link.emplace(std::move(*made));
      break;
    }
    const std::string key = detail::answer_key(life_, next_++);
    const steady::time_point until = (std::min)(deadline, after(connect_limit_));
    std::optional<std::vector<char>> answer;
    while (!(answer = board_.read(key, (std::min)(until, after(0.2)))) && steady::now() < until)
      if (board_.has(detail::life_key(life_ + 1))) return std::nullopt;  // this server is no more
    if (!answer || answer->size() <= 8 || std::memcmp(answer->data(), &nonce, 8) != 0) return std::nullopt;
    if (!link->connect({answer->begin() + 8, answer->end()})) return std::nullopt;
    return link;
  }

 private:
  std::shared_ptr<gloo_device> device_;
  detail::board board_;
  double connect_limit_;
  std::uint32_t life_ = 1;
  std::uint64_t next_ = 0;  // keys below it are taken
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
