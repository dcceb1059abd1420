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
  std::string_view policy;
  std::array<std::uint32_t, 10> steps;
  double idle_share;
  double decision_share;
};

/// The four of them. The paper prints 569 as the sum of ASP's, which is 659.
[[nodiscard]] std::span<const rlp_table_row> rlp_table();

/// One run, as its workers saw it: Table 1 and Figure 4 of the paper.
struct rlp_run {
  /// When somebody computed.
  struct span {
    std::uint32_t worker;
    double begin, end;
  };
  std::string policy;
  measurement whole;
  std::vector<std::uint64_t> steps;  ///< that each worker pushed
  std::vector<span> spans;           ///< in the order of their ends
};

/// The runs of one seed by the rules of the table and by `rlp`, `learned`, `distilled` and `knee`; fewer if `stop` was
/// raised. Errors  user_error: `rlp` needs its file
/// Tests   tests/examples/rlp_run_test.cpp
[[nodiscard]] std::vector<rlp_run> run_rlp_table(const support::scenario&, std::uint64_t seed, const run_context&);

/// For a terminal: the rows of the paper below those that were run.
[[nodiscard]] std::string table(std::span<const rlp_run>);
[[nodiscard]] nlohmann::json to_json(std::span<const rlp_run>);  ///< the same, with all spans

/// A picture: for each run a lane of each worker, dark where it computes, from the beginning until that time.
[[nodiscard]] std::string svg(std::span<const rlp_run>, double until);

}  // namespace rubato::lab

#endif
