#ifndef RUBATO_GLOO_PS_MESSAGES_HPP
#define RUBATO_GLOO_PS_MESSAGES_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <rubato/core/archive.hpp>
#include <rubato/core/step_metrics.hpp>
#include <rubato/core/types.hpp>
#include <rubato/pinned.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "transport.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Why a message or a worker was turned away. Each occurrence is counted.
enum class refusal : std::uint8_t {
  none,             ///< it was not turned away
  malformed,        ///< not a message of this protocol, or cut short
  wrong_protocol,   ///< of another version of it
  wrong_job,        ///< of another job
  wrong_shape,      ///< another number of parameters or shards
  unknown_rank,     ///< an index beyond the capacity
  duplicate_rank,   ///< index and incarnation of a worker that is connected
  old_incarnation,  ///< a higher one is known under this index
  oversized,        ///< more bytes than any message has
  out_of_turn,      ///< a message that does not fit what went before it
  silent,           ///< nothing came in time
  damaged,          ///< the transport says that it is not what was sent
  count_            ///< how many there are
};

/// The refusal as it appears in logs and reports, such as "wrong_job".
[[nodiscard]] constexpr std::string_view name(refusal why) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(refusal::count_)> names{
      "none",           "malformed",       "wrong_protocol", "wrong_job",   "wrong_shape", "unknown_rank",
      "duplicate_rank", "old_incarnation", "oversized",      "out_of_turn", "silent",      "damaged"};
  return why < refusal::count_ ? names[static_cast<std::size_t>(why)] : "invalid";
}

/// What a message says, as its header has it. The bodies below say more.
enum class message_kind : std::uint16_t {
  hello = 1,   ///< worker: here I am
  welcome,     ///< server: you are in
  grant,       ///< server: start a step
  pull,        ///< worker: send the parameters
  parameters,  ///< server: those of one shard
  push,        ///< worker: the gradient for one shard
  cancel,      ///< server: that gradient will be dropped
  bye,         ///< either: no more of it
  reject       ///< server: no
};

/// The kind as it appears in logs and messages.
[[nodiscard]] constexpr std::string_view name(message_kind kind) noexcept {
  constexpr std::array<std::string_view, 10> names{"invalid",    "hello", "welcome", "grant", "pull",
                                                   "parameters", "push",  "cancel",  "bye",   "reject"};
  const auto i = static_cast<std::size_t>(kind);
  return i < names.size() ? names[i] : "invalid";
}

/// What every message begins with, besides magic number, protocol version, kind and size of the body.
struct envelope {
  std::uint64_t job = 0;    ///< of the run: messages of another one are refused
  worker_id worker{};       ///< whose conversation it is, in both directions
  std::uint64_t step = 0;   ///< push, pull: the worker's own number of the step, from 1
  std::uint32_t shard = 0;  ///< push, parameters: which part
  std::uint32_t life = 0;   ///< how often the server was started before; the worker says the one it knew last
};

/// What a job trains: parameters, in one row, and how many shards hold them.
struct shape {
  std::uint64_t parameters = 0;  ///< numbers in that row
  std::uint32_t shards = 1;      ///< from 1 to the number of parameters

  /// Where shard s begins; shard `shards` begins at the end. Sizes differ by one at most.
  [[nodiscard]] constexpr std::uint64_t begin_of(std::uint32_t s) const noexcept {
    const std::uint64_t whole = parameters / shards, rest = parameters % shards;
    return s * whole + (s < rest ? s : rest);
  }
  /// Parameters of shard s.
  [[nodiscard]] constexpr std::uint64_t size_of(std::uint32_t s) const noexcept {
    return begin_of(s + 1) - begin_of(s);
  }
  friend constexpr bool operator==(const shape&, const shape&) noexcept = default;
};

