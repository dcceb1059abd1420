// The robust DQN on tasks whose difficulty is known, so that one can tell a learner that works from one that does not.
// usage: classic_control cartpole|acrobot FIRST_SEED LAST_SEED [CURVE.csv] [name=value ...]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/training.hpp>
#include <string>
#include <string_view>

#include "../../tests/support/acrobot.hpp"
#include "../../tests/support/cart_pole.hpp"

namespace {

namespace rl = rubato::rl;

struct goal {
  const char* name;
  double mean;            // of `test_episodes` episodes
  std::uint64_t steps;    // of training
};
constexpr std::uint32_t test_episodes = 100;

template <rl::Environment Task>
bool train(const goal& wanted, std::uint64_t seed, const rl::dqn_options& options, std::ofstream* curve) {
  Task task;
  auto net = rubato::nn::dynamic_mlp::make(
      {Task::observation_size(), 64, 64, Task::actions() + (options.dueling ? 1 : 0)}, {});
  rubato::random_sequence random = rl::sequence_for(seed, rl::purpose::weights);
  rubato::nn::initialise(*net, {}, random);
  auto agent = rl::dqn<>::make(*std::move(net), options);
  if (!agent) return std::fprintf(stderr, "%s\n", agent.error().message.c_str()), false;

  rl::trainer<Task, rl::dqn<>> training{
      task, *std::move(agent), {.seed = seed, .task = wanted.name, .evaluate_every = 2'500, .evaluation_episodes = 20}};
  auto done = training.run({.steps = wanted.steps}, {.evaluated = [&](const rl::evaluation& e) {
    if (curve != nullptr) *curve << wanted.name << ',' << seed << ',' << e.steps << ',' << e.mean << '\n' << std::flush;
    return true;
  }});
  if (!done) return false;
  const auto last = rl::evaluate(task, training.agent(), seed, test_episodes);
  rl::dqn<> best = training.agent();
  best.adopt(training.best());
  const auto chosen = rl::evaluate(task, best, seed, test_episodes);
  std::uint64_t first = 0;
  for (const auto& e : training.evaluations())
    if (first == 0 && e.mean >= wanted.mean) first = e.steps;
  std::printf("| %2llu | %8.2f | %5.0f | %8.2f | %7llu |\n", static_cast<unsigned long long>(seed), chosen.mean,
              chosen.least, last.mean, static_cast<unsigned long long>(first));
  std::fflush(stdout);
  return chosen.mean >= wanted.mean;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return std::fprintf(stderr, "usage: classic_control cartpole|acrobot FIRST LAST [CURVE.csv]\n"), 2;
  const bool cart = std::string_view{words[1]} == "cartpole";
  const goal wanted = cart ? goal{"cartpole", 475, 100'000} : goal{"acrobot", -100, 100'000};
  rl::dqn_options options = rl::dqn_options::robust();
  std::ofstream file;
  for (int i = 4; i < count; ++i) {
    const std::string_view word = words[i];
    const auto at = word.find('=');
    if (at == std::string_view::npos) {
      file.open(words[i]);
      file << "task,seed,steps,mean\n";
      continue;
    }
    const double x = std::atof(words[i] + at + 1);
    const auto n = static_cast<std::uint32_t>(x);
    const std::string_view key = word.substr(0, at);
    if (key == "rate") options.learning_rate = x;
    if (key == "batch") options.batch = n;
    if (key == "period") options.target_period = n;
    if (key == "tau") options.target_rate = x;
    if (key == "n") options.n_step = n;
    if (key == "every") options.update_every = n;
    if (key == "replay") options.replay_capacity = n;
    if (key == "eps") options.epsilon.last = x;
    if (key == "epssteps") options.epsilon.steps = n;
    if (key == "dueling") options.dueling = n != 0;
    if (key == "per") options.sample = n != 0 ? rl::sampling::prioritised : rl::sampling::uniform;
    if (key == "gamma") options.gamma = x;
    if (key == "double") options.target = n != 0 ? rl::td_target::double_q : rl::td_target::target_max;
  }
  std::printf("| seed | best net | least | last net | first over |\n| --- | --- | --- | --- | --- |\n");
  int reached = 0, all = 0;
  for (auto seed = static_cast<std::uint64_t>(std::atoll(words[2])); seed <= static_cast<std::uint64_t>(std::atoll(words[3]));
       ++seed, ++all)
    reached += cart ? train<rubato::test::cart_pole>(wanted, seed, options, file.is_open() ? &file : nullptr)
                    : train<rubato::test::acrobot>(wanted, seed, options, file.is_open() ? &file : nullptr);
  std::printf("reached: %d of %d\n", reached, all);
}
