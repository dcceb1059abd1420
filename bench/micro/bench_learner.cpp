// One update of a DQN in each instruction set that can run here: the network of the README (40-64-32-3, leaky ReLU,
// float), a batch of 32 from a replay of 10^4 transitions. Each row is measured in turns with its floor: 516,096
// products (double_q: 150,528 more), a root and a division per parameter where Adam learns, the copies of 32
// transitions. No product is counted for the last layer's gradient where an action was not taken. `adam_and_peers`
// is Adam with the best set in turns with other libraries (../peers), in a row of its own: they leave nothing of the
// replays in the caches, which costs ours and the floor a microsecond or two that rows without them do not pay.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/rl/dqn.hpp>

#include "../peers/network.hpp"
#include "learner_floor.hpp"
#include "paired.hpp"
#include "update_peers.hpp"

namespace {

using namespace rubato;
using network = nn::mlp<40, 64, 32, 3>;
using learner = rl::dqn<network>;
using kernel = nn::kernels::kernel_set<float>;
constexpr std::size_t parameters = 41 * 64 + 65 * 32 + 33 * 3;
constexpr std::size_t forward = 32 * (40 * 64 + 64 * 32 + 32 * 3);
constexpr std::size_t backward = 32 * (40 * 64 + 2 * 64 * 32) + 2 * 32 * 32;
static_assert(2 * forward + backward == 516'096);

struct variant {
  const char* name;
  rl::optimiser_kind optimiser = rl::optimiser_kind::adam;
  rl::td_target target = rl::td_target::target_max;
  std::size_t transitions = 10'000;
  bool peers = false;  // in turns with them
};

// A learner whose replay is full of random transitions; update(random) is what is measured. Gradients are not clipped,
// and the target network stays as it was made.
learner made(const kernel& set, const variant& how) {
  network net{{}, set};
  random_sequence random{1};
  nn::initialise(net, {nn::initialiser_kind::xavier_uniform}, random);
  result<learner> agent = learner::make(net, {.target = how.target,
                                              .n_step = 1,
                                              .replay_capacity = how.transitions,
                                              .batch = 32,
                                              .learn_after = 32,
                                              .target_period = 1'000'000'000,
                                              .loss = rl::td_loss::squared,
                                              .max_gradient_norm = 0,
                                              .optimiser = how.optimiser,
                                              .learning_rate = 1e-4});
  if (!agent) {
    std::fprintf(stderr, "%s\n", agent.error().message.c_str());
    std::exit(1);
  }
  std::array<float, 40> here{}, next{};
  for (std::size_t t = 0; t < how.transitions; ++t) {
    for (float& x : here) x = std::exchange(next[static_cast<std::size_t>(&x - here.data())],
                                            static_cast<float>(2 * random.uniform() - 1));
    agent->record({.observation = here,
                   .action = static_cast<std::uint32_t>(random.below(3)),
                   .reward = here[0],
                   .next = next,
                   .terminated = random.below(20) == 0});
  }
  return *std::move(agent);
}

void update(benchmark::State& state, const kernel& set, const variant& how) {
  learner agent = made(set, how);
  random_sequence random{2};
  bench::gather_floor gather{how.transitions};
  const std::string name = set.name;
  const std::size_t products = 2 * forward + backward + (how.target == rl::td_target::double_q ? forward : 0);
  const bench::random_replay replay{how.peers ? how.transitions : 1};
  std::vector<bench::contender> all;
  all.emplace_back("ours", 20, [&] { benchmark::DoNotOptimize(agent.update(random).loss); });
  all.emplace_back("floor", 20, [&] {
    benchmark::DoNotOptimize(bench::product_pass(name, products));
    if (how.optimiser == rl::optimiser_kind::adam) bench::root_pass(name, parameters);
    gather();
  });
  if (how.peers) bench::add_update_peers(all, replay);
  bench::in_turns(state, std::move(all));
  if (agent.counters().rejected_updates > 0) state.SkipWithError("an update was refused");
}

}  // namespace

int main(int argc, char** argv) {
  const variant variants[] = {{.name = "adam"},
                              {.name = "sgd", .optimiser = rl::optimiser_kind::sgd},
                              {.name = "double_q", .target = rl::td_target::double_q}};
  for (const kernel* set : nn::kernels::available<float>())
    for (const variant& how : variants)
      benchmark::RegisterBenchmark((std::string{"update/"} + how.name + "/" + set->name).c_str(),
                                   [=](benchmark::State& state) { update(state, *set, how); })
          ->UseManualTime();
  const auto add_native = [](const char* row, const variant& how) {
    const kernel& native = nn::kernels::native<float>();
    benchmark::RegisterBenchmark((std::string{row} + native.name).c_str(),
                                 [=, &native](benchmark::State& state) { update(state, native, how); })
        ->UseManualTime();
  };
  add_native("update/adam/1000000/", {.name = "adam", .transitions = 1'000'000});
  add_native("update/adam_and_peers/", {.name = "adam", .peers = true});
  benchmark::AddCustomContext("missing_peers", bench::missing_libraries());
  benchmark::AddCustomContext("openblas_kernels", bench::blas_kernels());
  benchmark::AddCustomContext("kernels", nn::kernels::native<float>().name);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
