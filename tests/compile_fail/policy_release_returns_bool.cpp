// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

struct yes_or_no {
  bool release(const rubato::cluster_view&, const rubato::event&) noexcept { return true; }
};
rubato::controller<yes_or_no, int> host{{.capacity = 2}, {}};
