#ifndef RUBATO_ADAPT_STIGMERGY_HPP
#define RUBATO_ADAPT_STIGMERGY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../config.hpp"
#include "../core/result.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// What becomes of pheromone. A cell where one deposit is made in each step comes to deposit / evaporation.
/// Source  Aina and Ha, "Deep Reinforcement Learning for Multi-Agent Coordination", arXiv:2510.03592; the numbers are
///         those of a port of it, which says that they are the paper's
struct pheromone_options {
  double evaporation = 0.05;  ///< share of every cell that is gone after a step; 0 to 0.9
  double deposit = 0.1;       ///< what a visit adds; 0 to 1e6
  double initial = 0;         ///< of every open cell after reset(); 0 to 1e6
  double diffusion = 0;       ///< share of a cell that moves on to its open neighbours in a step; 0 to 0.8
};

/// What is wrong with the options, or nullptr.
/// Tests   tests/adapt/stigmergy_test.cpp: ProblemsAreNamed
[[nodiscard]] constexpr const char* problem(const pheromone_options& o) noexcept {
  if (!pinned::within(o.evaporation, 0, 0.9)) return "evaporation: expected a number in [0, 0.9]";
  if (!pinned::within(o.deposit, 0, 1e6)) return "deposit: expected a number in [0, 1e6]";
  if (!pinned::within(o.initial, 0, 1e6)) return "initial: expected a number in [0, 1e6]";
  if (!pinned::within(o.diffusion, 0, 0.8)) return "diffusion: expected a number in [0, 0.8]";
  return nullptr;
}

