#ifndef RUBATO_EXAMPLES_LAB_POLICIES_HPP
#define RUBATO_EXAMPLES_LAB_POLICIES_HPP

#include <cstdint>
#include <rubato/core/result.hpp>
#include <rubato/sync/any_policy.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy_file.hpp"

namespace rubato::lab {

/// A kind of synchronisation rule that the command line can name.
struct rule {
  std::string_view name;     ///< what a policy's name begins with, up to the first ':'
  std::string_view syntax;   ///< of the whole name
  std::string_view meaning;  ///< one line

  /// Names of representative policies. Where the first one is the bare name, that is a policy of its own; else the bare
  /// name stands for the one of these that tuning finds best.
  /// A rule that reads files may have none, or some whose file is missing.
  std::vector<std::string_view> variants;

  /// The policy with these arguments, separated by ':'. Throws std::invalid_argument "found ..., expected ...", and
  /// user_error about a file.
  any_policy (*make)(std::span<const std::string_view> arguments);

  bool of_file = false;     ///< its one argument is a path, in which ':' separates nothing
  bool of_batches = false;  ///< it sets batches too, which is another comparison: `all` does not stand for it
};

/// All rules. A new rule is one entry in policies.cpp.
[[nodiscard]] std::span<const rule> rules();

/// A policy and the name that it was given.
struct named_policy {
  std::string name;
  any_policy policy;
};

/// Errors  user_error, one line with what was found, where, and the names that are known or the file that was read
/// Tests   tests/examples/policies_test.cpp
[[nodiscard]] named_policy parse_policy(std::string_view name);

/// The policy in a file: a network, or the rule that its card names.
/// Errors  those of policy_of; wrong_kind for a rule that is not known, or not of the card's kind
/// Tests   tests/examples/policy_file_test.cpp: ARuleIsTheRule, RefusesARuleThatIsNone
[[nodiscard]] result<any_policy> policy_in(const policy_file&);

/// What one item of `--policies` stands for: a policy, or, where tuning may choose, several.
struct policy_request {
  std::string name;
  std::vector<named_policy> candidates;  ///< at least one
  bool of_all = false;                   ///< one of those that `all` stands for: left out where it does not fit
};

/// Reads a comma-separated list, so that paths in it have no commas; blanks around names are of no matter. `all` stands
/// for every rule that reads no file and sets no batches: once each, if `tunable` and it has a parameter to be found,
/// else each of its variants. Treatments after `all` are put on all. Errors: user_error that begins with "--policies:
/// ", also for an empty item, a name given twice, and, unless `tunable`, a bare name that leaves the parameter to
/// tuning.
[[nodiscard]] std::vector<policy_request> parse_policies(std::string_view list, bool tunable);

/// The policy files that such a list names. Precondition: parse_policies takes it.
[[nodiscard]] std::vector<std::string> files_in(std::string_view list);

/// Takes out the candidates whose options do not fit so many workers. Of the variants of cap that let all workers run,
/// and so are one rule, the first stays; what was asked for by its whole name stays in any case.
/// Errors: user_error where a request, unless it came with `all`, has no other, with what is wrong with the first.
/// Tests   tests/examples/policies_test.cpp: ThoseThatDoNotFitTheWorkersAreRefused, OneCapOfThoseThatHoldNobody
void fit_policies(std::vector<policy_request>&, std::uint32_t workers);

}  // namespace rubato::lab

#endif
