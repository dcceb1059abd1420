// expect: this policy may accumulate gradients: the sink needs flush\(round, scale, n\) and discard\(round, n\)
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/controller.hpp>

void push(rubato::controller<rubato::bsp, int>& sync) {
  static_cast<void>(sync.push({}, 1, [](int, rubato::worker_id, const rubato::grant&) {}));
}
