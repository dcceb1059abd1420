#ifndef RUBATO_EXAMPLES_LAB_RLP_RUN_HPP
#define RUBATO_EXAMPLES_LAB_RLP_RUN_HPP

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run_context.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// A row of Table 1 of the RLP paper: what each worker does in one run.
struct rlp_table_row {
  std::string_view policy;              ///< as the paper calls it
  std::array<std::uint32_t, 10> steps;  ///< by worker
  double idle_share;                    ///< of the time of all workers, waiting; 0 to 1
  double decision_share;                ///< of the time, deciding
};

/// The four of them. The paper prints 569 as the sum of ASP's, which is 659.
[[nodiscard]] std::span<const rlp_table_row> rlp_table();

/// One run by one policy, as its workers saw it.
struct rlp_run {
  /// From a worker's release to its push: it computes, or waits for a core or the link. Units of time.
  struct span {
    std::uint32_t worker;
    double begin, end;
  };
  std::string policy;
  measurement whole;                 ///< what the lab says of the run
  std::vector<std::uint64_t> steps;  ///< that each worker pushed
  std::vector<span> spans;           ///< of steps that were pushed, in the order of their ends
};

/// Table 1 and Figure 4 of the paper: one run of each policy, all of one seed.
struct rlp_runs {
  support::scenario scenario;
  std::uint64_t seed = 0;
  std::string data;           ///< what was trained on
  std::vector<rlp_run> of{};  ///< by the rules of the table and by `rlp`, `learned`, `distilled` and `knee`
  bool interrupted = false;   ///< some are missing
};

/// Makes them. Errors  user_error: `rlp` needs its file
/// Tests   tests/examples/rlp_run_test.cpp
[[nodiscard]] rlp_runs run_rlp_table(const support::scenario&, std::uint64_t seed, const run_context&);

/// For a terminal: the rows of the paper below those that were run, where there are as many workers.
[[nodiscard]] std::string table(const rlp_runs&);
/// The same, with each span as [worker, begin, end].
[[nodiscard]] nlohmann::json to_json(const rlp_runs&);

/// A picture: for each run a lane of each worker, dark from its release to its push, from the beginning until that
/// time.
[[nodiscard]] std::string svg(const rlp_runs&, double until);

}  // namespace rubato::lab

#endif
