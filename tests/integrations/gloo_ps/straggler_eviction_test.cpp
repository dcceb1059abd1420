// A straggler is found by the detector and taken out of a running job, all in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <rubato/gloo_ps/straggler_eviction.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace gloo_ps_straggler_eviction_test {
namespace {

namespace ps = rubato::gloo_ps;
using namespace std::chrono_literals;
using rubato::test::eventually;
using host = rubato::test::watched_loopback_host<rubato::straggler_detector>;

constexpr std::uint32_t workers = 4, slow = 2;

ps::server_options options() {
  return {.job = {.job = 9,
                  .model = {workers, 2},
                  .workers = workers,
                  .nominal_samples = 1,
                  .rule = rubato::threads_ps::sgd{{.learning_rate = 1}},
                  .limits = {.floor = 3, .ceiling = 10, .slack = 4, .hello = 2}},
          .tick = 5ms};
}
// Windows of some rounds, so that a straggler is known after a moment.
rubato::straggler_detector detector() {
  return rubato::straggler_detector{workers, {.window = 0.05, .steps = 2, .slow = 0.5}};
}
std::optional<ps::eviction> evict(host& from) {
  return ps::evict_straggler(
      from.ps, [](auto& watcher) -> auto& { return watcher; });
}
std::uint64_t windows(host& of) {
  return of.ps.decide().inspect([](auto& sync) { return sync.watcher().windows(); });
}

// Threads that train until the server says that they are no longer wanted; a step takes 1 ms, the straggler's 20.
class crew {
 public:
  explicit crew(host& at) : at_{at} {}
  ~crew() {
    at_.ps.close();
    for (std::thread& t : threads_) t.join();
  }
  void start(std::uint32_t index, std::chrono::milliseconds step) {
    threads_.emplace_back([this, index, step] { work(index, step); });
  }
  [[nodiscard]] const std::string& farewell(std::uint32_t index) const { return farewells_[index]; }
  [[nodiscard]] bool over(std::uint32_t index) const { return over_[index]; }
  [[nodiscard]] std::uint64_t pushed(std::uint32_t index) const { return pushed_[index]; }

 private:
  void work(std::uint32_t index, std::chrono::milliseconds step_time) {
    ps::worker self{ps::worker_options{.job = 9, .id = {index, 0}, .model = {workers, 2}},
                    [this](rubato::worker_id, ps::steady::time_point) { return std::optional{at_.connect()}; }};
    std::vector<float> parameters(workers), gradient(workers);
    gradient[index] = 1;
    over_[index] = false;
    for (;;) {
      const auto step = self.begin(parameters);
      ASSERT_TRUE(step) << step.error().message;
      if (!*step) break;
      std::this_thread::sleep_for(step_time);
      if (self.push(gradient, 1, 0.5F)) ++pushed_[index];
    }
    farewells_[index] = self.farewell();
    over_[index] = true;
    self.leave();
  }
  host& at_;
  std::atomic<std::uint64_t> pushed_[workers]{};
  std::atomic<bool> over_[workers]{};
  std::string farewells_[workers];
  std::vector<std::thread> threads_;
};

TEST(StragglerEviction, TakesTheStragglerOutAndTellsIt) {
  host at{options(), {"bsp", rubato::bsp{}}, detector()};
  crew all{at};
  for (std::uint32_t w = 0; w < workers; ++w) all.start(w, w == slow ? 20ms : 1ms);
  std::optional<ps::eviction> gone;
  ASSERT_TRUE(eventually([&] { return (gone = evict(at)).has_value(); }));
  EXPECT_EQ(gone->of.who, (rubato::worker_id{slow, 0}));
  EXPECT_GT(gone->of.step_time, 0.020);
  EXPECT_LT(gone->of.median, gone->of.step_time / 2);
  EXPECT_GT(gone->at, 0);
  ASSERT_TRUE(eventually([&] { return all.over(slow); }));
  EXPECT_NE(all.farewell(slow).find("this worker was taken out: its steps take 0.0"), std::string::npos)
      << all.farewell(slow);
  ASSERT_TRUE(eventually([&] { return at.ps.ends(ps::session_end::evicted) == 1; }));
  const std::uint64_t then = all.pushed(0);
  EXPECT_TRUE(eventually([&] { return all.pushed(0) > then + 20; })) << "the others go on";

  all.start(slow, 1ms);  // it comes back in good health, and stays
  EXPECT_TRUE(eventually([&] { return at.ps.connected() == workers; }));
  const std::uint64_t before = windows(at);
  std::vector<std::uint32_t> taken_out;
  EXPECT_TRUE(eventually([&] {
    if (const auto another = evict(at)) taken_out.push_back(another->of.who.index);
    return windows(at) > before + 5;
  }));
  EXPECT_EQ(std::count(taken_out.begin(), taken_out.end(), slow), 0);
}

TEST(StragglerEviction, NobodyGoesWhereNobodyWaits) {
  host at{options(), {"asp", rubato::asp{}}, detector()};
  crew all{at};
  for (std::uint32_t w = 0; w < workers; ++w) all.start(w, w == slow ? 20ms : 1ms);
  const auto known = [&] { return at.ps.decide().inspect([](auto& sync) { return sync.watcher().straggles(slow); }); };
  ASSERT_TRUE(eventually(known));
  EXPECT_FALSE(evict(at));
  ASSERT_TRUE(at.ps.decide().switch_to({"bsp", rubato::bsp{}}));
  EXPECT_TRUE(eventually([&] { return evict(at).has_value(); })) << "now the others wait for it";
}

TEST(StragglerEviction, TwoRemain) {
  host at{options(), {"bsp", rubato::bsp{}}, detector()};
  crew all{at};
  for (std::uint32_t w = 0; w < workers; ++w) all.start(w, w == slow ? 20ms : 1ms);
  const auto known = [&] { return at.ps.decide().inspect([](auto& sync) { return sync.watcher().count() == 1; }); };
  ASSERT_TRUE(eventually(known));
  for (const std::uint32_t w : {0U, 1U}) {
    EXPECT_TRUE(at.ps.evict(w));
    EXPECT_FALSE(at.ps.evict(w)) << "it is on its way out";
    ASSERT_TRUE(eventually([&] { return all.over(w); }));
    EXPECT_EQ(all.farewell(w), "the operator took this worker out");
  }
  ASSERT_TRUE(eventually([&] { return at.ps.connected() == 2; }));
  EXPECT_FALSE(evict(at)) << "one would be left";
  EXPECT_FALSE(at.ps.evict({slow, 1}, "a later life")) << "which there is not";
}

}  // namespace
}  // namespace gloo_ps_straggler_eviction_test