/// Worker: I am here, and this is the model I train.
struct hello_message {
  shape model{};           ///< it must be the server's
  std::uint64_t seen = 0;  ///< the newest version that it has seen; 0: none
};
/// Server: you are in. The first grant follows when the policy lets you start.
struct welcome_message {
  std::uint32_t nominal_samples = 0;  ///< of a step whose grant has no batch
  double wait = 0;                    ///< seconds until the first grant may come at the latest
};
/// Server: you may start a step, under these terms.
struct grant_message {
  grant terms{};          ///< version, batch, learning rate scale
  double step_limit = 0;  ///< seconds until the push must be there; later the worker counts as dead
  double wait = 0;        ///< seconds that it may have to wait for its next grant after that push
};
/// Worker: send me the parameters. Server: one `parameters` per shard.
struct pull_message {};
/// Server: the parameters of one shard, which the envelope names.
struct parameters_message {
  std::uint64_t version = 0;    ///< of this shard
  std::vector<float> values{};  ///< all of the shard
};
/// Worker: one per shard, the last one completes the step.
struct push_message {
  std::uint64_t version = 0;      ///< of this shard, which the gradient was computed on
  std::uint32_t samples = 0;      ///< behind the gradient
  float loss = 0;                 ///< as in push_event
  step_metrics measured{};        ///< of the step; those in the last part count
  std::vector<float> gradient{};  ///< all of the shard; the mean over the samples
};
/// Server: your gradient will be dropped; push what you have.
struct cancel_message {};
/// Worker: I have finished (or I leave, if not `done`). Server: the job has ended, or goes on without you.
struct bye_message {
  bool done = true;   ///< the worker comes no more
  std::string why{};  ///< of the server: a sentence for farewell(); empty from a worker
};
/// Server: no, because.
struct reject_message {
  refusal why = refusal::none;          ///< never `none`
  bool connected = false;               ///< somebody is connected under this index
  std::uint32_t known_incarnation = 0;  ///< the highest of that index: one above it may come in
  std::string sentence{};               ///< for people
};

/// One message.
struct message {
  /// The bodies, in the order of message_kind.
  using content = std::variant<hello_message, welcome_message, grant_message, pull_message, parameters_message,
                               push_message, cancel_message, bye_message, reject_message>;
  envelope head{};  ///< what every message has
  content body{};   ///< what this one says

  /// That of the body.
  [[nodiscard]] message_kind kind() const noexcept { return static_cast<message_kind>(body.index() + 1); }
};

inline constexpr std::uint32_t protocol_magic = 0x53506272;  ///< "rbPS"
inline constexpr std::uint16_t protocol_version = 2;         ///< of another one: wrong_protocol
inline constexpr std::size_t header_size = 48;               ///< bytes before the body
/// The longest that a message without floats may be.
inline constexpr std::size_t small_message = 512;

/// The size of the largest message of a job: what a receiver allocates at most.
[[nodiscard]] constexpr std::size_t largest_message(const shape& model) noexcept {
  return small_message + sizeof(float) * static_cast<std::size_t>(model.size_of(0));
}

namespace detail {

static_assert(std::endian::native == std::endian::little, "floats are sent as they lie in memory");

// One function for both directions, as everywhere in the library; floats, which may be many, come after it, in bulk.
inline void body_state(archive& a, hello_message& m) { a(m.model.parameters, m.model.shards, m.seen); }
inline bool is_time(double seconds) { return rubato::pinned::is_finite(seconds) && seconds >= 0; }
inline void body_state(archive& a, welcome_message& m) {
  a(m.nominal_samples, m.wait);
  if (!is_time(m.wait)) a.fail();
}
inline void body_state(archive& a, grant_message& m) {
  a(m.terms), a(m.step_limit, m.wait);
  if (!is_time(m.step_limit) || !is_time(m.wait)) a.fail();
}
inline void body_state(archive&, pull_message&) {}
inline void body_state(archive& a, parameters_message& m) { a(m.version); }
inline void body_state(archive& a, push_message& m) {
  a(m.version, m.samples, m.loss);
  step_metrics& had = m.measured;
  a(had.compute_time, had.communication_time, had.throughput, had.retransmissions, had.processor, had.memory);
  a(had.accuracy, had.gradient_variance, had.gradient_square, had.out_of_memory);
}
inline void body_state(archive&, cancel_message&) {}
inline void body_state(archive& a, bye_message& m) { a(m.done), a.text(m.why); }
inline void body_state(archive& a, reject_message& m) {
  a(m.why, m.connected, m.known_incarnation);
  a.text(m.sentence);
  if (m.why >= refusal::count_) a.fail();
}

inline std::vector<float>* floats_of(parameters_message& m) { return &m.values; }
inline std::vector<float>* floats_of(push_message& m) { return &m.gradient; }
template <class Body>
std::vector<float>* floats_of(Body&) {
  return nullptr;
}

inline void header_state(archive& a, std::uint32_t& magic, std::uint16_t& protocol, message_kind& kind, envelope& head,
                         std::uint64_t& rest) {
  a(magic, protocol, kind, head.job, head.worker.index, head.worker.incarnation, head.step, head.shard, head.life,
    rest);
}

template <class Body>
bytes encode_with(const envelope& head, Body body, std::span<const float> floats) {
  archive inner;
  body_state(inner, body);
  std::uint32_t magic = protocol_magic;
  std::uint16_t protocol = protocol_version;
  auto kind = static_cast<message_kind>(message::content{Body{}}.index() + 1);
  std::uint64_t rest = inner.bytes().size() + floats.size_bytes();
  envelope copy = head;
  archive outer;
  header_state(outer, magic, protocol, kind, copy, rest);
  const auto first = outer.bytes(), second = inner.bytes();
  bytes all(first.size() + second.size() + floats.size_bytes());
  std::memcpy(all.data(), first.data(), first.size());
  if (!second.empty()) std::memcpy(all.data() + first.size(), second.data(), second.size());
  if (!floats.empty()) std::memcpy(all.data() + first.size() + second.size(), floats.data(), floats.size_bytes());
  return all;
}

}  // namespace detail

