// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

struct throwing {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  void shape(const rubato::cluster_view&, std::uint32_t, rubato::grant&) noexcept {}
  bool shapes() const { return false; }
};
rubato::controller<throwing, int> host{{.capacity = 2}, {}};
