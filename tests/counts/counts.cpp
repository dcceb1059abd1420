// What check.py counts the instructions of. Without arguments: the operations and the sets of kernels with which they can
// run here, a pair on each line. With OPERATION KERNELS N: does the operation so many times. The same N times are the
// same work, whatever follows, so that the difference of two counts is that of the operations in between.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <rubato/core/rng.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sync/controller.hpp>
#include <string_view>
#include <vector>

namespace {

using namespace rubato;
using network = nn::mlp<40, 64, 32, 3>;
using kernels = nn::kernels::kernel_set<float>;
using learned = q_policy<rlp_normalised_state, network>;

network values(const kernels& set) {
  network net{{}, set};
  random_sequence random{1};
  nn::initialise(net, {nn::initialiser_kind::xavier_uniform}, random);
  return net;
}

// One push at a controller with a hundred workers, who push one after another if they run.
void decisions(const kernels& set, std::uint64_t times) {
  constexpr std::uint32_t workers = 100;
  controller<learned, std::uint32_t> sync{{.capacity = workers}, learned{values(set)}};
  std::array<bool, workers> runs{};
  const auto release = [&](std::uint32_t, worker_id who, const grant&) { runs[who.index] = true; };
  for (std::uint32_t w = 0; w < workers; ++w) static_cast<void>(sync.join({w, 0}, 0.0, w, release));
  double now = 0;
  for (std::uint32_t w = 0; times > 0; w = (w + 1) % workers) {
    if (!runs[w]) continue;
    runs[w] = false;
    now += 0.01;
    const auto loss = static_cast<float>(1 + 0.001 * static_cast<double>(times % 7));
    static_cast<void>(sync.push({.worker = {w, 0}, .now = now, .samples = 16, .loss = loss}, w, release));
    --times;
  }
}

// One update of a DQN, batch 32, Adam.
void updates(const kernels& set, std::uint64_t times) {
  rl::dqn_options options = rl::dqn_options::robust();
  options.batch = 32;
  options.replay_capacity = 1'000;
  options.learn_after = 100;
  options.n_step = 1;
  options.target = rl::td_target::target_max;
  options.loss = rl::td_loss::squared;
  options.max_gradient_norm = 0;
  auto agent = rl::dqn<network>::make(values(set), options);
  random_sequence random{2};
  std::array<float, 40> here{}, there{};
  for (std::uint32_t i = 0; i < 200; ++i) {
    for (float& x : here) x = static_cast<float>(random.uniform());
    for (float& x : there) x = static_cast<float>(random.uniform());
    agent->record({.observation = here, .action = i % 3, .reward = there[0], .elapsed = 1, .next = there});
  }
  for (; times > 0; --times) static_cast<void>(agent->update(random));
}

// One push in a simulated cluster with learned decisions and next to nothing to learn.
void pushes(const kernels& set, std::uint64_t times) {
  sim::quadratic goal;
  sim::run_options run{.stop = sim::stop_rule::workload, .workload = times * 16, .max_time = 1e9};
  run.learning_rate.base = 1e-4;
  static_cast<void>(sim::simulate({.workers = 10}, run, learned{values(set)}, goal));
}

struct operation {
  std::string_view name;
  void (*run)(const kernels&, std::uint64_t);
  bool any_kernels;  // else those of the processor, which its optimiser takes whatever its network has
};
constexpr std::array<operation, 3> operations{
    {{"decision", decisions, true}, {"update", updates, false}, {"push", pushes, true}}};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> given(argv + 1, argv + argc);
  for (const kernels* set : nn::kernels::available<float>())
    for (const operation& each : operations) {
      if (!each.any_kernels && set != &nn::kernels::native<float>()) continue;
      const std::string_view kernel = set->name;
      if (given.empty())
        std::printf("%s %s\n", each.name.data(), set->name);
      else if (given.size() == 3 && given[0] == each.name && given[1] == kernel)
        return each.run(*set, std::strtoull(argv[3], nullptr, 10)), 0;
    }
  return given.empty() ? 0 : 2;
}
