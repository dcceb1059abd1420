// What learning costs in each instruction set that can run here: the network of the README (40-64-32-3, leaky ReLU),
// float. `evaluate` is one sample, the others take batches of 32 and 64; `step` is forward, loss, backward, clipping
// and Adam.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>

namespace {

using namespace rubato::nn;
using network = mlp<40, 64, 32, 3>;
using kernel = kernels::kernel_set<float>;

std::vector<float> draws(std::size_t count, std::uint64_t stream) {
  rubato::random_sequence random{1, stream};
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

struct learner {
  explicit learner(const kernel& set, std::size_t rows)
      : net{{}, set},
        work{net, rows},
        batch{draws(rows * 40, 1)},
        target{draws(rows * 3, 2)},
        slope{draws(rows * 3, 3)},
        gradient(net.parameters().size()),
        optimiser{net.parameters().size(), {}, set} {
    rubato::random_sequence random{1};
    initialise(net, {initialiser_kind::xavier_uniform}, random);
  }
  network net;
  network::workspace work;
  std::vector<float> batch, target, slope, gradient;
  adam optimiser;
};

void evaluate(benchmark::State& state, const kernel& set) {
  learner made{set, 1};
  float out[3];
  for (auto _ : state) {
    made.net.evaluate(made.batch, out);
    benchmark::DoNotOptimize(out);
  }
}

void forward(benchmark::State& state, const kernel& set) {
  learner made{set, static_cast<std::size_t>(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(made.net.forward(made.batch, made.work).data());
}

void backward(benchmark::State& state, const kernel& set) {
  learner made{set, static_cast<std::size_t>(state.range(0))};
  static_cast<void>(made.net.forward(made.batch, made.work));
  for (auto _ : state) {
    made.net.backward(made.slope, made.work, made.gradient);
    benchmark::ClobberMemory();
  }
}

void step(benchmark::State& state, const kernel& set) {
  const std::size_t rows = static_cast<std::size_t>(state.range(0));
  learner made{set, rows};
  for (auto _ : state) {
    std::fill(made.gradient.begin(), made.gradient.end(), 0.0F);
    const auto out = made.net.forward(made.batch, made.work);
    huber<float>(out, made.target, made.slope, 1.0F / static_cast<float>(rows));
    made.net.backward(made.slope, made.work, made.gradient);
    static_cast<void>(clip_by_norm<float>(made.gradient, 10.0, set));
    made.optimiser.step(made.net.parameters(), made.gradient);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const kernel* set : kernels::available<float>()) {
    const auto add = [&](const char* what, void (*run)(benchmark::State&, const kernel&)) {
      return benchmark::RegisterBenchmark((std::string{what} + "/" + set->name).c_str(),
                                          [=](benchmark::State& state) { run(state, *set); });
    };
    add("evaluate", evaluate);
    add("forward", forward)->Arg(32)->Arg(64);
    add("backward", backward)->Arg(32)->Arg(64);
    add("step", step)->Arg(32)->Arg(64);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
