#ifndef RUBATO_MPI_PS_MPI_LINK_HPP
#define RUBATO_MPI_PS_MPI_LINK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <rubato/core/types.hpp>
#include <rubato/gloo_ps/messages.hpp>
#include <span>
#include <string>
#include <utility>

#include "mpi_process.hpp"

namespace rubato::inline RUBATO_ABI::mpi_ps {

/// The tag of a message that announces a connection; the others are of connections, four each.
inline constexpr int new_connection = 0;

/// What is wrong with a model whose parameters are to go over MPI, as a sentence; empty if nothing is. A shard is one
/// message; one that is too long fails only when it is sent, and its worker would connect anew, again and again.
/// Tests   tests/integrations/mpi_ps/mpi_link_test.cpp: ModelsOfTooLargeShardsAreToldApart
[[nodiscard]] inline std::string problem(const gloo_ps::shape& model) {
  if (gloo_ps::largest_message(model) <= mpi_process::longest_message) return {};
  return "a shard has " + std::to_string(model.size_of(0)) + " parameters, more than fit into the 2 GiB of an MPI " +
         "message: expected more shards than " + std::to_string(model.shards);
}

/// A connection between two ranks, as a parameter server's workers have it: satisfies gloo_ps::Link.
///
/// MPI itself has none, so each gets a number, and its messages the tags of that number: one each way, and one each for
/// its end. What arrives for a connection that is over stays with MPI. Of 8,191 connections that a rank makes no two
/// have the same tags. The next one has those of the first, and may find what that one left behind, an end or a message
/// that nobody read: then it ends, as one that broke, and the one after it is free of that.
///
/// Limit   a message has at most mpi_process::longest_message bytes: problem(model) says whether a model fits
/// Death   MPI tells nobody that a rank has died, so alive() is true until the peer hangs up or MPI has an error; who
///         waits for a dead one is freed by its deadline.
/// Memory  a message is copied once when it is sent; it is received where it stays
/// Tests   tests/integrations/mpi_ps/mpi_link_test.cpp: LongAndShort, PollDoesNoHarm, CloseIsNoticed,
///         OversizedIsRefusedBeforeAllocation, SilentPeerIsBounded, CloseEndsASend, ConnectionsOfARankAreApart,
///         TagsThatComeAgainMayBringAnOldEnd
class mpi_link {
 public:
  /// Which of the two ends of a connection.
  enum class side : std::uint8_t {
    connects,  ///< the worker's
    accepts    ///< the server's
  };

  /// This end of connection `number`, which the side that connects has counted, with rank `peer`. Exchanges nothing.
  mpi_link(mpi_process& process, int peer, std::uint32_t number, side here) noexcept
      : process_{&process}, peer_{peer}, tags_{tags_of(number)} {
    if (here == side::accepts) std::swap(tags_.out, tags_.in), std::swap(tags_.my_end, tags_.its_end);
  }
  /// What is left closes nothing.
  mpi_link(mpi_link&& from) noexcept
      : process_{std::exchange(from.process_, nullptr)},
        peer_{from.peer_},
        tags_{from.tags_},
        alive_{from.alive_},
        has_ended_{from.has_ended_},
        size_{from.size_} {}
  mpi_link& operator=(mpi_link&&) = delete;
  ~mpi_link() {
    if (process_ != nullptr) close();
  }

  /// See gloo_ps::Link. The message is copied; at least a millisecond is given it, whatever the deadline.
  transfer send(std::span<const std::byte> message, steady::time_point deadline) {
    if (!alive_) return lost();
    return complete([&] {
      return process_->send(bytes(message.begin(), message.end()), peer_, tags_.out, (std::max)(deadline, after(0.001)),
                            [this]() noexcept { return has_ended(); });
    });
  }

  /// See gloo_ps::Link. After `oversized` the link is closed.
  transfer recv(bytes& into, std::size_t limit, steady::time_point deadline) {
    if (!poll(deadline)) return alive_ ? transfer{transfer::status::timed_out, "nothing came in time"} : lost();
    const std::size_t size = *std::exchange(size_, std::nullopt);
    if (size > limit) {
      close();  // the message stays with MPI
      return {transfer::status::oversized,
              "a message of " + std::to_string(size) + " bytes, expected at most " + std::to_string(limit)};
    }
    return complete([&] { return process_->recv(into, size, peer_, tags_.in, (std::max)(deadline, after(0.001))); });
  }

  /// See gloo_ps::Link.
  bool poll(steady::time_point deadline) {
    patience looks;
    while (!arrives())
      if (!alive_ || !looks.pause(deadline)) return false;
    return true;
  }

