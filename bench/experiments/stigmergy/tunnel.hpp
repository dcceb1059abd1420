#ifndef RUBATO_BENCH_EXPERIMENTS_STIGMERGY_TUNNEL_HPP
#define RUBATO_BENCH_EXPERIMENTS_STIGMERGY_TUNNEL_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <rubato/adapt/stigmergy.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/rl/multi_agent.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stigmergy {

/// A place in the grid.
struct cell {
  std::int32_t column = 0, row = 0;
  friend bool operator==(const cell&, const cell&) = default;
};

/// What an agent may do: four moves, which are also the headings, and staying.
inline constexpr std::array<cell, 5> moves{{{0, -1}, {1, 0}, {0, 1}, {-1, 0}, {0, 0}}};
inline constexpr std::uint32_t stay = 4;

/// What there is to vary.
struct tunnel_options {
  std::size_t length = 8;  ///< of the tunnel, in cells
  std::size_t agents = 8;
  bool stochastic = true;     ///< moves fail, agents move in random order, pellets lie anywhere
  double failure = 0.1;       ///< probability that a stochastic world's agent makes a random move instead
  std::size_t pellets = 4;    ///< that lie in the field at any time: one that is taken appears elsewhere
  std::uint32_t steps = 300;  ///< of an episode
  bool has_pheromone = true;  ///< agents sense it; without, they see zeros
  rubato::adapt::pheromone_options pheromone{};
};

/// What happened in an episode so far.
struct tunnel_tally {
  std::vector<std::uint32_t> delivered;   ///< pellets, by agent
  std::vector<std::uint32_t> idle;        ///< steps in which it stayed because it chose to, by agent
  std::vector<std::uint32_t> collisions;  ///< moves into another agent, by agent
};

/// Agents fetch pellets through a tunnel in which only one way is possible at a time:
///
///     ##################      H: home, P: where pellets are
///     #H...########PPPP#
///     #H...########PPPP#
///     #H...........PPPP#
///     #H...########PPPP#
///     #H...########PPPP#
///     ##################
///
/// Each step all agents act, one after the other; a move into a wall or another agent fails. Then each deposits
/// pheromone where it is, and all pheromone evaporates. An agent sees the 25 cells around it (walls, agents, pellets,
/// pheromone), whether it carries a pellet, its heading, and the direction of its goal: the pellet or the cell of home
/// that is the fewest rows and columns away; nothing of what others carry, and nobody's intentions.
/// Pre     at most 20 agents, which is how many start at home, and fewer pellets than the 20 cells of their field
/// Source  Aina and Ha, arXiv:2510.03592, for the task and the weights of the rewards; what it leaves open is ours
class tunnel {
 public:
  static constexpr std::int32_t sight = 2;       // cells in each direction
  static constexpr std::int32_t tunnel_row = 3;  // of the grid
  static constexpr std::size_t side = 2 * sight + 1, patch = side * side;
  static constexpr std::size_t inputs = 4 * patch + 1 + 4 + 2;

  explicit tunnel(const tunnel_options& options)
      : options_{options},
        map_{map_of(options.length)},
        columns_{static_cast<std::int32_t>(map_[0].size())},
        rows_{static_cast<std::int32_t>(map_.size())},
        field_{made_field(options, map_)},
        here_(cells(), nobody),
        pellet_(cells(), 0),
        to_home_(cells()),
        observations_(options.agents * inputs),
        rewards_(options.agents) {
    for (std::int32_t row = 0; row < rows_; ++row)
      for (std::int32_t column = 0; column < columns_; ++column) {
        const cell at{column, row};
        if (kind(at) == 'P') field_cells_.push_back(at);
        if (kind(at) == 'H') home_cells_.push_back(at);
        if (kind(at) == 'H' || (kind(at) == '.' && column <= room)) start_cells_.push_back(at);
      }
    distances(home_cells_, to_home_);
    reset(0);
  }

