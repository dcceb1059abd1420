// expect: constraint(s not satisfied| failure) for .*trainer
// names: Learner
#include <rubato/encode/rlp_state.hpp>
#include <rubato/rl.hpp>
#include <rubato/sim.hpp>

struct idle {
  using network = rubato::nn::dynamic_mlp;
};
using task = rubato::sim::environment<rubato::sim::quadratic, rubato::rlp_state>;
static_assert(rubato::rl::Environment<task>);
rubato::rl::trainer<task, idle>* training;
