#ifndef RUBATO_EXAMPLES_LAB_MEASUREMENT_HPP
#define RUBATO_EXAMPLES_LAB_MEASUREMENT_HPP

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <rubato/sim/result.hpp>
#include <string>
#include <vector>

namespace rubato::lab {

/// What the lab keeps of a run.
struct measurement {
  double time = 0;  ///< to the end that the scenario asks for; max_time if it was not reached
  bool reached = false;
  std::string end;  ///< why the run ended
  double ended = 0;  ///< when it did, whatever the reason; 0 in real time
  std::uint64_t pushes = 0;
  std::uint64_t updates = 0;
  double staleness_mean = 0;
  std::uint64_t staleness_p95 = 0;
  double idle_share = 0;
  double decision_share = 0;
  double final_accuracy = 0;
  std::uint64_t dropped = 0;    ///< gradients that were computed and came to nothing
  std::uint64_t overrides = 0;  ///< times that the guard overrode the policy
  std::uint64_t switches = 0;   ///< between rounds and updates by single gradients, where setting::switching is set
  double overhead = 0;          ///< in real time: what a step takes beside computing and sleeping; units of time
  double overrun = 0;           ///< in real time: by which share of what was asked for computing and sleeping took longer
  std::vector<std::array<double, 2>> climb{};  ///< time and accuracy of each evaluation that was better than all before

  void climb_to(double when, double accuracy) {
    if (climb.empty() || accuracy > climb.back()[1]) climb.push_back({when, accuracy});
  }
};

[[nodiscard]] measurement summary(const sim::run_result&);

[[nodiscard]] nlohmann::json to_json(const measurement&);

/// Nothing if this is not what to_json() writes.
[[nodiscard]] std::optional<measurement> measurement_from(const nlohmann::json&);

}  // namespace rubato::lab

#endif
