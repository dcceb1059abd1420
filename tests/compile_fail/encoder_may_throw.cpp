// expect: constraint(s not satisfied| failure) for .*q_policy
// names: StateEncoder
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/dynamic_mlp.hpp>

struct throwing {
  static constexpr std::size_t dim = 1;
  static constexpr std::string_view kind = "throwing";
  void observe(const rubato::feedback&) noexcept {}
  void encode(const rubato::cluster_view&, const rubato::event&, std::span<float, 1>) {}
  void state(rubato::archive&) {}
  void resize(std::uint32_t) {}
  std::vector<rubato::feature> features() const { return {}; }
};
rubato::q_policy<throwing, rubato::nn::dynamic_mlp>* policy;
