// How many workers one server of integrations/gloo_ps carries (docs/scaling.md).
//
//     gloo_scale [--workers 10,1000] [--policies asp,ssp:3,bsp] [--steps 0,1000] [--seconds 5] [--processes 1]
//
// A server in one process, workers in others, a thread each; real links over the loopback. Workers compute nothing:
// they push as soon as they have the parameters (--steps 0), or after a sleep of so many milliseconds, give or take a
// half. Each row is measured in processes of its own, which have a hard time limit and end with this one.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/gloo_ps/open_files.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../../integrations/gloo_ps/programs/session_threads.hpp"
#include "latencies.hpp"
#include "numbers.hpp"

namespace {

namespace ps = rubato::gloo_ps;
using rubato::bench::latencies;
using rubato::bench::number;
using rubato::bench::parts_of;
using rubato::bench::with_commas;

constexpr std::uint64_t parameters = 64, job = 1;
constexpr double join_limit = 120;  // seconds; likewise to leave
constexpr std::uint64_t files_beside = 64;

std::optional<rubato::any_policy> policy_named(std::string_view name) {
  if (name == "asp") return rubato::asp{};
  if (name == "ssp:3") return rubato::ssp{.staleness = 3};
  if (name == "bsp") return rubato::bsp{};
  return std::nullopt;
}

enum class phase : int { waiting, joining, measuring, leaving };

// What the processes of a row share.
struct board {
  std::atomic<phase> now = phase::waiting;
  latencies replies;
  std::atomic<std::uint64_t> pushes = 0, connections = 0, failures = 0;
  std::atomic<std::uint64_t> worker_memory = 0;        // bytes that the workers' processes grew by
  std::atomic<std::uint64_t> worker_microseconds = 0;  // of CPU, while measuring
  std::atomic<std::uint32_t> ready = 0;                // processes whose threads are there
};

std::uint64_t status_of_process(std::string_view field) {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size() + 1, nullptr, 10);
  return 0;
}
std::uint64_t resident() { return status_of_process("VmRSS") * 1024; }

// CPU time of this process, of all its threads.
std::uint64_t cpu_microseconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
bool within(double seconds, const std::function<bool()>& what) {
  for (const auto until = ps::after(seconds); !what(); pause_briefly())
    if (ps::steady::now() >= until) return what();
  return true;
}

struct settings {
  std::string workers = "10,100,300,1000", policies = "asp,ssp:3,bsp", steps = "0,1000";
  double seconds = 5;
  std::uint32_t processes = 1;
};
struct row {
  std::string policy{}, folder{};
  std::uint32_t workers = 0, step = 0;  // milliseconds
  double seconds = 0;
  std::uint32_t processes = 1;
};

int complain(const std::string& what, int status = 1) {
  std::fprintf(stderr, "gloo_scale: %s\n", what.c_str());
  return status;
}

