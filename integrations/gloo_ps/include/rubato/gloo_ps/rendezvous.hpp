#ifndef RUBATO_GLOO_PS_RENDEZVOUS_HPP
#define RUBATO_GLOO_PS_RENDEZVOUS_HPP

#include <gloo/common/error.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/address.h>

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
#include <thread>
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
    } catch (const gloo::IoException&) {  // not there
    } catch (const std::exception& e) {
      trouble_ = std::string{"the rendezvous store: "} + e.what();
      std::this_thread::sleep_until((std::min)(deadline, after(0.01)));  // who asks again would ask at once
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
  /// The first number from `n` on whose key is not taken, where keys are taken in the order of their numbers: by
  /// doubling steps, then by halves.
  template <class Key>
  std::uint64_t first_free(std::uint64_t n, Key&& key_of) {
    if (!has(key_of(n))) return n;
    std::uint64_t step = 1;
    for (; has(key_of(n + step)); step *= 2) n += step;
    while (step > 1) {
      const std::uint64_t half = step / 2;
      if (has(key_of(n + half)))
        n += half, step -= half;
      else
        step = half;
    }
    return n + 1;
  }
  /// What was wrong, since this was last asked; empty if nothing was.
  [[nodiscard]] std::string take_trouble() { return std::exchange(trouble_, {}); }

 private:
  std::shared_ptr<gloo::rendezvous::Store> store_;
  std::string prefix_, trouble_;
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
  std::vector<char> note(8 + address.size());
  std::memcpy(note.data(), &nonce, 8);
  std::copy(address.begin(), address.end(), note.begin() + 8);
  return note;
}
// Where that is, for people: [10.0.0.1]:44452.
inline std::string place_of(const std::vector<char>& address) {
  try {
    return gloo::transport::tcp::Address{address}.str();
  } catch (const std::exception&) {
    return "no address of Gloo's";
  }
}
inline std::uint64_t draw_nonce() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

}  // namespace detail

/// A connection that a worker has asked for, and that is not made yet: finish() makes it, in the thread that will talk.
struct pending_link {
  gloo_link link;          ///< not connected
  std::vector<char> peer;  ///< address of the worker's end

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
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: WorkersMeetTheServer, NewLifeIsFound, TwoKnockAtOnce;
///         tests/integrations/gloo_ps/many_workers_test.cpp: FirstFreeKeyIsFound, TooManyOpenFilesAreTold
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

  /// Whether a server of a later life has been started: workers look for that one, so this one is to end.
  [[nodiscard]] bool superseded() { return board_.has(detail::life_key(life_ + 1)); }

  /// The next worker that knocks, by then.
  std::optional<pending_link> accept(steady::time_point deadline) {
    const auto knock = board_.read(detail::knock_key(life_, next_), deadline);
    if (!knock) return std::nullopt;
    const std::uint64_t n = next_++;
    if (knock->size() <= 8) return std::nullopt;  // not written by a worker
    auto link = gloo_link::make(device_, 0, connect_limit_);
    if (!link) return trouble_ = link.error().message, std::nullopt;
    std::uint64_t nonce = 0;
    std::memcpy(&nonce, knock->data(), 8);
    if (!board_.write(detail::answer_key(life_, n), detail::note_of(link->address(), nonce)))
      return trouble_ = "the answer to a worker cannot be written to the rendezvous store", std::nullopt;
    return pending_link{std::move(*link), {knock->begin() + 8, knock->end()}};
  }

  /// Why a worker could not be answered, or none could be heard, since this was last asked: too many open files, a
  /// store that is out of reach. Empty if nothing was wrong. Workers that were not answered knock again.
  [[nodiscard]] std::string take_trouble() {
    std::string of_board = board_.take_trouble(), own = std::exchange(trouble_, {});
    return own.empty() ? of_board : own;
  }

 private:
  gloo_doors(std::shared_ptr<gloo_device> device, detail::board board, double connect_limit)
      : device_{std::move(device)}, board_{std::move(board)}, connect_limit_{connect_limit} {}

