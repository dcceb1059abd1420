#ifndef RUBATO_EXAMPLES_SUPPORT_SYNC_SWITCH_NAME_HPP
#define RUBATO_EXAMPLES_SUPPORT_SYNC_SWITCH_NAME_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <rubato/core/result.hpp>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <span>
#include <string>
#include <string_view>

#include "name_parts.hpp"

namespace rubato::support {

/// How Sync-Switch is named, in the lab and in the programs of hosts: SHARE of the STEPS of all workers together under
/// bsp, a round of n gradients being n steps and one update at n times the rate; then asp.
inline constexpr const char* sync_switch_syntax = "syncswitch:SHARE[:greedy|:elastic]:STEPS";

/// Its options from what stands behind the first colon of such a name, split at the others. There is no usual number of
/// steps: whoever does not know that of the training cannot say when its share is done. The detector is the default
/// one.
///
/// Errors  invalid_option: found "...", expected ...
/// Tests   tests/examples/policy_names_test.cpp: SyncSwitchHasItsShareItsReactionAndItsSteps, SyncSwitchSaysWhatIsWrong
[[nodiscard]] inline result<sync_switch_options> sync_switch_named(std::span<const std::string_view> arguments) {
  const auto argument = [&](std::size_t i) { return i < arguments.size() ? arguments[i] : std::string_view{}; };
  const auto refused = [](std::string_view found, const char* expected) {
    return error{errc::invalid_option, "found \"" + std::string{found} + "\", expected " + expected};
  };
  sync_switch_options o{.scales_rate = true};
  const auto share = number_in<double>(argument(0));
  if (!share || !(*share >= 0 && *share <= 1)) return refused(argument(0), "a share of the steps, 0 to 1");
  o.share = *share;
  for (const straggler_reaction each : {straggler_reaction::greedy, straggler_reaction::elastic})
    if (argument(1) == name(each)) o.reaction = each;
  const std::size_t last = o.reaction == straggler_reaction::none ? 1 : 2;
  const auto steps = number_in<std::uint64_t>(argument(last));
  if (!steps || *steps == 0)
    return refused(argument(last), last == 1 ? "greedy, elastic or the number of steps of all workers together"
                                             : "the number of steps of all workers together");
  o.workload = *steps;
  if (arguments.size() > last + 1) return refused(arguments[last + 1], "nothing more");
  return o;
}

}  // namespace rubato::support

#endif