// A process of a row: it ends with its parent, and at the latest after a time.
template <class Work>
pid_t start_process(double limit, Work&& work) {
  std::fflush(stdout);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::signal(SIGPIPE, SIG_IGN);
  ::alarm(static_cast<unsigned>(limit));
  const int status = work();
  std::fflush(stdout);
  ::_exit(status);
}
// Its exit status; one that does not end within the limit is killed.
int end_of_process(pid_t child, double limit) {
  int status = 1;
  const auto ended = [&] { return ::waitpid(child, &status, WNOHANG) != 0; };
  if (!within(limit, ended)) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// When a worker handed over its last push. The first thing that it is sent after a push is its grant.
struct reply_watch {
  board& to;
  ps::steady::time_point pushed{};
  bool waits = false;

  void push_is_out() { pushed = ps::steady::now(), waits = true; }
  void heard() {
    if (!std::exchange(waits, false) || to.now != phase::measuring) return;
    to.replies.add(static_cast<std::uint64_t>((ps::steady::now() - pushed).count()));
  }
};
struct watched_link {
  ps::gloo_link link;
  reply_watch* watch;

  ps::transfer send(std::span<const std::byte> m, ps::steady::time_point deadline) { return link.send(m, deadline); }
  ps::transfer recv(ps::bytes& into, std::size_t limit, ps::steady::time_point deadline) {
    ps::transfer got = link.recv(into, limit, deadline);
    if (got) watch->heard();
    return got;
  }
  bool poll(ps::steady::time_point deadline) { return link.poll(deadline); }
  void close() { link.close(); }
  bool alive() { return link.alive(); }
};

// One light worker, from its first knock until it has left.
bool work(const row& r, board& all, const std::shared_ptr<ps::gloo_device>& device,
          const std::shared_ptr<gloo::rendezvous::Store>& store, std::uint32_t index) {
  reply_watch watch{all};
  ps::gloo_connector connector{device, store, job, join_limit / 2};
  const auto connect = [&](rubato::worker_id who, ps::steady::time_point deadline) -> std::optional<watched_link> {
    auto link = connector(who, deadline);
    if (!link) return std::nullopt;
    return watched_link{std::move(*link), &watch};
  };
  ps::worker self{
      ps::worker_options{
          .job = job, .id = {index, 0}, .model = {parameters, 1}, .reply_limit = join_limit / 2, .give_up = join_limit},
      connect};
  std::vector<float> values(parameters), gradient(parameters, 1.0F);
  rubato::random_sequence random{1, index};
  bool fine = true;
  while (all.now != phase::leaving) {
    const auto step = self.begin(values);
    fine = step && *step;
    if (!fine || all.now == phase::leaving) break;
    if (r.step > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{r.step * (0.5 + random.uniform())});
    if (!self.push(gradient, (*step)->samples, 0.5F)) continue;
    watch.push_is_out();
    if (all.now == phase::measuring) all.pushes.fetch_add(1, std::memory_order_relaxed);
  }
  self.leave();
  all.connections += self.connections();
  return fine;
}

// The process of the workers from `first` on.
int workers_process(const row& r, board& all, std::uint32_t first, std::uint32_t count) {
  const auto files = ps::allow_open_files(count + files_beside);
  if (!files) return complain(files.error().message);
  auto device = ps::gloo_device::open("127.0.0.1");
  if (!device) return complain(device.error().message);
  auto store = ps::open_store("file:" + r.folder);
  if (!store) return complain(store.error().message);
  const std::uint64_t before = resident();
  std::latch go{1};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < count; ++i)
    threads.emplace_back([&, index = first + i] {
      go.wait();
      // Each has the store for itself, since Gloo's keeps a list of what it has written.
      const auto mine = ps::open_store("file:" + r.folder);
      if (!mine || !work(r, all, *device, *mine, index)) ++all.failures;
    });
  ++all.ready;
  while (all.now == phase::waiting) pause_briefly();
  go.count_down();
  while (all.now == phase::joining) pause_briefly();
  const std::uint64_t cpu = cpu_microseconds();
  while (all.now == phase::measuring) pause_briefly();
  all.worker_microseconds += cpu_microseconds() - cpu;
  all.worker_memory += resident() - before;
  for (std::thread& t : threads) t.join();
  return 0;
}

// Counts, and hears how long the controller took for each push.
struct watcher {
  std::unique_ptr<latencies> taken = std::make_unique<latencies>();
  const std::atomic<phase>* now = nullptr;

  void operator()(const rubato::record&) noexcept {}
  void decided(double seconds) noexcept {
    if (*now == phase::measuring) taken->add(static_cast<std::uint64_t>(seconds * 1e9));
  }
};

