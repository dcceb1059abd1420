// Trains a policy in the simulator, saves it, loads it as a host would, and tries it on runs that it has never seen.
// usage: 03_train_policy [FILE]      where to keep the policy; without, it is only tried
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <rubato/io.hpp>
#include <rubato/rl.hpp>
#include <rubato/rubato.hpp>
#include <rubato/sim.hpp>
#include <string>
#include <utility>

namespace {

using namespace rubato;
using network = nn::dynamic_mlp;
using encoder = cluster_state;  // what the policy sees: nothing that depends on how many workers there are

// Eight workers on two cores; now and then one of them takes much longer.
const sim::cluster_options machines{.workers = 8,
                                    .cores = 2,
                                    .stragglers = {.kind = sim::straggler_kind::transient, .probability = 0.1, .mean = 8}};
// What they train, and when they are done. A large learning rate makes stale gradients hurt.
const sim::run_options training_run{.target_accuracy = 0.98, .max_time = 400, .learning_rate = {.base = 0.3}};

result<network> train() {
  sim::quadratic goal;
  sim::environment<sim::quadratic, encoder> task{machines, training_run, goal};

  auto start = network::make({task.observation_size(), 32, task.actions()});
  if (!start) return start;
  random_sequence draws = rl::sequence_for(1, rl::purpose::weights);
  nn::initialise(*start, {}, draws);

  rl::dqn_options learning = rl::dqn_options::robust();
  learning.time_unit = 4;  // of a step, when eight workers share two cores
  auto agent = rl::dqn<network>::make(*start, learning);
  if (!agent) return agent.error();

  rl::trainer training{task, *std::move(agent), {.seed = 1, .evaluate_every = 2'000, .evaluation_episodes = 10}};
  const auto done = training.run({.steps = 20'000}, {.evaluated = [](const rl::evaluation& e) {
                                   std::printf("%6llu pushes: %.0f\n", static_cast<unsigned long long>(e.steps),
                                               e.mean_elapsed);
                                   return true;
                                 }});
  if (!done) return done.error();
  return training.best();  // of the evaluations; its runs are neither those of training nor those below
}

double mean_time(const any_policy& policy) {
  sim::quadratic goal;
  double sum = 0;
  constexpr std::uint32_t runs = 20;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    sim::run_options run = training_run;
    run.seed = seed;
    sum += sim::simulate(machines, run, policy, goal).time;
  }
  return sum / runs;
}

int complain(const error& what) {
  std::fprintf(stderr, "%s\n", what.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("mean time to the target, while it learns:\n");
  const result<network> learned = train();
  if (!learned) return complain(learned.error());

  const std::string file = argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "rubato-example-03").string();
  policy_card about;
  about.reward = "-(time until the next push)";
  about.trained_on = "8 workers on 2 cores, transient stragglers, a noisy quadratic";
  about.loss_source = "worker_ema";
  if (auto saved = save_q_policy(file, q_policy<encoder, network>{*learned}, about); !saved)
    return complain(saved.error());

  result<any_policy> policy = load_policy(file);  // from here on, what a host does: see 01_push_handler.cpp
  if (argc == 1) std::filesystem::remove(file);
  if (!policy) return complain(policy.error());

  std::printf("\nmean time to the target, 20 other runs:\n");
  for (const auto& [name, each] :
       {std::pair<const char*, any_policy>{"bsp:mean", bsp{}}, {"asp", asp{}},
        {"ssp:1", ssp{.staleness = 1}}, {"ssp:3", ssp{.staleness = 3}}, {"learned", *policy}})
    std::printf("%8s %6.0f\n", name, mean_time(each));
}
