// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

// An optional member that does not fit must be refused: ignored, it would apply every gradient in full.
struct misspelt {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  rubato::admission admit(const rubato::event&) noexcept { return rubato::admission::accumulate(); }
};
rubato::controller<misspelt, int> host{{.capacity = 2}, {}};
