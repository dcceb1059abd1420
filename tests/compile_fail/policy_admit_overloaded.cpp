// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

// None of the overloads fits: they would all be ignored.
struct overloaded {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  rubato::admission admit(const rubato::event&) noexcept { return rubato::admission::apply(); }
  rubato::admission admit(int) noexcept { return rubato::admission::apply(); }
};
rubato::controller<overloaded, int> host{{.capacity = 2}, {}};
