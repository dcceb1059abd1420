#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_RIGHT_OF_WAY_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_RIGHT_OF_WAY_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>

#include "tunnel.hpp"

namespace stigmergy {

/// What people would write: go the shortest way; whoever carries has the right of way in the tunnel, whoever does not
/// backs out before it; nobody enters against traffic, and those at its mouths make room for who comes out.
///
/// It sees more than those who learn: what others carry and where they head, within the same distance.
class right_of_way {
 public:
  [[nodiscard]] std::uint32_t operator()(const tunnel& world, std::size_t agent,
                                         rubato::random_sequence& random) const {
    const cell at = world.place(agent);
    const bool carries = world.carries(agent);
    const std::uint32_t ahead = world.way(agent);
    const bool is_taken = sees_traffic(world, agent);
    if (world.in_tunnel(at)) return !carries && is_taken ? back(carries) : ahead;

    const cell to = tunnel::sum(at, moves[ahead]);
    const bool is_at_mouth = at.row == tunnel::tunnel_row && !world.in_tunnel(at);
    if (is_taken && is_at_mouth) return random.below(2) == 0 ? 0 : 2;  // up or down
    if (world.in_tunnel(to)) return is_taken || world.occupant(to) >= 0 ? stay : ahead;
    if (world.occupant(to) < 0) return ahead;
    return random.uniform() < 0.7 ? static_cast<std::uint32_t>(random.below(4)) : stay;  // round whoever is there
  }

 private:
  [[nodiscard]] static constexpr std::uint32_t back(bool carries) noexcept { return carries ? 1 : 3; }

  // Is somebody in the tunnel ahead who comes this way, by its load or because it backs out?
  [[nodiscard]] static bool sees_traffic(const tunnel& world, std::size_t agent) {
    const cell at = world.place(agent);
    const bool carries = world.carries(agent);
    for (std::int32_t distance = 1; distance <= tunnel::sight; ++distance) {
      const cell seen{at.column + (carries ? -distance : distance), tunnel::tunnel_row};
      const std::int32_t other = world.in_tunnel(seen) ? world.occupant(seen) : -1;
      if (other < 0) continue;
      const auto who = static_cast<std::size_t>(other);
      if (world.carries(who) != carries || world.heading(who) == back(carries)) return true;
    }
    return false;
  }
};

}  // namespace stigmergy

#endif