/// The bytes of a message. Parameters and gradients are given apart, as a view: they are copied once.
/// Tests   tests/integrations/gloo_ps/messages_test.cpp: RoundTrip, SameBytesOnEveryMachine
template <class Body>
[[nodiscard]] bytes encode(const envelope& head, const Body& body, std::span<const float> floats = {}) {
  return detail::encode_with(head, body, floats);
}

/// A message, or why the bytes are none.
struct [[nodiscard]] decoded {
  message what{};               ///< valid if nothing is wrong
  refusal why = refusal::none;  ///< why there is no message
  std::string sentence{};       ///< the same for people; empty if there is one

  explicit operator bool() const noexcept { return why == refusal::none; }  ///< there is a message
};

namespace detail {

template <std::size_t Kind = 0>
bool decode_body(std::size_t kind, archive& a, std::span<const std::byte> rest, message::content& to) {
  if constexpr (Kind == std::variant_size_v<message::content>) {
    return false;
  } else {
    if (kind != Kind) return decode_body<Kind + 1>(kind, a, rest, to);
    auto& body = to.template emplace<Kind>();
    std::vector<float>* floats = floats_of(body);
    if (floats == nullptr) return body_state(a, body), a.finished();
    archive probe;  // how long the part before the floats is
    body_state(probe, body);
    const std::size_t fixed = probe.bytes().size();
    if (rest.size() < fixed || (rest.size() - fixed) % sizeof(float) != 0) return false;
    body_state(a, body);
    floats->resize((rest.size() - fixed) / sizeof(float));
    if (!floats->empty()) std::memcpy(floats->data(), rest.data() + fixed, rest.size() - fixed);
    return a.ok();
  }
}

}  // namespace detail

/// Reads one message: a pure function of its bytes. Everything that is not exactly as encode() would have written it is
/// refused, with a sentence; whether the message makes sense in its place is for the session to say.
/// Cost    one copy of the floats; nothing else is allocated but short texts.
/// Tests   tests/integrations/gloo_ps/messages_test.cpp: RoundTrip, EveryTruncationIsRefused, EveryExtraByteIsRefused,
///         WrongMagicProtocolJobAndKind, RandomBytesNeverPass, FlippedBitsNeverCrash
[[nodiscard]] inline decoded decode(std::span<const std::byte> input, std::uint64_t job) {
  decoded out;
  const auto refuse = [&out](refusal why, std::string sentence) {
    out.why = why;
    out.sentence = std::move(sentence);
    return out;
  };
  if (input.size() < header_size)
    return refuse(refusal::malformed, "a message of " + std::to_string(input.size()) + " bytes, expected at least " +
                                          std::to_string(header_size));
  std::uint32_t magic = 0;
  std::uint16_t protocol = 0;
  message_kind kind{};
  std::uint64_t size = 0;
  archive header{input.first(header_size)};
  detail::header_state(header, magic, protocol, kind, out.what.head, size);
  if (magic != protocol_magic) return refuse(refusal::malformed, "not a message of this protocol");
  if (protocol != protocol_version)
    return refuse(refusal::wrong_protocol, "a message of protocol " + std::to_string(protocol) + ", expected " +
                                               std::to_string(protocol_version));
  if (out.what.head.job != job)
    return refuse(refusal::wrong_job,
                  "a message of job " + std::to_string(out.what.head.job) + ", this is job " + std::to_string(job));
  const auto rest = input.subspan(header_size);
  if (size != rest.size())
    return refuse(refusal::malformed,
                  "a body of " + std::to_string(rest.size()) + " bytes, its header says " + std::to_string(size));
  const auto number = static_cast<std::size_t>(kind);
  if (number == 0 || number > std::variant_size_v<message::content>)
    return refuse(refusal::malformed, "a message of the unknown kind " + std::to_string(number));
  archive body{rest};
  if (!detail::decode_body(number - 1, body, rest, out.what.body))
    return refuse(refusal::malformed, "a body that is none of a " + std::string{name(kind)} + " message");
  return out;
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
