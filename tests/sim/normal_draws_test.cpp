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

}  // namespace
}  // namespace rubato::sim
