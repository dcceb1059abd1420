// How far one decision maker goes (docs/scaling.md).
//
//     scale controller [--workers 10,1000] [--policies asp,bsp] [--seconds 0.05] [--repeats 40]
//     scale simulator  [--workers 100000]  [--policies asp,bsp] [--steps 10]
//     scale queue
//
// `controller`: a mutex around the controller, and one or two threads that call it as a host does. Workers compute
// nothing: who pushes next is drawn uniformly from those that run, and the time goes on by one over their number, as
// with exponential steps of mean 1. `simulator`: runs of sim::simulate. `queue`: a server that takes its time for each
// push, simulated, beside what the formulas say. Every row is measured in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/rubato.hpp>
#include <rubato/sim.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "numbers.hpp"
#if defined(__x86_64__)
#include "../micro/tsc.hpp"
#endif

namespace {

std::atomic<std::uint64_t> allocations{0}, allocated{0};

}  // namespace

namespace {

void* counted(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated.fetch_add(size, std::memory_order_relaxed);
  if (void* memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment)) return memory;
  std::abort();
}

}  // namespace

// Out of line: GCC takes free() of memory from an inlined operator new for a mistake.
#define SCALE_OPERATOR [[gnu::noinline]]
SCALE_OPERATOR void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
SCALE_OPERATOR void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
SCALE_OPERATOR void operator delete(void* memory) noexcept { std::free(memory); }
SCALE_OPERATOR void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
SCALE_OPERATOR void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
SCALE_OPERATOR void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using rubato::any_policy;
using rubato::grant;
using rubato::worker_id;
using rubato::bench::number;
using rubato::bench::parts_of;
using rubato::bench::with_commas;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

// Bytes that the process has in memory now, and has had at most; 0 where the system does not say.
std::uint64_t memory_of(std::string_view field) {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
  return 0;
}
std::uint64_t resident() { return memory_of("VmRSS"); }
std::uint64_t peak() { return memory_of("VmHWM"); }

std::optional<any_policy> policy_named(std::string_view name) {
  if (name == "asp") return rubato::asp{};
  if (name == "ssp:3") return rubato::ssp{.staleness = 3};
  if (name == "bsp") return rubato::bsp{};
  if (name == "knee") return rubato::knee{};
  return std::nullopt;
}

// A host as in docs/sync.md, whose workers compute nothing. Each of its threads serves the workers of its own
// connections.
class host {
 public:
  host(const any_policy& policy, std::uint32_t workers) : sync_{{.capacity = workers}, policy} {
    running_.reserve(workers);
    for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync_.join({w, 0}, 0.0, w, sink{*this}));
  }

  // One push; false if nobody runs, since another thread is about to commit. Stamps around the calls, if wanted.
  bool push(std::vector<std::uint64_t>* stamps = nullptr) {
    rubato::admitted what;
    std::uint32_t w = 0;
    std::uint64_t taken = 0;
    {
      const std::lock_guard lock{mutex_};
      if (running_.empty()) return false;
      std::swap(running_[random_.below(running_.size())], running_.back());
      w = running_.back();
      running_.pop_back();
      now_ += 1.0 / static_cast<double>(running_.size() + 1);
      const std::uint64_t before = stamp(stamps);
      what = sync_.admit({.worker = {w, 0}, .now = now_, .samples = 16, .loss = 1.0F});
      taken = stamp(stamps) - before;
    }
    // Here a host applies or adds the gradient.
    const std::lock_guard lock{mutex_};
    released_ = 0;
    const std::uint64_t before = stamp(stamps);
    static_cast<void>(sync_.commit(what.work, now_, rubato::outcome::done, w, sink{*this}));
    if (stamps != nullptr) {
      stamps->push_back(taken += stamp(stamps) - before);
      if (released_ * 2 >= sync_.workers().capacity())
        least_of_many_ = std::min(least_of_many_, static_cast<double>(taken) / static_cast<double>(released_));
    }
    ++pushes_;
    held_ += released_ == 0;
    most_ = std::max(most_, released_);
    return true;
  }

  [[nodiscard]] std::uint64_t pushes() const { return pushes_; }
  [[nodiscard]] double share_held() const { return static_cast<double>(held_) / static_cast<double>(pushes_); }
  [[nodiscard]] std::uint64_t most_released() const { return most_; }
  // Counts of the stamp for each worker that a call released, of the quickest call that released half of all or more.
  [[nodiscard]] double least_of_many() const { return least_of_many_; }
  void forget() { pushes_ = held_ = most_ = 0; }

 private:
  struct sink {
    host& self;
    void release(std::uint32_t, worker_id worker, const grant&) const {
      self.running_.push_back(worker.index);
      ++self.released_;
    }
    void flush(std::uint64_t, float, std::uint32_t) const {}
    void discard(std::uint64_t, std::uint32_t) const {}
  };
  static std::uint64_t stamp([[maybe_unused]] const void* wanted) {
#if defined(__x86_64__)
    if (wanted != nullptr) return rubato::bench::stamp();
#endif
    return 0;
  }

  std::mutex mutex_;  // guards all below
  std::vector<std::uint32_t> running_;
  rubato::random_sequence random_{1};
  std::uint64_t pushes_ = 0, held_ = 0, most_ = 0, released_ = 0;
  double least_of_many_ = std::numeric_limits<double>::infinity();
  double now_ = 0.0;
  rubato::controller<any_policy, std::uint32_t> sync_;
};

