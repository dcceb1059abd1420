#include <rubato/cuda_ps/replay.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <rubato/sync/rivals/k_batch_async.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "crew.hpp"
#include "numbers.hpp"

namespace rubato::cuda_ps::replay_test {
namespace {

using namespace cuda_ps::test;
using floats = std::vector<float>;

// Threads that push what depends on what they have read; then the same again from the log alone.
void check(any_policy policy, const rule_options& rule, bool adds_early = false) {
  constexpr std::size_t size = 21;
  const floats initial = numbers(size, 1);
  bench at{{.sync = {.capacity = 4}, .shards = 3, .log_capacity = 1000}, initial, std::move(policy), rule};
  std::map<std::pair<std::uint32_t, std::uint64_t>, floats> pushed;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (std::uint32_t w = 0; w < 4; ++w)
    threads.emplace_back([&, w] {
      random_sequence random{7, w, 0};
      work(at, {w}, 30, [&](std::uint64_t step, const next_step_terms&, auto parameters, auto to) {
        const floats noise = numbers(size, 100 + w, step);
        for (std::size_t i = 0; i < size; ++i) to[i] = parameters[i] + noise[i];
        dawdle(random);
        const std::lock_guard lock{mutex};
        pushed[{w, step}] = {to.begin(), to.end()};
      });
    });
  threads.clear();
  const auto entries = in_order(at.shards.log());
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), at.decisions.between_orders([](auto& book) { return book.entries(); }));
  // A flush adds each worker once, from 0 upwards: who is there out of turn was added before it.
  bool early = false;
  for (std::size_t n = 1; n < entries->size(); ++n)
    early |= (*entries)[n].what == deed::add && (*entries)[n - 1].what == deed::add &&
             (*entries)[n].worker <= (*entries)[n - 1].worker;
  EXPECT_EQ(early, adds_early);
  const auto again =
      replay(*entries, rule, initial, [&](std::uint32_t w, std::uint32_t step, std::uint64_t) -> const floats& {
        return pushed.at({w, step});
      });
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, at.values());
}

TEST(CudaPsReplay, GivesTheSameBits) {
  for (const rule_kind kind : {rule_kind::sgd, rule_kind::momentum, rule_kind::adam}) {
    const rule_options rule{.kind = kind, .learning_rate = 0.03};
    check(bsp{}, rule);
    check(asp{}, rule);
    check(ssp{.staleness = 2}, rule);
    check(k_sync{.k = 2}, rule);
    check(k_batch_async{.k = 5}, rule, true);  // workers add twice to a round
    check(knee{}, rule);
  }
}

TEST(CudaPsReplay, ALogThatIsTooShortIsRefused) {
  bench at{{.sync = {.capacity = 1}, .log_capacity = 5}, {0}, asp{}, {}};
  work(at, {0}, 8, [](auto, auto&, auto, auto to) { to[0] = 1; });
  const auto entries = in_order(at.shards.log());
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().message, "the log has lost its first 3 entries, expected a log of at least 8");
}

TEST(CudaPsReplay, RefusesWhatNoServerWrites) {
  const floats one{1}, two{1, 2};
  const auto said = [&](std::vector<log_entry> entries, const floats& gradient) {
    return replay(entries, {}, one, [&](auto...) -> const floats& { return gradient; }).error().message;
  };
  EXPECT_EQ(said({{.number = 2, .what = deed::apply}}, one), "entry 1 of the log has another number");
  EXPECT_EQ(said({{.number = 1, .step = 1, .what = deed::flush}}, one),
            "entry 1 of the log flushes another number of gradients than were added");
  EXPECT_EQ(said({{.number = 1, .what = deed::copy}}, one), "entry 1 of the log says nothing that could be done");
  EXPECT_EQ(said({{.number = 1, .what = deed::add}}, two), "a gradient has 2 numbers, expected 1");
}

}  // namespace
}  // namespace rubato::cuda_ps::replay_test
