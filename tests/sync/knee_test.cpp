#include <rubato/sync/knee.hpp>

#include "knee_machine.hpp"
#include "recorder.hpp"

#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

namespace {

using namespace rubato;
using test::cores;
using test::free_cores;
using test::knee_machine;

TEST(Knee, FindsTheKnee) {
  for (const std::uint32_t c : {1u, 2u, 3u, 4u, 5u, 7u, 9u, 12u}) {
    knee_machine machine{{}, 12, cores(c)};
    machine.run(150);
    EXPECT_EQ(machine.control().policy().parallelism(), c);
    EXPECT_NEAR(machine.mean_running(2000), c, 0.1 * c) << "trials are rare";
    EXPECT_TRUE(machine.ok());
  }
}

TEST(Knee, FindsTheKneeOfASmoothCurve) {
  // Throughput n / (1 + n / 8): its elasticity, 1 / (1 + n / 8), is above 0.5 below n = 8.
  knee_machine machine{{.threshold = 0.5F}, 32, [](double n) { return n / (1.0 + n / 8.0); }};
  machine.run(600);
  EXPECT_NEAR(machine.control().policy().parallelism(), 8.0, 1.0);
}

TEST(Knee, FindsTheKneeAmongManyWorkers) {
  knee_machine machine{{}, 200, cores(48)};
  machine.run(3000);
  EXPECT_NEAR(machine.control().policy().parallelism(), 48.0, 3.0);
}

TEST(Knee, FindsTheKneeInSpiteOfJitter) {
  knee_machine machine{{}, 10, cores(4)};
  machine.jitter = 40;
  machine.run(200);
  EXPECT_NEAR(machine.mean_running(4000), 4.0, 0.5);
}

// docs/policies.md names these figures.
TEST(Knee, TheSearchIsShort) {
  const auto steps_to = [](std::uint32_t level, const std::function<double(double)>& curve) {
    knee_machine machine{{}, 10, curve};
    std::uint32_t steps = 0;
    while (machine.control().policy().searches() && steps < 1000) machine.run(1), ++steps;
    EXPECT_EQ(machine.control().policy().parallelism(), level);
    return steps;
  };
  EXPECT_EQ(steps_to(10, free_cores), 15u);
  EXPECT_LE(steps_to(4, cores(4)), 34u);
  EXPECT_LE(steps_to(2, cores(2)), 34u);
  EXPECT_LE(steps_to(1, cores(1)), 34u);
}

TEST(Knee, FollowsADrift) {
  knee_machine machine{{}, 16, cores(4)};
  machine.run(2000);
  ASSERT_EQ(machine.control().policy().parallelism(), 4u);
  for (const std::uint32_t c : {12u, 2u, 16u, 1u, 4u}) {
    machine.curve = cores(c);
    machine.run(3000);
    EXPECT_NEAR(machine.mean_running(1000), c, 0.15 * c + 0.2) << "of " << c;
  }
}

TEST(Knee, TheSearchMayBeginAnewForEver) {
  knee_machine machine{{}, 10, cores(4)};
  machine.jitter = 20;
  for (int drift = 0; drift < 400; ++drift) {
    const std::uint32_t c = drift % 2 == 0 ? 4 : 10;
    machine.curve = cores(c);
    machine.run(3000);
    ASSERT_NEAR(machine.control().policy().parallelism(), c, 2.0) << drift;
  }
}

TEST(Knee, RunsEverybodyWhereNothingIsShared) {
  knee_machine machine{{}, 10, free_cores};
  machine.run(40);
  EXPECT_EQ(machine.control().policy().parallelism(), 10u);
  EXPECT_GT(machine.mean_running(2000), 9.8);
}

// knee as used by one who gives each worker a quarter of a batch of 16 and a whole one in turn.
struct knee_of_batches : knee {
  bool says_so;
  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    if (says_so && what.samples > 0) allow_for_batch(static_cast<float>(what.samples) / 16.0F);
    return knee::release(view, what);
  }
  void shape(const cluster_view& view, std::uint32_t worker, grant& terms) noexcept {
    terms.batch = view.clock_of(worker) % 2 == 0 ? 4 : 16;
    knee::shape(view, worker, terms);
  }
};

