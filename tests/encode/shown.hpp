#ifndef RUBATO_TESTS_ENCODE_SHOWN_HPP
#define RUBATO_TESTS_ENCODE_SHOWN_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <rubato/encode/encoder.hpp>
#include <utility>

namespace rubato::test {

/// A step as an encoder hears of it.
[[nodiscard]] inline feedback step_of(std::uint32_t worker, double now, float loss, std::uint64_t staleness,
                                      double step_time = 1.0) {
  return {.what = {.worker = worker, .staleness = staleness, .now = now, .loss = loss, .samples = 16},
          .step_time = step_time};
}

/// Workers that all run at first: what a view shows of them.
class shown_cluster {
 public:
  explicit shown_cluster(std::uint32_t workers) : workers_{workers} {
    for (std::uint32_t w = 0; w < workers; ++w) {
      workers_.enter(w, 0, 0.0);
      start(w);
    }
  }
  void start(std::uint32_t w) {
    workers_.unpark(w);
    workers_.move_to(w, worker_state::running);
  }
  void park(std::uint32_t w) {
    workers_.move_to(w, worker_state::parked);
    workers_.park(w, totals_.now);
  }
  void take(std::uint32_t w, double step_time) { workers_.note_step_time(w, step_time); }
  void finish(std::uint32_t w) { workers_.clock().tick(w); }
  void leave(std::uint32_t w) { workers_.depart(w, worker_state::left); }
  [[nodiscard]] cluster_view view(double now, std::uint32_t submitter) {
    totals_.now = now;
    return {workers_, totals_, submitter};
  }

 private:
  roster workers_;
  view_totals totals_{};
};

template <StateEncoder Encoder>
[[nodiscard]] std::array<float, Encoder::dim> encoded(Encoder& encoder, const cluster_view& view) {
  std::array<float, Encoder::dim> out{};
  encoder.encode(view, {.worker = view.submitter(), .now = view.now()}, out);
  return out;
}

}  // namespace rubato::test

#endif
