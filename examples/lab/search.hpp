#ifndef RUBATO_EXAMPLES_LAB_SEARCH_HPP
#define RUBATO_EXAMPLES_LAB_SEARCH_HPP

#include <cstdint>
#include <optional>
#include <rubato/learned/residual_policy.hpp>
#include <rubato/rl/search_training.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run_context.hpp"
#include "search_run.hpp"
#include "support/scenario.hpp"
#include "train.hpp"

namespace rubato::lab {

/// A search in the space of weights that `rubato-lab train --agent` can name.
struct search_agent {
  std::string_view name;
  std::string_view meaning;  ///< one line
  std::uint32_t population;  ///< candidates of a generation
  double step_size;          ///< of the first candidates, in each weight
  double learning_rate = 0;  ///< of es: about how far a weight moves with a generation
  double averaging = 0;      ///< of es: what its best guess keeps of the one before, since in noise the mean wanders
};

/// cma-es and es.
[[nodiscard]] std::span<const search_agent> search_agents();
/// Null if there is none of that name.
[[nodiscard]] const search_agent* find_search_agent(std::string_view name);

/// Everything that decides the policy that a search comes to.
struct search_request {
  std::optional<support::scenario> scenario{};  ///< none: clusters drawn at random
  std::string scenario_argument = "random";
  std::vector<std::string> settings{};
  search_agent agent;
  std::string state{};                    ///< kind of the encoder: of a policy in place of asp; empty: a correction
  std::uint64_t generations = 60;
  std::uint32_t clusters = 32;            ///< that each candidate of a generation is tried on
  std::uint32_t rounds = 2;               ///< of a race; 1: none
  std::uint32_t hidden = 0;               ///< units of a hidden layer; 0: none, all is linear
  std::string initial{};                  ///< correction to begin with: "distilled", or a policy file; empty: none;
                                          ///< not beside a state, hidden units or `only`
  std::optional<correction> only{};       ///< of a correction, the other output being 0; none: both
  std::uint64_t select_every = 10;        ///< generations
  std::uint32_t selection_clusters = 200;
  std::uint64_t seed = 1;
  std::string licence{};
};

/// The policy file that search_request::initial names; empty if it names the rule.
[[nodiscard]] std::string file_of_initial(const std::string& initial);

/// What --policies calls the rule that the search compares with and, without `initial`, begins with.
[[nodiscard]] std::string_view rule_of(const search_request&);

/// Searches for a correction of loss_decayed{knee{}} or, with a state, for a policy in place of asp, and writes it as a
/// policy file; a correction with what its inputs have been in the clusters of the selection. The file depends on the
/// request and the data alone, as that of train().
///
/// With `resume`, goes on where the checkpoint ends, or from the beginning if there is none, and does nothing if the
/// result is there; without, it refuses to touch either.
/// Errors  user_error: files that are there, are damaged or belong to another search; a search that still writes them;
///         a state that does not exist; an `initial` that is no correction, or beside what it cannot be
/// Tests   tests/examples/search_test.cpp: SameBytesForAnyThreads, InterruptedAndResumedSameBytes, CompleteIsComplete,
///         RefusesAnotherSearch, CardSaysHowItWasMade, HiddenLayersAreSearchedToo, CorrectsOneAlone,
///         RefusesToGoOnWithOtherCorrections, FindsPoliciesOfEveryState, PoliciesAreSearchedForAlike,
///         RefusesToGoOnWithAnotherState, RefusesAnUnknownState, BeginsWithTheDistilledRule,
///         BeginsWithAFile, RefusesToGoOnFromAnotherStart,
///         RefusesWhatItCannotBeginWith, WritesTheCurve
search_report search(const search_request&, const training_files&, bool resume, const run_context&);

/// The command that finds the same policy again, given --out, the same data and, with --initial FILE, the same file.
[[nodiscard]] std::string command_of(const search_request&);

}  // namespace rubato::lab

#endif
