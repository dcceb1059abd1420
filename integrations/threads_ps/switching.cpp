// A job that goes on while its rule changes. Eight threads train a linear regression behind a barrier; one becomes
// slow. An operator, here the main thread, first lets everybody go on without a barrier. Behind a barrier again, whom a
// detector has found to be slow is taken out altogether; later it comes back. What each change costs is printed beside
// what a job that restarts for it is said to take.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/rubato.hpp>
#include <rubato/sync/extras/observers.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <rubato/sync/extras/switch_pauses.hpp>
#include <rubato/threads_ps/server.hpp>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t workers = 8, slow = 5;
constexpr std::size_t dimension = 256;
constexpr std::uint32_t batch = 32;
using namespace std::chrono_literals;
using watchers = rubato::observers<rubato::switch_pauses, rubato::straggler_detector>;
using server = rubato::threads_ps::server<rubato::any_policy, rubato::threads_ps::sgd, watchers>;

// The truth that all samples come from, and a batch of them for a step of a worker: the mean squared error, and its
// gradient.
struct regression {
  std::array<float, dimension> truth{};

  regression() {
    rubato::random_sequence random{1};
    for (float& t : truth) t = static_cast<float>(random.normal());
  }
  float gradient(const std::vector<float>& parameters, std::uint32_t worker, std::uint64_t step,
                 std::vector<float>& to) const {
    rubato::random_sequence random{2 + worker, step};
    std::array<float, dimension> input;
    std::fill(to.begin(), to.end(), 0.0F);
    float loss = 0;
    for (std::uint32_t s = 0; s < batch; ++s) {
      float error = 0.01F * static_cast<float>(random.normal());
      for (std::size_t i = 0; i < dimension; ++i) {
        input[i] = static_cast<float>(2 * random.uniform() - 1);
        error += (parameters[i] - truth[i]) * input[i];
      }
      loss += error * error / batch;
      for (std::size_t i = 0; i < dimension; ++i) to[i] += 2 * error * input[i] / batch;
    }
    return loss;
  }
};

struct job {
  regression model;
  std::unique_ptr<server> ps;
  std::array<std::atomic<std::uint64_t>, workers> steps{};
  std::atomic<float> loss = 0;
  std::atomic<bool> straggles = false;

  void work(rubato::worker_id who) {
    auto me = ps->join(who);
    std::vector<float> parameters(dimension), gradient(dimension);
    while (me && (*me)->here()) {
      (*me)->pull(parameters);
      const float now = model.gradient(parameters, who.index, ++steps[who.index], gradient);
      loss = now;
      if (who.index == slow && straggles) std::this_thread::sleep_for(30ms);
      static_cast<void>((*me)->push(gradient, {.samples = batch, .loss = now}));
    }
  }
  [[nodiscard]] std::uint64_t pushes() const {
    std::uint64_t all = 0;
    for (const auto& each : steps) all += each;
    return all;
  }
};

void report(job& all, const char* what, std::chrono::milliseconds during) {
  const std::uint64_t before = all.pushes();
  std::this_thread::sleep_for(during);
  std::printf("%-44s %7.0f steps/s   loss %.5f\n", what,
              static_cast<double>(all.pushes() - before) / std::chrono::duration<double>(during).count(),
              static_cast<double>(all.loss));
}

// Waits until somebody is found slow, and declares him dead: the others go on, and he is told when he pushes.
std::optional<rubato::straggler> evict_straggler(server& from) {
  for (const auto until = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < until;) {
    const auto slowest =
        from.inspect([](auto&, watchers& seen) { return seen.get<rubato::straggler_detector>().to_evict(); });
    if (slowest && from.die(slowest->who) == rubato::errc::ok) return slowest;
    std::this_thread::sleep_for(1ms);
  }
  return std::nullopt;
}

}  // namespace

int main() {
  job all;
  const watchers seen{{}, rubato::straggler_detector{workers, {.window = 0.1, .slow = 0.5}}};
  auto made = server::make({.sync = {.capacity = workers}, .shards = 4, .nominal_samples = batch},
                           std::vector<float>(dimension), rubato::bsp{},
                           rubato::threads_ps::sgd{{.learning_rate = 0.05F}}, seen);
  if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 1;
  all.ps = std::move(*made);
  std::vector<std::thread> threads;
  const auto start = [&](rubato::worker_id who) { threads.emplace_back([&all, who] { all.work(who); }); };
  for (std::uint32_t w = 0; w < workers; ++w) start({w});

  report(all, "behind a barrier", 300ms);
  all.straggles = true;
  report(all, "behind a barrier, one worker has become slow", 300ms);

  bool well = all.ps->switch_to(rubato::asp{}, rubato::pending_gradients::flush) == rubato::errc::ok;
  report(all, "without a barrier", 300ms);
  well &= all.ps->switch_to(rubato::bsp{}, rubato::pending_gradients::flush) == rubato::errc::ok;
  const std::optional<rubato::straggler> evicted = evict_straggler(*all.ps);
  if (evicted)
    std::printf("worker %u is evicted: its steps take %.1f ms, those of the median worker %.1f ms\n",
                evicted->who.index, 1e3 * evicted->step_time, 1e3 * evicted->median);
  well &= evicted && evicted->who.index == slow;
  report(all, "behind a barrier, the slow one evicted", 300ms);
  all.straggles = false;
  start({slow, 1});
  report(all, "behind a barrier, it has come back", 300ms);

  const rubato::switch_pauses pauses =
      all.ps->inspect([](auto&, watchers& all_seen) { return all_seen.get<rubato::switch_pauses>(); });
  const rubato::switch_pause& longest = pauses.longest();
  std::printf(
      "\n%u changes of the policy; the longest pause, from the last push before to the first release after: %.3f ms,\n"
      "of which %.3f ms once the change had been asked for\n",
      static_cast<unsigned>(pauses.count()), 1e3 * longest.length(), 1e3 * longest.after_change());
  std::printf("(Sync-Switch restarts its workers for it: 36 s where there are 8; Li et al., ICDCS 2021, table 3)\n");
  all.ps->shutdown();
  for (std::thread& each : threads) each.join();
  return well && pauses.count() == 2 && all.loss < 0.1F ? 0 : 1;
}