TEST(Knee, AllowsForBatches) {
  const auto mean_distance = [](bool says_so) {
    test::shared_machine<knee_of_batches> machine{{{}, says_so}, 12, cores(5)};
    machine.batch = 16;
    double sum = 0;
    for (int n = 0; n < 400; ++n)
      sum += std::abs(static_cast<double>(machine.run(5).control().policy().parallelism()) - 5.0);
    return sum / 400;
  };
  EXPECT_LT(mean_distance(true), 0.3);
  EXPECT_GT(mean_distance(false), 1.0);
}

// Over as many steps as there are workers.
std::uint32_t longest_queue(knee_machine& machine) {
  std::uint32_t most = 0;
  for (std::size_t n = 0; n < machine.speed.size(); ++n)
    most = (std::max)(most, machine.run(1).control().workers().in(worker_state::parked));
  return most;
}

TEST(Knee, ABarrierWhereItIsCheap) {
  knee_machine machine{{}, 10, free_cores};
  machine.jitter = 10;
  machine.run(50);
  EXPECT_EQ(longest_queue(machine), 9u);
  for (std::uint32_t n = 0; n < 100; ++n) {
    const std::uint32_t before = machine.control().workers().in(worker_state::parked);
    EXPECT_EQ(machine.run(1).control().workers().in(worker_state::parked), (before + 1) % 10) << "a trial too soon";
  }
  EXPECT_GT(machine.mean_running(2000), 9.0);
}

TEST(Knee, NoBarrierWhereItIsDear) {
  knee_machine shared{{}, 10, cores(4)};
  knee_machine unequal{{}, 10, free_cores};
  unequal.speed[3] = 0.7;
  for (knee_machine* each : {&shared, &unequal})
    for (int n = 0; n < 1000; ++n) ASSERT_FALSE(each->run(1).control().policy().has_barrier()) << n;
  unequal.die(3).run(2000);
  EXPECT_TRUE(unequal.control().policy().has_barrier()) << "the dead keep nobody";
}

TEST(Knee, NobodyWaitsLongForTheLate) {
  for (const bool polls : {true, false}) {
    knee_machine machine{{}, 10, free_cores};
    machine.polls = polls;
    machine.run(50);
    ASSERT_EQ(longest_queue(machine), 9u);
    while (machine.running() < 10) machine.run(1);
    machine.sleep[3] = 5.0;
    const double begin = machine.now();
    const std::uint32_t steps = machine.starts(0);
    while (machine.starts(0) == steps) machine.run(1);
    EXPECT_NEAR(machine.now() - begin, polls ? std::exp2(0.3) + 1.0 : 6.0, 0.01);
    EXPECT_FALSE(machine.control().policy().has_barrier());
  }
}

// Those who wait are the quicker the more have become so, and then the barrier is not what it was.
TEST(Knee, ABarrierIsMeasuredByStepsAsTheyAre) {
  knee_machine machine{{}, 10, free_cores};
  machine.run(50);
  ASSERT_TRUE(machine.control().policy().has_barrier());
  for (std::uint32_t w = 1; w < 10; ++w) machine.speed[w] = 4.0;
  machine.run(2000);
  EXPECT_FALSE(machine.control().policy().has_barrier());
  EXPECT_GT(machine.mean_running(1000), 9.0);
}

TEST(Knee, BarrierSurvivesJoinsAndDeaths) {
  knee_machine machine{{}, 12, free_cores};
  machine.die(11).run(60);
  ASSERT_EQ(longest_queue(machine), 10u);
  machine.run(4).join(11).run(9).die(2).die(11).run(30);
  EXPECT_EQ(longest_queue(machine), 9u);
  EXPECT_TRUE(machine.ok());

  knee_machine few{{}, 10, cores(4)};
  few.run(500);
  for (std::uint32_t w = 3; w < 10; ++w) few.die(w);
  few.run(500);
  ASSERT_TRUE(few.control().policy().has_barrier());
  for (std::uint32_t w = 3; w < 10; ++w) few.join(w);
  EXPECT_FALSE(few.control().policy().has_barrier()) << "they are fewer than all again";
}

