#ifndef RUBATO_EXAMPLES_LAB_SWITCHING_HOST_HPP
#define RUBATO_EXAMPLES_LAB_SWITCHING_HOST_HPP

#include <cstdint>
#include <rubato/sync/rivals/switch_configuration.hpp>
#include <span>
#include <string>

#include "any_objective.hpp"

namespace rubato::lab {

/// How a host of Sync-Switch sets learning rate and momentum: what switch_configuration says, or a variant of it.
struct switching_host {
  momentum_rule after = momentum_rule::keep;  ///< momentum of updates by one gradient
  std::uint64_t stage = 4'000;                ///< of that rule: gradients
  bool scales_rounds = true;  ///< an update by the mean of n gradients has n times the learning rate, else once
  bool keeps_rate = false;    ///< updates by one gradient have it n times as well
};

/// As a JSON object: for keys of results.
[[nodiscard]] std::string text_of(const switching_host&);

/// What such a host trains: an objective, each of whose updates is made with the learning rate and the momentum that
/// its phase has. An update by several gradients is a round, and of the first phase; one by a single gradient is of the
/// second, whose steps are counted from the latest round on. The number of workers is that of the latest round.
///
/// Pre     `of` outlives it, and has this momentum (0 or more) at each reset; rounds are of two gradients or more
/// Tests   tests/examples/switching_host_test.cpp: RoundsHaveTheScaledRate, MomentumFollowsItsRule,
///         VariantsOfTheRate, CountsSwitches, WithoutMomentumOnlyTheRateChanges
class switched_objective final : public any_objective {
 public:
  switched_objective(any_objective& of, const switching_host& host, double momentum, std::uint32_t workers)
      : of_{of}, host_{host}, momentum_{momentum}, all_{workers}, workers_{workers} {}

  void reset(std::uint64_t seed) override;
  sim::gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) override {
    return of_.compute(worker, step, batch);
  }
  void update(std::span<const sim::contribution> parts, double learning_rate) override;
  void set_momentum(double momentum) override { momentum_ = momentum; }
  void release(std::uint32_t handle) override { of_.release(handle); }
  sim::evaluation evaluate() override { return of_.evaluate(); }
  double probe() override { return of_.probe(); }

  /// Changes between rounds and single gradients, since the reset.
  [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }

 private:
  any_objective& of_;
  switching_host host_;
  double momentum_;
  std::uint32_t all_;
  std::uint32_t workers_;
  std::uint64_t steps_ = 0;  // of this phase
  std::uint64_t switches_ = 0;
  bool begun_ = false;
  switch_phase phase_ = switch_phase::first;
};

}  // namespace rubato::lab

#endif
