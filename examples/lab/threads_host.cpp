#include "threads_host.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <rubato/sim/loss_feature.hpp>
#include <rubato/threads_ps/server.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "real_run.hpp"
#include "real_worker.hpp"
#include "support/core_permits.hpp"

namespace rubato::lab {
namespace {

using clock = std::chrono::steady_clock;
using server = threads_ps::server<any_policy, threads_ps::sgd, observers<scores, run_watcher>>;

class threads_host final : public real_host {
 public:
  threads_host(const setting& at, const training_data& data, const any_policy& policy, std::uint64_t seed,
               real_run& run, any_observer* also)
      : at_{at},
        data_{*data.prepared},
        seed_{seed},
        workers_{at.scenario.cluster.workers},
        pushes_{run.pushes()},
        cores_{at.scenario.cluster.cores, quantum_of(at)},
        loss_{at.scenario.run.loss},
        steps_(workers_),
        ends_(workers_),
        ps_{threads_ps::server_options{
                .sync = {.capacity = workers_, .quorum = run.quorum(), .guard = at.scenario.run.guard, .seed = seed},
                .shards = shards,
                .nominal_samples = at.scenario.run.batch},
            run.parameters(), policy,
            threads_ps::sgd{{.learning_rate = static_cast<float>(at.scenario.run.learning_rate.base),
                             .momentum = static_cast<float>(at.scenario.sgd.momentum)}},
            observers<scores, run_watcher>{scores{workers_}, run_watcher{&pushes_, also}}} {}
  ~threads_host() override { threads_host::close(); }

  void begin_life(worker_id who) override {
    ends_[who.index] = std::make_shared<std::atomic<bool>>(false);
    try {
      threads_.emplace_back([this, who, ends = ends_[who.index]] { or_give_up([&] { work(who, *ends); }); });
    } catch (const std::system_error& e) {
      throw std::runtime_error{"no thread for worker " + std::to_string(who.index) + ": " + e.what()};
    }
  }
  void end_life(worker_id who, sim::failure_kind how) override {
    ends_[who.index]->store(true);
    static_cast<void>(how == sim::failure_kind::death ? ps_.die(who) : ps_.leave(who));
  }
  clock::time_point attend() override {
    throw_failure();
    const auto due = ps_.next_deadline();
    if (due && *due <= clock::now()) ps_.poll();
    return due.value_or(clock::time_point::max());
  }
  [[nodiscard]] double now() override { return ps_.now(); }
  void snapshot(std::span<float> to) override { ps_.snapshot(to); }
  void close() override {
    over_.store(true);
    ps_.shutdown();
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }
  [[nodiscard]] counts counted(double at) override {
    return ps_.inspect(
        [&](auto& sync, auto& seen) { return counted_by(sync, seen.template get<scores>(), workers_, at); });
  }

 private:
  static constexpr std::uint32_t shards = 4;

  // A worker's thread. `ends` is how a step learns that its worker's life is over.
  void work(worker_id who, const std::atomic<bool>& ends) {
    real_worker self{at_, data_, seed_, who.index};
    auto me = ps_.join(who);
    if (!me) return;
    server::session& session = **me;
    const double begin = pushes_.after(0, {}).begin.value_or(0);
    const auto now = [&] { return (ps_.now() - begin) / at_.unit_seconds; };
    const auto in_vain = [&] { return over_.load(std::memory_order_relaxed) || ends.load() || session.cancelled(); };
    while (session.here()) {
      session.pull(self.parameters());
      const made_step made = self.step(++steps_[who.index], session.terms().batch, cores_, now, in_vain);
      if (ends.load()) return;  // dead or gone: the server has been told
      pushes_.will_push(who.index, made);
      const float loss = seen_loss(made.work, session.cancelled());
      static_cast<void>(
          session.push(self.gradient(), {.samples = made.work.samples, .loss = loss, .grad_norm = made.work.norm}));
    }
  }
  [[nodiscard]] float seen_loss(const sim::gradient& work, bool cancelled) {
    const std::lock_guard lock{loss_mutex_};
    return loss_.with(work, cancelled);
  }

  const setting& at_;
  const sim::image_data& data_;
  const std::uint64_t seed_;
  const std::uint32_t workers_;
  push_counter& pushes_;
  support::core_permits cores_;
  std::mutex loss_mutex_;
  sim::loss_feature loss_;
  std::vector<std::atomic<std::uint64_t>> steps_;  // of all lives of a worker: the simulator counts on, too
  std::atomic<bool> over_ = false;
  std::vector<std::shared_ptr<std::atomic<bool>>> ends_;  // of the present life of each worker
  server ps_;
  std::deque<std::thread> threads_;
};

}  // namespace

std::string not_on_threads(const support::scenario& s) {
  if (s.cluster.link.bandwidth > 0) return "cluster.link.bandwidth is above 0, expected 0: threads have no link";
  return not_in_real_time(s);
}

std::optional<measurement> run_on_threads(const setting& at, const training_data& data, const any_policy& policy,
                                          std::uint64_t seed, const std::atomic<bool>& stop, any_observer* watcher) {
  real_run run{at, data, seed};
  threads_host host{at, data, policy, seed, run, watcher};
  return run(host, stop);
}

}  // namespace rubato::lab
