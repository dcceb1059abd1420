// Checkpoints of trainings, with a checksum that is right whatever they say. One that is refused changes nothing; after
// one that loads the training goes on, and can be gone on with again.
#include <cstdint>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/ppo.hpp>
#include <rubato/rl/training.hpp>
#include <string>
#include <vector>

#include "../support/corridor.hpp"
#include "../support/sealed.hpp"
#include "fuzz_target.hpp"
#include "scratch_folder.hpp"

namespace rubato::fuzz {
namespace of_training_checkpoint {

constexpr std::uint8_t first_of_ppo = 0xF0;  // below, of deep Q-learning

rl::dqn_options options_of(std::uint8_t how) {
  rl::dqn_options o = rl::dqn_options::robust();
  o.replay_capacity = 8;
  o.batch = 4;
  o.learn_after = 4;
  o.dueling = how % 2 == 1;
  if (how / 2 % 2 == 1) o.sample = rl::sampling::prioritised;
  return o;
}

template <class Agent>
void try_on(const result<Agent>& agent, const std::string& file) {
  require(agent.operator bool(), "an agent", agent ? "" : agent.error().message);
  test::corridor task;
  const rl::training_options how{.seed = 3, .task = "corridor", .checkpoint = file};
  rl::trainer training{task, *agent, how};
  const auto state = [&] {
    archive out;
    auto copy = training.agent();
    copy.state(out);
    return std::string{reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
  };
  const std::string before = state();
  const auto resumed = training.resume();
  if (!resumed) {
    const error& e = resumed.error();
    require(e.code == errc::corrupt || e.code == errc::wrong_kind, "a known refusal");
    require(e.message.starts_with(file + ": ") && is_plain(e.message) && e.message.size() < 2000, "it says why:", e.message);
    return require(state() == before && training.steps() == 0, "who is refused has not changed");
  }
  // Nobody can go on from the last number that there is.
  constexpr std::uint64_t last = ~std::uint64_t{0};
  if (resumed->steps == last || resumed->episodes == last) return;
  const auto after = [&](std::uint64_t count, std::uint64_t more) { return count < last - more ? count + more : last; };
  const auto went_on = training.run({.episodes = after(resumed->episodes, 2), .steps = after(resumed->steps, 12)});
  require(went_on.operator bool(), "the training goes on:", went_on ? "" : went_on.error().message);
  require(went_on->steps > resumed->steps && went_on->episodes > resumed->episodes, "it takes steps");
  require(training.steps() == went_on->steps && training.episodes() == went_on->episodes, "it says how far it is");
  rl::trainer another{task, *agent, how};
  const auto again = another.resume();
  require(again && *again == *went_on, "what it writes then loads:", again ? "" : again.error().message);
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const std::uint8_t how = in.byte();
  const std::string file = folder.write("training", test::sealed(text_of(in.rest())));
  if (how >= first_of_ppo) {
    const auto policy = nn::dynamic_mlp::make({2, 3, 3}), value = nn::dynamic_mlp::make({2, 3, 1});
    return try_on(rl::ppo<>::make(*policy, *value, {.horizon = 4, .batch = 2, .epochs = 2}), file);
  }
  const rl::dqn_options options = options_of(how);
  const auto network = nn::dynamic_mlp::make({2, 3, options.dueling ? 4U : 3U});
  try_on(rl::dqn<>::make(*network, options), file);
}

const registered here{"training_checkpoint", run};

}  // namespace of_training_checkpoint
}  // namespace rubato::fuzz
