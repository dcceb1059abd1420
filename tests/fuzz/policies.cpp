#include "policies.hpp"

#include "../support/all_policies.hpp"

namespace rubato::fuzz {
namespace {

// The corpora say a policy by its place in this list, which ends before those that came later.
std::vector<any_policy> known_to_corpora() {
  std::vector<test::named_policy> all = test::all_policies();
  std::erase_if(all, [](const test::named_policy& each) { return each.name.starts_with("stigmergic"); });
  return test::policies_of(all);
}

}  // namespace

const std::vector<any_policy>& policies() {
  static const std::vector<any_policy> all = known_to_corpora();
  return all;
}

}  // namespace rubato::fuzz
