// expect: constraint(s not satisfied| failure) for .*cluster
// names: Objective
#include <rubato/sim/cluster.hpp>
#include <rubato/sync/asp.hpp>

struct leaking {
  void reset(std::uint64_t) {}
  rubato::sim::gradient compute(std::uint32_t, std::uint64_t, std::uint32_t) { return {}; }
  void update(std::span<const rubato::sim::contribution>, double) {}
  rubato::sim::evaluation evaluate() { return {}; }
  double probe() { return 0; }
};
rubato::sim::cluster<rubato::asp, leaking>* run;