// A step begins at the pull, so what passes between release and pull is no lateness.
TEST(Knee, BarrierWhereWorkersPull) {
  struct host {
    std::multimap<double, std::pair<bool, std::uint32_t>> agenda;  // when who pulls, or pushes
    double now = 0.0;
    void release(std::uint32_t worker, worker_id, const grant&) { agenda.emplace(now + 1.0, std::pair{true, worker}); }
    void ready(worker_id who) { agenda.emplace(now + 0.5, std::pair{false, who.index}); }
    void flush(std::uint64_t, float, std::uint32_t) {}
    void discard(std::uint64_t, std::uint32_t) {}
  } sink;
  controller<knee, std::uint32_t> control{{.capacity = 10, .park = park_on::pull}, knee{}};
  for (std::uint32_t w = 0; w < 10; ++w) ASSERT_EQ(control.join({w, 0}, 0.0, std::nullopt, sink), errc::ok);
  std::uint32_t beside_a_barrier = 0;
  for (int pushes = 0; pushes < 1000;) {
    if (control.next_deadline() < sink.agenda.begin()->first) {
      sink.now = (std::max)(sink.now, control.next_deadline());
      control.poll(sink.now, sink);
      continue;
    }
    const auto [time, what] = *sink.agenda.begin();
    sink.agenda.erase(sink.agenda.begin());
    sink.now = time;
    if (what.first) {
      ++pushes;
      ASSERT_EQ(control.push({.worker = {what.second, 0}, .now = time}, std::nullopt, sink), errc::ok);
    } else {
      ASSERT_EQ(control.pull({what.second, 0}, time, what.second, sink), errc::ok);
    }
    beside_a_barrier += control.policy().has_barrier() ? 1 : 0;
  }
  EXPECT_GT(beside_a_barrier, 1900u) << "of 2000 events";
}

