#ifndef RUBATO_EXAMPLES_LAB_PLANNED_HPP
#define RUBATO_EXAMPLES_LAB_PLANNED_HPP

#include <cstdint>
#include <rubato/sim/options.hpp>
#include <rubato/sim/straggler.hpp>
#include <rubato/sync/concepts.hpp>
#include <string>
#include <vector>

namespace rubato::lab {

/// How many workers run, and at which learning rate, from a time on.
struct plan_stage {
  double from = 0;
  std::uint32_t running = 1;
  float lr_scale = 1;
};
using plan = std::vector<plan_stage>;  ///< ascending times, the first one 0

/// A synchronisation rule that no host could have: it follows a plan that was made with the run known, and starts
/// whoever's next step will be over first, the sleep of a straggler included. The yardstick of `--clairvoyant`.
///
/// Needs a cluster whose workers neither leave nor join.
/// Cost    O(workers) per push
/// Tests   tests/examples/clairvoyant_test.cpp
class planned {
 public:
  planned(plan stages, const sim::cluster_options& machines, std::uint64_t seed);

  [[nodiscard]] decision release(const cluster_view&, const event&) noexcept;
  void observe(const feedback&) noexcept;
  void resize(std::uint32_t capacity);
  [[nodiscard]] description describe() const;

  static constexpr std::string_view kind = "planned";

 private:
  [[nodiscard]] const plan_stage& stage_at(double now) const noexcept;
  [[nodiscard]] std::uint32_t soonest(double now) noexcept;

  plan stages_;
  sim::cluster_options machines_;
  sim::straggler_model stragglers_;
  std::vector<std::uint64_t> steps_;   // finished
  std::vector<std::uint8_t> waiting_;
};

/// The plan as JSON: a list of [from, running, lr_scale].
[[nodiscard]] std::string plan_text(const plan&);

}  // namespace rubato::lab

#endif