  std::shared_ptr<gloo_device> device_;
  detail::board board_;
  double connect_limit_;
  std::uint32_t life_ = 1;
  std::uint64_t next_ = 0;
  std::string trouble_;
};

/// The worker's side: a connector for `worker`.
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: WorkersMeetTheServer, AnAddressIsAnnouncedOnce,
///         WhoIsNotReachedIsNamed
class gloo_connector {
 public:
  /// `connect_limit`: seconds until the server must have answered a knock, and as many to connect then.
  gloo_connector(std::shared_ptr<gloo_device> device, std::shared_ptr<gloo::rendezvous::Store> store, std::uint64_t job,
                 double connect_limit = 5)
      : device_{std::move(device)}, board_{std::move(store), job}, connect_limit_{connect_limit} {}

  /// Knocks at the newest server's, and connects when it answers; nothing if there is none by then.
  std::optional<gloo_link> operator()(worker_id, steady::time_point deadline) {
    if (!board_.read(detail::life_key(life_), deadline)) return std::nullopt;
    while (board_.has(detail::life_key(life_ + 1))) ++life_, next_ = 0;
    // Where another worker wrote the same key, it may not be known whose note the server has read. So an address is
    // announced once: a pair that met a second server's pair would have talked to the first already.
    std::optional<gloo_link> link;
    std::uint64_t nonce = 0;
    while (!link) {
      next_ = board_.first_free(next_, [this](std::uint64_t n) { return detail::knock_key(life_, n); });
      if (steady::now() >= deadline) return std::nullopt;
      auto made = gloo_link::make(device_, 1, connect_limit_);
      if (!made) return std::nullopt;
      nonce = detail::draw_nonce();
      if (board_.write(detail::knock_key(life_, next_), detail::note_of(made->address(), nonce)))
        link.emplace(std::move(*made));
      else  // those who lost the race for a key do not all run for the next one at once
        std::this_thread::sleep_for(std::chrono::milliseconds{1 + nonce % 8});
    }
    const std::string key = detail::answer_key(life_, next_++);
    const steady::time_point until = (std::min)(deadline, after(connect_limit_));
    std::optional<std::vector<char>> answer;
    while (!(answer = board_.read(key, (std::min)(until, after(0.2)))) && steady::now() < until)
      if (board_.has(detail::life_key(life_ + 1))) return std::nullopt;  // this server is no more
    if (!answer || answer->size() <= 8 || std::memcmp(answer->data(), &nonce, 8) != 0) return std::nullopt;
    const std::vector<char> peer{answer->begin() + 8, answer->end()};
    if (link->connect(peer)) return link;
    trouble_ = "the server says it is at " + detail::place_of(peer) + ", this worker at " +
               detail::place_of(link->address()) + ", and one does not reach the other";
    return std::nullopt;
  }

  /// Why a server that answered was not connected to, since this was last asked; empty if none answered.
  [[nodiscard]] std::string take_trouble() { return std::exchange(trouble_, {}); }

 private:
  std::shared_ptr<gloo_device> device_;
  detail::board board_;
  double connect_limit_;
  std::uint32_t life_ = 1;
  std::uint64_t next_ = 0;  // keys below it are taken
  std::string trouble_;
};

/// Whether a server of this job is at work: knocks at the newest one's, and hangs up when it answers. One that hangs
/// does not. To be asked before gloo_doors::open(), since two servers would share the workers between them.
/// Cost    at once if none was ever started in this store; `limit` seconds if the last one is gone
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: WhetherAServerAnswers
[[nodiscard]] inline bool server_answers(std::shared_ptr<gloo_device> device,
                                         std::shared_ptr<gloo::rendezvous::Store> store, std::uint64_t job,
                                         double limit) {
  if (!detail::board{store, job}.has(detail::life_key(1))) return false;
  gloo_connector knock{std::move(device), std::move(store), job, limit};
  return knock(worker_id{}, after(limit)).has_value();
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
