// The robust DQN, or PPO, on tasks whose difficulty is known, so that a learner that works can be told from one that
// does not. Prints a table row for each seed; exit status 1 if less than 8 in 10 seeds reach the goal, 2 if it was
// called wrongly or cannot write the curves.
//
// usage: classic_control TASK FIRST_SEED LAST_SEED [CURVES.csv [plain|dueling|prioritised|ppo]]
//        TASK: cartpole, acrobot, pendulum, or pendulum_in_tens, where the learner sees a tenth of each reward
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl.hpp>
#include <string_view>
#include <utility>

#include "../../tests/support/acrobot.hpp"
#include "../../tests/support/cart_pole.hpp"
#include "../../tests/support/pendulum.hpp"

namespace {

namespace rl = rubato::rl;

struct goal {
  const char* task;
  double mean;      // of test_episodes episodes that were seen neither in training nor in the choice of the network
  double unit = 1;  // of the rewards that the learner sees; means are told in the task's own
};
constexpr std::uint32_t test_episodes = 100;
constexpr std::uint64_t steps = 100'000;

// At first the pendulum's returns are some -1,000, which a value network takes long to reach.
struct pendulum_in_tens : rubato::test::pendulum {
  rl::step_outcome step(std::uint32_t action) {
    rl::step_outcome outcome = pendulum::step(action);
    outcome.reward /= 10;
    return outcome;
  }
};

rubato::nn::dynamic_mlp network(std::size_t inputs, std::size_t outputs, rubato::random_sequence& random) {
  auto net = rubato::nn::dynamic_mlp::make({inputs, 64, 64, outputs});
  net->use(rubato::nn::kernels::reproducible<float>());
  rubato::nn::initialise(*net, {}, random);
  return *net;
}
template <rl::Environment Task>
rl::dqn<> dqn_for(std::uint64_t seed, const rl::dqn_options& options) {
  rubato::random_sequence random = rl::sequence_for(seed, rl::purpose::weights);
  return *rl::dqn<>::make(network(Task::observation_size(), Task::actions() + (options.dueling ? 1U : 0U), random),
                          options);
}
template <rl::Environment Task>
rl::ppo<> ppo_for(std::uint64_t seed) {
  rubato::random_sequence random = rl::sequence_for(seed, rl::purpose::weights);
  auto policy = network(Task::observation_size(), Task::actions(), random);
  auto value = network(Task::observation_size(), 1, random);
  return *rl::ppo<>::make(std::move(policy), std::move(value), rl::ppo_options::robust());
}

template <rl::Environment Task, rl::Learner Agent>
bool reaches(const goal& wanted, std::uint64_t seed, Agent agent, std::ostream& curves) {
  Task task;
  rl::trainer training{task, std::move(agent),
                       rl::training_options{.seed = seed, .task = wanted.task, .evaluate_every = 2'500}};
  const std::clock_t start = std::clock();
  const auto done = training.run({.steps = steps}, {.evaluated = [&](const rl::evaluation& e) {
                                   curves << wanted.task << ',' << seed << ',' << e.steps << ',' << wanted.unit * e.mean
                                          << ',' << wanted.unit * e.least << ',' << wanted.unit * e.most << '\n';
                                   curves.flush();
                                   return true;
                                 }});
  const double spent = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!done) return false;

  std::uint64_t first = 0;
  for (const rl::evaluation& e : training.evaluations())
    if (first == 0 && wanted.unit * e.mean >= wanted.mean) first = e.steps;
  const rl::evaluation last = rl::evaluate(task, training.agent(), seed, test_episodes);
  training.agent().adopt(training.best());
  const rl::evaluation best = rl::evaluate(task, training.agent(), seed, test_episodes);
  std::printf("| %d | %.1f | %.0f | %.1f | %d | %.0f |\n", static_cast<int>(seed), wanted.unit * best.mean,
              wanted.unit * best.least, wanted.unit * last.mean, static_cast<int>(first), spent);
  std::fflush(stdout);
  return wanted.unit * best.mean >= wanted.mean;
}

template <rl::Environment Task>
bool reaches(const goal& wanted, std::uint64_t seed, std::string_view variant, std::ostream& curves) {
  if (variant == "ppo") return reaches<Task>(wanted, seed, ppo_for<Task>(seed), curves);
  rl::dqn_options options = rl::dqn_options::robust();
  options.dueling = variant == "dueling";
  if (variant == "prioritised") options.sample = rl::sampling::prioritised;
  return reaches<Task>(wanted, seed, dqn_for<Task>(seed, options), curves);
}

int cannot_write(const char* file) {
  std::fprintf(stderr, "classic_control: %s: cannot be written\n", file);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view task = count > 1 ? words[1] : "", variant = count > 5 ? words[5] : "plain";
  const int from = count > 3 ? std::atoi(words[2]) : 0, to = count > 3 ? std::atoi(words[3]) : -1;
  if ((task != "cartpole" && task != "acrobot" && task != "pendulum" && task != "pendulum_in_tens") || from < 0 ||
      to < from) {
    std::fprintf(stderr,
                 "usage: classic_control cartpole|acrobot|pendulum|pendulum_in_tens FIRST_SEED LAST_SEED "
                 "[CURVES.csv [VARIANT]]\n");
    return 2;
  }
  if (variant != "plain" && variant != "dueling" && variant != "prioritised" && variant != "ppo") {
    std::fprintf(stderr, "classic_control: found \"%s\", expected plain, dueling, prioritised or ppo\n", words[5]);
    return 2;
  }
  const char* const file = count > 4 ? words[4] : "/dev/null";
  std::ofstream curves{file};
  curves << "task,seed,steps,mean,least,most\n" << std::flush;
  if (!curves) return cannot_write(file);

  std::printf(
      "| seed | mean of 100, best network | least | mean of 100, last network | first at the goal, steps | CPU, s |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  int reached = 0;
  for (int seed = from; seed <= to; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    if (task == "cartpole") reached += reaches<rubato::test::cart_pole>({"cartpole", 475}, number, variant, curves);
    if (task == "acrobot") reached += reaches<rubato::test::acrobot>({"acrobot", -100}, number, variant, curves);
    if (task == "pendulum") reached += reaches<rubato::test::pendulum>({"pendulum", -200}, number, variant, curves);
    if (task == "pendulum_in_tens")
      reached += reaches<pendulum_in_tens>({"pendulum_in_tens", -200, 10}, number, variant, curves);
  }
  std::printf("reached by %d of %d seeds\n", reached, to - from + 1);
  if (!curves) return cannot_write(file);
  return 10 * reached >= 8 * (to - from + 1) ? 0 : 1;
}
