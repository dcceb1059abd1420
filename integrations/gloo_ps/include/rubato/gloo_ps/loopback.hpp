#ifndef RUBATO_GLOO_PS_LOOPBACK_HPP
#define RUBATO_GLOO_PS_LOOPBACK_HPP

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What a loopback does to the messages that one end sends.
struct loopback_faults {
  std::optional<std::uint64_t> silent_from{};  ///< messages from this one on never arrive; nobody is told
  std::optional<std::uint64_t> truncated{};    ///< this message arrives as `damaged`: its second half was lost
  std::optional<std::uint64_t> closed_at{};    ///< the connection breaks in the place of this message
  std::chrono::microseconds delay{0};          ///< every message arrives so much later
};

/// A link within one process: two ends that exchange messages through memory, with faults on demand. For tests, and
/// for a server and workers in one program.
///
///     auto [here, there] = loopback_link::pair();
///
/// Thread  the two ends from different threads, each end from one at a time; close() from any
/// Tests   tests/integrations/gloo_ps/loopback_test.cpp: InOrder, SilenceIsBounded, TruncationIsNoticed, CloseWakes,
///         OversizedIsRefused
class loopback_link {
 public:
  /// Two ends; each has the faults of what it sends.
  [[nodiscard]] static std::pair<loopback_link, loopback_link> pair(loopback_faults first = {},
                                                                    loopback_faults second = {}) {
    auto wire = std::make_shared<shared>();
    return {loopback_link{wire, 0, first}, loopback_link{wire, 1, second}};
  }
  loopback_link(loopback_link&&) noexcept = default;  ///< what is left closes nothing
  loopback_link& operator=(loopback_link&&) noexcept = delete;
  ~loopback_link() {
    if (wire_) close();
  }

  /// See Link. Never waits: memory takes all.
  transfer send(std::span<const std::byte> message, steady::time_point) {
    const std::uint64_t number = sent_++;
    if (faults_.closed_at && number >= *faults_.closed_at) close();
    const std::lock_guard lock{wire_->mutex};
    if (wire_->closed) return {transfer::status::closed, "the link is closed"};
    if (faults_.silent_from && number >= *faults_.silent_from) return {};
    const bool cut = faults_.truncated && number == *faults_.truncated;
    wire_->towards[1 - end_].push_back(
        {.due = steady::now() + faults_.delay, .damaged = cut, .content = bytes{message.begin(), message.end()}});
    wire_->news.notify_all();
    return {};
  }

  /// See Link. What arrived before a close() is still received.
  transfer recv(bytes& into, std::size_t limit, steady::time_point deadline) {
    std::unique_lock lock{wire_->mutex};
    if (!arrives(lock, deadline)) {
      if (wire_->closed) return {transfer::status::closed, "the link is closed"};
      return {transfer::status::timed_out, "nothing came in time"};
    }
    parcel& first = wire_->towards[end_].front();
    const std::size_t size = first.content.size();
    const bool damaged = first.damaged;
    if (size <= limit && !damaged) into = std::move(first.content);
    wire_->towards[end_].pop_front();
    if (size > limit)
      return {transfer::status::oversized,
              "a message of " + std::to_string(size) + " bytes, expected at most " + std::to_string(limit)};
    if (damaged) return {transfer::status::damaged, "half of the message is missing"};
    return {};
  }

  /// See Link.
  bool poll(steady::time_point deadline) {
    std::unique_lock lock{wire_->mutex};
    return arrives(lock, deadline);
  }

  /// See Link. Of both ends at once.
  void close() {
    const std::lock_guard lock{wire_->mutex};
    wire_->closed = true;
    wire_->news.notify_all();
  }

  /// See Link: whether neither end has closed it.
  [[nodiscard]] bool alive() const {
    const std::lock_guard lock{wire_->mutex};
    return !wire_->closed;
  }

 private:
  struct parcel {
    steady::time_point due;
    bool damaged = false;
    bytes content;
  };
  struct shared {
    std::mutex mutex;
    std::condition_variable news;
    std::array<std::deque<parcel>, 2> towards;
    bool closed = false;
  };
  loopback_link(std::shared_ptr<shared> wire, std::size_t end, loopback_faults faults)
      : wire_{std::move(wire)}, end_{end}, faults_{faults} {}

  // Whether there is a message that has arrived. What was sent before the link was closed still arrives.
  bool arrives(std::unique_lock<std::mutex>& lock, steady::time_point deadline) {
    const std::deque<parcel>& queue = wire_->towards[end_];
    for (;;) {
      const steady::time_point now = steady::now();
      if (!queue.empty() && queue.front().due <= now) return true;
      if (now >= deadline || (queue.empty() && wire_->closed)) return false;
      wire_->news.wait_until(lock, queue.empty() ? deadline : (std::min)(deadline, queue.front().due));
    }
  }

  std::shared_ptr<shared> wire_;
  std::size_t end_;
  loopback_faults faults_;
  std::uint64_t sent_ = 0;
};
static_assert(Link<loopback_link>);

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
