#ifndef RUBATO_TESTS_EXAMPLES_REAL_SETTING_HPP
#define RUBATO_TESTS_EXAMPLES_REAL_SETTING_HPP

#include <atomic>
#include <string>
#include <vector>

#include "../../examples/lab/shipped.hpp"
#include "../../examples/lab/workbench.hpp"

namespace rubato::test {

inline const lab::training_data& images() {
  static const lab::training_data data = lab::load_data(support::scenario{}, lab::shipped("examples/data"));
  return data;
}

/// For runs in real time that are over soon. No hidden layer: a gradient takes a few microseconds, so that a unit of
/// 2 ms is time enough.
inline lab::setting small(const std::vector<std::string>& settings = {}) {
  lab::setting at;
  at.scenario.name = "small";
  std::vector<std::string> all{"workers=4", "objective.hidden_layers=0", "stragglers.kind=static"};
  all.insert(all.end(), settings.begin(), settings.end());
  support::apply_settings(at.scenario, all);
  at.unit_seconds = 0.002;
  return at;
}

inline constexpr std::atomic<bool> go_on{false};

}  // namespace rubato::test

#endif
