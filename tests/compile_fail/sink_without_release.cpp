// expect: a sink is a callable, or has a member release, for \(ticket, worker, grant\)
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>

void push(rubato::controller<rubato::asp, int>& sync) {
  static_cast<void>(sync.push({}, 1, [](int) {}));
}
