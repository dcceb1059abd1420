#ifndef RUBATO_ADAPT_TRAIN_EXPECTED_GROWTH_TRAINING_HPP
#define RUBATO_ADAPT_TRAIN_EXPECTED_GROWTH_TRAINING_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/number_text.hpp"
#include "../../core/rng.hpp"
#include "../growth/growth_agent.hpp"
#include "../growth/growth_table.hpp"
#include "growth_adam.hpp"
#include "growth_path.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How a growth_agent learns from whole tables.
struct expected_growth_options {
  double learning_rate = 1e-3;   ///< of Adam, for the first half of the updates; it then falls evenly towards 0
  double entropy_first = 0.3;    ///< factor of the entropy's bonus at first, in units of a table's spread of rewards
  double entropy_last = 0.01;    ///< and in the end; it falls by equal factors
  std::uint64_t updates = 6000;  ///< of the network, each by one table: the tables take turns
  /// Standard deviation of how much later than the table says an update has it, as a share of the budget. Above 0 an
  /// agent learns what is good around a time, and knows more about times that no table has, and less about those of the
  /// tables.
  double time_noise = 0;
  std::uint64_t seed = 1;  ///< of that noise
};

/// What is wrong with them, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const expected_growth_options& o) {
  const auto is = [](const char* name, double value, const char* expected) {
    return std::string{name} + " is " + rubato::detail::text_of(value) + ", expected " + expected;
  };
  if (!(o.learning_rate > 0 && o.learning_rate <= 1)) return is("learning_rate", o.learning_rate, "above 0, at most 1");
  if (!(o.entropy_first > 0 && o.entropy_first <= 1e3))
    return is("entropy_first", o.entropy_first, "above 0, at most 1e3");
  if (!(o.entropy_last > 0 && o.entropy_last <= o.entropy_first))
    return is("entropy_last", o.entropy_last, "above 0, at most entropy_first");
  if (o.updates == 0) return is("updates", 0, "at least 1");
  if (!(o.time_noise >= 0 && o.time_noise <= 1)) return is("time_noise", o.time_noise, "0 to 1");
  return {};
}

/// Trains the network of a growth_agent or a block_agent on tables by the policy gradient itself, where growth_trainer
/// follows an estimate of it from the sequence that was drawn: a table tells what every sequence comes to, so that the
/// expectation over all of them can be computed. Nothing is drawn, and no baseline is needed.
///
///     expected_growth_trainer training{std::move(agent.network), {early, late}};
///     training.run();
///     agent.network = training.network();
///
/// Each update takes one table, and makes better what the policy comes to in it on average, and its entropy at every
/// place, weighted by how often the policy comes there. Rewards are counted from the table's mean in units of its
/// standard deviation, so that all tables count alike. Those of a block_network may have different numbers of actions.
///
/// Cost    an update: a forward and a backward of the network for each place of the table (21 for three steps of four
///         actions), less the backward where the policy comes with a probability below 1e-6. Allocates when it is made.
///         Deterministic: the same options and network give the same bits, with the same kernels. Not thread-safe.
/// Tests   tests/adapt/growth/expected_growth_training_test.cpp: GradientIsThatOfTheExpectedReward, FindsTheBestOfEach,
///         OneBlockNetworkLearnsTablesOfOneTwoAndThreeBlocks, TablesOfOneValueTeachNothing, TimeNoiseTeachesOtherTimes,
///         RunsInParts, SameBits, WhatIsNotFiniteIsNotLearned, RefusesBadOptions
/// Source  Sutton, McAllester, Singh and Mansour, "Policy gradient methods for reinforcement learning with function
///         approximation", NIPS 1999, theorem 1
template <class Network>
class expected_growth_trainer {
 public:
  /// Pre  problem(options) is empty; at least one path; the tables have as many actions as a growth_network
  expected_growth_trainer(Network network, std::vector<growth_path> paths, const expected_growth_options& options = {})
      : options_{options},
        network_{std::move(network)},
        paths_{std::move(paths)},
        adam_{network_, options.learning_rate},
        random_{options.seed} {
    RUBATO_ASSERT(problem(options).empty(), "options out of range: problem() says which");
    RUBATO_ASSERT(!paths_.empty(), "expected_growth_trainer: a path is needed");
    std::size_t layers = 0, places = 0, actions = 0;
    for (const growth_path& path : paths_) {
      RUBATO_ASSERT(network_.serves(path.table().actions()), "expected_growth_trainer: tables of other actions");
      layers = (std::max)(layers, path.most_layers());
      places = (std::max)(places, path.places().size());
      actions = (std::max)(actions, path.growing_actions());
      rewards_.push_back(rewards_of(path.table()));
    }
    for (std::size_t p = 0; p < places; ++p) works_.emplace_back(network_, layers, actions);
    probabilities_.resize(places, std::vector<float>(actions + 1));
    slopes_.resize(actions + 1);
    worths_.resize(actions + 1);
    reach_.resize(places);
    worth_.resize(places);
  }

