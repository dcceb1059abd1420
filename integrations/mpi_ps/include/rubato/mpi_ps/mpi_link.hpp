#ifndef RUBATO_MPI_PS_MPI_LINK_HPP
#define RUBATO_MPI_PS_MPI_LINK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <rubato/core/types.hpp>
#include <span>
#include <string>
#include <utility>

#include "mpi_process.hpp"

namespace rubato::inline RUBATO_ABI::mpi_ps {

/// The tag of a message that announces a connection; the others are of connections, two each.
inline constexpr int new_connection = 0;

/// A connection between two ranks, as a parameter server's workers have it: satisfies gloo_ps::Link.
///
/// MPI itself has none, so each gets a number, and its messages the tags of that number, one each way; the last byte of
/// a message says whether it is one, or the end of the connection. What arrives for a connection that is over stays
/// with MPI.
///
/// Death   MPI tells nobody that a rank has died, so alive() is true until the peer hangs up or MPI has an error; who
///         waits for a dead one is freed by its deadline.
/// Memory  a message is copied once when it is sent; it is received where it stays
/// Tests   tests/integrations/mpi_ps/mpi_link_test.cpp: LongAndShort, PollDoesNoHarm, CloseIsNoticed,
///         OversizedIsRefusedBeforeAllocation, SilentPeerIsBounded, ConnectionsOfARankAreApart
class mpi_link {
 public:
  enum class side : std::uint8_t { connects, accepts };

  mpi_link(mpi_process& process, int peer, std::uint32_t number, side here) noexcept
      : process_{&process},
        peer_{peer},
        out_{tag_of(number, here == side::accepts)},
        in_{tag_of(number, here == side::connects)} {}
  mpi_link(mpi_link&& from) noexcept
      : process_{std::exchange(from.process_, nullptr)},
        peer_{from.peer_},
        out_{from.out_},
        in_{from.in_},
        alive_{from.alive_},
        has_empty_{from.has_empty_},
        size_{from.size_} {}
  mpi_link& operator=(mpi_link&&) = delete;
  ~mpi_link() {
    if (process_ != nullptr) close();
  }

  transfer send(std::span<const std::byte> message, steady::time_point deadline) {
    if (!alive_) return lost();
    bytes content(message.size() + 1);
    if (!message.empty()) std::memcpy(content.data(), message.data(), message.size());
    content.back() = goes_on;
    return complete(process_->send(std::move(content), peer_, out_, (std::max)(deadline, after(0.001))));
  }

  transfer recv(bytes& into, std::size_t limit, steady::time_point deadline) {
    if (!poll(deadline)) return alive_ ? transfer{transfer::status::timed_out, "nothing came in time"} : lost();
    if (std::exchange(has_empty_, false)) return into.clear(), transfer{};
    const std::size_t size = std::exchange(size_, 0) - 1;
    if (size > limit) {
      close();  // the message stays with MPI
      return {transfer::status::oversized,
              "a message of " + std::to_string(size) + " bytes, expected at most " + std::to_string(limit)};
    }
    transfer done = process_->recv(into, size + 1, peer_, in_, (std::max)(deadline, after(0.001)));
    if (done) into.pop_back();
    return complete(std::move(done));
  }

  bool poll(steady::time_point deadline) {
    patience looks;
    while (!arrives())
      if (!alive_ || !looks.pause(deadline)) return false;
    return true;
  }

  void close() {
    if (std::exchange(alive_, false)) static_cast<void>(process_->send({the_end}, peer_, out_, steady::now()));
  }

  /// Looks whether the peer has hung up; waits for nothing.
  [[nodiscard]] bool alive() {
    static_cast<void>(arrives());
    return alive_;
  }

 private:
  static constexpr std::byte goes_on{0}, the_end{1};
  static constexpr std::uint32_t connections = 16'383;  // MPI has at least 32,768 tags
  [[nodiscard]] static int tag_of(std::uint32_t number, bool of_accepting) noexcept {
    return new_connection + 1 + 2 * static_cast<int>(number % connections) + (of_accepting ? 1 : 0);
  }

  [[nodiscard]] static transfer lost() { return {transfer::status::closed, "the link is closed"}; }
  // After half a message there is no other one.
  [[nodiscard]] transfer complete(transfer how) {
    if (how) return how;
    close();
    return {transfer::status::closed, std::move(how.why)};
  }

  // Whether there is a message. An end is taken out, and so is a message of nothing, which looks like one.
  bool arrives() {
    if (has_empty_ || size_ > 0) return true;
    if (!alive_) return false;
    const auto found = process_->probe(peer_, in_);
    if (!found) return false;
    if (!found->trouble.empty()) return alive_ = false;
    if (found->size > 1) {
      size_ = found->size;
      return true;
    }
    bytes last;
    has_empty_ = process_->recv(last, found->size, peer_, in_, after(1)) && !last.empty() && last.front() == goes_on;
    return alive_ = has_empty_;
  }

  mpi_process* process_;
  int peer_, out_, in_;
  bool alive_ = true, has_empty_ = false;
  std::size_t size_ = 0;  // of the message that has been found, with its last byte; 0: none
};
static_assert(gloo_ps::Link<mpi_link>);

/// What a server waits at: new connections, of any rank.
class mpi_doors {
 public:
  explicit mpi_doors(mpi_process& process) noexcept : process_{&process} {}
  /// The next one; nothing if none comes by then.
  [[nodiscard]] std::optional<mpi_link> accept(steady::time_point deadline) {
    patience looks;
    do {
      const auto found = process_->probe(MPI_ANY_SOURCE, new_connection);
      bytes knock;
      std::uint32_t number = 0;
      if (!found || !found->trouble.empty() ||
          !process_->recv(knock, found->size, found->peer, new_connection, after(1)) || knock.size() != sizeof number)
        continue;
      std::memcpy(&number, knock.data(), sizeof number);
      return mpi_link{*process_, found->peer, number, mpi_link::side::accepts};
    } while (looks.pause(deadline));
    return std::nullopt;
  }

 private:
  mpi_process* process_;
};

/// How a gloo_ps::worker reaches its server: each time a connection of a number of its own.
class mpi_connector {
 public:
  mpi_connector(mpi_process& process, int server_rank) noexcept : process_{&process}, server_{server_rank} {}
  /// Nothing if the server's rank does not take it in time.
  std::optional<mpi_link> operator()(worker_id, steady::time_point deadline) {
    const std::uint32_t number = next_++;
    bytes knock(sizeof number);
    std::memcpy(knock.data(), &number, sizeof number);
    if (!process_->send(std::move(knock), server_, new_connection, deadline)) return std::nullopt;
    return mpi_link{*process_, server_, number, mpi_link::side::connects};
  }

 private:
  mpi_process* process_;
  int server_;
  std::uint32_t next_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::mpi_ps

#endif
