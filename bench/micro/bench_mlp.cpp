// What a network costs in each instruction set that can run here: the one of the README (40-64-32-3, leaky ReLU),
// float. Each row is measured in turns with the floor of its instruction set (floor.hpp): `ratio` is how many times as
// long it takes; and those of the best set in turns with other libraries (../peers), too: `over_eigen` is how many
// times as long Eigen takes. In `dependent` rows each sample depends on what the sample before was answered, as one
// decision waits for its network; in the others they overlap as far as the processor can. `history` is the share of an
// evaluation that waits for the newest push, `begin` what is done before it comes. Batches are per row.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/nn/batch_workspace.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>

#include "../peers/network.hpp"
#include "floor.hpp"
#include "paired.hpp"

namespace {

using namespace rubato::nn;
using rubato::bench::contender;
using rubato::bench::network_library;
using network = mlp<40, 64, 32, 3>;
using kernel = kernels::kernel_set<float>;
constexpr std::size_t inputs = 40, outputs = 3, samples = 64, newest = 4;
constexpr std::size_t stride = 48;  // samples begin cache lines
constexpr std::size_t history_weights = newest * 64 + 64 * 32 + 32 * 3;
static_assert(rubato::bench::floor_weights == inputs * 64 + 64 * 32 + 32 * 3);

// Samples that are asked one after another, and what was answered.
struct questions {
  questions() : in(samples * stride) {
    rubato::random_sequence random{1};
    for (float& x : in) x = static_cast<float>(2 * random.uniform() - 1);
  }
  [[nodiscard]] std::span<const float> sample() const { return std::span{in}.subspan(at * stride, inputs); }
  // The next sample, which one depending on the outputs.
  void follow() { at = (at + 1 + (out[1] > out[0] ? 1U : 0U) + (out[2] > out[0] ? 1U : 0U)) % samples; }
  void next() { at = (at + 1) % samples; }

