// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

// Its state would silently not be saved.
struct forgetful {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  void state(int) {}
};
rubato::controller<forgetful, int> host{{.capacity = 2}, {}};
