#include "policies.hpp"

#include "../support/all_policies.hpp"

namespace rubato::fuzz {

const std::vector<any_policy>& policies() {
  static const std::vector<any_policy> all = test::policies_of(test::all_policies());
  return all;
}

}  // namespace rubato::fuzz