/// A grid of cells that remember for a while where somebody was: deposits add up, and evaporate.
///
///     auto field = adapt::pheromone_field::make(14, 5, {});
///     field->deposit(3, 2);
///     field->step();           // 0.1 has become 0.095
///     float trace = field->at(3, 2);
///
/// Cells that are closed (walls) hold nothing, and let nothing through. With diffusion each of the four neighbours gets
/// a quarter of the share that moves on, but for closed ones and those beyond the edge, whose quarters stay: nothing is
/// lost but by evaporation.
///
/// Cost    deposit(), at(): O(1). step(): O(1) without diffusion, since all cells shrink by the same factor, which is
///         kept once, plus O(cells) in one step of hundreds; with diffusion O(cells that hold something, and their
///         neighbours). Memory for the cells is allocated by make(); nothing later allocates.
/// Thread  not thread-safe; at() is, among const calls.
/// Tests   tests/adapt/stigmergy_test.cpp: DepositsEvaporate, VisitsWithoutEndComeToTheirRatio,
///         LongTimesStayExact, DiffusionByHand, DiffusionLosesNothing, WallsHoldNothing, OnlyTouchedCellsAreSwept,
///         ResetIsTheBeginning, BadFieldsAreRefused; tests/adapt/no_allocation_test.cpp
class pheromone_field {
 public:
  /// A field as after reset(). `closed`: one flag for each cell, row after row; empty: all are open.
  /// Errors  invalid_option: problem(options); no cell, or more than 2^24; flags for another number of cells.
  [[nodiscard]] static result<pheromone_field> make(std::size_t columns, std::size_t rows,
                                                    const pheromone_options& options,
                                                    std::span<const std::uint8_t> closed = {}) {
    const auto refusal = [](std::string what) {
      return error{errc::invalid_option, "pheromone_field: " + std::move(what)};
    };
    if (const char* what = problem(options)) return refusal(what);
    if (columns < 1 || rows < 1 || columns > max_cells || rows > max_cells / columns)
      return refusal("found " + std::to_string(columns) + " x " + std::to_string(rows) + " cells, expected 1 to 2^24");
    if (!closed.empty() && closed.size() != columns * rows)
      return refusal("closed: found " + std::to_string(closed.size()) + " flags, expected one for each of " +
                     std::to_string(columns * rows) + " cells");
    return pheromone_field{columns, rows, options, closed};
  }

  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }               ///< width of the grid
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }                     ///< height of the grid
  [[nodiscard]] const pheromone_options& options() const noexcept { return options_; }  ///< as they were given

  /// Every open cell holds options().initial.
  void reset() noexcept {
    factor_ = 1;
    held_.clear();
    for (std::size_t cell = 0; cell < amounts_.size(); ++cell) {
      amounts_[cell] = closed_[cell] == 0 ? options_.initial : 0;
      is_held_[cell] = amounts_[cell] > 0;
      if (is_held_[cell] != 0) held_.push_back(static_cast<std::uint32_t>(cell));
    }
  }

  /// Somebody was here. Nothing happens in a closed cell. Precondition: the cell exists.
  void deposit(std::size_t column, std::size_t row) noexcept {
    const std::size_t cell = index(column, row);
    if (closed_[cell] != 0) return;
    amounts_[cell] += options_.deposit / factor_;
    hold(cell);
  }

  /// Time goes on: diffusion, then evaporation.
  void step() noexcept {
    if (options_.diffusion > 0) diffuse();
    factor_ *= 1 - options_.evaporation;
    if (factor_ < least_factor) settle();
  }

  /// What there is. Precondition: the cell exists.
  [[nodiscard]] float at(std::size_t column, std::size_t row) const noexcept {
    return static_cast<float>(amounts_[index(column, row)] * factor_);
  }
  /// Cells that may hold something: those that a step with diffusion looks at, but for their neighbours.
  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }

 private:
  static constexpr std::size_t max_cells = std::size_t{1} << 24;
  static constexpr double least_factor = 1e-20;  // a deposit divided by it is far from the largest number
  static constexpr double nothing = 1e-12;       // less is as good as none

  pheromone_field(std::size_t columns, std::size_t rows, const pheromone_options& options,
                  std::span<const std::uint8_t> closed)
      : columns_{columns},
        rows_{rows},
        options_{options},
        closed_(columns * rows),
        is_held_(columns * rows),
        amounts_(columns * rows),
        arriving_(columns * rows) {
    std::copy(closed.begin(), closed.end(), closed_.begin());
    held_.reserve(columns * rows);
    reset();
  }

  [[nodiscard]] std::size_t index(std::size_t column, std::size_t row) const noexcept {
    RUBATO_ASSERT(column < columns_ && row < rows_, "pheromone_field: no such cell");
    return row * columns_ + column;
  }
  void hold(std::size_t cell) noexcept {
    if (is_held_[cell] != 0) return;
    is_held_[cell] = 1;
    held_.push_back(static_cast<std::uint32_t>(cell));  // there is room for all
  }

  // Changes every cell that holds something, and lets go of what is as good as nothing then.
  template <class Change>
  void sweep(Change&& change) noexcept {
    std::size_t kept = 0;
    for (const std::uint32_t cell : held_) {
      change(cell);
      if (amounts_[cell] * factor_ < nothing)
        amounts_[cell] = 0, is_held_[cell] = 0;
      else
        held_[kept++] = cell;
    }
    held_.resize(kept);
  }

  // The factor goes into the amounts.
  void settle() noexcept {
    const double factor = std::exchange(factor_, 1.0);
    sweep([this, factor](std::size_t cell) { amounts_[cell] *= factor; });
  }

  void diffuse() noexcept {
    const std::size_t sources = held_.size();
    const double share = options_.diffusion / 4;
    for (std::size_t i = 0; i < sources; ++i) {
      const std::size_t cell = held_[i], column = cell % columns_, row = cell / columns_;
      const double quarter = share * amounts_[cell];
      const auto give = [&](bool exists, std::size_t to) {
        if (!exists || closed_[to] != 0) return;
        arriving_[to] += quarter;
        arriving_[cell] -= quarter;
        hold(to);
      };
      give(column > 0, cell - 1);
      give(column + 1 < columns_, cell + 1);
      give(row > 0, cell - columns_);
      give(row + 1 < rows_, cell + columns_);
    }
    sweep([this](std::size_t cell) { amounts_[cell] += std::exchange(arriving_[cell], 0.0); });
  }

  std::size_t columns_;
  std::size_t rows_;
  pheromone_options options_;
  double factor_ = 1;                  // what is in a cell is its amount times this
  std::vector<std::uint8_t> closed_;   // as bytes, which are faster than bits
  std::vector<std::uint8_t> is_held_;  // whether a cell is in held_
  std::vector<std::uint32_t> held_;
  std::vector<double> amounts_;
  std::vector<double> arriving_;  // all 0 between steps
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
