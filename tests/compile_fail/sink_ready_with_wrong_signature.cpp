// expect: the sink's ready must take \(worker\)
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>

struct sink {
  void release(int, rubato::worker_id, const rubato::grant&) {}
  void ready(int) {}
};

void push(rubato::controller<rubato::asp, int>& sync) { static_cast<void>(sync.push({}, 1, sink{})); }
