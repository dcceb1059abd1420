#include <rubato/sim/shared_resource.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <rubato/core/rng.hpp>

namespace rubato::sim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// Processor sharing by its definition: at every event all jobs have become shorter.
class reference {
 public:
  explicit reference(double capacity) : capacity_{capacity} {}

  void slow_down(double share, double now) {
    pass(now);
    share_ = share;
  }

  void start(std::uint32_t job, double work, double now) {
    pass(now);
    left_[job] = work;
  }
  void remove(std::uint32_t job, double now) {
    pass(now);
    left_.erase(job);
  }
  [[nodiscard]] double next_completion() const {
    double shortest = never;
    for (const auto& [job, work] : left_) shortest = std::min(shortest, work);
    return shortest == never ? never : now_ + shortest / rate();
  }
  [[nodiscard]] double remaining(std::uint32_t job, double now) {
    pass(now);
    return left_.at(job);
  }

 private:
  [[nodiscard]] double rate() const { return share_ * std::min(1.0, capacity_ / static_cast<double>(left_.size())); }
  void pass(double now) {
    if (!left_.empty())
      for (const double done = (now - now_) * rate(); auto& [job, work] : left_) work -= done;
    now_ = now;
  }

  double capacity_;
  double share_ = 1;
  double now_ = 0;
  std::map<std::uint32_t, double> left_;
};

TEST(SharedResource, AgreesWithTheDefinition) {
  for (const double capacity : {0.5, 1.0, 4.0, 6.5, never}) {
    constexpr std::uint32_t jobs = 12;
    shared_resource resource{capacity, jobs};
    reference naive{capacity};
    random_sequence random{7};
    double now = 0;
    for (int step = 0; step < 20'000; ++step) {
      const double pause = -std::log(1 - random.uniform()) * 0.3;
      if (resource.active() > 0) {
        ASSERT_NEAR(resource.next_completion(), naive.next_completion(), 1e-7);
      }
      if (resource.next_completion() <= now + pause) {
        now = resource.next_completion();
        ASSERT_NEAR(naive.remaining(resource.next_job(), now), 0, 1e-7);
        naive.remove(resource.finish(now), now);
        continue;
      }
      now += pause;
      if (random.below(16) == 0) {
        const double share = 0.1 + random.uniform();
        resource.slow_down(share, now);
        naive.slow_down(share, now);
      }
      const auto job = static_cast<std::uint32_t>(random.below(jobs));
      if (!resource.contains(job)) {
        const double work = random.uniform() * 3;
        resource.start(job, work, now);
        naive.start(job, work, now);
      } else if (random.below(4) == 0) {
        resource.remove(job, now);
        naive.remove(job, now);
      } else {
        ASSERT_NEAR(resource.remaining(job, now), naive.remaining(job, now), 1e-7);
      }
    }
  }
}

// While at least `capacity` jobs are there, the resource does exactly `capacity` units of work per unit of time.
TEST(SharedResource, NoDriftOverAMillionJobs) {
  constexpr std::uint32_t jobs = 10;
  shared_resource resource{4, jobs};
  random_sequence random{3};
  double started = 0;
  const auto start = [&](std::uint32_t job, double now) {
    const double work = 0.5 + random.uniform();
    started += work;
    resource.start(job, work, now);
  };
  for (std::uint32_t job = 0; job < jobs; ++job) start(job, 0);
  double now = 0;
  for (int finished = 0; finished < 1'000'000; ++finished) {
    now = resource.next_completion();
    start(resource.finish(now), now);
  }
  double unfinished = 0;
  for (std::uint32_t job = 0; job < jobs; ++job) unfinished += resource.remaining(job, now);
  EXPECT_NEAR((started - unfinished) / (4 * now), 1, 1e-11);
}

TEST(SharedResource, TiesByJob) {
  shared_resource resource{1, 3};
  for (const std::uint32_t job : {2U, 0U, 1U}) resource.start(job, 0.7, 0);
  const double end = resource.next_completion();
  EXPECT_DOUBLE_EQ(end, 2.1);
  for (const std::uint32_t job : {0U, 1U, 2U}) {
    EXPECT_EQ(resource.next_completion(), end);
    EXPECT_EQ(resource.finish(end), job);
  }
  EXPECT_EQ(resource.next_completion(), never);
}

TEST(SharedResource, InfiniteCapacityMakesJobsIndependent) {
  shared_resource resource{never, 2};
  resource.start(0, 2, 0);
  resource.start(1, 1.5, 1);
  EXPECT_EQ(resource.finish(2), 0U);
  EXPECT_EQ(resource.next_completion(), 2.5);
}

}  // namespace
}  // namespace rubato::sim
