#ifndef RUBATO_EXAMPLES_LAB_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_POLICIES_HPP

#include <rubato/sync/any_policy.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// A kind of synchronisation rule that the command line can name.
struct rule {
  std::string_view name;     ///< what a policy's name begins with, up to the first ':'
  std::string_view syntax;   ///< of the whole name
  std::string_view meaning;  ///< one line

  /// Names of representative policies. Where the first one is the bare name, that is a policy of its own; else the bare
  /// name stands for the one of these that tuning finds best.
  std::vector<std::string_view> variants;

  /// The policy with these ':'-separated arguments. Throws std::invalid_argument "found ..., expected ...".
  any_policy (*make)(std::span<const std::string_view> arguments);
};

/// All rules. A new rule is one entry in policies.cpp.
[[nodiscard]] std::span<const rule> rules();

/// A policy and the name that it was given.
struct named_policy {
  std::string name;
  any_policy policy;
};

/// Errors  user_error, one line with what was found, where, and the names that are known
/// Tests   tests/examples/policies_test.cpp
[[nodiscard]] named_policy parse_policy(std::string_view name);

/// What one item of `--policies` stands for: a policy, or, where tuning may choose, several.
struct policy_request {
  std::string name;
  std::vector<named_policy> candidates;  ///< at least one
};

/// Reads a comma-separated list; blanks around names are of no matter. Errors: user_error, also for an empty item, a
/// name given twice, and, unless `tunable`, a bare name that leaves the parameter to tuning.
[[nodiscard]] std::vector<policy_request> parse_policies(std::string_view list, bool tunable);

}  // namespace rubato::lab

#endif
