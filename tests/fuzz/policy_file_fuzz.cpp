// Policy files: a container, a card, and weights that make a policy. One that is made can decide.
#include <cstdint>
#include <optional>
#include <rubato/io/utf8.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/sync/controller.hpp>
#include <string>
#include <utility>

#include "../support/container_bytes.hpp"
#include "fuzz_target.hpp"

namespace rubato::fuzz {
namespace of_policy_file {

struct sink {
  std::uint32_t releases = 0;
  void release(std::uint32_t, worker_id, const grant&) { ++releases; }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

void let_decide(any_policy policy) {
  require(!policy.describe().line.empty(), "a policy describes itself");
  controller<any_policy, std::uint32_t> control{{.capacity = 3, .guard = {.enabled = true}}, std::move(policy)};
  sink host;
  for (std::uint32_t w = 0; w < 3; ++w) static_cast<void>(control.join({w, 0}, 0.0, w, host));
  for (std::uint32_t step = 0; step < 12; ++step)
    for (std::uint32_t w = 0; w < 3; ++w)
      if (control.workers()[w].state == worker_state::running)
        static_cast<void>(
            control.push({.worker = {w, 0}, .now = 0.5 + step + 0.1 * w, .samples = 4, .loss = 2.0F}, w, host));
  require(host.releases > 3, "somebody goes on");
}

void run(input bytes) {
  input_reader in{bytes};
  std::string text;
  if (in.byte() % 2 == 0) {
    text = text_of(in.rest());
  } else {
    const std::string_view header = text_of(in.take_part());
    text = test::container(header, text_of(in.rest()));
  }
  const result<safetensors> file = safetensors::parse(span_of(text), "file");
  if (!file) return;  // another target's
  result<any_policy> policy = policy_of<any_policy>(*file);
  if (policy) return let_decide(*std::move(policy));
  const error& e = policy.error();
  require((e.code == errc::corrupt || e.code == errc::wrong_kind) && e.message.starts_with("file: ") &&
              is_plain(e.message) && e.message.size() < 2000,
          "a refusal says what, in plain text:", e.message);
}

const registered here{"policy_file", run};

}  // namespace of_policy_file
}  // namespace rubato::fuzz
