#ifndef RUBATO_GLOO_PS_GLOO_LINK_HPP
#define RUBATO_GLOO_PS_GLOO_LINK_HPP

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <rubato/core/result.hpp>
#include <string>
#include <utility>
#include <vector>

#include "checksum.hpp"
#include "gloo_alarm.hpp"
#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What all links of a process share: Gloo's device, which has the thread that moves the bytes, and the alarm. Outlives
/// its links by itself.
struct gloo_device {
  std::shared_ptr<gloo::transport::Device> device;  ///< Gloo's, with its thread
  gloo_alarm alarm{};                               ///< ends waits at their deadlines

  /// `host`: the name or address of this machine under which the others reach it; or else `interface`, the name of a
  /// network interface. Errors: io, with Gloo's reason.
  [[nodiscard]] static result<std::shared_ptr<gloo_device>> open(const std::string& host,
                                                                 const std::string& interface = {}) {
    try {
      gloo::transport::tcp::attr where;
      where.hostname = interface.empty() ? host : std::string{};
      where.iface = interface;
      return std::make_shared<gloo_device>(gloo::transport::tcp::CreateDevice(where));
    } catch (const std::exception& e) {
      return error{errc::io, "no Gloo device at " + (interface.empty() ? host : interface) + ": " + e.what()};
    }
  }
  /// Over a device of the caller's; open() makes one over TCP.
  explicit gloo_device(std::shared_ptr<gloo::transport::Device> made) : device{std::move(made)} {}
};

/// A link over Gloo: a context of two ranks of its own, so that the end of one peer touches nobody else.
///
/// A message goes out as a frame of fixed size (length, checksum, the first bytes), for which the receiver always
/// waits, and a second transfer with the rest if it is longer. Its length is checked before the receiver allocates.
/// Gloo's exceptions end here.
///
/// Trust   Gloo itself ends the process of a receiver to which a peer sends a transfer longer than was asked for, so
///         its ports belong into a network of machines that run the job: what messages say is checked, Gloo's own
///         framing cannot be.
/// Pre     SIGPIPE is ignored in the process, as in every program with sockets
/// Tests   tests/integrations/gloo_ps/gloo_link_test.cpp: LongAndShort, PollDoesNoHarm, CloseIsNoticed,
///         OversizedIsRefusedBeforeAllocation, DamageIsNoticed, SilentPeerIsBounded;
///         tests/integrations/gloo_ps/many_workers_test.cpp: AliveTakesNoFrame
class gloo_link {
 public:
  /// A context with a listening pair: address() is to be told to the other side, then connect().
  /// Errors  io, with Gloo's reason
  [[nodiscard]] static result<gloo_link> make(std::shared_ptr<gloo_device> device, int rank, double connect_limit) {
    try {
      gloo_link link{std::move(device), rank};
      link.context_ = link.device_->device->createContext(rank, 2);
      // Gloo gives a connection five times the time-out of its pair.
      link.context_->setTimeout(milliseconds_of(connect_limit / 5));
      link.pair_ = link.context_->createPair(1 - rank).get();
      link.frame_in_ = link.context_->createUnboundBuffer(link.in_->data(), frame_size);
      link.frame_out_ = link.context_->createUnboundBuffer(link.out_->data(), frame_size);
      return link;
    } catch (const std::exception& e) {
      return error{errc::io, std::string{"no Gloo context: "} + e.what()};
    }
  }
  gloo_link(gloo_link&&) noexcept = default;  ///< what is left closes nothing
  gloo_link& operator=(gloo_link&&) noexcept = delete;
  ~gloo_link() {
    if (context_ && pair_ != nullptr) close();  // not one that was moved from, or has no pair yet
  }

  /// Of this end, as bytes for the connect() of the other.
  [[nodiscard]] std::vector<char> address() const { return pair_->address().bytes(); }

  /// Connects with the address of the other side, which does the same; within the connect_limit.
  transfer connect(const std::vector<char>& peer) {
    return guarded([&] {
      pair_->connect(peer);
      alive_ = true;
      expect_frame();
      return alive_ ? transfer{} : lost();
    });
  }

  /// See Link. Its first bytes are copied, the rest is sent from where it lies.
  transfer send(std::span<const std::byte> message, steady::time_point deadline) {
    if (!alive_) return lost();
    return guarded([&] {
      const std::uint64_t size = message.size(), sum = checksum(message);
      const std::size_t first = (std::min)(message.size(), inline_size);
      std::memcpy(out_->data(), &size, 8);
      std::memcpy(out_->data() + 8, &sum, 8);
      if (first > 0) std::memcpy(out_->data() + 16, message.data(), first);
      frame_out_->send(1 - rank_, frame_slot, 0, frame_size);
      if (!completes(*frame_out_, &gloo::transport::UnboundBuffer::waitSend, deadline)) return late();
      if (first == message.size()) return transfer{};
      auto* rest = const_cast<std::byte*>(message.data()) + first;  // only read
      const auto body = context_->createUnboundBuffer(rest, message.size() - first);
      body->send(1 - rank_, body_slot);
      if (!completes(*body, &gloo::transport::UnboundBuffer::waitSend, deadline)) return late();
      return transfer{};
    });
  }

