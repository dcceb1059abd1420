// What a network costs in each instruction set that can run here: the one of the README (40-64-32-3, leaky ReLU), float.
// Each row is measured in turns with the floor of its instruction set (floor.hpp): `ratio` is how many times as long it
// takes. In `dependent` rows each sample depends on what the sample before was answered, as one decision waits for its
// network; in the others they overlap as far as the processor can. `history` is the share of an evaluation that waits
// for the newest push, `begin` what is done before it comes. Batches are per row.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>

#include "floor.hpp"
#include "paired.hpp"

namespace {

using namespace rubato::nn;
using network = mlp<40, 64, 32, 3>;
using kernel = kernels::kernel_set<float>;
constexpr std::size_t inputs = 40, outputs = 3, samples = 64, newest = 4;
constexpr std::size_t history_weights = newest * 64 + 64 * 32 + 32 * 3;
static_assert(rubato::bench::floor_weights == inputs * 64 + 64 * 32 + 32 * 3);

struct subject {
  explicit subject(const kernel& set) : net{{}, set}, in(samples * inputs), sums(net.history_size()) {
    rubato::random_sequence random{1};
    initialise(net, {initialiser_kind::xavier_uniform}, random);
    for (float& x : in) x = static_cast<float>(2 * random.uniform() - 1);
    net.begin(newest, sample(), sums);
  }
  [[nodiscard]] std::span<const float> sample() const { return std::span{in}.subspan(at * inputs, inputs); }
  // The next sample, which one depending on the outputs.
  void follow() { at = (at + 1 + (out[1] > out[0] ? 1U : 0U) + (out[2] > out[0] ? 1U : 0U)) % samples; }
  void next() { at = (at + 1) % samples; }

  network net;
  std::vector<float> in, sums;
  std::array<float, outputs> out{};
  std::size_t at = 0;
};

template <class Work>
void measure(benchmark::State& state, const kernel& set, std::size_t weights, int calls, Work&& work) {
  const std::string name = set.name;
  rubato::bench::in_turns(state, work, calls, [&] { benchmark::DoNotOptimize(rubato::bench::floor_pass(name, weights)); },
                          calls);
}

void evaluate(benchmark::State& state, const kernel& set, bool dependent) {
  subject made{set};
  measure(state, set, rubato::bench::floor_weights, 500, [&] {
    made.net.evaluate(made.sample(), made.out);
    benchmark::DoNotOptimize(made.out);
    dependent ? made.follow() : made.next();
  });
}

void history(benchmark::State& state, const kernel& set, bool dependent) {
  subject made{set};
  measure(state, set, history_weights, 500, [&] {
    made.net.finish(newest, made.sample(), made.sums, made.out);
    benchmark::DoNotOptimize(made.out);
    dependent ? made.follow() : made.next();
  });
}

void begin(benchmark::State& state, const kernel& set) {
  subject made{set};
  measure(state, set, (inputs - newest) * 64, 500, [&] {
    made.net.begin(newest, made.sample(), made.sums);
    benchmark::DoNotOptimize(made.sums.data());
    made.next();
  });
}

void forward(benchmark::State& state, const kernel& set, std::size_t rows) {
  subject made{set};
  std::vector<float> batch(rows * inputs);
  rubato::random_sequence random{2};
  for (float& x : batch) x = static_cast<float>(2 * random.uniform() - 1);
  network::workspace work{made.net, rows};
  const int calls = static_cast<int>(2'000 / rows) + 1;
  measure(state, set, rubato::bench::floor_weights * rows, calls,
          [&] { benchmark::DoNotOptimize(made.net.forward(batch, work).data()); });
  for (const char* each : {"min", "anchor"}) state.counters[each] = state.counters[each] / static_cast<double>(rows);
}

}  // namespace

int main(int argc, char** argv) {
  for (const kernel* set : kernels::available<float>()) {
    const auto add = [&](const std::string& what, auto run) {
      benchmark::RegisterBenchmark((what + "/" + set->name).c_str(), [=](benchmark::State& state) { run(state, *set); })
          ->UseManualTime();
    };
    for (const bool dependent : {false, true}) {
      const std::string how = dependent ? "/dependent" : "/independent";
      add("evaluate" + how, [=](benchmark::State& state, const kernel& on) { evaluate(state, on, dependent); });
      add("history" + how, [=](benchmark::State& state, const kernel& on) { history(state, on, dependent); });
    }
    add("begin", begin);
    for (const std::size_t rows : {8U, 32U, 1'024U})
      add("forward/" + std::to_string(rows),
          [=](benchmark::State& state, const kernel& on) { forward(state, on, rows); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
