// One worker: fetches parameters, computes a gradient, pushes it, again and again, until it has made its steps or the
// server says that the job has ended, or goes on without it. Status 0: so it ended; 1: it did not, and a sentence says
// why; 2: wrong options.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <rubato/core/rng.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <thread>

#include "common.hpp"
#include "task.hpp"

namespace ps = rubato::gloo_ps;

namespace {

struct options {
  common_options common;
  std::uint32_t index = 0, incarnation = 0;
  std::uint64_t steps = 0;
  double compute = 1, straggle = 0, straggle_for = 20, give_up = 60, reply_limit = 10;
};

// The part of a step that takes time: the machine's, and now and then a straggler's.
void take_time(const options& o, std::uint64_t step) {
  rubato::random_sequence random{o.common.task.seed, (std::uint64_t{1} << 40) + o.index, step};
  const bool straggles = random.uniform() < o.straggle;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{o.compute + (straggles ? o.straggle_for : 0)});
}

int run(const options& o) {
  auto device = ps::gloo_device::open(o.common.host, o.common.interface);
  if (!device) return complain("gloo_worker", device.error());
  auto store = ps::open_store(o.common.store);
  if (!store) return complain("gloo_worker", store.error());

  auto made = make_task(o.common.task);
  if (!made) return complain("gloo_worker", made.error());
  task& work = **made;
  ps::worker self{ps::worker_options{.job = o.common.job,
                                     .id = {o.index, o.incarnation},
                                     .model = {work.parameters().size(), o.common.shards},
                                     .reply_limit = o.reply_limit,
                                     .give_up = o.give_up},
                  ps::gloo_connector{*device, *store, o.common.job, o.common.connect_limit}};
  std::uint64_t pushed = 0;
  std::uint32_t connections = 0;
  bool ended = false;
  for (;;) {
    const auto step = self.begin(work.parameters());  // also after the last push: its grant says that it is in
    if (!step) return complain("gloo_worker", step.error().message);
    if (self.connections() != connections) {
      connections = self.connections();
      std::printf("worker %u: incarnation %u at life %u of the server, version %llu\n", o.index, self.id().incarnation,
                  self.life(), static_cast<unsigned long long>(self.seen()));
    }
    ended = !*step;
    if (ended || (o.steps > 0 && pushed >= o.steps)) break;
    const task::gradient found = work.compute(o.index, (*step)->number, (*step)->samples);
    take_time(o, (*step)->number);
    if (self.push(found.mean, (*step)->samples, found.loss)) ++pushed;
  }
  self.leave();
  std::printf("worker %u: %llu steps, version %llu, %u connections, %s\n", o.index,
              static_cast<unsigned long long>(pushed), static_cast<unsigned long long>(self.seen()), connections,
              ended ? self.farewell().c_str() : "done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"A worker of a parameter server over Gloo."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  o.common.add_to(app);
  app.add_option("--index", o.index, "of this worker, from 0")->required();
  app.add_option("--incarnation", o.incarnation, "the lowest to try")->capture_default_str();
  app.add_option("--steps", o.steps, "to push; 0: until the job ends")->capture_default_str();
  app.add_option("--compute", o.compute, "milliseconds that a step takes")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--straggle", o.straggle, "share of steps that take longer")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--straggle-for", o.straggle_for, "by so many milliseconds")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--give-up", o.give_up, "seconds without a server before it ends")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--reply-limit", o.reply_limit, "seconds that an answer may take")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  o.common.apply();
  return run(o);
}
