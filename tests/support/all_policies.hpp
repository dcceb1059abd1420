#ifndef RUBATO_TESTS_SUPPORT_ALL_POLICIES_HPP
#define RUBATO_TESTS_SUPPORT_ALL_POLICIES_HPP

#include <cstdint>
#include <limits>
#include <ostream>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/aimd.hpp>
#include <rubato/sync/ssp.hpp>
#include <string>
#include <vector>

#include "some_network.hpp"
#include "test_policies.hpp"

namespace rubato::test {

struct named_policy {
  std::string name;
  any_policy policy;
  friend std::ostream& operator<<(std::ostream& out, const named_policy& p) { return out << p.name; }
};

/// A learned policy before its first lesson.
template <StateEncoder Encoder>
[[nodiscard]] any_policy unlearned(std::uint64_t seed,
                                   double max_idle = std::numeric_limits<double>::infinity()) {
  return q_policy<Encoder, nn::dynamic_mlp>{random_network(seed, Encoder::dim), {.max_idle = max_idle}};
}

/// The shipped policies and those of the tests, with parameters that matter. Without chaos, which needs the guard.
[[nodiscard]] inline std::vector<named_policy> all_policies() {
  return {{"bsp_mean", bsp{}},
          {"bsp_sum", bsp{bsp::sum}},
          {"asp", asp{}},
          {"ssp_0", ssp{.staleness = 0}},
          {"ssp_1", ssp{.staleness = 1}},
          {"ssp_3", ssp{.staleness = 3}},
          {"ssp_unbounded", ssp{.staleness = unbounded}},
          {"knee", knee{}},
          {"knee_loss", knee{.follows_loss = true}},
          {"aimd", aimd{}},
          {"k_sync_2", k_sync{.k = 2}},
          {"k_sync_4", k_sync{.k = 4}},
          {"k_batch_async_1", k_batch_async{.k = 1}},
          {"k_batch_async_3", k_batch_async{.k = 3}},
          {"k_async_2", k_async{.k = 2}},
          {"one_by_one", one_by_one{}},
          {"cap_fifo", cap{.n = 2}},
          {"cap_fastest", cap{.n = 3, .order = release_order::fastest}},
          {"cap_random", cap{.n = 2, .order = release_order::random}},
          {"excluding", excluding{}},
          {"timed_rounds", timed_rounds{}},
          {"breathing_ssp", breathing_ssp{.rebases = false}},
          {"rebasing_ssp", breathing_ssp{}},
          {"weighing", weighing{}},
          {"rlp", unlearned<rlp_state>(2)},
          {"rlp_normalised", unlearned<rlp_normalised_state>(3, 2.0)},
          {"cluster", unlearned<cluster_state>(5)}};
}

[[nodiscard]] inline std::vector<any_policy> policies_of(const std::vector<named_policy>& named) {
  std::vector<any_policy> all;
  for (const named_policy& p : named) all.push_back(p.policy);
  return all;
}

}  // namespace rubato::test

#endif
