// Mean time of an update where all step times are exponential, against the closed forms. With n workers of rate mu and
// H(n) = 1 + 1/2 + ... + 1/n:
//   the first K of n workers take (H(n) - H(n - K)) / mu, the first K gradients of workers that go on K / (n mu).
// The exponential has no memory: a worker that was not cancelled is no nearer to its end than one that starts anew.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/rivals.hpp>
#include <rubato/rubato.hpp>
#include <vector>

namespace {

using namespace rubato;

template <class Policy>
class memoryless_cluster {
 public:
  memoryless_cluster(const Policy& policy, std::uint32_t workers, double rate)
      : rate_{rate},
        due_(workers, std::numeric_limits<double>::infinity()),
        control_{{.capacity = workers, .guard = {.enabled = false}}, policy} {
    for (std::uint32_t w = 0; w < workers; ++w) EXPECT_EQ(control_.join({w, 0}, 0.0, 0, *this), errc::ok);
  }
  [[nodiscard]] double mean_time_of(std::uint64_t updates) {
    while (control_.version() < updates) {
      std::uint32_t next = 0;
      for (std::uint32_t w = 1; w < due_.size(); ++w)
        if (due_[w] < due_[next]) next = w;
      now_ = due_[next];
      due_[next] = std::numeric_limits<double>::infinity();
      EXPECT_EQ(control_.push({.worker = {next, 0}, .now = now_}, 0, *this), errc::ok);
    }
    return now_ / static_cast<double>(updates);
  }

  void release(int, worker_id worker, const grant&) {
    due_[worker.index] = now_ - std::log1p(-random_.uniform()) / rate_;
  }
  void flush(std::uint64_t, float, std::uint32_t) {}
  void discard(std::uint64_t, std::uint32_t) {}
  void cancel(worker_id worker) { due_[worker.index] = now_; }

 private:
  double rate_;
  double now_ = 0.0;
  std::vector<double> due_;
  random_sequence random_{5};
  controller<Policy, int> control_;
};

constexpr std::uint32_t workers = 8;
constexpr std::uint32_t k = 3;
constexpr double rate = 2.0;
constexpr double tolerance = 0.01;  // of 100,000 updates; their mean is within 0.3 % in two cases of three

template <class Policy>
double mean_time_under(const Policy& policy, std::uint64_t updates = 100'000) {
  return memoryless_cluster<Policy>{policy, workers, rate}.mean_time_of(updates);
}

const double of_workers = (1.0 / 8 + 1.0 / 7 + 1.0 / 6) / rate;  // H(8) - H(5)
const double of_gradients = k / (workers * rate);

TEST(ExpectedTime, KSync) { EXPECT_NEAR(mean_time_under(k_sync{.k = k}), of_workers, tolerance * of_workers); }

TEST(ExpectedTime, KSyncOfAllIsTheBarrier) {
  double all = 0.0;
  for (std::uint32_t n = 1; n <= workers; ++n) all += 1.0 / (n * rate);
  EXPECT_NEAR(mean_time_under(k_sync{.k = workers}), all, tolerance * all);
  EXPECT_NEAR(mean_time_under(bsp{}), all, tolerance * all);
}

TEST(ExpectedTime, KBatchSync) {
  EXPECT_NEAR(mean_time_under(k_batch_sync{.k = k}), of_gradients, tolerance * of_gradients);
}

// Those who contributed wait, so the others are fewer and fewer, as under K-sync.
TEST(ExpectedTime, KAsync) { EXPECT_NEAR(mean_time_under(k_async{.k = k}), of_workers, tolerance * of_workers); }

TEST(ExpectedTime, KBatchAsync) {
  EXPECT_NEAR(mean_time_under(k_batch_async{.k = k}), of_gradients, tolerance * of_gradients);
  EXPECT_NEAR(mean_time_under(asp{}, 300'000), of_gradients / k, tolerance * of_gradients / k);
}

TEST(ExpectedTime, CapsAreSmallerClusters) {
  const double of_three = 1.0 / (3 * rate);
  EXPECT_NEAR(mean_time_under(capped{.running = 3}), of_three, tolerance * of_three);
  const double buffer_of_two = 2.0 / (3 * rate);
  EXPECT_NEAR(mean_time_under(buffered{.active = 3, .buffer = 2, .open = 1}), buffer_of_two, tolerance * buffer_of_two);
}

// A wave of 4 that is refilled when 3 of its slots are open: three arrivals with 4, 3 and 2 workers at it.
TEST(ExpectedTime, OpenSlotsAreWavesThatOverlap) {
  const double wave = (1.0 / 4 + 1.0 / 3 + 1.0 / 2) / rate;
  EXPECT_NEAR(mean_time_under(buffered{.active = 4, .buffer = 3, .open = 3}), wave, tolerance * wave);
}

}  // namespace
