#include <rubato/adapt/batch_sizers/dynamix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <rubato/nn/mlp.hpp>
#include <span>
#include <vector>

namespace {

using namespace rubato;
using namespace rubato::adapt;

/// Prefers the delta that a test says for workers whose steps are the longest, and for others another.
struct two_minded {
  std::vector<float> of_the_slowest, of_others;
  void evaluate(std::span<const float> state, std::span<float> values) const noexcept {
    std::ranges::copy(state[5] == 1 ? of_the_slowest : of_others, values.begin());
  }
};
static_assert(BatchSizer<dynamix<two_minded>>);

[[nodiscard]] std::vector<batch_worker> workers_of(std::vector<std::uint32_t> batches) {
  std::vector<batch_worker> workers;
  float time = 1;
  for (const std::uint32_t batch : batches) {
    workers.push_back({.counts = true, .batch = batch, .least = 32, .most = 1024, .steps = 1});
    workers.back().step_time = time++;
  }
  return workers;
}

template <class Network>
[[nodiscard]] std::vector<std::uint32_t> after_one_period(dynamix<Network>& by,
                                                          const std::vector<batch_worker>& workers) {
  std::vector<std::uint32_t> batches;
  for (const batch_worker& each : workers) batches.push_back(each.batch);
  by({.workers = workers, .alive = static_cast<std::uint32_t>(workers.size()), .usual = 64, .initial = 64, .time = 5},
     batches);
  return batches;
}

TEST(Dynamix, EveryWorkerByItsOwnState) {
  dynamix<two_minded> by{{.of_the_slowest = {0, 1, 0, 0, 0}, .of_others = {0, 0, 0, 0, 1}}};
  by.resize(3);
  EXPECT_EQ(after_one_period(by, workers_of({64, 128, 128})), (std::vector{164U, 228U, 103U}));
}

TEST(Dynamix, LimitsAreMasked) {
  EXPECT_EQ(legal_deltas({.batch = 64, .least = 32, .most = 1024}), 0b11111U);
  EXPECT_EQ(legal_deltas({.batch = 32, .least = 32, .most = 1024}), 0b11100U);
  EXPECT_EQ(legal_deltas({.batch = 1024, .least = 32, .most = 1024}), 0b00111U);
  EXPECT_EQ(legal_deltas({.batch = 8, .least = 8, .most = 8}), 0b00100U);
  dynamix<two_minded> by{{.of_the_slowest = {9, 8, 1, 0, 2}, .of_others = {0, 0, 1, 9, 9}}};
  by.resize(2);
  EXPECT_EQ(after_one_period(by, workers_of({1024, 32})), (std::vector{1024U, 132U})) << "the best of those that do";
}

TEST(Dynamix, WithoutANumberNothingChanges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  dynamix<two_minded> by{{.of_the_slowest = {nan, nan, nan, nan, nan}, .of_others = {nan, nan, nan, nan, -5}}};
  by.resize(2);
  EXPECT_EQ(after_one_period(by, workers_of({64, 64})), (std::vector{164U, 64U})) << "one number is preferred to none";
}

TEST(Dynamix, ThoseThatDoNotCountAreLeftAlone) {
  dynamix<two_minded> by{{.of_the_slowest = {0, 0, 0, 0, 1}, .of_others = {0, 0, 0, 0, 1}}};
  by.resize(2);
  std::vector<batch_worker> workers = workers_of({64, 64});
  workers[1].counts = false;
  EXPECT_EQ(after_one_period(by, workers), (std::vector{164U, 64U}));
}

TEST(Dynamix, SavesWhatItKnows) {
  dynamix<two_minded> by{{.of_the_slowest = {0, 0, 1, 0, 0}, .of_others = {0, 0, 1, 0, 0}}}, other = by;
  by.resize(2), other.resize(2);
  std::vector<batch_worker> workers = workers_of({64, 64});
  workers[0].loss = 3;
  static_cast<void>(after_one_period(by, workers));
  archive saved;
  by.state(saved);
  archive bytes{saved.bytes()};
  other.state(bytes);
  EXPECT_TRUE(bytes.finished());
  EXPECT_EQ(other.seen.loss_of(0), 3);
  EXPECT_TRUE(std::isnan(other.seen.loss_of(1)));
}

TEST(Dynamix, RefusesSavedStateThatCannotBe) {
  dynamix<two_minded> by{{.of_the_slowest = {0, 0, 1, 0, 0}, .of_others = {0, 0, 1, 0, 0}}};
  by.resize(1);
  std::vector<batch_worker> workers = workers_of({64});
  workers[0].loss = std::numeric_limits<float>::infinity();
  static_cast<void>(after_one_period(by, workers));
  archive saved;
  by.state(saved);
  archive bytes{saved.bytes()};
  by.state(bytes);
  EXPECT_FALSE(bytes.ok());
}

TEST(Dynamix, SaysWhichNetworkItIs) {
  dynamix<nn::mlp<batch_state::size, 5>> by, other;
  other.network.parameters()[0] = 1;
  EXPECT_NE(by.describe().json, other.describe().json);
  EXPECT_EQ(by.describe().json.find(R"({"kind":"dynamix","network":")"), 0U);
}

}  // namespace
