#ifndef RUBATO_EXAMPLES_LAB_ANY_OBJECTIVE_HPP
#define RUBATO_EXAMPLES_LAB_ANY_OBJECTIVE_HPP

#include <cstdint>
#include <rubato/sim/objective.hpp>
#include <span>
#include <utility>

namespace rubato::lab {

/// An objective of a kind that nobody needs to know who uses it: clusters are compiled once for all of them.
class any_objective {
 public:
  virtual ~any_objective() = default;
  virtual void reset(std::uint64_t seed) = 0;
  [[nodiscard]] virtual sim::gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) = 0;
  virtual void update(std::span<const sim::contribution> parts, double learning_rate) = 0;
  /// Of later updates, until reset(); see sgd_objective.
  virtual void set_momentum(double momentum) = 0;
  virtual void release(std::uint32_t handle) = 0;
  [[nodiscard]] virtual sim::evaluation evaluate() = 0;
  [[nodiscard]] virtual double probe() = 0;
};

template <sim::Objective Objective>
class objective_of final : public any_objective {
 public:
  template <class... Arguments>
  explicit objective_of(Arguments&&... arguments) : of_{std::forward<Arguments>(arguments)...} {}

  void reset(std::uint64_t seed) override { of_.reset(seed); }
  sim::gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) override {
    return of_.compute(worker, step, batch);
  }
  void update(std::span<const sim::contribution> parts, double rate) override { of_.update(parts, rate); }
  void set_momentum(double momentum) override { of_.set_momentum(momentum); }
  void release(std::uint32_t handle) override { of_.release(handle); }
  sim::evaluation evaluate() override { return of_.evaluate(); }
  double probe() override { return of_.probe(); }

 private:
  Objective of_;
};

static_assert(sim::Objective<any_objective>);

}  // namespace rubato::lab

#endif
