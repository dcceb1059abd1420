// The policies that bench_policies measures, by name: a new one is one line.
#ifndef RUBATO_BENCH_MICRO_POLICIES_HPP
#define RUBATO_BENCH_MICRO_POLICIES_HPP

#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <vector>

namespace rubato::bench {

struct named_policy {
  std::string name;
  any_policy policy;
};

/// With options that make sense for so many workers.
[[nodiscard]] inline std::vector<named_policy> policies([[maybe_unused]] std::uint32_t workers) {
  return {
      {"asp", asp{}},
      {"bsp", bsp{}},
      {"bsp_sum", bsp{bsp::sum}},
      {"ssp_0", ssp{.staleness = 0}},
      {"ssp_3", ssp{.staleness = 3}},
      {"ssp_16", ssp{.staleness = 16}},
  };
}

}  // namespace rubato::bench

#endif
