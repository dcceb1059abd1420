// Saved states of a controller, with a checksum that is right whatever they say. One that is refused changes nothing;
// after one that loads, the controller goes on, and its guard keeps what it promises.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <rubato/core/fnv1a.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/controller.hpp>
#include <string>
#include <vector>

#include "../support/promises.hpp"
#include "fuzz_target.hpp"
#include "policies.hpp"

namespace rubato::fuzz {
namespace of_controller_state {

constexpr std::uint32_t workers = 5;
using controller_type = controller<any_policy, std::uint32_t>;

struct sink {
  std::uint32_t ended = 0;
  void release(std::uint32_t, worker_id who, const grant& terms) {
    require(who.index < workers, "a worker is one");
    require(std::isfinite(terms.lr_scale) && terms.lr_scale >= 0, "a learning rate is a factor");
    ++ended;
  }
  void flush(std::uint64_t, float scale, std::uint32_t n) { require(std::isfinite(scale) && n > 0, "a flush is one"); }
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id) {}
  void abandon(std::uint32_t, worker_id, reason) { ++ended; }
};

std::vector<std::byte> saved(const controller_type& control) {
  archive out;
  require(control.save(out) == errc::ok, "what has nothing out can be saved");
  return {out.bytes().begin(), out.bytes().end()};
}

// What the input says after the policy's kind, and the checksum.
std::vector<std::byte> sealed(const any_policy& policy, input content) {
  archive out;
  std::string kind{policy.kind()};
  out.text(kind);
  for (std::uint8_t byte : content) out(byte);
  out.seal();
  return {out.bytes().begin(), out.bytes().end()};
}

void go_on(controller_type& control, std::uint64_t seed) {
  random_sequence random{seed};
  sink host;
  std::uint32_t given = 0;
  double now = 1000.0;
  control.poll(now, host);
  for (int n = 0; n < 40; ++n) {
    now += random.uniform();
    const auto w = static_cast<std::uint32_t>(random.below(workers));
    const worker_id who = control.workers().id(w);
    switch (control.workers()[w].state) {
      case worker_state::running:
        ++given;
        if (random.below(8) == 0) {  // is told its terms again
          static_cast<void>(control.join(who, now, w, host));
          break;
        }
        static_cast<void>(control.push({.worker = who, .now = now, .samples = 4, .loss = 1.0F}, w, host));
        break;
      case worker_state::parked:
      case worker_state::released:
      case worker_state::joining:
        control.poll(now, host);
        if (random.below(4) == 0) static_cast<void>(control.depart(who, now, cause::death, host));
        break;
      default:
        ++given;
        if (who.incarnation == ~std::uint32_t{0}) return;
        static_cast<void>(control.join({w, who.incarnation + 1}, now, w, host));
    }
    const std::string broken = test::broken_promise(control.workers(), control.next_deadline(), true);
    require(broken.empty(), "the guard keeps its promises:", broken);
    require(!std::isnan(control.next_deadline()), "the next deadline is a time");
  }
  require(host.ended <= given + workers, "no ticket ends twice");
}

void run(input bytes) {
  input_reader in{bytes};
  const any_policy& policy = policies()[in.byte() % policies().size()];
  const input content = in.rest();
  const std::vector<std::byte> state = sealed(policy, content);

  controller_type control{{.capacity = workers, .guard = {.enabled = true}}, policy};
  const std::vector<std::byte> before = saved(control);
  archive reader{state};
  std::uint32_t asked = 0;
  const errc code = control.load(reader, [&](worker_id who) -> std::optional<std::uint32_t> {
    require(who.index < workers, "a worker is one");
    ++asked;
    return who.incarnation % 3 == 2 ? std::nullopt : std::optional{who.index};
  });
  if (code == errc::ok) {
    require(asked <= workers, "each is asked for once");
    return go_on(control, fnv1a(text_of(content)));
  }
  require(code == errc::corrupt || code == errc::wrong_kind || code == errc::invalid_option, "a known refusal");
  require(asked == 0 && saved(control) == before, "a refused load changes nothing");
}

const registered here{"controller_state", run};

}  // namespace of_controller_state
}  // namespace rubato::fuzz