  /// See Link.
  transfer recv(bytes& into, std::size_t limit, steady::time_point deadline) {
    if (!alive_ && !has_frame_) return lost();
    return guarded([&] {
      if (!await_frame(deadline)) return transfer{transfer::status::timed_out, "nothing came in time"};
      has_frame_ = false;
      std::uint64_t size = 0, sum = 0;
      std::memcpy(&size, in_->data(), 8);
      std::memcpy(&sum, in_->data() + 8, 8);
      if (size > limit) {
        transfer no{transfer::status::oversized,
                    "a message of " + std::to_string(size) + " bytes, expected at most " + std::to_string(limit)};
        expect_frame();
        return no;
      }
      into.resize(static_cast<std::size_t>(size));
      const std::size_t first = (std::min)(into.size(), inline_size);
      if (first > 0) std::memcpy(into.data(), in_->data() + 16, first);
      expect_frame();  // the peer may go on at once
      if (first < into.size()) {
        std::fill(into.begin() + static_cast<std::ptrdiff_t>(first), into.end(), std::byte{0});
        const auto body = context_->createUnboundBuffer(into.data() + first, into.size() - first);
        body->recv(1 - rank_, body_slot);
        if (!completes(*body, &gloo::transport::UnboundBuffer::waitRecv, deadline)) return late();
      }
      if (sum != checksum(into)) return transfer{transfer::status::damaged, "the checksum is another one"};
      return transfer{};
    });
  }

  /// See Link.
  bool poll(steady::time_point deadline) {
    if (!alive_) return has_frame_;
    bool arrived = false;
    static_cast<void>(guarded([&] {
      arrived = await_frame(deadline);
      return transfer{};
    }));
    return arrived;
  }

  /// See Link.
  void close() {
    alive_ = has_frame_ = false;
    try {
      pair_->close();
    } catch (const std::exception&) {  // closed already
    }
  }

  /// Looks whether Gloo has noticed the end of the peer; waits for nothing.
  [[nodiscard]] bool alive() {
    if (alive_ && !has_frame_)
      static_cast<void>(guarded([this] {
        // A wait that is over before it begins throws if the connection is broken, and takes no frame.
        frame_in_->abortWaitRecv();
        static_cast<void>(frame_in_->waitRecv(nullptr, for_ever));
        return transfer{};
      }));
    return alive_;
  }

 private:
  static constexpr std::size_t frame_size = 256, inline_size = frame_size - 16;
  static constexpr std::uint64_t frame_slot = 0, body_slot = 1;
  static constexpr std::chrono::milliseconds for_ever = std::chrono::hours{24}, patience{100};
  [[nodiscard]] static steady::time_point soon() { return steady::now() + std::chrono::milliseconds{1}; }
  using frame = std::array<std::byte, frame_size>;

  gloo_link(std::shared_ptr<gloo_device> device, int rank) : device_{std::move(device)}, rank_{rank} {}

  [[nodiscard]] static std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds{(std::max)(static_cast<std::int64_t>(seconds * 1e3), std::int64_t{1})};
  }
  [[nodiscard]] static transfer lost() { return {transfer::status::closed, "the link is closed"}; }
  // In the middle of a message there is no other way out.
  [[nodiscard]] transfer late() {
    close();
    return {transfer::status::closed, "the peer did not take or send the rest of a message in time"};
  }

  // Waits for the end of a transfer. Gloo does not always tell who waits that the connection broke (a transfer that was
  // begun in that moment waits for ever), so that is looked at now and then.
  using waits = bool (gloo::transport::UnboundBuffer::*)(int*, std::chrono::milliseconds);
  bool completes(gloo::transport::UnboundBuffer& buffer, waits wait, steady::time_point deadline) {
    for (;;) {
      const steady::time_point until = (std::min)((std::max)(deadline, soon()), steady::now() + patience);
      {
        const gloo_alarm::setting set{device_->alarm, until, buffer};
        if ((buffer.*wait)(nullptr, for_ever)) return true;
      }
      if (steady::now() >= deadline) return false;
      static_cast<void>(await_frame(steady::now()));  // throws if the connection is broken
    }
  }

  // Gloo throws for broken connections and for time-outs, and a connection that timed out is broken.
  template <class Call>
  transfer guarded(Call&& call) {
    try {
      return call();
    } catch (const std::exception& e) {
      alive_ = false;
      return {transfer::status::closed, e.what()};
    }
  }

  // That the next frame can no longer come says nothing against the one that is here.
  void expect_frame() {
    try {
      frame_in_->recv(1 - rank_, frame_slot, 0, frame_size);
    } catch (const std::exception&) {
      alive_ = false;
    }
  }

  bool await_frame(steady::time_point deadline) {
    if (has_frame_) return true;
    const steady::time_point until = (std::max)(deadline, soon());
    const gloo_alarm::setting set{device_->alarm, until, *frame_in_};
    do {
      if (frame_in_->waitRecv(nullptr, for_ever)) return has_frame_ = true;
    } while (steady::now() < until);  // else an abort that came too late for an earlier wait
    return false;
  }

  std::shared_ptr<gloo_device> device_;
  int rank_;
  std::shared_ptr<gloo::transport::Context> context_;
  gloo::transport::Pair* pair_ = nullptr;  // the context's
  std::unique_ptr<frame> in_ = std::make_unique<frame>(), out_ = std::make_unique<frame>();
  std::unique_ptr<gloo::transport::UnboundBuffer> frame_in_, frame_out_;  // before the frames go, and the context
  bool alive_ = false, has_frame_ = false;
};
static_assert(Link<gloo_link>);

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
