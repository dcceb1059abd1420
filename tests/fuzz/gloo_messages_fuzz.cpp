// Messages of gloo_ps, which are those of mpi_ps too. What is accepted is bit for bit what encode() writes.
#include <algorithm>
#include <cstddef>
#include <rubato/gloo_ps/messages.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_gloo_messages {

namespace ps = gloo_ps;

constexpr std::uint64_t job = 7;

// What every message has to begin with is put there where the input asks for it.
ps::bytes message_of(input bytes) {
  input_reader in{bytes};
  const std::uint8_t how = in.byte();
  const std::span<const std::byte> given = std::as_bytes(in.rest());
  ps::bytes all(given.begin(), given.end());
  if (how % 2 == 0 || all.size() < ps::header_size) return all;
  archive header;
  std::uint32_t magic = ps::protocol_magic;
  std::uint16_t protocol = ps::protocol_version, kind = how / 2 % 16;
  std::uint64_t number = job;
  header(magic, protocol, kind, number);
  std::copy(header.bytes().begin(), header.bytes().end(), all.begin());
  archive size;
  std::uint64_t rest = all.size() - ps::header_size;
  size(rest);
  std::copy(size.bytes().begin(), size.bytes().end(), all.begin() + ps::header_size - 8);
  return all;
}

ps::bytes encoded(const ps::message& m) {
  return std::visit(
      [&](auto body) {
        if (auto* floats = ps::detail::floats_of(body)) {
          const std::vector<float> values = std::move(*floats);
          return ps::encode(m.head, body, values);
        }
        return ps::encode(m.head, body);
      },
      m.body);
}

void run(input bytes) {
  const ps::bytes message = message_of(bytes);
  const ps::decoded read = ps::decode(message, job);
  if (read) {
    require(read.sentence.empty(), "what is accepted needs no sentence");
    require(encoded(read.what) == message, "what is accepted is what encode() writes");
    require(!name(read.what.kind()).empty() && name(read.what.kind()) != "invalid", "its kind has a name");
    return;
  }
  require(!read.sentence.empty() && read.sentence.size() < 200, "a refusal says why");
  require(read.why == ps::refusal::malformed || read.why == ps::refusal::wrong_protocol ||
              read.why == ps::refusal::wrong_job,
          "the reason is one of those that a message can have");
}

const registered here{"gloo_messages", run};

}  // namespace of_gloo_messages
}  // namespace rubato::fuzz
