#include <rubato/sim/normal_draws.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rubato::sim {
namespace {

TEST(NormalDraws, AreThoseOfTheSequence) {
  constexpr std::uint64_t seed = 0xABCDEF0123456789, first_stream = std::uint64_t{3} << 32;
  for (const std::uint32_t workers : {4U, 5'000U}) {
    normal_draws draws{seed, first_stream, workers};
    const auto expect = [&](std::uint32_t worker, std::uint64_t step) {
      EXPECT_EQ(draws(worker, step), (random_sequence{seed, first_stream + worker, step}.normal())) << step;
    };
    for (std::uint64_t step = 0; step < 1'000; ++step)
      for (std::uint32_t worker = 0; worker < 4; ++worker) expect(worker, step);
    for (const std::uint64_t step : {17U, 5'000U, 16U, 4'999U, 3U}) expect(2, step);  // in no order
    expect(3, std::uint64_t{1} << 48);
    expect(workers - 1, 70);
  }
}

TEST(NormalDraws, AreThoseOfTheSequenceHoweverManyAreKept) {
  constexpr std::uint32_t workers = 3;
  for (const std::uint32_t kept : {0U, 1U, 64U, 65U, 300U, 1U << 31}) {
    normal_draws draws{kept};
    const auto expect = [&](std::uint64_t seed, std::uint64_t first_stream, std::uint64_t from, std::uint64_t to) {
      draws.restart(seed, first_stream, workers);
      for (std::uint64_t step = from; step < to; ++step)
        for (std::uint32_t worker = 0; worker < workers; ++worker)
          ASSERT_EQ(draws(worker, step), (random_sequence{seed, first_stream + worker, step}.normal()))
              << kept << " kept, step " << step << " of " << seed;
    };
    expect(1, 0, 0, 1'000);
    expect(1, 0, 0, 200);  // still there, or drawn again
    expect(2, 0, 100, 300);
    expect(2, 7, 100, 300);
    expect(0, 0, 0, 10);
  }
}

TEST(NormalDraws, RestartForOtherWorkers) {
  normal_draws draws{1'000};
  for (const std::uint32_t workers : {2U, 9U, 0U, 2'000U, 9U}) {
    draws.restart(5, 0, workers);
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      for (const std::uint64_t step : {0U, 70U, 900U})
        ASSERT_EQ(draws(worker, step), (random_sequence{5, worker, step}.normal())) << workers << ' ' << worker;
  }
}

}  // namespace
}  // namespace rubato::sim