// The process of the server, which has those of the workers.
int server_process(const row& r) {
  void* const memory = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return complain("no shared memory");
  board& all = *new (memory) board{};
  const std::uint32_t k = r.workers;
  const double limit = 2 * join_limit + r.seconds + 30;
  std::vector<pid_t> children;
  for (std::uint32_t p = 0; p < r.processes; ++p) {
    const std::uint32_t first = k * p / r.processes, last = k * (p + 1) / r.processes;
    const pid_t child = start_process(limit, [&] { return workers_process(r, all, first, last - first); });
    if (child > 0) children.push_back(child);
  }
  // One that Gloo ended will not do what is waited for.
  const auto all_run = [&] {
    return std::all_of(children.begin(), children.end(), [](pid_t child) {
      siginfo_t ended{};
      return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
    });
  };
  const auto fail = [&](const std::string& what) {
    for (const pid_t child : children) end_of_process(child, 0);
    return complain(r.policy + ", " + std::to_string(k) + " workers: " + what);
  };

  if (children.size() < r.processes) return fail("no further process can be made");
  const auto files = ps::allow_open_files(k + files_beside);
  if (!files) return fail(files.error().message);
  auto device = ps::gloo_device::open("127.0.0.1");
  if (!device) return fail(device.error().message);
  auto store = ps::open_store("file:" + r.folder);
  if (!store) return fail(store.error().message);
  ps::server<watcher> here{
      {.job = {.job = job,
               .model = {parameters, 1},
               .workers = k,
               .nominal_samples = 1,
               .rule = rubato::threads_ps::sgd{{.learning_rate = 1e-6F}},
               .limits = {.floor = join_limit, .ceiling = 2 * join_limit, .hello = join_limit / 2}}},
      {r.policy, *policy_named(r.policy)},
      std::vector<float>(parameters),
      [](const std::string& line) { std::fprintf(stderr, "gloo_scale: server: %s\n", line.c_str()); },
      watcher{.now = &all.now}};
  auto doors = ps::gloo_doors::open(*device, *store, job, join_limit / 2);
  if (!doors) return fail(doors.error().message);
  if (!within(join_limit, [&] { return all.ready == r.processes || !all_run(); }) || !all_run())
    return fail("the workers could not be started");
  const std::uint64_t before = resident();

  session_threads talks;
  std::atomic<bool> open = true;
  std::thread porter{[&] {
    while (open) {
      std::string trouble;
      if (auto knock = doors->accept(ps::after(0.05)))
        trouble = talks.start([&here, k = std::move(*knock)]() mutable {
          if (auto link = std::move(k).finish()) here.serve(*link);
        });
      else
        trouble = doors->take_trouble();
      if (!trouble.empty()) complain(trouble);
      talks.reap();
    }
  }};
  const auto begin = ps::steady::now();
  all.now = phase::joining;
  const bool joined = within(join_limit, [&] { return here.connected() == k || all.failures > 0 || !all_run(); }) &&
                      here.connected() == k;
  const double took = std::chrono::duration<double>(ps::steady::now() - begin).count();
  std::uint64_t threads = 0, memory_used = 0, cpu = 0;
  double measured = 0;
  if (joined) {
    std::this_thread::sleep_for(std::chrono::duration<double>{1 + 1.5e-3 * r.step});  // until clocks have spread
    cpu = cpu_microseconds();
    const auto from = ps::steady::now();
    all.now = phase::measuring;
    std::this_thread::sleep_for(std::chrono::duration<double>{r.seconds});
    threads = status_of_process("Threads"), memory_used = resident() - before;
    all.now = phase::leaving;
    measured = std::chrono::duration<double>(ps::steady::now() - from).count();
    cpu = cpu_microseconds() - cpu;
  } else {
    all.now = phase::leaving;
  }
  bool left = true;
  for (const pid_t child : children) left = end_of_process(child, joined && left ? join_limit : 1) == 0 && left;
  here.close();
  open = false;
  porter.join();
  if (!joined) return fail(std::to_string(here.connected()) + " had joined after " + std::to_string(took) + " s");
  if (!left || all.failures > 0) return fail(std::to_string(all.failures) + " workers did not end well");

  const auto pushes = static_cast<double>(all.pushes);
  const latencies& decided = *here.decide().inspect([](auto& sync) -> watcher& { return sync.watcher(); }).taken;
  std::printf("| %s | %s | %s | %s | %.2f | %.2f | %.2f | %.1f | %.0f | %.0f | %.1f | %.1f | %llu | %.2f | %llu |\n",
              r.policy.c_str(), with_commas(k).c_str(), with_commas(r.step).c_str(),
              with_commas(pushes / measured).c_str(), decided.quantile(0.5) / 1e3, decided.quantile(0.99) / 1e3,
              all.replies.quantile(0.5) / 1e6, all.replies.quantile(0.99) / 1e6,
              static_cast<double>(cpu) / std::max(pushes, 1.0),
              static_cast<double>(all.worker_microseconds) / std::max(pushes, 1.0),
              static_cast<double>(memory_used) / 1024 / k, static_cast<double>(all.worker_memory) / 1024 / k,
              static_cast<unsigned long long>(threads), took, static_cast<unsigned long long>(all.connections - k));
  return 0;
}

