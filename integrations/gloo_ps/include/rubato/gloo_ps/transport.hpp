#ifndef RUBATO_GLOO_PS_TRANSPORT_HPP
#define RUBATO_GLOO_PS_TRANSPORT_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <rubato/config.hpp>
#include <span>
#include <string>
#include <vector>

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// The clock of all deadlines.
using steady = std::chrono::steady_clock;
/// A message on its way.
using bytes = std::vector<std::byte>;

/// How a send or a receive ended. After anything but `done` and `timed_out` the link is of no more use.
struct [[nodiscard]] transfer {
  /// All but `done` come with a `why`.
  enum class status : std::uint8_t {
    done,       ///< whole
    timed_out,  ///< nothing came, or the peer did not take it, in time
    closed,     ///< by either side, or the connection broke
    oversized,  ///< the peer announced more than the limit; nothing was allocated for it
    damaged     ///< it is not what the peer sent, or was cut short
  };
  status how = status::done;  ///< which of them
  std::string why{};          ///< for people; empty if done

  explicit operator bool() const noexcept { return how == status::done; }  ///< done
};

/// A connection between a worker and the server, as both see it: what has to be written to put another engine in the
/// place of Gloo. Satisfied by gloo_link and loopback_link.
///
///     send(message, deadline)        hands a message over; the bytes are the caller's again when it returns
///     recv(into, limit, deadline)    the next message, of at most `limit` bytes; `into` is overwritten
///     poll(deadline)                 whether a message has begun to arrive; waits for one until the deadline
///     close()                        no more of it; what the peer waits for ends with `closed`
///     alive()                        false once the other side is known to be gone; says nothing of a silent one
///
/// Messages are delivered once, whole, in their order, or not at all. Times are those of std::chrono::steady_clock.
/// Errors  by value; nothing throws
/// Thread  one at a time
template <class L>
concept Link = requires(L& link, std::span<const std::byte> message, bytes& into, std::size_t limit,
                        steady::time_point deadline) {
  { link.send(message, deadline) } -> std::same_as<transfer>;
  { link.recv(into, limit, deadline) } -> std::same_as<transfer>;
  { link.poll(deadline) } -> std::same_as<bool>;
  { link.close() } -> std::same_as<void>;
  { link.alive() } -> std::same_as<bool>;
};

/// The longest time that anything here can take, in seconds: about three years.
inline constexpr double longest_time = 1e8;

/// A time span in seconds, from now on; at most longest_time.
[[nodiscard]] inline steady::time_point after(double seconds) {
  const std::chrono::duration<double> span{(std::min)((std::max)(seconds, -longest_time), longest_time)};
  return steady::now() + std::chrono::duration_cast<steady::duration>(span);
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
