#ifndef RUBATO_EXAMPLES_LAB_RLP_FIGURES_HPP
#define RUBATO_EXAMPLES_LAB_RLP_FIGURES_HPP

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare.hpp"
#include "summary.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

/// How many times as long as the paper's policy a rule takes, by the text of the paper.
struct rlp_ratios {
  std::optional<double> bsp{}, asp{}, ssp{};  ///< SSP with its best bound
  std::optional<double> best{};               ///< the quickest of those
};

/// What a bar of Figures 2 and 3 of the RLP paper shows.
struct rlp_case {
  std::string_view experiment;        ///< fig2 or fig3
  std::string_view part;              ///< 2a, 2b-0 ...
  std::string_view meaning;           ///< one line
  std::vector<std::string> settings;  ///< KEY=VALUE, of the scenario
  bool of_other_data = false;         ///< than what the policies have been trained with
  rlp_ratios published{};             ///< nothing where the paper has a picture alone
};

/// All of them, in the order of the paper.
[[nodiscard]] std::span<const rlp_case> rlp_cases();

/// Those of an experiment with these parts; all, where none is named. Errors  user_error: an unknown part
[[nodiscard]] std::vector<const rlp_case*> rlp_cases_of(std::string_view experiment,
                                                        const std::vector<std::string>& parts);

/// What to make of them.
struct rlp_figure_request {
  std::string experiment;            ///< fig2 or fig3
  std::vector<std::string> parts{};  ///< none: all of the experiment
  support::scenario scenario{};      ///< which the settings of cases change
  std::uint64_t seed = 1;
  std::uint32_t seeds = 200;  ///< runs of each policy. Each has a cluster, a model and half of the data of its own
};

/// A case as it came out. The first six rows are the rules of the paper, the others are compared with them.
struct rlp_case_result {
  const rlp_case* of = nullptr;
  comparison made;
};

/// Rows that are the rules of the paper: BSP, ASP, and SSP with the bounds 2, 3, 5 and 8.
inline constexpr std::size_t rlp_rules = 6;

/// Everything.
struct rlp_figure {
  rlp_figure_request asked;
  std::vector<rlp_case_result> cases{};
  std::vector<const rlp_case*> left_out{};  ///< there was no other data
  bool interrupted = false;
};

/// Compares the rules of the paper with `rlp`, `learned`, `distilled` and `knee` in each case, on the same seeds. Cases
/// of other data are left out where `other` is null, unless they are named.
///
/// What the runners' caches know is not run again: that is how an interrupted experiment goes on.
/// Errors  user_error: those of rlp_cases_of() and compare(); other data is missing for a named part, or `rlp`'s file
/// Tests   tests/examples/rlp_figures_test.cpp
[[nodiscard]] rlp_figure run_rlp_figure(const rlp_figure_request&, const runner& usual, const runner* other);

/// A policy's row: how many times as long as it the rules take, interquartile means over the same seeds.
struct rlp_comparison {
  std::optional<support::estimate> bsp{}, asp{};  ///< none where too few of the runs reach the end
  std::optional<support::estimate> ssp{};         ///< with its best bound
  std::optional<support::estimate> best{};        ///< the quickest of all
};
/// Of the row, counted from 0. The best bound of SSP and the best rule are the quickest of these very runs; intervals
/// have the chance in them that others would have been.
[[nodiscard]] rlp_comparison compare_with_rules(const comparison&, const comparison_summary&, std::size_t row);

/// For a terminal, a table for each case.
[[nodiscard]] std::string table(const rlp_figure&);

/// The same, with all runs.
[[nodiscard]] nlohmann::json to_json(const rlp_figure&);

}  // namespace rubato::lab

#endif
