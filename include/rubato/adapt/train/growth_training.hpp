#ifndef RUBATO_ADAPT_TRAIN_GROWTH_TRAINING_HPP
#define RUBATO_ADAPT_TRAIN_GROWTH_TRAINING_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/rng.hpp"
#include "../growth/growth_agent.hpp"
#include "../growth/growth_network.hpp"
#include "../growth/growth_table.hpp"
#include "growth_adam.hpp"
#include "growth_path.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How a temperature above 1 makes an agent try more. What is trained is what was drawn from.
enum class temperature_form : std::uint8_t {
  second_softmax,  ///< softmax(softmax(z) / T): as the published program does it
  preferences      ///< softmax(z / T)
};

/// What an episode's reward is compared with.
enum class growth_baseline : std::uint8_t {
  none,     ///< nothing: as published
  average,  ///< the task's rewards so far, of which the newest counts a fiftieth
};

/// How a growth_agent learns by REINFORCE.
struct growth_training_options {
  double learning_rate = 1e-4;  ///< of Adam
  double rate_decay = 0.99;     ///< its factor after every `rate_decay_every` episodes, while it is at least 1e-9
  std::uint32_t rate_decay_every = 500;       ///< see rate_decay
  double temperature = 1;                     ///< at first; 1: none
  double temperature_decay = 0.9;             ///< its factor after every `temperature_decay_every` episodes, down to 1
  std::uint32_t temperature_decay_every = 1;  ///< 1 in the published program, 500 in the report
  temperature_form form = temperature_form::second_softmax;  ///< see temperature_form
  growth_baseline baseline = growth_baseline::none;          ///< see growth_baseline
  double entropy = 0;       ///< factor of the entropy's bonus; in units of the reward, after the baseline
  std::uint64_t seed = 42;  ///< of what is drawn
};

/// What is wrong with them, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const growth_training_options& o) {
  const auto is = [](const char* name, double value, const char* expected) {
    return std::string{name} + " is " + rubato::detail::text_of(value) + ", expected " + expected;
  };
  if (!(o.learning_rate > 0 && o.learning_rate <= 1)) return is("learning_rate", o.learning_rate, "above 0, at most 1");
  if (!(o.rate_decay > 0 && o.rate_decay <= 1)) return is("rate_decay", o.rate_decay, "above 0, at most 1");
  if (o.rate_decay_every == 0) return is("rate_decay_every", 0, "at least 1");
  if (!(o.temperature >= 1 && o.temperature <= 1e6)) return is("temperature", o.temperature, "1 to 1e6");
  if (!(o.temperature_decay > 0 && o.temperature_decay <= 1))
    return is("temperature_decay", o.temperature_decay, "above 0, at most 1");
  if (o.temperature_decay_every == 0) return is("temperature_decay_every", 0, "at least 1");
  if (!(o.entropy >= 0 && o.entropy <= 1e6)) return is("entropy", o.entropy, "0 to 1e6");
  return {};
}

/// What a training has seen.
struct growth_training_counters {
  std::uint64_t episodes = 0;           ///< so far
  std::uint64_t rejected_episodes = 0;  ///< whose gradient was not finite: nothing was learned from them
};

/// Trains the network of a growth_agent or a block_agent on tables by REINFORCE: each episode goes through one table
/// with actions that are drawn, and makes those that it took more likely, by the reward of where they led.
///
///     growth_trainer training{std::move(agent.network), {path}, {}};
///     training.run(75'000);
///     agent.network = training.network();
///
/// As published: loss = mean over the steps of -log(probability) * reward, no baseline, Adam, an update for each
/// episode. With several tables each episode draws one. Those of a block_network may have different numbers of actions.
///
/// Cost    an episode: one forward and one backward of the network for each step. Allocates when it is made.
///         Deterministic: the same options and network give the same bits, with the same kernels. Not thread-safe.
/// Tests   tests/adapt/growth/growth_training_test.cpp: LearnsASmallTable, LearnsTwoTablesAtOnce,
///         ABlockNetworkLearnsTablesOfOneAndTwoBlocks, LearnsAtATemperature, SameSeedSameBits,
///         RateAndTemperatureGoDown, WhatIsNotFiniteIsNotLearned, RefusesBadOptions
/// Source  Williams, "Simple statistical gradient-following algorithms", Machine Learning 8, 1992; report on growing
///         networks with spare GPUs, algorithms 3 and 4 (docs/growth.md)
template <class Network>
class basic_growth_trainer {
 public:
  /// Pre  problem(options) is empty; at least one path; the tables have as many actions as a growth_network
  basic_growth_trainer(Network network, std::vector<growth_path> paths, const growth_training_options& options = {})
      : options_{options},
        network_{std::move(network)},
        paths_{std::move(paths)},
        averages_(paths_.size()),
        adam_{network_, options.learning_rate},
        random_{options.seed},
        rate_{options.learning_rate},
        temperature_{options.temperature} {
    RUBATO_ASSERT(problem(options).empty(), "options out of range: problem() says which");
    RUBATO_ASSERT(!paths_.empty(), "growth_trainer: a path is needed");
    std::size_t layers = 0, steps = 0, actions = 0;
    for (const growth_path& path : paths_) {
      RUBATO_ASSERT(network_.serves(path.table().actions()), "growth_trainer: tables of other actions");
      layers = (std::max)(layers, path.most_layers());
      steps = (std::max)(steps, std::size_t{path.table().steps()});
      actions = (std::max)(actions, path.growing_actions());
    }
    for (std::size_t s = 0; s < steps; ++s) works_.emplace_back(network_, layers, actions);
    probabilities_.resize(steps, std::vector<float>(actions + 1));
    drawn_ = probabilities_;
    slopes_.resize(actions + 1);
  }

