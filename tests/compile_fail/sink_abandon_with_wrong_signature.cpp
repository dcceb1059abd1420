// expect: the sink's abandon must take \(ticket, worker, reason\)
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>

struct sink {
  void release(int, rubato::worker_id, const rubato::grant&) {}
  void abandon(int, rubato::worker_id) {}
};

void push(rubato::controller<rubato::asp, int>& sync) { static_cast<void>(sync.push({}, 1, sink{})); }
