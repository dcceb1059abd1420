// expect success
#include <rubato/io/json_writer.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/controller.hpp>

struct fitting {
  rubato::decision release(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::decision::all();
  }
  rubato::admission admit(const rubato::cluster_view&, const rubato::event&) noexcept {
    return rubato::admission::apply();
  }
  void state(rubato::archive&) {}
};
struct quiet {
  void operator()(const rubato::record&) noexcept {}
};
struct rounds {
  void release(int, rubato::worker_id, const rubato::grant&) {}
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
};

void push(rubato::controller<fitting, int, quiet>& sync) { static_cast<void>(sync.push({}, 1, rounds{})); }
void push(rubato::controller<rubato::asp, int>& sync) {
  static_cast<void>(sync.push({}, 1, [](int, rubato::worker_id, const rubato::grant&) {}));
}
