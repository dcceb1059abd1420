// expect: constraint(s not satisfied| failure) for .*cluster
// names: Objective
#include <rubato/sim/cluster.hpp>
#include <rubato/sync/asp.hpp>

struct leaking {
  void reset(std::uint64_t) {}
};
rubato::sim::cluster<rubato::asp, leaking>* run;