// Mean number of steps until a level near the new knee is found, over runs that differ in when the drift begins.
TEST(Knee, FollowsADriftFromABarrier) {
  for (const std::uint64_t jitter : {0u, 10u, 20u, 40u})
    for (const std::uint32_t c : {1u, 2u, 4u, 8u}) {
      std::uint32_t steps = 0;
      for (std::uint32_t run = 0; run < 10; ++run) {
        knee_machine machine{{}, 10, free_cores};
        machine.jitter = jitter;
        machine.run(400 + 37 * run);
        machine.curve = cores(c);
        while (machine.control().policy().parallelism() > c + 1 && steps < 100'000) machine.run(1), ++steps;
        EXPECT_FALSE(machine.control().policy().has_barrier());
      }
      EXPECT_LT(steps / 10, 1000u) << jitter << " %, to " << c;
    }
}

// A worker that is the fastest, and of no use, would be released again and again.
TEST(Knee, DroppedGradientsStopNobody) {
  for (const std::uint32_t c : {1u, 2u, 4u}) {
    knee_machine machine{{}, 8, cores(c)};
    machine.speed[0] = 1.5;
    machine.run(2000);
    machine.diverged = 0;
    const std::uint32_t before = machine.starts(0);
    machine.run(20'000);
    EXPECT_LT(machine.starts(0) - before, 11'000u) << c;
  }
}

TEST(Knee, PrefersTheFast) {
  knee_machine machine{{}, 8, cores(3)};
  machine.speed = {1.0, 0.2, 1.0, 0.2, 0.2, 1.0, 0.2, 0.2};
  machine.run(4000);
  EXPECT_GT(machine.starts(0) + machine.starts(2) + machine.starts(5), 3800u);
}

// A fifth worker that sleeps half the time slows four less down than one that does not, but brings less too.
TEST(Knee, SlowWorkersCountForWhatTheyBring) {
  for (const std::uint64_t jitter : {0u, 10u}) {
    knee_machine machine{{}, 10, cores(4)};
    machine.jitter = jitter;
    for (std::uint32_t w = 4; w < 10; ++w) machine.sleep[w] = 1.0;
    EXPECT_NEAR(machine.run(2000).mean_running(2000), 4.0, 0.2);
  }
  knee_machine idle{{}, 10, cores(10)};
  for (std::uint32_t w = 4; w < 10; ++w) idle.sleep[w] = 3.0;
  EXPECT_NEAR(idle.run(2000).mean_running(2000), 10.0, 0.2) << "cores are free: they are welcome";
}

// Three idle ones are faster than worker 5 was, so without turns it would never run again.
TEST(Knee, NoticesWhoHasBecomeFast) {
  knee_machine machine{{}, 6, cores(2)};
  machine.speed = {1.0, 1.0, 0.5, 0.5, 0.5, 0.25};
  machine.run(500);
  ASSERT_LT(machine.starts(5), 10u);
  machine.speed[5] = 2.0;
  machine.run(20000);
  const std::uint32_t before = machine.starts(5);
  EXPECT_GT(machine.run(1000).starts(5) - before, 500u);
}

TEST(Knee, SurvivesJoinsAndDeaths) {
  knee_machine machine{{}, 10, cores(4), {.quorum = 10, .guard = {.enabled = false}}};
  machine.run(500);
  for (std::uint32_t w = 0; w < 8; ++w) machine.die(w).run(20);
  EXPECT_EQ(machine.running(), 2u) << "fewer than the knee are left: all run";
  for (std::uint32_t w = 0; w < 8; ++w) machine.join(w).run(20);
  machine.run(1000);
  EXPECT_NEAR(machine.mean_running(500), 4.0, 0.4);
  EXPECT_TRUE(machine.ok());
}

// A machine in which one worker after another is replaced, `gap` steps apart, until `done`; the steps that it took.
template <class Done>
std::uint32_t replace_until(Done done, knee_machine& machine, std::uint32_t workers, std::uint32_t gap) {
  std::uint32_t steps = 0;
  for (std::uint32_t w = 0; !done() && steps < 200 * workers; w = (w + 1) % workers, steps += gap)
    machine.run(gap).die(w).join(w);
  EXPECT_TRUE(machine.ok());
  return steps;
}

TEST(Knee, FindsTheKneeWhileWorkersComeAndGo) {
  for (const std::uint32_t workers : {16u, 64u, 256u})
    for (const std::uint32_t gap : {workers, workers / 2}) {
      knee_machine machine{{}, workers, cores(workers / 4)};
      machine.jitter = 10;
      const auto over = [&] { return !machine.control().policy().searches(); };
      EXPECT_LT(replace_until(over, machine, workers, gap), 20 * workers) << workers << " workers, " << gap;
      EXPECT_NEAR(machine.control().policy().parallelism(), workers / 4, workers / 8) << workers << " workers, " << gap;
    }
}

TEST(Knee, FollowsADriftWhileWorkersComeAndGo) {
  for (const std::uint32_t workers : {16u, 64u})
    for (const std::uint32_t gap : {1000u, 250u, 120u, 60u}) {
      double c = workers / 4;
      knee_machine machine{{}, workers, [&c](double n) { return (std::min)(n, c); }};
      machine.jitter = 10;
      machine.run(200 * workers);
      c = 3 * workers / 4;
      const auto followed = [&] { return machine.control().policy().parallelism() > c / 2; };
      EXPECT_LT(replace_until(followed, machine, workers, gap), 150 * workers) << workers << " workers, " << gap;
    }
}

TEST(Knee, AUsedOneStartsAfresh) {
  knee_machine machine{{}, 12, cores(4)};
  machine.jitter = 20;
  machine.run(200);
  machine.curve = cores(2);
  knee used = machine.control().policy();
  ASSERT_EQ(machine.control().switch_to(used, machine.now(), pending_gradients::flush, machine), errc::ok);
  EXPECT_TRUE(machine.control().policy().searches());
  machine.run(1000);
  EXPECT_NEAR(machine.mean_running(1000), 2.0, 0.3);
}

TEST(Knee, RunsWhoeverGuardAndCallsLetRun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    random_sequence random{seed, 1};
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
    const controller_options options{.guard = {.bound = below(4)}, .max_release_per_call = 1 + below(3)};
    knee_machine machine{{}, 10, cores(1 + below(10)), options};
    machine.jitter = below(50);
    for (int change = 0; change < 40; ++change) {
      const std::uint32_t w = below(10);
      if (below(2) == 0) machine.die(w).run(below(60)).join(w);
      machine.run(below(200));
    }
    EXPECT_TRUE(machine.ok()) << seed;
  }
}

TEST(Knee, NewcomersRunWhereNothingIsShared) {
  knee_machine machine{{}, 16, free_cores};
  for (std::uint32_t w = 2; w < 16; ++w) machine.die(w);
  machine.run(300);
  for (std::uint32_t w = 2; w < 16; ++w) machine.join(w);
  EXPECT_EQ(machine.running(), 16u);
}

TEST(Knee, SearchesAgainWhenManyMoreHaveCome) {
  knee_machine machine{{}, 64, cores(8)};
  for (std::uint32_t w = 4; w < 64; ++w) machine.die(w);
  machine.run(300);
  EXPECT_EQ(machine.control().policy().parallelism(), 4u);
  for (std::uint32_t w = 4; w < 64; ++w) machine.join(w);
  machine.run(600);
  EXPECT_EQ(machine.control().policy().parallelism(), 8u);
}

TEST(Knee, OneWorker) {
  knee_machine machine{{}, 1, cores(1), {.guard = {.enabled = false}}};
  machine.run(100);
  EXPECT_EQ(machine.starts(0), 101u);
  EXPECT_TRUE(machine.ok());
}

TEST(Knee, ScalesTheLearningRateWithParallelism) {
  knee_machine crowd{{}, 16, cores(16)};
  EXPECT_FLOAT_EQ(crowd.run(500).lr_scale(), 1.0F);
  knee_machine half{{}, 16, cores(8)};
  EXPECT_FLOAT_EQ(half.run(500).lr_scale(), std::sqrt(2.0F));
  knee_machine one{{}, 16, cores(1)};
  EXPECT_FLOAT_EQ(one.run(500).lr_scale(), 2.0F) << "the limit";
  knee_machine untied{{.scales_rate = false}, 16, cores(1)};
  EXPECT_FLOAT_EQ(untied.run(500).lr_scale(), 1.0F);
}

TEST(Knee, ForgetsNothing) {
  for (const double c : {4.0, 10.0})
    for (const std::uint32_t steps : {7u, 30u, 61u, 404u}) {
      knee_machine machine{{}, 10, cores(c)};
      machine.jitter = 10;
      machine.run(steps);
      knee_machine copy = test::restored(machine);
      machine.sleep[3] = copy.sleep[3] = 0.5;  // the latest at the barrier
      for (int n = 0; n < 300; ++n) {
        machine.run(1), copy.run(1);
        ASSERT_EQ(machine.now(), copy.now()) << c << " cores, " << steps << ", " << n;
        ASSERT_EQ(machine.lr_scale(), copy.lr_scale());
      }
    }
}

// Numbers that no run has left there are refused, or soon of no matter.
TEST(Knee, SavedStateFromOutsideFreezesNothing) {
  knee_machine machine{{}, 10, cores(4)};
  machine.jitter = 10;
  machine.run(300);
  archive out;
  knee{machine.control().policy()}.state(out);
  for (const std::uint32_t bits : {0x7FC00000U, 0x7F7FFFFFU, 0xFFFFFFFFU, 0U})  // NaN, the largest float, all, none
    for (std::size_t at = 0; at + sizeof bits <= out.bytes().size(); ++at) {
      std::vector<std::byte> bytes(out.bytes().begin(), out.bytes().end());
      std::memcpy(&bytes[at], &bits, sizeof bits);
      knee_machine copy = machine;
      archive in{bytes};
      const_cast<knee&>(copy.control().policy()).state(in);
      if (!in.ok()) continue;
      for (const double c : {10.0, 2.0, 6.0}) {
        copy.curve = cores(c);
        copy.run(3000);
      }
      EXPECT_NEAR(copy.control().policy().parallelism(), 6.0, 2.0) << bits << " at " << at;
      EXPECT_TRUE(copy.ok());
    }
}

TEST(Knee, FollowsADriftAfterTheClockWasSetBack) {
  for (const double step : {1.0, 1e9, 1e12})
    for (const std::uint32_t pushes : {15u, 40u, 100u}) {
      const auto slow_cores = [step](double c) { return [=](double n) { return (std::min)(n, c) / step; }; };
      knee_machine machine{{}, 10, slow_cores(6)};
      machine.jitter = 10;
      machine.run(pushes);
      machine.set_back(3 * step);
      machine.run(300);
      machine.curve = slow_cores(1);
      machine.run(6000);
      EXPECT_NEAR(machine.control().policy().parallelism(), 1.0, 1.0) << step << ", " << pushes;
    }
}

// Saved while the search is on, and while some wait for the others.
TEST(Knee, IsLoadedWhereTheClockHasStartedAnew) {
  for (const auto& [c, steps] : {std::pair{1.0, 12u}, {4.0, 12u}, {10.0, 12u}, {10.0, 74u}}) {
    knee_machine machine{{}, 10, cores(c)};
    machine.run(steps);
    machine = test::restored(machine);
    machine.restart_clock();
    machine.run(60);
    EXPECT_EQ(machine.control().policy().parallelism(), c);
    EXPECT_NEAR(machine.mean_running(1000), c, 0.1 * c);
  }
}

// Steps that another policy let start say nothing: their beginning was not seen.
TEST(Knee, TakesOverAJobThatRuns) {
  for (const std::uint32_t workers : {10u, 32u}) {
    test::shared_machine<any_policy> machine{any_policy{asp{}}, workers, free_cores};
    machine.run(5 * workers + 3);
    ASSERT_EQ(machine.control().switch_to(any_policy{knee{}}, machine.now(), pending_gradients::flush, machine),
              errc::ok);
    machine.run(4 * workers);
    EXPECT_EQ(machine.control().policy().target<knee>()->parallelism(), workers);
    EXPECT_GT(machine.mean_running(1000), 0.97 * workers);
  }
}

TEST(Knee, RefusesAStateWithoutALevel) {
  knee policy;
  policy.resize(4);
  archive saved;
  policy.state(saved);
  const std::vector<std::byte> zeros(saved.bytes().size());
  archive from{zeros};
  policy.state(from);
  EXPECT_FALSE(from.ok());
}

TEST(Knee, RefusesAThresholdOutOfRange) {
  for (const float threshold : {0.0F, 1.0F, -1.0F, std::nanf("")})
    EXPECT_NE((knee{.threshold = threshold}).problem(4), "");
  EXPECT_EQ((knee{.threshold = 1.5F}).problem(4), "threshold is 1.5, expected a number between 0 and 1");
  EXPECT_EQ((knee{.most_scatter = 0.0F}).problem(4), "most_scatter is 0, expected a number above 0");
  EXPECT_NE((knee{.most_scatter = std::nanf("")}).problem(4), "");
  EXPECT_EQ(knee{}.problem(1), "");
}

TEST(Knee, DescribesItself) {
  EXPECT_EQ(knee{}.describe().json, R"({"kind":"knee","threshold":0.3,"scales_rate":true,"most_scatter":0.25})");
}

}  // namespace