  [[nodiscard]] const Network& network() const noexcept { return network_; }                     ///< as it is now
  [[nodiscard]] const growth_training_counters& counters() const noexcept { return counters_; }  ///< so far
  [[nodiscard]] double learning_rate() const noexcept { return rate_; }                          ///< as it is now
  [[nodiscard]] double temperature() const noexcept { return temperature_; }                     ///< likewise

  /// So many episodes more.
  void run(std::uint64_t episodes) {
    for (; episodes > 0; --episodes) episode();
  }

  /// The sequence of the most probable actions on a path, as its number in the table.
  [[nodiscard]] std::size_t greedy(const growth_path& path) {
    return most_probable_sequence(network_, path, works_[0]);
  }

 private:
  void episode() {
    const std::size_t which =
        paths_.size() == 1 ? 0 : static_cast<std::size_t>(random_.uniform() * static_cast<double>(paths_.size()));
    const growth_path& path = paths_[which];
    const std::size_t steps = path.table().steps();
    actions_.clear();
    for (std::size_t s = 0; s < steps; ++s) {
      const growth_path::place& at = path.after(actions_);
      const auto preferences = network_.forward(at.layers, at.actions, at.time, works_[s]);
      weigh(preferences, probabilities_[s], drawn_[s]);
      actions_.push_back(draw(drawn_[s]));
    }
    double worth = growth_reward(path.table().accuracy(path.table().number_of(actions_)));
    if (options_.baseline == growth_baseline::average) {
      std::optional<double>& average = averages_[which];
      const double before = average.value_or(worth);
      average = before + (average ? 0.02 : 1.0) * (worth - before);
      worth -= before;
    }
    for (std::size_t s = 0; s < steps; ++s) {
      slope(s, worth / static_cast<double>(steps));
      network_.backward(std::span<const float>{slopes_}.first(probabilities_[s].size()), works_[s], adam_.gradient());
    }
    learn();
  }

  // Probabilities, and those that are drawn from.
  void weigh(std::span<const float> preferences, std::vector<float>& probabilities, std::vector<float>& drawn) const {
    probabilities.assign(preferences.begin(), preferences.end());
    if (temperature_ > 1 && options_.form == temperature_form::preferences)
      for (float& x : probabilities) x = static_cast<float>(static_cast<double>(x) / temperature_);
    softmax(probabilities);
    drawn = probabilities;
    if (temperature_ > 1 && options_.form == temperature_form::second_softmax) {
      for (float& x : drawn) x = static_cast<float>(static_cast<double>(x) / temperature_);
      softmax(drawn);
    }
  }
  [[nodiscard]] std::uint32_t draw(std::span<const float> probabilities) {
    double left = random_.uniform();
    for (std::size_t a = 0; a + 1 < probabilities.size(); ++a) {
      left -= static_cast<double>(probabilities[a]);
      if (left < 0) return static_cast<std::uint32_t>(a);
    }
    return static_cast<std::uint32_t>(probabilities.size() - 1);
  }
  // What -log(probability of the action) * worth - entropy * H changes with each preference of step s.
  void slope(std::size_t s, double worth) {
    const std::vector<float>&p = probabilities_[s], &q = drawn_[s];
    const std::size_t taken = actions_[s];
    double entropy = 0;
    for (const float x : q) entropy -= x > 0 ? static_cast<double>(x) * std::log(static_cast<double>(x)) : 0.0;
    for (std::size_t a = 0; a < q.size(); ++a) {
      const double probability = static_cast<double>(q[a]);
      const double surprise = probability > 0 ? std::log(probability) : 0.0;
      slopes_[a] = static_cast<float>(worth * (probability - (a == taken ? 1 : 0)) +
                                      options_.entropy * probability * (surprise + entropy));
    }
    if (temperature_ <= 1) return;
    if (options_.form == temperature_form::second_softmax) {  // so far by what the second softmax was given
      double mean = 0;
      for (std::size_t a = 0; a < p.size(); ++a) mean += static_cast<double>(p[a]) * static_cast<double>(slopes_[a]);
      for (std::size_t a = 0; a < p.size(); ++a)
        slopes_[a] = static_cast<float>(static_cast<double>(p[a]) * (static_cast<double>(slopes_[a]) - mean));
    }
    for (float& x : slopes_) x = static_cast<float>(static_cast<double>(x) / temperature_);
  }
  void learn() {
    if (!adam_.step(network_)) ++counters_.rejected_episodes;
    ++counters_.episodes;
    if (counters_.episodes % options_.rate_decay_every == 0 && rate_ >= 1e-9) {
      rate_ *= options_.rate_decay;
      adam_.set_learning_rate(rate_);
    }
    if (counters_.episodes % options_.temperature_decay_every == 0)
      temperature_ = (std::max)(1.0, temperature_ * options_.temperature_decay);
  }

  growth_training_options options_;
  Network network_;
  std::vector<growth_path> paths_;
  std::vector<std::optional<double>> averages_;  // of rewards, by path
  std::vector<typename Network::workspace> works_;
  std::vector<std::vector<float>> probabilities_, drawn_;
  std::vector<float> slopes_;
  std::vector<std::uint32_t> actions_;
  basic_growth_adam<Network> adam_;
  random_sequence random_;
  growth_training_counters counters_;
  double rate_, temperature_;
};

using growth_trainer = basic_growth_trainer<growth_network>;  ///< see basic_growth_trainer

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
