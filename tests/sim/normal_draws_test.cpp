#include <rubato/sim/normal_draws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "../support/draws_anew.hpp"

namespace rubato::sim {
namespace {

using test::draws_anew;

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

TEST(NormalDraws, WhatIsKeptIsNotDrawnAgain) {
  constexpr std::uint32_t workers = 3;
  constexpr std::uint64_t block = 64;
  for (const std::uint32_t kept : {0U, 64U, 65U, 300U}) {
    const std::uint64_t places = std::bit_ceil(std::max(std::uint64_t{kept}, block));
    normal_draws draws{kept};
    draws.restart(1, 0, workers);
    for (std::uint64_t step = 0; step < places; ++step)
      for (std::uint32_t worker = 0; worker < workers; ++worker)
        ASSERT_EQ(draws_anew(draws, worker, step), step % block == 0) << kept << " kept, step " << step;
    draws.restart(1, 0, workers);
    for (std::uint64_t step = 0; step < places; ++step)
      for (std::uint32_t worker = 0; worker < workers; ++worker)
        ASSERT_FALSE(draws_anew(draws, worker, step)) << kept << " kept, step " << step;

    EXPECT_TRUE(draws_anew(draws, 1, places)) << "takes the places of the first block";
    EXPECT_TRUE(draws_anew(draws, 1, 5));
    EXPECT_FALSE(draws_anew(draws, 0, 5)) << "of another worker";
    EXPECT_FALSE(draws_anew(draws, 2, 5));
    for (const auto& [seed, first_stream, of] :
         {std::array{2U, 0U, workers}, std::array{2U, 7U, workers}, std::array{2U, 7U, workers + 1}}) {
      draws.restart(seed, first_stream, of);
      EXPECT_TRUE(draws_anew(draws, 2, 5)) << seed << ' ' << first_stream << ' ' << of;
    }
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
