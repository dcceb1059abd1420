#ifndef RUBATO_EXAMPLES_LAB_ADVISE_HPP
#define RUBATO_EXAMPLES_LAB_ADVISE_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_fit.hpp"
#include "model_guess.hpp"
#include "policies.hpp"
#include "run_context.hpp"
#include "support/statistics.hpp"

namespace rubato::lab {

/// The rules that `advise` chooses from, the simplest first: of those that come to the same the first is recommended.
inline constexpr std::array<std::string_view, 14> advised_rules{"bsp:sum", "bsp:mean",  "asp",   "ssp:1",  "ssp:2",
                                                                "ssp:3",   "ssp:4",     "ssp:5", "ssp:6",  "ssp:7",
                                                                "ssp:8",   "distilled", "knee",  "learned"};

inline constexpr double patience = 3;

struct advise_options {
  support::scenario base;  ///< what is trained, as far as it is known
  std::vector<named_policy> rules;
  std::optional<named_policy> current;  ///< of the log
  std::uint64_t seed = 1;
  std::uint32_t members = 16;  ///< clusters and models that the log could have come from
  std::uint32_t runs = 2;      ///< of each rule on each
  double threshold = 0.03;     ///< a gain that may be less than this is none
};

/// What is expected of a rule.
struct rule_outlook {
  std::string name;
  support::estimate time;  ///< of a run to the target, in units, with the 90 % interval of one run
  std::uint32_t reached = 0;
  std::uint32_t runs = 0;
  double pushes = 0;  ///< of a run, on average
  std::optional<support::estimate> gain{};  ///< expected time of the log's policy ÷ this one's, less 1; 90 % interval
  /// Whether enough runs arrived for `time` and `gain` to mean something.
  [[nodiscard]] bool reliable() const noexcept { return runs > 0 && reached >= 0.9 * runs; }
};

struct advice {
  std::vector<rule_outlook> rules;  ///< as asked for
  std::optional<rule_outlook> current;
  /// Of `rules`: least expected time. None if no rule arrives, or no guess is like the log's model.
  std::optional<std::size_t> best;
  bool keep = false;  ///< the gain of `best` may be less than the threshold
};

/// Simulates each rule on machines and models that the log could have come from, and chooses.
///
/// Member i of the ensemble has the machines of a draw of the fit, and a model drawn by the guesses' weights. All rules
/// meet the same members and seeds. Where the log's policy is known it runs first, and others are given up after
/// `patience` times its time. The interval of a time is that of one further run: it is wide where the log says little,
/// but never narrower than chance between seeds is. That of a gain is about expected times: chance between seeds
/// averages out of it, what the log does not tell stays in.
///
/// Nothing if `stop` was raised. The result does not depend on threads.
/// Tests   tests/examples/advise_test.cpp
[[nodiscard]] std::optional<advice> advise(const cluster_fit&, const std::vector<model_guess>&, const advise_options&,
                                           const run_context&);

}  // namespace rubato::lab

#endif
