#ifndef RUBATO_EXAMPLES_LAB_TREATMENTS_HPP
#define RUBATO_EXAMPLES_LAB_TREATMENTS_HPP

#include <rubato/sync/any_policy.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "policy_arguments.hpp"

namespace rubato::lab {

/// What can be put on any rule, at the end of its name: NAME+scale:1/tau+decay.
struct treatment {
  std::string_view name;     ///< what it begins with, after the '+' and up to the first ':'
  std::string_view syntax;   ///< of the whole, with the '+'
  std::string_view meaning;  ///< one line

  std::vector<std::string_view> variants;  ///< representative ones, with the '+'

  /// Throws std::invalid_argument "found ..., expected ...".
  any_policy (*put_on)(any_policy policy, policy_arguments arguments);
};

/// All treatments. A new one is one entry in treatments.cpp.
[[nodiscard]] std::span<const treatment> treatments();

/// The part of a policy's name before its treatments: up to the first '+' that the name of a treatment follows, and
/// after it nothing, ':' or '+'. So the '+' of a formula, or of a path, belongs to what it stands in.
[[nodiscard]] std::string_view without_treatments(std::string_view policy);

/// Puts on the policy what follows without_treatments() in a name, from left to right.
/// Errors  std::invalid_argument "found ..., expected ..."
/// Tests   tests/examples/treatments_test.cpp
[[nodiscard]] any_policy treated(any_policy policy, std::string_view suffixes);

}  // namespace rubato::lab

#endif
