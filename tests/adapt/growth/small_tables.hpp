#ifndef RUBATO_TESTS_ADAPT_GROWTH_SMALL_TABLES_HPP
#define RUBATO_TESTS_ADAPT_GROWTH_SMALL_TABLES_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/adapt/growth/block_network.hpp>
#include <rubato/adapt/growth/growth_network.hpp>
#include <rubato/adapt/train/growth_path.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rubato::test {

inline adapt::layer_vocabulary small_words() {
  return *adapt::layer_vocabulary::make({{"a", 0}, {"x", 1}, {"b", 2}, {"y", 3}}, 4);
}
/// Three actions, two steps.
inline adapt::growth_path path_of(std::vector<adapt::growth_outcome> outcomes) {
  const auto model = adapt::growable_model::make({"a", "b"}, {{0, 1, {"x"}}, {1, 1, {"y"}}});
  return *adapt::growth_path::make(*model, *adapt::growth_table::make(3, 100, std::move(outcomes)), small_words(),
                                   adapt::time_encoding::sines);
}
/// Only the sequence of this number is worth much.
inline adapt::growth_path path_to(std::size_t best, double time_left = 80) {
  std::vector<adapt::growth_outcome> all(9, {0.1, {time_left, time_left / 2}});
  all[best].accuracy = 0.9;
  return path_of(std::move(all));
}
/// For such paths; with kernels that give the same bits everywhere.
inline adapt::growth_network small_network(std::uint64_t seed) {
  adapt::growth_network made = *adapt::growth_network::make(
      {.vocabulary = 4, .embedding = 4, .encoder = 6, .decider = 4, .hidden = 16, .actions = 3},
      nn::kernels::reproducible<float>());
  random_sequence random{seed};
  adapt::draw_embeddings(made, random);
  adapt::initialise(made, random);
  return made;
}
/// Likewise, for any number of actions.
inline adapt::block_network small_block_network(std::uint64_t seed) {
  adapt::block_network made = *adapt::block_network::make(
      {.vocabulary = 4, .embedding = 4, .encoder = 6, .decider = 4, .hidden = 16}, nn::kernels::reproducible<float>());
  random_sequence random{seed};
  adapt::draw_embeddings(made, random);
  adapt::initialise(made, random);
  return made;
}
/// So many blocks, two steps, and only the sequence of this number is worth much.
inline adapt::growth_path path_of_blocks(std::uint32_t blocks, std::size_t best) {
  const std::vector<std::string> layers{"a", "b", "a"};
  std::vector<adapt::growable_block> all;
  for (std::uint32_t b = 0; b < blocks; ++b) all.push_back({b, 1, {b == 1 ? "y" : "x"}});
  const auto model = adapt::growable_model::make({layers.begin(), layers.begin() + blocks}, all);
  std::vector<adapt::growth_outcome> outcomes((blocks + 1) * (blocks + 1), {0.1, {80, 40}});
  outcomes[best].accuracy = 0.9;
  return *adapt::growth_path::make(*model, *adapt::growth_table::make(blocks + 1, 100, outcomes), small_words(),
                                   adapt::time_encoding::cosines);
}

}  // namespace rubato::test

#endif