// Until clocks have spread, and `knee` has looked round.
void warm_up(host& h, std::uint32_t workers) {
  while (h.pushes() < std::uint64_t{workers} * 8 + 20'000) h.push();
  h.forget();
}

// The best of short pieces: a mean would measure the neighbours.
double pushes_per_second(const any_policy& policy, std::uint32_t workers, std::uint32_t threads, double duration,
                         int repeats) {
  host h{policy, workers};
  warm_up(h, workers);
  double best = 0.0;
  for (int i = 0; i < repeats; ++i) {
    const clock_type::time_point start = clock_type::now();
    std::vector<std::uint64_t> pushes(threads);
    const auto serve = [&](std::uint32_t thread) {
      std::uint64_t mine = 0;
      while (seconds_since(start) < duration)
        for (int n = 0; n < 64; ++n) {
          if (h.push())
            ++mine;
          else
            std::this_thread::yield();
        }
      pushes[thread] = mine;
    };
    std::vector<std::thread> others;
    for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(serve, t);
    serve(0);
    for (std::thread& t : others) t.join();
    const double taken = seconds_since(start);
    // A piece in which a thread hardly ran, because another program had its core, says nothing of several threads.
    const auto all = static_cast<double>(std::accumulate(pushes.begin(), pushes.end(), std::uint64_t{0}));
    const auto least = static_cast<double>(*std::min_element(pushes.begin(), pushes.end()));
    if (least * threads > 0.6 * all) best = std::max(best, all / taken);
  }
  return best;
}

void controller_row(const std::string& name, const any_policy& policy, std::uint32_t workers, double duration,
                    int repeats) {
  const std::uint64_t resident_before = resident(), count_before = allocations, bytes_before = allocated;
  rubato::controller<any_policy, std::uint32_t> alone{{.capacity = workers}, policy};
  struct sink {
    void release(std::uint32_t, worker_id, const grant&) const {}
    void flush(std::uint64_t, float, std::uint32_t) const {}
    void discard(std::uint64_t, std::uint32_t) const {}
  };
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(alone.join({w, 0}, 0.0, w, sink{}));
  const std::uint64_t count = allocations - count_before, bytes = allocated - bytes_before;
  const std::uint64_t grown = resident() - resident_before;

  host timed{policy, workers};
  warm_up(timed, workers);
  std::vector<std::uint64_t> stamps;
  stamps.reserve(std::max<std::size_t>(400'000, std::size_t{workers} * 4));
  const std::uint64_t count_warm = allocations;
  while (stamps.size() < stamps.capacity()) timed.push(&stamps);
  const std::uint64_t count_hot = allocations - count_warm;
  std::string p50 = "-", p99 = "-", each = "-";
#if defined(__x86_64__)
  const rubato::bench::counter tsc;
  p50 = with_commas(tsc.quantile(stamps, 0.5));
  p99 = with_commas(tsc.quantile(stamps, 0.99));
  if (timed.most_released() * 2 >= workers) each = std::to_string(timed.least_of_many() * tsc.tick).substr(0, 4);
#endif
  const double one = pushes_per_second(policy, workers, 1, duration, repeats);
  const double two = pushes_per_second(policy, workers, 2, duration, repeats);
  std::printf("| %s | %s | %.2f | %.2f | %s | %s | %.3f | %s | %s | %s | %s | %llu | %llu |\n", name.c_str(),
              with_commas(workers).c_str(), one / 1e6, two / 1e6, p50.c_str(), p99.c_str(), timed.share_held(),
              with_commas(static_cast<double>(timed.most_released())).c_str(), each.c_str(),
              with_commas(static_cast<double>(bytes) / workers).c_str(),
              workers < 1'000 ? "-" : with_commas(static_cast<double>(grown) / workers).c_str(),
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(count_hot));
}

void simulator_row(const std::string& name, const any_policy& policy, std::uint32_t workers, std::uint32_t steps) {
  using namespace rubato::sim;
  const std::uint64_t before = resident();
  const run_options run{.seed = 1,
                        .stop = stop_rule::workload,
                        .workload = std::uint64_t{workers} * steps * 16,
                        .max_time = 1e6,
                        .evaluate_every = std::max(1'000U, workers / 10),
                        .learning_rate = {.base = 0.1 / workers}};
  cluster_options cluster{.workers = workers};
  cluster.stragglers = {.kind = straggler_kind::fixed, .probability = 0.3};
  quadratic goal;
  const std::clock_t start = std::clock();  // of this process: neighbours do not count
  const run_result r = simulate(cluster, run, policy, goal);
  const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("| %s | %s | %s | %.1f | %s | %.2f | %.2f | %s | %llu |\n", name.c_str(), with_commas(workers).c_str(),
              rubato::sim::name(r.end).data(), r.time, with_commas(static_cast<double>(r.pushes)).c_str(), taken,
              static_cast<double>(r.pushes) / taken / 1e6,
              with_commas(static_cast<double>(peak() - before) / workers).c_str(),
              static_cast<unsigned long long>(r.overrides));
}

// k workers with steps of 1, and a server that takes `service` for each push: simulated, and the two asymptotes.
void queue_row(std::uint32_t workers, double service) {
  using namespace rubato::sim;
  const run_options run{.seed = 1,
                        .stop = stop_rule::workload,
                        .workload = std::uint64_t{workers} * 4'000 * 16,
                        .max_time = 1e9,
                        .evaluate_every = 1'000'000,
                        .learning_rate = {.base = 0.01 / workers}};
  cluster_options cluster{.workers = workers, .jitter = 0.25, .decision_time = service};
  quadratic goal;
  const run_result r = simulate(cluster, run, rubato::asp{}, goal);
  const double rate = static_cast<double>(r.pushes) / r.time, load = rate * service;
  // Each worker's cycle is step + wait + service: the wait follows from the rate (Little).
  const double wait = workers / rate - 1.0 - service;
  const double md1 = load < 1.0 ? load * service / (2.0 * (1.0 - load)) : 0.0;
  std::printf("| %s | %.4f | %.2f | %.2f | %.2f | %.3f | %s | %.2f |\n", with_commas(workers).c_str(), service, rate,
              workers / (1.0 + service), 1.0 / service, load,
              load > 0.995 ? "-" : std::to_string(md1 / service).substr(0, 5).c_str(), wait / service);
}

// Measured where nothing was before.
template <class Row>
bool in_a_process_of_its_own(Row&& row) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    row();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int complain(const std::string& what) {
  std::fprintf(stderr, "scale: %s\n", what.c_str());
  return 2;
}

struct settings {
  std::string what, workers, policies = "asp,ssp:3,bsp,knee";
  double seconds = 0.05;
  int repeats = 40;
  std::uint32_t steps = 10;
};

// What is wrong with the arguments, or nothing.
std::string read(int argc, char** argv, settings& s) {
  if (argc < 2) return "expected controller, simulator or queue";
  s.what = argv[1];
  if (s.what != "controller" && s.what != "simulator" && s.what != "queue")
    return s.what + ": expected controller, simulator or queue";
  s.workers = s.what == "controller" ? "10,100,1000,10000,100000" : "1000,10000,100000";
  for (int i = 2; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) return std::string{option} + " needs a value";
    const std::string_view value = argv[i + 1];
    const auto out_of_range = [&] { return std::string{option} + " " + std::string{value} + ": out of range"; };
    if (option == "--workers") {
      s.workers = value;
    } else if (option == "--policies") {
      s.policies = value;
    } else if (option == "--seconds") {
      const auto n = number<double>(value, 0.01, 60.0);
      if (!n) return out_of_range();
      s.seconds = *n;
    } else if (option == "--repeats") {
      const auto n = number<int>(value, 1, 100);
      if (!n) return out_of_range();
      s.repeats = *n;
    } else if (option == "--steps") {
      const auto n = number<std::uint32_t>(value, 1, 1'000);
      if (!n) return out_of_range();
      s.steps = *n;
    } else {
      return "unknown option " + std::string{option};
    }
  }
  for (const std::string& w : parts_of(s.workers))
    if (!number<std::uint32_t>(w, 2, 1'000'000)) return "--workers " + w + ": expected numbers from 2 to 1000000";
  for (const std::string& p : parts_of(s.policies))
    if (!policy_named(p)) return "--policies " + p + ": expected asp, ssp:3, bsp, knee";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  if (const std::string wrong = read(argc, argv, s); !wrong.empty()) return complain(wrong);
  bool all = true;
  if (s.what == "queue") {
    std::printf(
        "| workers | service | pushes a step time | of workers | of the server | load | M/D/1 wait | measured wait |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (const std::uint32_t k : {10U, 50U, 80U, 90U, 95U, 100U, 110U, 150U, 300U})
      all = in_a_process_of_its_own([&] { queue_row(k, 0.01); }) && all;
    return all ? 0 : 1;
  }
  std::printf(
      s.what == "controller"
          ? "| rule | workers | M pushes/s, 1 thread | 2 threads | p50 ns | p99 ns | held | most released | ns each | "
            "bytes/worker | resident/worker | allocations | while running |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
          : "| rule | workers | end | time | pushes | CPU seconds | M pushes/s | bytes/worker | overrides |\n"
            "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string& name : parts_of(s.policies))
    for (const std::string& workers : parts_of(s.workers)) {
      const std::uint32_t k = *number<std::uint32_t>(workers, 2, 1'000'000);
      all = in_a_process_of_its_own([&] {
              if (s.what == "controller")
                controller_row(name, *policy_named(name), k, s.seconds, s.repeats);
              else
                simulator_row(name, *policy_named(name), k, s.steps);
            }) &&
            all;
    }
  return all ? 0 : 1;
}
