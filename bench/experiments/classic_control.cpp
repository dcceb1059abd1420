// The robust DQN on tasks whose difficulty is known, so that a learner that works can be told from one that does not.
// Prints a table row for each seed; exit status 1 if less than 8 in 10 seeds reach the goal, 2 if
// it was called wrongly or cannot write the curves.
//
// usage: classic_control cartpole|acrobot FIRST_SEED LAST_SEED [CURVES.csv [plain|dueling|prioritised]]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl.hpp>
#include <string_view>

#include "../../tests/support/acrobot.hpp"
#include "../../tests/support/cart_pole.hpp"

namespace {

namespace rl = rubato::rl;

struct goal {
  const char* task;
  double mean;  // of test_episodes episodes that were seen neither in training nor in the choice of the network
};
constexpr std::uint32_t test_episodes = 100;
constexpr std::uint64_t steps = 100'000;

template <rl::Environment Task>
bool reaches(const goal& wanted, std::uint64_t seed, const rl::dqn_options& options, std::ostream& curves) {
  Task task;
  auto net =
      rubato::nn::dynamic_mlp::make({Task::observation_size(), 64, 64, Task::actions() + (options.dueling ? 1U : 0U)});
  rubato::random_sequence random = rl::sequence_for(seed, rl::purpose::weights);
  rubato::nn::initialise(*net, {}, random);
  rl::trainer training{task, *rl::dqn<>::make(*net, options),
                       rl::training_options{.seed = seed, .task = wanted.task, .evaluate_every = 2'500}};
  const std::clock_t start = std::clock();
  const auto done = training.run({.steps = steps}, {.evaluated = [&](const rl::evaluation& e) {
                                   curves << wanted.task << ',' << seed << ',' << e.steps << ',' << e.mean << ','
                                          << e.least << ',' << e.most << '\n';
                                   curves.flush();
                                   return true;
                                 }});
  const double spent = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!done) return false;

  std::uint64_t first = 0;
  for (const rl::evaluation& e : training.evaluations())
    if (first == 0 && e.mean >= wanted.mean) first = e.steps;
  const rl::evaluation last = rl::evaluate(task, training.agent(), seed, test_episodes);
  training.agent().adopt(training.best());
  const rl::evaluation best = rl::evaluate(task, training.agent(), seed, test_episodes);
  std::printf("| %d | %.1f | %.0f | %.1f | %d | %.0f |\n", static_cast<int>(seed), best.mean, best.least, last.mean,
              static_cast<int>(first), spent);
  std::fflush(stdout);
  return best.mean >= wanted.mean;
}

int cannot_write(const char* file) {
  std::fprintf(stderr, "classic_control: %s: cannot be written\n", file);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view task = count > 1 ? words[1] : "", variant = count > 5 ? words[5] : "plain";
  const int from = count > 3 ? std::atoi(words[2]) : 0, to = count > 3 ? std::atoi(words[3]) : -1;
  if ((task != "cartpole" && task != "acrobot") || from < 0 || to < from) {
    std::fprintf(stderr, "usage: classic_control cartpole|acrobot FIRST_SEED LAST_SEED [CURVES.csv [VARIANT]]\n");
    return 2;
  }
  if (variant != "plain" && variant != "dueling" && variant != "prioritised") {
    std::fprintf(stderr, "classic_control: found \"%s\", expected plain, dueling or prioritised\n", words[5]);
    return 2;
  }
  rl::dqn_options options = rl::dqn_options::robust();
  options.dueling = variant == "dueling";
  if (variant == "prioritised") options.sample = rl::sampling::prioritised;
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
    reached += task == "cartpole" ? reaches<rubato::test::cart_pole>({"cartpole", 475}, number, options, curves)
                                  : reaches<rubato::test::acrobot>({"acrobot", -100}, number, options, curves);
  }
  std::printf("reached by %d of %d seeds\n", reached, to - from + 1);
  if (!curves) return cannot_write(file);
  return 10 * reached >= 8 * (to - from + 1) ? 0 : 1;
}
