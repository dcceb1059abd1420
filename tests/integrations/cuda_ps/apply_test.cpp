#include <rubato/cuda_ps/apply.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/cuda_ps/host_shards.hpp>
#include <rubato/threads_ps/slice.hpp>
#include <vector>

#include "../../cuda/thread_lanes.hpp"
#include "numbers.hpp"

namespace rubato::cuda_ps::apply_test {
namespace {

using cuda_ps::test::numbers;
using floats = std::vector<float>;

constexpr rule_options by_one{.learning_rate = 1};

floats of(host_shards& all) { return {all.values().begin(), all.values().end()}; }
floats copy_of(host_shards& all, std::uint32_t worker) { return {all.copy(worker).begin(), all.copy(worker).end()}; }
void put(host_shards& all, std::uint32_t worker, std::uint32_t slot, const floats& gradient) {
  std::ranges::copy(gradient, all.gradient(worker, slot).begin());
}
order apply(std::uint32_t worker, std::uint32_t slot, float weight, const rule_options& rule = by_one) {
  rule_state state;
  return {.what = deed::apply,
          .worker = worker,
          .slot = slot,
          .gradient = {.weight = weight},
          .step = next_step(rule, state, weight, 1)};
}

TEST(CudaPsApply, AppliesAndCopies) {
  host_shards all{floats{1, 2, 3, 4, 5}, 3, 2};
  put(all, 2, 1, {1, 1, 1, 1, 2});
  order o = apply(2, 1, 2);
  o.released = 0b101;
  EXPECT_EQ(all.carry_out(o, {}).code, errc::ok);
  EXPECT_EQ(of(all), (floats{-1, 0, 1, 2, 1}));
  EXPECT_EQ(copy_of(all, 0), of(all));
  EXPECT_EQ(copy_of(all, 1), floats(5)) << "it was not released";
  EXPECT_EQ(copy_of(all, 2), of(all));
  EXPECT_EQ(all.carry_out({.released = 0b010}, {}).code, errc::ok);
  EXPECT_EQ(copy_of(all, 1), of(all));
}

// Floats whose sum depends on the order: (big + small) - big and (big - big) + small.
TEST(CudaPsApply, ARoundIsSummedInTheOrderOfTheWorkers) {
  host_shards all{floats{0}, 3};
  put(all, 0, 0, {-1e8F}), put(all, 1, 1, {1e8F}), put(all, 2, 0, {3.0F});
  waiting_gradients waiting;
  for (std::uint32_t w = 0; w < 3; ++w) waiting.of[w] = {.weight = 1};
  rule_state state;
  order o{.what = deed::flush,
          .count = 3,
          .scale = 1,
          .step = next_step(by_one, state, 1, 3),
          .who = 0b111,
          .slots = 0b010};
  static_cast<void>(all.carry_out(o, waiting));
  EXPECT_EQ(of(all), floats{-3});
  o.who = 0b110;  // 1e8 + 3 is 1e8
  static_cast<void>(all.carry_out(o, waiting));
  EXPECT_EQ(of(all), floats{-1e8F});
}

TEST(CudaPsApply, AddsGoIntoTheSum) {
  host_shards all{floats(6), 2};
  put(all, 0, 0, floats(6, 1)), put(all, 0, 1, floats(6, 10)), put(all, 1, 0, floats(6, 100));
  static_cast<void>(all.carry_out({.what = deed::add, .worker = 0, .slot = 0, .gradient = {.weight = 2}}, {}));
  EXPECT_EQ(of(all), floats(6)) << "nothing moves before the flush";
  waiting_gradients waiting;
  waiting.of[0].weight = 0.5F, waiting.of[1].weight = 1;
  rule_state state;
  const order flush{
      .what = deed::flush, .adds_up = true, .step = next_step(by_one, state, 1, 1), .who = 0b11, .slots = 0b01};
  static_cast<void>(all.carry_out(flush, waiting));
  EXPECT_EQ(of(all), floats(6, -2 - 5 - 100));
  order again = flush;
  again.who = 0;
  static_cast<void>(all.carry_out(again, waiting));
  EXPECT_EQ(of(all), floats(6, -107)) << "the flush has emptied the sum";
}

TEST(CudaPsApply, ADiscardLeavesNothing) {
  host_shards all{floats(4), 1};
  put(all, 0, 0, floats(4, 1));
  static_cast<void>(all.carry_out({.what = deed::add, .gradient = {.weight = 1}}, {}));
  static_cast<void>(all.carry_out({.what = deed::discard, .adds_up = true}, {}));
  rule_state state;
  static_cast<void>(all.carry_out({.what = deed::flush, .adds_up = true, .step = next_step(by_one, state, 1, 1)}, {}));
  EXPECT_EQ(of(all), floats(4));
}

TEST(CudaPsApply, AnyNumberOfLanesGivesTheSameBits) {
  for (const rule_kind kind : {rule_kind::sgd, rule_kind::momentum, rule_kind::adam}) {
    const rule_options rule{.kind = kind, .learning_rate = 0.3};
    std::vector<floats> results;
    for (const unsigned count : {0U, 1U, 3U, 8U}) {  // 0: all shards at once, in the class
      host_shards all{numbers(50, 1), 4};
      for (std::uint32_t w = 0; w < 4; ++w) put(all, w, w % 2, numbers(50, 2, w));
      waiting_gradients waiting;
      for (std::uint32_t w = 0; w < 4; ++w) waiting.of[w].weight = 0.3F + static_cast<float>(w);
      rule_state state;
      for (int n = 0; n < 3; ++n) {
        const order o{.what = deed::flush,
                      .step = next_step(rule, state, 0.25F, 7.2F),
                      .who = 0b1111,
                      .slots = 0b1010,
                      .released = 2};
        if (count == 0)
          static_cast<void>(all.carry_out(o, waiting));
        else
          rubato::test::on_lanes(count, [&](const auto& lanes) { carry_out(o, waiting, all.view(0), lanes); });
      }
      results.push_back(of(all));
      EXPECT_EQ(copy_of(all, 1), results.back());
    }
    for (const floats& each : results) EXPECT_EQ(each, results[0]);
  }
}

TEST(CudaPsApply, ShardsDoNotMatter) {
  floats first;
  for (const std::uint32_t shards : {1U, 2U, 3U, 13U}) {
    host_shards all{numbers(50, 1), 2, shards};
    put(all, 1, 0, numbers(50, 2));
    order o = apply(1, 0, 0.3F, {.kind = rule_kind::momentum});
    for (int n = 0; n < 4; ++n) static_cast<void>(all.carry_out(o, {}));
    if (first.empty()) first = of(all);
    EXPECT_EQ(of(all), first) << shards;
  }
  const shard_layout layout{.size = 50, .shards = 5};
  EXPECT_EQ(layout.padded(), 52u);
  for (std::uint32_t s = 0; s < 5; ++s) EXPECT_EQ(layout.begin(s) % 4, 0u);
  EXPECT_EQ(layout.begin(5), 52u);
}

TEST(CudaPsApply, IsThatOfThreadsPs) {
  for (const float momentum : {0.0F, 0.9F}) {
    const rule_options rule{.kind = momentum == 0 ? rule_kind::sgd : rule_kind::momentum, .learning_rate = 0.1};
    const floats initial = numbers(30, 1);
    host_shards mine{initial, 3};
    threads_ps::slice<threads_ps::sgd> theirs{initial, threads_ps::sgd{{.learning_rate = 0.1F, .momentum = momentum}}};
    waiting_gradients waiting;
    rule_state state;
    for (std::uint32_t w = 0; w < 3; ++w) {
      put(mine, w, 0, numbers(30, 2, w));
      waiting.of[w].weight = 0.5F * static_cast<float>(w + 1);
      theirs.add(0, numbers(30, 2, w), waiting.of[w].weight);
    }
    static_cast<void>(
        mine.carry_out({.what = deed::flush, .step = next_step(rule, state, 1.0F / 3, 3), .who = 0b111}, waiting));
    theirs.flush(0, 1.0F / 3);
    order o = apply(1, 0, 2, rule);
    static_cast<void>(mine.carry_out(o, waiting));
    theirs.apply(numbers(30, 2, 1), 2);
    for (std::size_t i = 0; i < 30; ++i) EXPECT_FLOAT_EQ(mine.values()[i], theirs.parameters()[i]);
  }
}

}  // namespace
}  // namespace rubato::cuda_ps::apply_test
