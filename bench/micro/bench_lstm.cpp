// One step of a sequence through an LSTM, forward and back, beside the multiply-adds of its weights: 16 inputs and 50
// units, 100 inputs and 16 units, as the agent has them that grows a model. Activations are not in the floor, and the
// floor's numbers lie in the first-level cache, which the weights of 16 and 50 (53 KB) may exceed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <rubato/core/rng.hpp>
#include <rubato/nn/lstm.hpp>
#include <string>
#include <vector>

#include "floor.hpp"
#include "paired.hpp"

namespace {

namespace nn = rubato::nn;
using kernel_set = nn::kernels::kernel_set<float>;

constexpr std::size_t steps = 20;

std::vector<float> random_values(std::size_t count) {
  rubato::random_sequence draws{count};
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(0.2 * (2 * draws.uniform() - 1));
  return values;
}

struct sequence {
  nn::lstm net;
  nn::lstm::workspace work;
  std::vector<float> in, slopes, gradients, by_input;

  sequence(std::size_t inputs, std::size_t units, const kernel_set& set)
      : net{*nn::lstm::make(inputs, units, set)},
        work{net, steps},
        in{random_values(steps * inputs)},
        slopes{random_values(steps * units)},
        gradients(net.parameters().size()),
        by_input(in.size()) {
    const std::vector<float> values = random_values(gradients.size());
    std::copy(values.begin(), values.end(), net.parameters().begin());
  }
  void forward() { benchmark::DoNotOptimize(net.forward(in, work).data()); }
  void backward() { net.backward(slopes, work, gradients, by_input); }
};

// Nanoseconds are those of a step; backward() has twice the multiply-adds.
void step(benchmark::State& state, std::size_t inputs, std::size_t units, const kernel_set& set, bool back) {
  sequence one{inputs, units, set};
  one.forward();
  const auto weights = (back ? 2 : 1) * one.net.parameters().size();
  rubato::bench::in_turns(
      state, [&] { back ? one.backward() : one.forward(); }, 10,
      [&] {
        for (std::size_t s = 0; s < steps; ++s) benchmark::DoNotOptimize(rubato::bench::floor_pass(set.name, weights));
      },
      10);
}

[[maybe_unused]] const bool registered = [] {
  for (const kernel_set* set : nn::kernels::available<float>())
    for (const auto& [inputs, units] : {std::pair<std::size_t, std::size_t>{16, 50}, {100, 16}})
      for (const bool back : {false, true})
        benchmark::RegisterBenchmark((std::string{back ? "backward/" : "forward/"} + std::to_string(inputs) + "-" +
                                      std::to_string(units) + "/" + set->name)
                                         .c_str(),
                                     [=](benchmark::State& state) { step(state, inputs, units, *set, back); })
            ->UseManualTime();
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
