#ifndef RUBATO_EXAMPLES_LAB_GROWTH_TABLES_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_TABLES_HPP

#include <cstdint>
#include <rubato/adapt/growth/growable_model.hpp>
#include <rubato/adapt/growth/growth_table.hpp>
#include <rubato/sim/dataset.hpp>
#include <vector>

#include "growth_job.hpp"

namespace rubato::lab {

/// What a job comes to by every way of growing it.
struct tabled_job {
  growth_job_options job{};
  double at = 0;            ///< share of the budget after which devices come free
  std::uint32_t steps = 3;  ///< actions, one before each epoch from then on
  bool widens = false;      ///< widening each block is an action, too
};

/// The model that it begins with.
[[nodiscard]] adapt::growable_model model_of(const tabled_job& of, const sim::data_split& images);

/// One training for every sequence, as growth_table has them, of actions as growable_model numbers them. What sequences
/// begin with alike is trained once. Parameters and order of samples are those of the seed, for all of them.
/// Tests   tests/examples/growth_tables_test.cpp: EachSequenceIsATraining, WideningIsAnAction
[[nodiscard]] std::vector<adapt::growth_outcome> every_outcome(const tabled_job& of, const sim::data_split& images,
                                                               std::uint64_t seed);

/// A table of means over repeats.
struct repeated_table {
  adapt::growth_table table;
  double standard_error = 0;  ///< of an accuracy, in the quadratic mean over the sequences; NaN of one repeat
  double of_difference = 0;   ///< the same of how far a sequence is from the mean of its table, which repeats share
};

/// Pre  at least one repeat, all of the same sequences
/// Tests   tests/examples/growth_tables_test.cpp: RepeatsAreAveraged
[[nodiscard]] repeated_table mean_of(const std::vector<std::vector<adapt::growth_outcome>>& repeats,
                                     std::uint32_t actions, double budget);

}  // namespace rubato::lab

#endif
