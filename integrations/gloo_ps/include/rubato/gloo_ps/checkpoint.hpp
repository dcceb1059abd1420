#ifndef RUBATO_GLOO_PS_CHECKPOINT_HPP
#define RUBATO_GLOO_PS_CHECKPOINT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <rubato/core/archive.hpp>
#include <rubato/core/result.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/regular_file.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checksum.hpp"
#include "messages.hpp"
#include "shard.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Everything that a server needs to go on: parameters, accumulators, clocks and policy state, of one instant between
/// two updates.
struct checkpoint {
  std::uint64_t job = 0;              ///< the number of the job: of another one it is refused
  shape model{};                      ///< must be that of the server that goes on
  std::uint32_t workers = 0;          ///< the capacity; likewise
  std::uint64_t version = 0;          ///< updates that are in it
  std::string policy{};               ///< the name under which the host knows the policy
  double longest_step = 0;            ///< seconds, of any worker so far
  bytes controller{};                 ///< what controller::save() wrote
  std::vector<shard_image> shards{};  ///< model.shards of them
};

/// Bytes of a checkpoint's file: more is neither written nor read.
inline constexpr std::uint64_t largest_checkpoint = std::uint64_t{1} << 34;

namespace detail {

inline constexpr std::string_view checkpoint_magic = "rubato.gloo_ps.checkpoint\n";
inline constexpr std::uint32_t checkpoint_format = 2;

// Appends or takes off a number; takes are false at the end of the bytes.
class checkpoint_bytes {
 public:
  explicit checkpoint_bytes(std::string_view input = {}) : input_{input} {}
  template <class Number>
  void put(Number n) {
    output_.append(reinterpret_cast<const char*>(&n), sizeof n);
  }
  void put(std::span<const float> values) {
    put(std::uint64_t{values.size()});
    output_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put(std::string_view text) {
    put(std::uint64_t{text.size()});
    output_.append(text);
  }
  template <class Number>
  [[nodiscard]] bool take(Number& n) {
    if (input_.size() < sizeof n) return false;
    std::memcpy(&n, input_.data(), sizeof n);
    input_.remove_prefix(sizeof n);
    return true;
  }
  [[nodiscard]] bool take(std::vector<float>& values) {
    std::uint64_t n = 0;
    if (!take(n) || n > input_.size() / sizeof(float)) return false;
    values.resize(static_cast<std::size_t>(n));
    if (n > 0) std::memcpy(values.data(), input_.data(), values.size() * sizeof(float));
    input_.remove_prefix(values.size() * sizeof(float));
    return true;
  }
  [[nodiscard]] bool take(std::string& text) {
    std::uint64_t n = 0;
    if (!take(n) || n > input_.size()) return false;
    text.assign(input_.substr(0, static_cast<std::size_t>(n)));
    input_.remove_prefix(text.size());
    return true;
  }
  [[nodiscard]] std::string& output() { return output_; }
  [[nodiscard]] bool empty() const { return input_.empty(); }

 private:
  std::string output_;
  std::string_view input_;
};

inline std::uint64_t checksum_of(std::string_view text) {
  return checksum(std::as_bytes(std::span{text.data(), text.size()}));
}

inline bool take_shards(checkpoint_bytes& in, checkpoint& to) {
  for (std::uint32_t s = 0; s < to.model.shards; ++s) {
    shard_image part;
    std::uint64_t rounds = 0;
    if (!in.take(part.version) || !in.take(part.parameters) || !in.take(part.rule) || !in.take(rounds)) return false;
    if (part.parameters.size() != to.model.size_of(s)) return false;
    for (; rounds > 0; --rounds) {
      threads_ps::open_round round;
      if (!in.take(round.number) || !in.take(round.weight) || !in.take(round.sum)) return false;
      if (round.sum.size() != part.parameters.size()) return false;
      part.rounds.push_back(std::move(round));
    }
    if (part.version != to.version) return false;
    to.shards.push_back(std::move(part));
  }
  return in.empty();
}

}  // namespace detail

/// The bytes of a checkpoint: a line of text, the content, a checksum over both. Little-endian.
[[nodiscard]] inline std::string encode(const checkpoint& c) {
  detail::checkpoint_bytes out;
  out.output() = detail::checkpoint_magic;
  out.put(detail::checkpoint_format);
  out.put(c.job), out.put(c.model.parameters), out.put(c.model.shards), out.put(c.workers), out.put(c.version);
  out.put(std::string_view{c.policy});
  out.put(c.longest_step);
  out.put(std::string_view{reinterpret_cast<const char*>(c.controller.data()), c.controller.size()});
  for (const shard_image& part : c.shards) {
    out.put(part.version);
    out.put(std::span<const float>{part.parameters}), out.put(std::string_view{part.rule});
    out.put(std::uint64_t{part.rounds.size()});
    for (const threads_ps::open_round& round : part.rounds)
      out.put(round.number), out.put(round.weight), out.put(std::span<const float>{round.sum});
  }
  out.put(detail::checksum_of(out.output()));
  return std::move(out.output());
}

/// Reads what encode() wrote; `from` names the bytes in messages. Nothing is allocated beyond the size of the input.
/// Errors  corrupt: not a checkpoint, cut short or changed; wrong_kind: of another format. With a sentence.
/// Tests   tests/integrations/gloo_ps/checkpoint_test.cpp: RoundTrip, EveryTruncationIsRefused,
///         EveryFlippedBitIsRefused, ForeignFilesAreRefused, MoreShardsThanParametersAreRefused,
///         ALongestStepThatIsNoTimeIsRefused
[[nodiscard]] inline result<checkpoint> decode_checkpoint(std::string_view input, const std::string& from) {
  const auto bad = [&from](errc code, const char* what) { return error{code, from + ": " + what}; };
  if (!input.starts_with(detail::checkpoint_magic)) return bad(errc::corrupt, "not a checkpoint of this server");
  std::uint64_t sum = 0;
  if (input.size() < detail::checkpoint_magic.size() + sizeof sum)
    return bad(errc::corrupt, "the checkpoint is cut short");
  std::memcpy(&sum, input.data() + input.size() - sizeof sum, sizeof sum);
  input.remove_suffix(sizeof sum);
  if (sum != detail::checksum_of(input)) return bad(errc::corrupt, "the checkpoint was cut short or changed");
  detail::checkpoint_bytes in{input.substr(detail::checkpoint_magic.size())};
  std::uint32_t format = 0;
  checkpoint c;
  std::string saved;
  if (!in.take(format)) return bad(errc::corrupt, "the checkpoint is cut short");
  if (format != detail::checkpoint_format) return bad(errc::wrong_kind, "a checkpoint of another format version");
  if (!in.take(c.job) || !in.take(c.model.parameters) || !in.take(c.model.shards) || !in.take(c.workers) ||
      !in.take(c.version) || !in.take(c.policy) || !in.take(c.longest_step) || !in.take(saved) || c.model.shards == 0 ||
      c.model.shards > c.model.parameters || !detail::is_time(c.longest_step))
    return bad(errc::corrupt, "the checkpoint makes no sense");
  c.controller.resize(saved.size());
  if (!saved.empty()) std::memcpy(c.controller.data(), saved.data(), saved.size());
  if (!detail::take_shards(in, c)) return bad(errc::corrupt, "the checkpoint makes no sense");
  return c;
}

/// Writes the file complete or not at all; the number of bytes in it. Errors: io; it would be above
/// largest_checkpoint.
inline result<std::uint64_t> write_checkpoint(const std::string& path, const checkpoint& c) {
  const std::string content = encode(c);
  if (content.size() > largest_checkpoint)
    return error{errc::io, "cannot write " + path + ": above " + std::to_string(largest_checkpoint) + " bytes"};
  return write_file(path, content);
}

/// Of a file that begins like no checkpoint no more than its beginning is read.
/// Errors  io: it cannot be read, is no regular file, is above largest_checkpoint, or more than memory holds; and those
///         of decode_checkpoint()
/// Tests   tests/integrations/gloo_ps/checkpoint_test.cpp: OnlyRegularFilesAreRead, AFileAboveTheLimitIsRefusedUnread
[[nodiscard]] inline result<checkpoint> read_checkpoint(const std::string& path) {
  const auto no = [&path](const std::string& why) { return error{errc::io, "cannot read " + path + ": " + why}; };
  result<regular_file> file = regular_file::open(path);
  if (!file) return no(file.error().message);
  const auto content = file->content(largest_checkpoint, std::as_bytes(std::span{detail::checkpoint_magic}));
  if (!content) return no(content.error().message);
  try {
    return decode_checkpoint({reinterpret_cast<const char*>(content->data.get()), content->size}, path);
  } catch (const std::exception&) {
    return no("more than memory holds");
  }
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
