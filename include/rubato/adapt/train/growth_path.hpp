#ifndef RUBATO_ADAPT_TRAIN_GROWTH_PATH_HPP
#define RUBATO_ADAPT_TRAIN_GROWTH_PATH_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../core/result.hpp"
#include "../growth/block_action.hpp"
#include "../growth/growable_model.hpp"
#include "../growth/growth_table.hpp"
#include "../growth/layer_vocabulary.hpp"
#include "../growth/time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// All that can become of a model by a table, as a network reads it: no model is touched while an agent learns.
///
/// Tests   tests/adapt/growth/growth_path_test.cpp: HasEveryPrefix, KnowsWhereTheBlocksAre,
///         WideningIsAnAction, NextLeadsToPlacesAndSequences, TimesCanBeLater, RefusesOtherTables
class growth_path {
 public:
  /// What an agent is asked at.
  struct place {
    std::vector<std::uint32_t> layers{};   ///< rows of the vocabulary
    std::vector<block_action> actions{};   ///< see block_actions
    std::array<float, time_codes> time{};  ///< see encoded_time
    double time_left = 0;                  ///< of the table's budget
  };

  /// Errors  invalid_option: a table with another number of actions than the model has; a layer that the vocabulary has
  ///         no row for
  [[nodiscard]] static result<growth_path> make(const growable_model& start, const growth_table& table,
                                                const layer_vocabulary& words, time_encoding time) {
    if (table.actions() != start.actions())
      return error{errc::invalid_option, "growth_path: found a table of " + std::to_string(table.actions()) +
                                             " actions, expected " + std::to_string(start.actions()) +
                                             ", as many as the model has"};
    growth_path path{table, time};
    std::vector<std::uint32_t> actions;
    if (error e = path.add(start, words, time, actions); e.code != errc::ok) return e;
    return path;
  }

  [[nodiscard]] const growth_table& table() const noexcept { return table_; }       ///< what sequences come to
  [[nodiscard]] std::span<const place> places() const noexcept { return places_; }  ///< the start, then see next()
  /// Where an action leads from a place: the number of another place, or, less the number of places, of a sequence.
  [[nodiscard]] std::size_t next(std::size_t from, std::uint32_t action) const noexcept {
    return from * table_.actions() + action + 1;
  }
  /// The time at a place as it is encoded, so much later or, below 0, earlier: but not before the budget began, nor
  /// after it has ended.
  [[nodiscard]] std::array<float, time_codes> time_at(const place& at, double later) const noexcept {
    return encoded_time((std::clamp)(at.time_left - later, 0.0, table_.budget()), table_.budget(), time_);
  }
  /// The most layers that the model comes to.
  [[nodiscard]] std::size_t most_layers() const noexcept { return most_layers_; }
  /// The actions of the model, which stay as many, but for doing nothing.
  [[nodiscard]] std::size_t growing_actions() const noexcept { return table_.actions() - 1; }
  /// The place after these actions.
  [[nodiscard]] const place& after(std::span<const std::uint32_t> actions) const noexcept {
    return places_[index_of(actions)];
  }

 private:
  growth_path(const growth_table& table, time_encoding time) : table_{table}, time_{time} {
    std::size_t places = 0;
    for (std::uint32_t s = 0; s < table.steps(); ++s) places = places * table.actions() + 1;
    places_.resize(places);
  }

  [[nodiscard]] std::size_t index_of(std::span<const std::uint32_t> actions) const noexcept {
    std::size_t index = 0;
    for (const std::uint32_t action : actions) index = next(index, action);
    return index;
  }

  error add(const growable_model& model, const layer_vocabulary& words, time_encoding time,
            std::vector<std::uint32_t>& actions) {
    auto rows = words.rows_of(model.layers());
    if (!rows) return rows.error();
    most_layers_ = (std::max)(most_layers_, rows->size());
    places_[index_of(actions)] = {std::move(*rows), block_actions(model),
                                  encoded_time(table_.time_left(actions), table_.budget(), time),
                                  table_.time_left(actions)};
    if (actions.size() + 1 == table_.steps()) return {};
    for (std::uint32_t action = 0; action < table_.actions(); ++action) {
      growable_model next = model;
      next.grow(action);
      actions.push_back(action);
      const error e = add(next, words, time, actions);
      actions.pop_back();
      if (e.code != errc::ok) return e;
    }
    return {};
  }

  growth_table table_;
  time_encoding time_;
  std::vector<place> places_;  // see next()
  std::size_t most_layers_ = 0;
};

/// The sequence of the most probable actions of a network, either kind, on a path, as its number in the table; of
/// equals the first.
/// Precondition: the network serves() the table's actions; `work` is for at least path.most_layers(), and
/// path.growing_actions().
/// Tests   tests/adapt/growth/growth_path_test.cpp: GoesByTheMostProbableActions
template <class Network>
[[nodiscard]] std::size_t most_probable_sequence(const Network& network, const growth_path& path,
                                                 typename Network::workspace& work) noexcept {
  std::size_t at = 0;
  while (at < path.places().size()) {
    const growth_path::place& here = path.places()[at];
    const auto preferences = network.forward(here.layers, here.actions, here.time, work);
    at = path.next(at, static_cast<std::uint32_t>(std::ranges::max_element(preferences) - preferences.begin()));
  }
  return at - path.places().size();
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
