// A controller driven by any events: joins, pushes, overlapping admissions and commits in any order, failures, pulls,
// departures, switches, saves and loads, and what no host should say (tests/support/random_host.hpp, which checks every
// promise after every call against a naive reference). The input decides what comes next; in a third of the inputs it
// also decides what the policy answers, whatever that is.
#include <algorithm>
#include <array>
#include <cstdint>

#include "../support/random_host.hpp"
#include "../support/test_policies.hpp"
#include "fuzz_target.hpp"
#include "policies.hpp"

namespace rubato::fuzz {
namespace of_controller_events {

void run(input bytes) {
  input_reader in{bytes};
  const std::uint8_t policy = in.byte(), how = in.byte(), faults = in.byte(), reloads = in.byte();
  const std::uint8_t bound = in.byte(), wait = in.byte(), workers = in.byte();
  test::schedule_options o;
  o.workers = 1 + workers % 4;
  o.fault_rate = faults / 512.0;
  o.reloads = reloads / 1024.0;
  o.guard.enabled = how % 2 == 1;
  const auto pick = [](std::uint8_t which) { return policies()[which % policies().size()]; };
  if ((how & 2) != 0) o.switches = {pick(in.byte()), pick(in.byte())};
  const bool chaotic = how % 3 == 0;
  any_policy first = pick(policy);
  input script = in.rest();
  if (chaotic) {
    const input answers = script.subspan(script.size() / 2);
    script = script.first(script.size() / 2);
    first = test::chaos{.seed = policy, .bound = bound % 8 == 7 ? unbounded : bound % 8U, .script = answers};
    o.guard.enabled = true;
  }
  if (o.guard.enabled && (chaotic || (how & 4) != 0)) {  // the guard has something to do
    o.overrides = true;
    if (bound >= 128) o.guard.bound = bound % 4;
    if (wait >= 128) o.guard.max_wait = (wait - 128) / 32.0;
  }
  o.script = script;
  // Many short schedules find more than few long ones; those are for the property tests.
  o.events = static_cast<std::uint32_t>(1 + std::min<std::size_t>(script.size() / 5, 60));
  o.saved_every = 16;
  const test::schedule_report report = test::random_host{o, first}.run();
  require(report.problem.empty(), "a promise of the controller:", report.problem);
}

const registered here{"controller_events", run};

}  // namespace of_controller_events
}  // namespace rubato::fuzz
