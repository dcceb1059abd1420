// expect: a sink is a callable, or has a member release, for \(ticket, worker, grant\)
#include <rubato/rubato.hpp>

void push(rubato::controller<rubato::asp, int>& sync) {
  static_cast<void>(sync.push({}, 1, [](int) {}));
}