  [[nodiscard]] std::size_t agents() const noexcept { return options_.agents; }
  [[nodiscard]] static constexpr std::size_t observation_size() noexcept { return inputs; }
  [[nodiscard]] static constexpr std::size_t actions() noexcept { return moves.size(); }
  [[nodiscard]] static constexpr std::uint32_t legal(std::size_t) noexcept { return 0b11111; }

  void reset(std::uint64_t seed) {
    random_ = rubato::random_sequence{seed, 0x7374};
    time_ = 0;
    std::fill(here_.begin(), here_.end(), nobody);
    std::fill(pellet_.begin(), pellet_.end(), std::uint8_t{0});
    field_.reset();
    bodies_.assign(options_.agents, {});
    tally_.delivered.assign(options_.agents, 0);
    tally_.idle.assign(options_.agents, 0);
    tally_.collisions.assign(options_.agents, 0);
    next_pellet_ = 0;
    for (std::size_t i = 0; i < options_.agents; ++i) {
      body& who = bodies_[i];
      if (options_.stochastic) do
          who.at = start_cells_[random_.below(start_cells_.size())];
        while (here_[index(who.at)] != nobody);
      else
        who.at = start_cells_[i];
      here_[index(who.at)] = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < options_.pellets; ++i) drop_pellet();
    look();
  }

