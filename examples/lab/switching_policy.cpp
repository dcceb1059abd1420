#include "switching_policy.hpp"

#include <rubato/sync/rivals/sync_switch.hpp>

namespace rubato::lab {

any_policy switching_policy(double share, std::uint64_t pushes) {
  if (share <= 0) return asp{};
  return sync_switch<>{{.share = share, .workload = pushes, .scales_rate = true}};
}

}  // namespace rubato::lab
