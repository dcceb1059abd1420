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
#include "../growth/growable_model.hpp"
#include "../growth/growth_network.hpp"
#include "../growth/growth_table.hpp"
#include "../growth/layer_vocabulary.hpp"
#include "../growth/time_encoding.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// All that can become of a model by a table, as a network reads it: no model is touched while an agent learns.
///
/// Tests   tests/adapt/growth/growth_path_test.cpp: HasEveryPrefix, NextLeadsToPlacesAndSequences, RefusesOtherTables
class growth_path {
 public:
  /// What an agent is asked at.
  struct place {
    std::vector<std::uint32_t> layers{};   ///< rows of the vocabulary
    std::array<float, time_codes> time{};  ///< see encoded_time
  };

  /// Errors  invalid_option: a table with another number of actions than the model has blocks and one; a layer that the
  ///         vocabulary has no row for
  [[nodiscard]] static result<growth_path> make(const growable_model& start, const growth_table& table,
                                                const layer_vocabulary& words, time_encoding time) {
    if (table.actions() != start.blocks().size() + 1)
      return error{errc::invalid_option, "growth_path: found a table of " + std::to_string(table.actions()) +
                                             " actions, expected " + std::to_string(start.blocks().size() + 1) +
                                             ", one for each block and one for nothing"};
    growth_path path{table};
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
  /// The most layers that the model comes to.
  [[nodiscard]] std::size_t most_layers() const noexcept { return most_layers_; }
  /// The place after these actions.
  [[nodiscard]] const place& after(std::span<const std::uint32_t> actions) const noexcept {
    return places_[index_of(actions)];
  }

 private:
  explicit growth_path(const growth_table& table) : table_{table} {
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
    places_[index_of(actions)] = {std::move(*rows), encoded_time(table_.time_left(actions), table_.budget(), time)};
    if (actions.size() + 1 == table_.steps()) return {};
    for (std::uint32_t action = 0; action < table_.actions(); ++action) {
      growable_model next = model;
      if (action < model.blocks().size()) next.deepen(action);
      actions.push_back(action);
      const error e = add(next, words, time, actions);
      actions.pop_back();
      if (e.code != errc::ok) return e;
    }
    return {};
  }

  growth_table table_;
  std::vector<place> places_;  // see next()
  std::size_t most_layers_ = 0;
};

/// The sequence of a network's most probable actions on a path, as its number in the table; of equals the first.
/// Precondition: the network has as many actions as the table; `work` is for at least path.most_layers().
/// Tests   tests/adapt/growth/growth_path_test.cpp: GoesByTheMostProbableActions
template <std::floating_point T>
[[nodiscard]] std::size_t most_probable_sequence(const basic_growth_network<T>& network, const growth_path& path,
                                                 growth_network_workspace<T>& work) noexcept {
  std::size_t at = 0;
  while (at < path.places().size()) {
    const growth_path::place& here = path.places()[at];
    const auto preferences = network.forward(here.layers, here.time, work);
    at = path.next(at, static_cast<std::uint32_t>(std::ranges::max_element(preferences) - preferences.begin()));
  }
  return at - path.places().size();
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
