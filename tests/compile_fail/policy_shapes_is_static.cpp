// expect: constraint(s not satisfied| failure) for .*controller
// names: SyncPolicy
#include <rubato/sync/controller.hpp>

struct fixed {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  void shape(const rubato::cluster_view&, std::uint32_t, rubato::grant&) noexcept {}
  static bool shapes() noexcept { return false; }
};
rubato::controller<fixed, int> host{{.capacity = 2}, {}};
