// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

struct throwing {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  rubato::insight explain() const { return {}; }
};
rubato::controller<throwing, int> host{{.capacity = 2}, {}};
