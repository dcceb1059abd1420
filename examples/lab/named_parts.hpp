#ifndef RUBATO_EXAMPLES_LAB_NAMED_PARTS_HPP
#define RUBATO_EXAMPLES_LAB_NAMED_PARTS_HPP

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/user_error.hpp"

namespace rubato::lab {

/// Of the parts of an experiment, in their order, those that --part names; all, where it names none.
/// Errors  user_error: an unknown name, beside those that are known
/// Tests   tests/examples/experiment_command_test.cpp: PartsAreMadeInTheirOrder, BadInputIsOneLineAndStatus2
template <class Part>
[[nodiscard]] std::vector<const Part*> named_parts(const std::vector<const Part*>& all, std::string_view Part::*name,
                                                   const std::vector<std::string>& given) {
  std::vector<const Part*> chosen;
  std::string known;
  for (const Part* each : all) {
    known += (known.empty() ? "" : ", ") + std::string{each->*name};
    if (given.empty() || std::ranges::find(given, each->*name) != given.end()) chosen.push_back(each);
  }
  for (const std::string& one : given)
    if (std::ranges::none_of(chosen, [&](const Part* each) { return each->*name == one; }))
      throw support::user_error{"--part: found \"" + one + "\", expected one of " + known};
  return chosen;
}

}  // namespace rubato::lab

#endif
