#ifndef RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP
#define RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP

#include <cstdint>
#include <optional>
#include <rubato/core/types.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/ssp.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "batch_names.hpp"
#include "name_parts.hpp"
#include "sync_switch_name.hpp"

namespace rubato::support {

inline constexpr const char* policy_names =
    "asp, bsp, bsp:sum, knee, learned, ssp:S, ssp:S:rlp or syncswitch:SHARE[:greedy|:elastic]:STEPS (SHARE of the "
    "STEPS of all workers under bsp, an update by n gradients at n times the rate, then asp); any of them with "
    "+static:N, +lb-bsp:N, +goodput:N or +dynamix:N:FILE, which set batches, of N samples at first";

/// The policy of this name, one of policy_names; `usual` are the samples of a step where it sets none.
///
/// Tests   tests/examples/policy_names_test.cpp
inline std::optional<any_policy> policy_named(std::string_view name, std::uint32_t usual = 32) {
  if (const std::size_t plus = name.find('+'); plus != std::string_view::npos) {
    auto policy = policy_named(name.substr(0, plus), usual);
    return policy ? with_batches(std::move(*policy), name.substr(plus + 1), usual) : std::nullopt;
  }
  if (name == "asp") return asp{};
  if (name == "bsp") return bsp{};
  if (name == "bsp:sum") return bsp{.aggregate = bsp::sum};
  if (name == "knee") return knee{};
  if (name == "learned") return learned_policy{};
  const std::vector<std::string_view> parts = split(name, ':');
  const std::span arguments = std::span{parts}.subspan(1);
  if (parts.front() == "syncswitch") {
    const auto options = sync_switch_named(arguments);
    return options ? std::optional<any_policy>{sync_switch<>{*options}} : std::nullopt;
  }
  if (parts.front() != "ssp" || arguments.empty() || arguments.size() > 2) return std::nullopt;
  const auto s = number_in<clock_type>(arguments[0]);
  const bool rlp = arguments.size() == 2;
  if (!s || (rlp && (arguments[1] != "rlp" || *s == 0))) return std::nullopt;
  return rlp ? ssp_rlp(*s) : ssp{.staleness = *s};
}

}  // namespace rubato::support

#endif
