#ifndef RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP
#define RUBATO_EXAMPLES_SUPPORT_POLICY_NAMES_HPP

#include <charconv>
#include <optional>
#include <rubato/core/types.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/ssp.hpp>
#include <string_view>
#include <system_error>

namespace rubato::support {

inline constexpr const char* policy_names = "asp, bsp, bsp:sum, knee, learned, ssp:S or ssp:S:rlp";

/// The policy of this name, one of policy_names.
inline std::optional<any_policy> policy_named(std::string_view name) {
  if (name == "asp") return asp{};
  if (name == "bsp") return bsp{};
  if (name == "bsp:sum") return bsp{.aggregate = bsp::sum};
  if (name == "knee") return knee{};
  if (name == "learned") return learned_policy{};
  if (!name.starts_with("ssp:")) return std::nullopt;
  const bool rlp = name.ends_with(":rlp");
  const std::string_view digits = name.substr(4, name.size() - (rlp ? 8 : 4));
  clock_type s = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), s);
  if (bad != std::errc{} || end != digits.data() + digits.size() || (rlp && s == 0)) return std::nullopt;
  return rlp ? ssp_rlp(s) : ssp{.staleness = s};
}

}  // namespace rubato::support

#endif
