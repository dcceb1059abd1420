// expect: constraint(s not satisfied| failure) for .*q_policy
// names: ActionValueFunction
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>

struct changing {
  void evaluate(std::span<const float>, std::span<float>) noexcept {}
};
rubato::q_policy<rubato::rlp_state, changing>* policy;
