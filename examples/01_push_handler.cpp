// The request handler of a parameter server, in the shape of ps-lite's, with a policy that decides who is answered, and
// when.
//
// `sync_server` is what you would write. The rest is the smallest host that can call it: three workers in virtual time,
// of which the last is slow. To change the rule, change the type `policy`, below: to rubato::asp, or rubato::bsp.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <rubato/rubato.hpp>
#include <vector>

namespace ps {  // stands for the host's transport

struct request {
  std::uint32_t sender;
  std::uint64_t step;
  double arrival;
};
struct server {
  std::vector<request> answered;
  void respond(const request& ready) { answered.push_back(ready); }
  void refuse(const request&) { ++refused; }
  int refused = 0;
};

}  // namespace ps

// The host's parameters (here one number) and its update rule. Where batch sizes or learning rates vary, the weight of
// a gradient is rubato::applied_weight(): see 02_threads_ps.cpp.
struct parameter_store {
  float value = 0.0F;
  float round = 0.0F;  // sum of the open round, for policies that collect gradients before they apply them
  static constexpr float learning_rate = 0.2F;

  void take(const rubato::admission& verdict, float gradient) {
    if (verdict.what == rubato::verdict::apply) value -= learning_rate * verdict.weight * gradient;
    if (verdict.what == rubato::verdict::accumulate) round += verdict.weight * gradient;
  }
  void flush(float scale) { value -= learning_rate * scale * round, round = 0.0F; }
};

class sync_server {
 public:
  using policy = rubato::ssp;  // <- rubato::asp, rubato::ssp or rubato::bsp

  explicit sync_server(std::uint32_t workers) : sync_{{.capacity = workers}, policy{}} {}

  // The transport calls this for every push.
  rubato::errc operator()(const ps::request& request, float gradient, ps::server& server) {
    const rubato::push_event event{.worker = {.index = request.sender},
                                   .now = request.arrival,
                                   .step = request.step,
                                   .samples = 32,
                                   .grad_norm = gradient};
    const rubato::admitted answer = sync_.admit(event);  // what is to be done with this gradient?
    store_.take(answer.what, gradient);
    // It is done: answers `request` now, or keeps it; also answers every request kept so far that may go on.
    return sync_.commit(answer.work, request.arrival, rubato::outcome::done, request, effects{store_, server});
  }

  // And this when a worker registers; it is answered once all are there.
  rubato::errc join(const ps::request& request, ps::server& server) {
    return sync_.join({.index = request.sender}, request.arrival, request, effects{store_, server});
  }

  [[nodiscard]] float parameters() const { return store_.value; }
  [[nodiscard]] const policy& rule() const { return sync_.policy(); }

 private:
  // What the controller may ask of the host; effects of one call come in the order in which they are to be done.
  struct effects {
    parameter_store& store;
    ps::server& server;
    void release(const ps::request& ready, rubato::worker_id, const rubato::grant&) { server.respond(ready); }
    void flush(std::uint64_t, float scale, std::uint32_t) { store.flush(scale); }
    void discard(std::uint64_t, std::uint32_t) { store.round = 0.0F; }
    // It will never be released, say because its worker is unknown or has pushed again: whoever waits must hear of it.
    void abandon(const ps::request& lost, rubato::worker_id, rubato::reason) { server.refuse(lost); }
  };

  parameter_store store_;
  rubato::controller<policy, ps::request> sync_;  // a waiting worker's ticket is its request
};

int main() {
  const std::vector<double> step_time{1.0, 1.1, 4.5};
  const auto workers = static_cast<std::uint32_t>(step_time.size());
  std::vector<double> next_push(step_time);
  std::vector<std::uint64_t> steps(workers, 0);

  ps::server server;
  sync_server handler{workers};
  std::printf("%s\n\n", handler.rule().describe().line.c_str());
  for (std::uint32_t w = 0; w < workers; ++w)  // the last one starts all three
    if (handler.join({w, 0, 0.0}, server) != rubato::errc::ok) return 1;

  for (int pushes = 0; pushes < 16; ++pushes) {
    const auto w = static_cast<std::uint32_t>(std::min_element(next_push.begin(), next_push.end()) - next_push.begin());
    const double now = next_push[w];
    next_push[w] = std::numeric_limits<double>::infinity();  // it waits for an answer
    server.answered.clear();

    if (handler({w, ++steps[w], now}, handler.parameters() - 3.0F, server) != rubato::errc::ok) return 1;

    std::printf("%5.1f  worker %u pushes step %llu", now, w, static_cast<unsigned long long>(steps[w]));
    for (const ps::request& ready : server.answered) {
      next_push[ready.sender] = now + step_time[ready.sender];
      if (ready.sender == w)
        std::printf("; goes on");
      else
        std::printf("; frees worker %u, held since %.1f", ready.sender, ready.arrival);
    }
    std::printf(next_push[w] > now + step_time[w] ? "; is held\n" : "\n");
  }
  std::printf("\nparameters: %.3f (optimum: 3)\n", static_cast<double>(handler.parameters()));
}