  /// See gloo_ps::Link. Tells the peer, and does not wait for it to hear.
  void close() {
    if (std::exchange(alive_, false) && !has_ended_)
      static_cast<void>(process_->send({}, peer_, tags_.my_end, steady::now()));
  }

  /// Looks whether the peer has hung up, and all that it has sent was received; waits for nothing.
  [[nodiscard]] bool alive() {
    static_cast<void>(arrives());
    return alive_;
  }

 private:
  struct tags {
    int out = 0, in = 0, my_end = 0, its_end = 0;
  };
  static constexpr std::uint32_t connections = 8'191;  // MPI has at least 32,768 tags
  [[nodiscard]] static tags tags_of(std::uint32_t number) noexcept {
    const int first = new_connection + 1 + 4 * static_cast<int>(number % connections);
    return {first, first + 1, first + 2, first + 3};
  }

  [[nodiscard]] static transfer lost() { return {transfer::status::closed, "the link is closed"}; }
  // After half a message there is no other one.
  template <class Transfer>
  [[nodiscard]] transfer complete(Transfer&& move) {
    std::string why = "no memory for a message";
    try {
      transfer how = move();
      if (how) return how;
      why = std::move(how.why);
    } catch (const std::bad_alloc&) {
    }
    close();
    return {transfer::status::closed, std::move(why)};
  }

  // Whether the peer has said that it is over, or MPI cannot tell.
  bool has_ended() noexcept {
    if (has_ended_) return true;
    try {
      const auto found = process_->probe(peer_, tags_.its_end);
      bytes nothing;
      if (found && found->trouble.empty())
        static_cast<void>(process_->recv(nothing, found->size, peer_, tags_.its_end, after(1)));
      has_ended_ = found.has_value();
    } catch (const std::bad_alloc&) {
      has_ended_ = true;
    }
    return has_ended_;
  }
  // Whether there is a message. Once the end is there, so is what was sent before it: one more look says whether
  // anything is left.
  bool arrives() {
    if (size_) return true;
    if (!alive_) return false;
    auto found = process_->probe(peer_, tags_.in);
    const bool is_over = !found && has_ended();
    if (is_over) found = process_->probe(peer_, tags_.in);
    if (found && found->trouble.empty())
      size_ = found->size;
    else if (found || is_over)
      alive_ = false;
    return size_.has_value();
  }

  mpi_process* process_;
  int peer_;
  tags tags_;
  bool alive_ = true, has_ended_ = false;
  std::optional<std::size_t> size_{};  // of the message that has been found
};
static_assert(gloo_ps::Link<mpi_link>);

/// What a server waits at: new connections, of any rank.
class mpi_doors {
 public:
  /// `process` must outlive the doors and all that comes in by them.
  explicit mpi_doors(mpi_process& process) noexcept : process_{&process} {}
  /// The next one; nothing if none comes by then.
  [[nodiscard]] std::optional<mpi_link> accept(steady::time_point deadline) {
    patience looks;
    do {
      const auto found = process_->probe(MPI_ANY_SOURCE, new_connection);
      bytes knock;
      std::uint32_t number = 0;
      if (found && !found->trouble.empty()) trouble_ = found->trouble;
      if (!found || !found->trouble.empty() ||
          !process_->recv(knock, found->size, found->peer, new_connection, after(1)) || knock.size() != sizeof number)
        continue;
      std::memcpy(&number, knock.data(), sizeof number);
      return mpi_link{*process_, found->peer, number, mpi_link::side::accepts};
    } while (looks.pause(deadline));
    return std::nullopt;
  }
  /// What MPI has said that made accept() return nothing, once.
  [[nodiscard]] std::string take_trouble() { return std::exchange(trouble_, {}); }

 private:
  mpi_process* process_;
  std::string trouble_{};
};

/// How a gloo_ps::worker reaches its server: each time a connection of a number of its own.
class mpi_connector {
 public:
  /// `process` must outlive the connector and its links.
  mpi_connector(mpi_process& process, int server_rank) noexcept : process_{&process}, server_{server_rank} {}
  /// Nothing if the server's rank does not take it in time.
  std::optional<mpi_link> operator()(worker_id, steady::time_point deadline) {
    const std::uint32_t number = process_->next_number();
    bytes knock(sizeof number);
    std::memcpy(knock.data(), &number, sizeof number);
    if (!process_->send(std::move(knock), server_, new_connection, deadline)) return std::nullopt;
    return mpi_link{*process_, server_, number, mpi_link::side::connects};
  }

 private:
  mpi_process* process_;
  int server_;
};

}  // namespace rubato::inline RUBATO_ABI::mpi_ps

#endif
