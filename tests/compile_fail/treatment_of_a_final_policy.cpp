// expect: constraint(s not satisfied| failure) for .*scaled
// names: TreatablePolicy
#include <rubato/sync/rivals/scaled.hpp>

struct fixed final {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
};
rubato::scaled<fixed>* policy;
