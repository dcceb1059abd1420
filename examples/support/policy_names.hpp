#ifndef RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP
#define RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP

#include <charconv>
#include <cstdint>
#include <optional>
#include <rubato/core/types.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <rubato/sync/ssp.hpp>
#include <string_view>
#include <system_error>

namespace rubato::support {

inline constexpr const char* policy_names =
    "asp, bsp, bsp:sum, knee, learned, ssp:S, ssp:S:rlp or syncswitch:SHARE[:greedy|:elastic]:STEPS (SHARE of the "
    "STEPS of all workers under bsp, an update by n gradients at n times the rate, then asp)";

namespace detail {

/// All of the text as a number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number n{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  return bad == std::errc{} && end == text.data() + text.size() ? std::optional{n} : std::nullopt;
}

/// What stands before the next colon, which is taken out with it.
inline std::string_view next_argument(std::string_view& of) {
  const std::string_view first = of.substr(0, of.find(':'));
  of.remove_prefix(first.size() < of.size() ? first.size() + 1 : of.size());
  return first;
}

inline std::optional<any_policy> sync_switch_of(std::string_view arguments) {
  const auto share = number_in<double>(next_argument(arguments));
  sync_switch_options o{.scales_rate = true};
  std::string_view rest = arguments;
  const std::string_view reaction = next_argument(rest);
  for (const straggler_reaction each : {straggler_reaction::greedy, straggler_reaction::elastic})
    if (reaction == name(each)) o.reaction = each, arguments = rest;
  const auto steps = number_in<std::uint64_t>(arguments);
  if (!share || !steps) return std::nullopt;
  o.share = *share;
  o.workload = *steps;
  if (!o.problem().empty()) return std::nullopt;
  return sync_switch<>{o};
}

}  // namespace detail

/// The policy of this name, one of policy_names.
///
/// Tests   tests/examples/policy_names_test.cpp
inline std::optional<any_policy> policy_named(std::string_view name) {
  if (name == "asp") return asp{};
  if (name == "bsp") return bsp{};
  if (name == "bsp:sum") return bsp{.aggregate = bsp::sum};
  if (name == "knee") return knee{};
  if (name == "learned") return learned_policy{};
  if (name.ends_with(':')) return std::nullopt;
  const std::string_view rule = detail::next_argument(name);
  if (rule == "syncswitch") return detail::sync_switch_of(name);
  if (rule != "ssp") return std::nullopt;
  const auto s = detail::number_in<clock_type>(detail::next_argument(name));
  if (!s || (!name.empty() && name != "rlp") || (name == "rlp" && *s == 0)) return std::nullopt;
  return name == "rlp" ? ssp_rlp(*s) : ssp{.staleness = *s};
}

}  // namespace rubato::support

#endif
