// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

struct throwing {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  void measured(std::uint32_t, const rubato::step_metrics&) {}
};
rubato::controller<throwing, int> host{{.capacity = 2}, {}};
