// One update of a DQN, batch 32, by other libraries (../peers/dqn_update.hpp), each checked against a plain one of our
// own parts: what bench_learner measures in turns with ours.
#ifndef RUBATO_BENCH_MICRO_UPDATE_PEERS_HPP
#define RUBATO_BENCH_MICRO_UPDATE_PEERS_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include <rubato/core/rng.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>

#include "../peers/dqn_update.hpp"
#include "paired.hpp"

namespace rubato::bench {

/// Transitions with random numbers, the same for all who are measured.
struct random_replay {
  explicit random_replay(std::size_t transitions)
      : here(transitions * 40),
        there(transitions * 40),
        reward(transitions),
        discount(transitions),
        action(transitions) {
    random_sequence random{3};
    const auto fill = [&](std::vector<float>& numbers) {
      for (float& x : numbers) x = static_cast<float>(2 * random.uniform() - 1);
    };
    fill(here);
    fill(there);
    fill(reward);
    for (float& d : discount) d = random.below(20) == 0 ? 0.0F : 0.97F;
    for (std::uint32_t& a : action) a = static_cast<std::uint32_t>(random.below(3));
  }
  [[nodiscard]] replayed view() const {
    return {action.size(), here.data(), there.data(), action.data(), reward.data(), discount.data()};
  }

  std::vector<float> here, there, reward, discount;
  std::vector<std::uint32_t> action;
};

namespace detail {

using q_network = nn::mlp<40, 64, 32, 3>;
using batch_indices = std::array<std::uint32_t, update_batch>;
inline constexpr float update_rate = 1e-3F;

inline q_network initial(float slope) {
  q_network net{{.hidden = {.kind = nn::activation_kind::leaky_relu, .slope = static_cast<double>(slope)}}};
  random_sequence random{1};
  nn::initialise(net, {nn::initialiser_kind::xavier_uniform}, random);
  return net;
}

inline batch_indices draw(random_sequence& random, std::size_t transitions) {
  batch_indices drawn;
  for (std::uint32_t& t : drawn) t = static_cast<std::uint32_t>(random.below(transitions));
  return drawn;
}

// Parameters after so many updates, from the parts that rubato has.
inline q_network updated(q_network net, const replayed& replay, int updates) {
  const q_network target = net;
  q_network::workspace work{net, update_batch};
  nn::adam adam{net.parameters().size(), {.learning_rate = static_cast<double>(update_rate)}};
  random_sequence random{4};
  for (int n = 0; n < updates; ++n) {
    const batch_indices rows = draw(random, replay.transitions);
    std::vector<float> here, slopes(update_batch * 3), gradient(net.parameters().size());
    for (const std::size_t t : rows) here.insert(here.end(), replay.here + 40 * t, replay.here + 40 * (t + 1));
    const std::span<const float> value = net.forward(here, work);
    for (std::size_t i = 0; i < update_batch; ++i) {
      const std::size_t t = rows[i], at = 3 * i + replay.action[t];
      std::array<float, 3> next;
      target.evaluate(std::span{replay.there + 40 * t, 40}, next);
      const float aim = replay.reward[t] + replay.discount[t] * *std::ranges::max_element(next);
      slopes[at] = 2.0F / update_batch * (value[at] - aim);
    }
    net.backward(slopes, work, gradient);
    adam.step(net.parameters(), gradient);
  }
  return net;
}

// Ends the program unless the library comes to the same parameters, within 1 % of the way to them: where a gradient is
// next to nothing Adam follows its rounding.
inline void check(const update_library& library, const replayed& replay) {
  constexpr int updates = 20;
  const q_network first = initial(library.slope), right = updated(first, replay, updates);
  const auto peer = library.make(first.parameters().data(), replay, update_rate);
  random_sequence random{4};
  for (int n = 0; n < updates; ++n) peer->update(draw(random, replay.transitions).data());
  std::vector<float> got(right.parameters().size());
  peer->parameters(got.data());
  double wrong = 0, way = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    wrong += std::pow(static_cast<double>(got[i] - right.parameters()[i]), 2);
    way += std::pow(static_cast<double>(right.parameters()[i] - first.parameters()[i]), 2);
  }
  if (!(wrong <= 1e-4 * way)) {
    std::fprintf(stderr, "%s computes another update: off by %g of %g\n", library.name, std::sqrt(wrong),
                 std::sqrt(way));
    std::exit(1);
  }
}

}  // namespace detail

/// Adds all libraries of this program, as they learn from so many transitions; `replay` outlives them.
inline void add_update_peers(std::vector<contender>& all, const random_replay& replay) {
  for (const update_library& library : update_libraries()) {
    detail::check(library, replay.view());
    const detail::q_network first = detail::initial(library.slope);
    const std::shared_ptr<update_peer> peer =
        library.make(first.parameters().data(), replay.view(), detail::update_rate);
    all.emplace_back(library.name, 10, [peer, count = replay.action.size(), random = random_sequence{5}]() mutable {
      peer->update(detail::draw(random, count).data());
    });
  }
}

}  // namespace rubato::bench

#endif