  [[nodiscard]] const Network& network() const noexcept { return network_; }  ///< as it is now
  [[nodiscard]] std::uint64_t updates() const noexcept { return updates_; }   ///< so far
  /// Updates whose gradient was not finite: nothing was learned from them.
  [[nodiscard]] std::uint64_t rejected_updates() const noexcept { return rejected_updates_; }

  /// All updates that are left.
  void run() { run(options_.updates - updates_); }
  /// So many updates more, at most those that are left.
  void run(std::uint64_t updates) {
    for (std::uint64_t left = (std::min)(updates, options_.updates - updates_); left > 0; --left) update();
  }

  /// The sequence of the most probable actions on a path, as its number in the table.
  [[nodiscard]] std::size_t greedy(const growth_path& path) {
    return most_probable_sequence(network_, path, works_[0]);
  }

 private:
  static constexpr double negligible = 1e-6;

  // From their mean, in standard deviations.
  [[nodiscard]] static std::vector<double> rewards_of(const growth_table& table) {
    std::vector<double> rewards(table.sequences());
    for (std::size_t n = 0; n < rewards.size(); ++n) rewards[n] = growth_reward(table.accuracy(n));
    const double count = static_cast<double>(rewards.size());
    const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / count;
    double squares = 0;
    for (double& each : rewards) each -= mean, squares += each * each;
    if (squares > 0)
      for (double& each : rewards) each /= std::sqrt(squares / count);
    return rewards;
  }

  void update() {
    const double done = static_cast<double>(updates_) / static_cast<double>(options_.updates);
    const double entropy = options_.entropy_first * std::pow(options_.entropy_last / options_.entropy_first, done);
    adam_.set_learning_rate(options_.learning_rate * (std::min)(1.0, 2 * (1 - done)));
    const growth_path& path = paths_[turn_];
    look(path, options_.time_noise > 0 ? options_.time_noise * path.table().budget() * random_.normal() : 0.0);
    for (std::size_t at = path.places().size(); at-- > 0;) appraise(path, at, rewards_[turn_], entropy);
    if (!adam_.step(network_)) ++rejected_updates_;
    ++updates_;
    if (++turn_ == paths_.size()) turn_ = 0;
  }

  // What the policy does at each place, and how often it comes there.
  void look(const growth_path& path, double later) {
    const std::size_t places = path.places().size();
    reach_[0] = 1;
    for (std::size_t at = 0; at < places; ++at) {
      const growth_path::place& here = path.places()[at];
      const auto preferences =
          network_.forward(here.layers, here.actions, later == 0 ? here.time : path.time_at(here, later), works_[at]);
      std::vector<float>& p = probabilities_[at];
      p.assign(preferences.begin(), preferences.end());
      softmax(p);
      for (std::uint32_t a = 0; a < p.size(); ++a)
        if (const std::size_t to = path.next(at, a); to < places) reach_[to] = reach_[at] * static_cast<double>(p[a]);
    }
  }
  // What a place is worth, after those that it leads to; and the gradient there.
  void appraise(const growth_path& path, std::size_t at, const std::vector<double>& rewards, double entropy) {
    const std::size_t places = path.places().size();
    const std::vector<float>& p = probabilities_[at];
    worth_[at] = 0;
    for (std::uint32_t a = 0; a < p.size(); ++a) {
      const std::size_t to = path.next(at, a);
      const double probability = static_cast<double>(p[a]);
      worths_[a] =
          (to < places ? worth_[to] : rewards[to - places]) - (probability > 0 ? entropy * std::log(probability) : 0.0);
      worth_[at] += probability * worths_[a];
    }
    if (reach_[at] < negligible) return;
    for (std::size_t a = 0; a < p.size(); ++a)
      slopes_[a] = static_cast<float>(reach_[at] * static_cast<double>(p[a]) * (worth_[at] - worths_[a]));
    network_.backward(std::span<const float>{slopes_}.first(p.size()), works_[at], adam_.gradient());
  }

  expected_growth_options options_;
  Network network_;
  std::vector<growth_path> paths_;
  std::vector<std::vector<double>> rewards_;  // of each path, by sequence
  basic_growth_adam<Network> adam_;
  std::vector<typename Network::workspace> works_;  // of each place, as what follows
  std::vector<std::vector<float>> probabilities_;
  std::vector<double> reach_, worth_;
  std::vector<float> slopes_;  // of each action, as what follows
  std::vector<double> worths_;
  random_sequence random_;
  std::size_t turn_ = 0;  // whose update is next
  std::uint64_t updates_ = 0, rejected_updates_ = 0;
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
