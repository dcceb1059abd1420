#ifndef RUBATO_TESTS_SIM_TEST_OBJECTIVE_HPP
#define RUBATO_TESTS_SIM_TEST_OBJECTIVE_HPP

#include <cstdint>
#include <functional>
#include <rubato/sim/objective.hpp>
#include <span>
#include <unordered_set>
#include <vector>

namespace rubato::sim::test {

// Its one parameter moves by -rate x the sum of weights. Every handle is new, so that each wrong use is noticed.
struct test_objective {
  struct computed {
    std::uint32_t worker;
    std::uint64_t step;
    std::uint64_t updates;  // before it
  };
  struct updated {
    std::vector<contribution> parts;
    double rate;
  };

  std::function<float(std::uint32_t, std::uint64_t)> loss_of = [](std::uint32_t, std::uint64_t) { return 1.0F; };
  std::function<evaluation(std::uint64_t updates)> judge = [](std::uint64_t) { return evaluation{1, 0}; };

  double parameter = 0;
  std::uint64_t misuses = 0;  // of handles
  std::unordered_set<std::uint32_t> live{};
  std::vector<computed> gradients{};
  std::vector<updated> updates{};
  std::uint64_t probes = 0;
  std::uint64_t evaluations = 0;
  std::uint32_t next = 0;
  bool keeps = true;  // the two logs

  void reset(std::uint64_t) {
    parameter = 0;
    live.clear();
  }
  gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t batch) {
    if (keeps) gradients.push_back({worker, step, updates.size()});
    live.insert(next);
    return {next++, loss_of(worker, step), 1, batch};
  }
  void update(std::span<const contribution> parts, double rate) {
    for (const contribution& part : parts) {
      misuses += live.count(part.handle) == 1 ? 0 : 1;
      parameter -= rate * double{part.weight};
    }
    if (keeps) updates.push_back({{parts.begin(), parts.end()}, rate});
  }
  void release(std::uint32_t handle) { misuses += live.erase(handle) == 1 ? 0 : 1; }
  evaluation evaluate() {
    ++evaluations;
    return judge(updates.size());
  }
  double probe() { return 10.0 + static_cast<double>(probes++); }
};

static_assert(Objective<test_objective>);

// Nothing but time passes.
struct no_objective {
  void reset(std::uint64_t) {}
  gradient compute(std::uint32_t, std::uint64_t, std::uint32_t batch) { return {0, 1, 1, batch}; }
  void update(std::span<const contribution>, double) {}
  void release(std::uint32_t) {}
  evaluation evaluate() { return {1, 0}; }
  double probe() { return 1; }
};

static_assert(Objective<no_objective>);

}  // namespace rubato::sim::test

#endif