  aligned_vector<float> in;
  std::array<float, outputs> out{};
  std::size_t at = 0;
};

network trained(const kernel& set, float slope = 0.01F) {
  network net{{.hidden = {.kind = activation_kind::leaky_relu, .slope = slope}}, set};
  rubato::random_sequence random{1};
  initialise(net, {initialiser_kind::xavier_uniform}, random);
  for (std::size_t layer = 0; layer < 3; ++layer)
    for (float& b : net.bias(layer)) b = static_cast<float>(0.2 * random.uniform() - 0.1);
  return net;
}

struct subject : questions {
  explicit subject(const kernel& set) : net{trained(set)}, sums(net.history_size()) {
    net.begin(newest, sample(), sums);
  }
  network net;
  std::vector<float> sums;
};

[[nodiscard]] contender floor_of(const kernel& set, std::size_t weights, int calls, double operations = 1) {
  const std::string name = set.name;
  return {"floor", calls, [=] { benchmark::DoNotOptimize(rubato::bench::floor_pass(name, weights)); }, operations};
}

// That another library computes the same: within 1e-5 of the largest output.
std::shared_ptr<rubato::bench::network_peer> checked(const network_library& library) {
  const network net = trained(kernels::portable::set<float>, library.slope);
  std::shared_ptr<rubato::bench::network_peer> peer = library.make(net.parameters().data());
  questions asked;
  constexpr std::size_t rows = 32;
  std::vector<float> batch, expected(rows * outputs), together(rows * outputs);
  float worst = 0, largest = 0;
  const auto compare = [&](float got, float right) {
    worst = std::isnan(got) ? HUGE_VALF : (std::max)(worst, std::abs(got - right));
    largest = (std::max)(largest, std::abs(right));
  };
  for (std::size_t row = 0; row < rows; ++row, asked.next()) {
    const auto right = std::span{expected}.subspan(row * outputs, outputs);
    net.evaluate(asked.sample(), right);
    peer->evaluate(asked.sample().data(), asked.out.data());
    for (std::size_t i = 0; i < outputs; ++i) compare(asked.out[i], right[i]);
    batch.insert(batch.end(), asked.sample().begin(), asked.sample().end());
  }
  peer->forward(rows, batch.data(), together.data());
  for (std::size_t i = 0; i < together.size(); ++i) compare(together[i], expected[i]);
  if (!(worst <= 1e-5F * largest)) {
    std::fprintf(stderr, "bench_mlp: %s computes something else: %g of %g\n", library.name, static_cast<double>(worst),
                 static_cast<double>(largest));
    std::exit(1);
  }
  return peer;
}

// About as long as ours take in all, but at least a few calls.
int calls_of(const network_library& library, int ours) {
  const bool quick = std::string{library.name} == "eigen" || std::string{library.name} == "rtneural";
  return quick ? ours : (std::max)(ours / 20, 2);
}

void evaluate(benchmark::State& state, const kernel& set, bool dependent) {
  constexpr int calls = 500;
  const auto asking = [&](auto&& ask) {
    return [=, asked = questions{}]() mutable {
      ask(asked);
      benchmark::DoNotOptimize(asked.out);
      dependent ? asked.follow() : asked.next();
    };
  };
  const network net = trained(set);
  std::vector<contender> all;
  all.emplace_back("ours", calls, asking([&net](questions& q) { net.evaluate(q.sample(), q.out); }));
  all.push_back(floor_of(set, rubato::bench::floor_weights, calls));
  if (&set == &kernels::native<float>())
    for (const network_library& library : rubato::bench::network_libraries())
      all.emplace_back(library.name, calls_of(library, calls), asking([peer = checked(library)](questions& q) {
                         peer->evaluate(q.sample().data(), q.out.data());
                       }));
  rubato::bench::in_turns(state, std::move(all));
}

void history(benchmark::State& state, const kernel& set, bool dependent) {
  constexpr int calls = 500;
  subject made{set};
  std::vector<contender> all;
  all.emplace_back("ours", calls, [&] {
    made.net.finish(newest, made.sample(), made.sums, made.out);
    benchmark::DoNotOptimize(made.out);
    dependent ? made.follow() : made.next();
  });
  all.push_back(floor_of(set, history_weights, calls));
  rubato::bench::in_turns(state, std::move(all));
}

void begin(benchmark::State& state, const kernel& set) {
  constexpr int calls = 500;
  subject made{set};
  std::vector<contender> all;
  all.emplace_back("ours", calls, [&] {
    made.net.begin(newest, made.sample(), made.sums);
    benchmark::DoNotOptimize(made.sums.data());
    made.next();
  });
  all.push_back(floor_of(set, (inputs - newest) * 64, calls));
  rubato::bench::in_turns(state, std::move(all));
}

void forward(benchmark::State& state, const kernel& set, std::size_t rows) {
  const int calls = static_cast<int>(2'000 / rows) + 1;
  const auto each = static_cast<double>(rows);
  const network net = trained(set);
  std::vector<float> batch(rows * inputs), out(rows * outputs);
  rubato::random_sequence random{2};
  for (float& x : batch) x = static_cast<float>(2 * random.uniform() - 1);
  network::workspace work{net, rows};
  std::vector<contender> all;
  all.emplace_back("ours", calls, [&] { benchmark::DoNotOptimize(net.forward(batch, work).data()); }, each);
  all.push_back(floor_of(set, rubato::bench::floor_weights * rows, calls, each));
  if (&set == &kernels::native<float>() && rows >= 32)
    for (const network_library& library : rubato::bench::network_libraries())
      if (library.batches)
        all.emplace_back(
            library.name, calls,
            [&, peer = checked(library)] {
              peer->forward(rows, batch.data(), out.data());
              benchmark::DoNotOptimize(out.data());
            },
            each);
  rubato::bench::in_turns(state, std::move(all));
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
  benchmark::AddCustomContext("missing_peers", rubato::bench::missing_libraries());
  benchmark::AddCustomContext("openblas_kernels", rubato::bench::blas_kernels());
  benchmark::AddCustomContext("kernels", kernels::native<float>().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