  [[nodiscard]] std::span<const float> observation(std::size_t agent) const noexcept {
    return std::span{observations_}.subspan(agent * inputs, inputs);
  }
  /// Numbers of state().
  [[nodiscard]] std::size_t state_size() const noexcept {
    std::size_t open = 0;
    for (const std::string& row : map_)
      open += static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](char c) { return c != '#'; }));
    return 3 * open;
  }
  /// All that there is, for a critic: of every open cell whether an agent is there, whether it carries, and a pellet.
  [[nodiscard]] std::vector<float> state() const {
    std::vector<float> numbers;
    for (std::int32_t row = 0; row < rows_; ++row)
      for (std::int32_t column = 0; column < columns_; ++column) {
        const cell at{column, row};
        if (is_wall(at)) continue;
        const std::int32_t who = occupant(at);
        numbers.push_back(who >= 0 ? 1.0F : 0.0F);
        numbers.push_back(who >= 0 && carries(static_cast<std::size_t>(who)) ? 1.0F : 0.0F);
        numbers.push_back(has_pellet(at) ? 1.0F : 0.0F);
      }
    return numbers;
  }
  /// All of them, agent after agent.
  [[nodiscard]] std::span<const float> observations() const noexcept { return observations_; }

  rubato::rl::joint_outcome step(std::span<const std::uint32_t> actions) {
    std::array<std::uint32_t, 64> order{};
    for (std::uint32_t i = 0; i < options_.agents; ++i) order[i] = i;
    if (options_.stochastic)
      for (std::size_t i = options_.agents; i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (std::size_t k = 0; k < options_.agents; ++k) move(order[k], actions[order[k]]);
    for (const body& who : bodies_)
      field_.deposit(static_cast<std::size_t>(who.at.column), static_cast<std::size_t>(who.at.row));
    field_.step();
    ++time_;
    look();
    return {.rewards = rewards_, .terminated = false, .truncated = time_ >= options_.steps};
  }

  [[nodiscard]] const tunnel_tally& tally() const noexcept { return tally_; }
  [[nodiscard]] std::uint32_t delivered() const noexcept {
    std::uint32_t sum = 0;
    for (const std::uint32_t each : tally_.delivered) sum += each;
    return sum;
  }

  // For pictures, and for rules that are written by hand.
  [[nodiscard]] const tunnel_options& options() const noexcept { return options_; }
  [[nodiscard]] std::int32_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::int32_t rows() const noexcept { return rows_; }
  [[nodiscard]] cell place(std::size_t agent) const noexcept { return bodies_[agent].at; }
  [[nodiscard]] bool carries(std::size_t agent) const noexcept { return bodies_[agent].carries; }
  [[nodiscard]] std::uint32_t heading(std::size_t agent) const noexcept { return bodies_[agent].heading; }
  [[nodiscard]] bool has_pellet(cell at) const noexcept { return pellet_[index(at)] != 0; }
  [[nodiscard]] bool is_wall(cell at) const noexcept {
    return at.column < 0 || at.row < 0 || at.column >= columns_ || at.row >= rows_ || kind(at) == '#';
  }
  /// Who is there, or -1.
  [[nodiscard]] std::int32_t occupant(cell at) const noexcept { return is_wall(at) ? nobody : here_[index(at)]; }
  [[nodiscard]] float pheromone(cell at) const noexcept {
    return field_.at(static_cast<std::size_t>(at.column), static_cast<std::size_t>(at.row));
  }
  /// A move by the shortest way to the agent's goal, whoever is in the way.
  [[nodiscard]] std::uint32_t way(std::size_t agent) const noexcept {
    const body& who = bodies_[agent];
    const auto& far = who.carries ? to_home_ : to_pellet_;
    std::uint32_t best = stay;
    for (std::uint32_t a = 0; a < 4; ++a) {
      const cell to = sum(who.at, moves[a]);
      if (!is_wall(to) && far[index(to)] < far[best == stay ? index(who.at) : index(sum(who.at, moves[best]))])
        best = a;
    }
    return best;
  }
  [[nodiscard]] static cell sum(cell a, cell b) noexcept { return {a.column + b.column, a.row + b.row}; }
  /// A cell of the tunnel: walls on both sides.
  [[nodiscard]] bool in_tunnel(cell at) const noexcept {
    return !is_wall(at) && is_wall(sum(at, moves[0])) && is_wall(sum(at, moves[2]));
  }

 private:
  static constexpr std::int32_t nobody = -1;

  struct body {
    cell at{};
    bool carries = false;
    std::uint32_t heading = stay;
  };

  static constexpr std::int32_t room = 4;  // width of home and field

  [[nodiscard]] static std::vector<std::string> map_of(std::size_t length) {
    const auto row = [&](char home, char inner, char between, char field) {
      return '#' + std::string(1, home) + std::string(room - 1, inner) + std::string(length, between) +
             std::string(room, field) + '#';
    };
    std::vector<std::string> map(7, row('H', '.', '#', 'P'));
    map[tunnel_row] = row('H', '.', '.', 'P');
    map.front() = map.back() = row('#', '#', '#', '#');
    return map;
  }
  [[nodiscard]] static rubato::adapt::pheromone_field made_field(const tunnel_options& options,
                                                                 const std::vector<std::string>& map) {
    std::vector<std::uint8_t> walls;
    for (const std::string& row : map)
      for (const char c : row) walls.push_back(c == '#' ? 1 : 0);
    return *rubato::adapt::pheromone_field::make(map[0].size(), map.size(), options.pheromone, walls);
  }
  [[nodiscard]] std::size_t cells() const noexcept { return static_cast<std::size_t>(columns_ * rows_); }
  [[nodiscard]] std::size_t index(cell at) const noexcept {
    return static_cast<std::size_t>(at.row * columns_ + at.column);
  }
  [[nodiscard]] char kind(cell at) const noexcept {
    return map_[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)];
  }

  // Steps from every cell to the nearest of these.
  void distances(std::span<const cell> goals, std::vector<std::uint16_t>& far) {
    far.assign(cells(), (std::numeric_limits<std::uint16_t>::max)());
    queue_.clear();
    for (const cell at : goals) far[index(at)] = 0, queue_.push_back(at);
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const cell at = queue_[next];
      for (std::uint32_t a = 0; a < 4; ++a) {
        const cell to = sum(at, moves[a]);
        if (is_wall(to) || far[index(to)] <= far[index(at)] + 1) continue;
        far[index(to)] = static_cast<std::uint16_t>(far[index(at)] + 1);
        queue_.push_back(to);
      }
    }
  }

  void drop_pellet() {
    cell at;
    do
      at = field_cells_[options_.stochastic ? random_.below(field_cells_.size())
                                            : 7 * next_pellet_++ % field_cells_.size()];
    while (has_pellet(at));
    pellet_[index(at)] = 1;
    pellets_now_.clear();
    for (const cell each : field_cells_)
      if (has_pellet(each)) pellets_now_.push_back(each);
    distances(pellets_now_, to_pellet_);
  }

  void move(std::uint32_t agent, std::uint32_t action) {
    body& who = bodies_[agent];
    float& reward = rewards_[agent];
    reward = 0;
    if (action == stay) ++tally_.idle[agent];
    if (options_.stochastic && random_.uniform() < options_.failure)
      action = static_cast<std::uint32_t>(random_.below(5));
    if (action == stay) return;
    const cell to = sum(who.at, moves[action]);
    who.heading = action;
    if (is_wall(to)) return;
    if (here_[index(to)] != nobody) {
      reward -= 0.2F * 2.0F;
      ++tally_.collisions[agent];
      return;
    }
    const auto& far = who.carries ? to_home_ : to_pellet_;
    const int nearer = static_cast<int>(far[index(who.at)]) - static_cast<int>(far[index(to)]);
    reward += 0.2F * 2.5F * static_cast<float>(nearer);
    std::swap(here_[index(who.at)], here_[index(to)]);
    who.at = to;
    if (who.carries && kind(to) == 'H') {
      who.carries = false;
      ++tally_.delivered[agent];
      reward += 0.4F * 50.0F;
    } else if (!who.carries && has_pellet(to)) {
      who.carries = true;
      pellet_[index(to)] = 0;
      drop_pellet();
      reward += 0.2F * 50.0F;
    }
  }

  void look() noexcept {
    for (std::size_t i = 0; i < options_.agents; ++i) {
      const body& who = bodies_[i];
      float* out = observations_.data() + i * inputs;
      float* const walls = out;
      float* const agents = out + patch;
      float* const pellets = out + 2 * patch;
      float* const traces = out + 3 * patch;
      std::size_t k = 0;
      for (std::int32_t y = -sight; y <= sight; ++y)
        for (std::int32_t x = -sight; x <= sight; ++x, ++k) {
          const cell at = sum(who.at, {x, y});
          const bool wall = is_wall(at);
          walls[k] = wall ? 1.0F : 0.0F;
          agents[k] = !wall && here_[index(at)] != nobody && (x != 0 || y != 0) ? 1.0F : 0.0F;
          pellets[k] = !wall && pellet_[index(at)] != 0 ? 1.0F : 0.0F;
          traces[k] = !wall && options_.has_pheromone ? pheromone(at) / 2 : 0.0F;
        }
      out += 4 * patch;
      *out++ = who.carries ? 1.0F : 0.0F;
      for (std::uint32_t a = 0; a < 4; ++a) *out++ = who.heading == a ? 1.0F : 0.0F;
      const cell goal = nearest(who);
      const float x = static_cast<float>(goal.column - who.at.column), y = static_cast<float>(goal.row - who.at.row);
      const float length = std::sqrt(x * x + y * y);
      *out++ = length > 0 ? x / length : 0;
      *out++ = length > 0 ? y / length : 0;
    }
  }
  // Its goal.
  [[nodiscard]] cell nearest(const body& who) const noexcept {
    cell best = who.at;
    int least = std::numeric_limits<int>::max();
    for (const cell at : who.carries ? std::span<const cell>{home_cells_} : std::span<const cell>{pellets_now_}) {
      const int far = std::abs(at.column - who.at.column) + std::abs(at.row - who.at.row);
      if (far < least) least = far, best = at;
    }
    return best;
  }

  tunnel_options options_;
  std::vector<std::string> map_;  // H, P, walls #, and what is none of these
  std::int32_t columns_, rows_;
  rubato::adapt::pheromone_field field_;
  std::vector<std::int32_t> here_;
  std::vector<std::uint8_t> pellet_;
  std::vector<std::uint16_t> to_home_, to_pellet_;
  std::vector<cell> field_cells_, home_cells_, start_cells_, pellets_now_, queue_;
  std::vector<body> bodies_;
  std::vector<float> observations_, rewards_;
  tunnel_tally tally_;
  rubato::random_sequence random_{0};
  std::uint64_t next_pellet_ = 0;
  std::uint32_t time_ = 0;
};

}  // namespace stigmergy

#endif
