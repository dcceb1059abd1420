// What one step of training costs: gradient, update and validation for 0 to 3 hidden layers, on synthetic images of
// MNIST's size with 19 % non-zero pixels, in a central blob as written digits have them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sim/sgd.hpp>

#include "paired.hpp"

namespace {

using namespace rubato::sim;

constexpr std::uint32_t side = 28;
constexpr std::uint32_t samples = 20'000;
constexpr std::uint32_t validation = 1'000;

const image_data& images() {
  static const image_data data = [] {
    std::vector<std::uint8_t> pixels(std::size_t{samples} * side * side);
    std::vector<std::uint8_t> labels(samples);
    rubato::random_sequence random{1};
    for (std::uint8_t& label : labels) label = static_cast<std::uint8_t>(random.below(10));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t row = i / side % side;
      const std::size_t column = i % side;
      const bool inside = row >= 4 && row < 24 && column >= 4 && column < 24;  // 51 % of the area
      if (inside && random.uniform() < 0.372) pixels[i] = static_cast<std::uint8_t>(1 + random.below(255));
    }
    return image_data{split({pixels, labels, side * side, 10}, samples - validation, validation)};
  }();
  return data;
}

sgd_objective objective(const benchmark::State& state) {
  return sgd_objective{{.hidden_layers = static_cast<std::uint32_t>(state.range(0))}, images()};
}

void sgd_gradient(benchmark::State& state) {
  sgd_objective net = objective(state);
  std::uint64_t step = 0;
  for (auto _ : state) {
    const gradient made = net.compute(0, step++);
    benchmark::DoNotOptimize(made.loss);
    net.release(made.handle);
  }
}

void sgd_update(benchmark::State& state) {
  sgd_objective net = objective(state);
  std::array<contribution, 8> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].handle = net.compute(0, i).handle;
  std::size_t next = 0;
  for (auto _ : state) net.update({&parts[next++ % parts.size()], 1}, 1e-6);
}

void sgd_step(benchmark::State& state) {
  sgd_objective net = objective(state);
  std::uint64_t step = 0;
  for (auto _ : state) {
    const gradient made = net.compute(0, step++);
    const contribution part{made.handle, 1};
    net.update({&part, 1}, 1e-4);
    net.release(made.handle);
  }
}

// A push as runs make it: a step, and each twentieth an evaluation on all of the validation set. Counters: the least
// time of twenty, for one push, in nanoseconds; pushes a second.
void sgd_push(benchmark::State& state) {
  constexpr int piece = 20;
  sgd_objective net = objective(state);
  std::uint64_t step = 0;
  double least = std::numeric_limits<double>::infinity();
  const auto work = [&] {
    for (int i = 0; i < piece; ++i) {
      const gradient made = net.compute(0, step++);
      const contribution part{made.handle, 1};
      net.update({&part, 1}, 1e-4);
      net.release(made.handle);
    }
    benchmark::DoNotOptimize(net.evaluate().loss);
  };
  for (auto _ : state) {
    const double now = rubato::bench::nanoseconds(work, 1) / piece;
    least = (std::min)(least, now);
    state.SetIterationTime(now * 1e-9 * piece);
  }
  state.counters["min"] = least;
  state.counters["pushes"] = 1e9 / least;
}

void sgd_evaluate(benchmark::State& state) {
  sgd_objective net = objective(state);
  for (auto _ : state) benchmark::DoNotOptimize(net.evaluate().loss);
}

void sgd_reset(benchmark::State& state) {
  sgd_objective net = objective(state);
  std::uint64_t seed = 0;
  for (auto _ : state) net.reset(++seed);
}

void quadratic_step(benchmark::State& state) {
  quadratic bowl{{.dimension = static_cast<std::uint32_t>(state.range(0))}};
  std::uint64_t step = 0;
  for (auto _ : state) {
    const gradient made = bowl.compute(0, step++, 16);
    const contribution part{made.handle, 1};
    bowl.update({&part, 1}, 1e-2);
    bowl.release(made.handle);
  }
}

BENCHMARK(sgd_gradient)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd_update)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd_step)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd_push)->DenseRange(0, 3)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd_evaluate)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(sgd_reset)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(quadratic_step)->Arg(8);

}  // namespace

BENCHMARK_MAIN();