// A row with a fresh store, which goes with it.
bool measure(row r) {
  std::string pattern = (std::filesystem::temp_directory_path() / "gloo_scale-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return complain("no folder at " + pattern), false;
  r.folder = pattern;
  const double limit = 2 * join_limit + r.seconds + 60;
  const pid_t child = start_process(limit, [&] { return server_process(r); });
  const bool done = child > 0 && end_of_process(child, limit) == 0;
  std::error_code ignored;
  std::filesystem::remove_all(pattern, ignored);
  return done;
}

// What is wrong with the arguments, or nothing.
std::string read(int argc, char** argv, settings& s) {
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return option + " needs a value";
    const std::string value = argv[i + 1];
    const auto range = [&](const char* expected) { return option + " " + value + ": expected " + expected; };
    if (option == "--workers") {
      s.workers = value;
    } else if (option == "--policies") {
      s.policies = value;
    } else if (option == "--steps") {
      s.steps = value;
    } else if (option == "--seconds") {
      const auto n = number<double>(value, 0.1, 60.0);
      if (!n) return range("0.1 to 60");
      s.seconds = *n;
    } else if (option == "--processes") {
      const auto n = number<std::uint32_t>(value, 1, 16);
      if (!n) return range("1 to 16");
      s.processes = *n;
    } else {
      return "unknown option " + option + ": expected --workers, --policies, --steps, --seconds or --processes";
    }
  }
  for (const std::string& w : parts_of(s.workers))
    if (!number<std::uint32_t>(w, s.processes, 10'000))
      return "--workers " + w + ": expected numbers from that of the processes to 10000";
  for (const std::string& p : parts_of(s.policies))
    if (!policy_named(p)) return "--policies " + p + ": expected asp, ssp:3, bsp";
  for (const std::string& t : parts_of(s.steps))
    if (!number<std::uint32_t>(t, 0, 10'000)) return "--steps " + t + ": expected milliseconds from 0 to 10000";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  if (const std::string wrong = read(argc, argv, s); !wrong.empty()) return complain(wrong, 2);
  std::printf(
      "| rule | workers | step ms | pushes/s | decision p50 us | p99 us | reply p50 ms | p99 ms | server CPU us/push "
      "| workers' | server KB/worker | worker KB | threads | joined s | again |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  bool all = true;
  for (const std::string& step : parts_of(s.steps))
    for (const std::string& policy : parts_of(s.policies))
      for (const std::string& workers : parts_of(s.workers))
        all = measure({.policy = policy,
                       .workers = *number<std::uint32_t>(workers, 1, 10'000),
                       .step = *number<std::uint32_t>(step, 0, 10'000),
                       .seconds = s.seconds,
                       .processes = s.processes}) &&
              all;
  return all ? 0 : 1;
}
