#ifndef RUBATO_GLOO_PS_PROGRAMS_WORKING_HPP
#define RUBATO_GLOO_PS_PROGRAMS_WORKING_HPP

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <rubato/core/rng.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/io/linux_metrics.hpp>
#include <string>
#include <thread>
#include <utility>

#include "common.hpp"
#include "task.hpp"

/// What a worker's program does, whatever moves the bytes.
struct working_options {
  std::uint32_t index = 0, incarnation = 0;
  std::uint64_t steps = 0;
  double compute = sleep_of_a_step, compute_sample = 0, link = 0, straggle = 0, straggle_for = 20, give_up = 60,
         reply_limit = 10;

  void add_to(CLI::App& app) {
    app.add_option("--steps", steps, "to push; 0: until the job ends")->capture_default_str();
    app.add_option("--compute", compute, "milliseconds that a step is asleep, besides what it takes")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--compute-sample", compute_sample, "likewise, for each sample of the step")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--link", link, "megabytes a second that the network can do, for policies that ask; 0: not known")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
    app.add_option("--straggle", straggle, "share of steps that take longer")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--straggle-for", straggle_for, "by so many milliseconds")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--give-up", give_up, "seconds without a server before it ends; over MPI, also without a worker before the job begins")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    app.add_option("--reply-limit", reply_limit, "seconds that an answer may take")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
  }
};

// The part of a step that takes time: the machine's, and now and then a straggler's.
inline void take_time(const working_options& o, std::uint64_t seed, std::uint64_t step, std::uint32_t samples) {
  rubato::random_sequence random{seed, (std::uint64_t{1} << 40) + o.index, step};
  const bool straggles = random.uniform() < o.straggle;
  const double asleep = o.compute + o.compute_sample * samples + (straggles ? o.straggle_for : 0);
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{asleep});
}

// work_to_the_end(), which catches what this throws.
template <class Connect>
int work_of(const char* program, const common_options& common, const working_options& o, Connect connect,
            bool* has_begun) {
  namespace ps = rubato::gloo_ps;
  auto made = make_task(common.task);
  if (!made) return complain(program, made.error());
  task& work = **made;
  ps::worker self{ps::worker_options{.job = common.job,
                                     .id = {o.index, o.incarnation},
                                     .model = {work.parameters().size(), common.shards},
                                     .reply_limit = o.reply_limit,
                                     .give_up = o.give_up},
                  std::move(connect)};
  rubato::linux_metrics machine{{.link = o.link * 1e6}};
  std::uint64_t pushed = 0;
  std::uint32_t connections = 0;
  bool ended = false;
  for (;;) {
    const auto step = self.begin(work.parameters());  // also after the last push: its grant says that it is in
    if (!step) return complain(program, step.error().message);
    if (self.connections() != connections) {
      connections = self.connections();
      std::printf("worker %u: incarnation %u at life %u of the server, version %llu\n", o.index, self.id().incarnation,
                  self.life(), static_cast<unsigned long long>(self.seen()));
    }
    ended = !*step;
    if (ended || (o.steps > 0 && pushed >= o.steps)) break;
    if (has_begun != nullptr) *has_begun = true;
    const task::gradient found = work.compute(o.index, (*step)->number, (*step)->samples);
    take_time(o, common.task.seed, (*step)->number, (*step)->samples);
    rubato::step_metrics measured = found.measured;
    measured.communication_time = self.communication_time();
    machine.measure(std::chrono::duration<double>(ps::steady::now().time_since_epoch()).count(), measured);
    if (self.push(found.mean, (*step)->samples, found.loss, measured)) ++pushed;
  }
  self.leave();
  std::printf("worker %u: %llu steps, version %llu, %u connections, %s\n", o.index,
              static_cast<unsigned long long>(pushed), static_cast<unsigned long long>(self.seen()), connections,
              ended ? self.farewell().c_str() : "done");
  return 0;
}

/// Fetches parameters, computes a gradient, pushes it, again and again, until it has made its steps or the server says
/// that the job has ended, or goes on without it. The status that the program ends with; also where a step throws.
/// `has_begun`, if it is asked for, becomes true when the server lets it run its first step.
template <class Connect>
int work_to_the_end(const char* program, const common_options& common, const working_options& o, Connect connect,
                    bool* has_begun = nullptr) {
  try {
    return work_of(program, common, o, std::move(connect), has_begun);
  } catch (const std::exception& e) {
    const std::string all = e.what();
    return complain(program, all.substr(0, all.find('\n')));  // torch says more, of places in its code
  }
}

#endif
