#ifndef RUBATO_TESTS_SUPPORT_ALL_POLICIES_HPP
#define RUBATO_TESTS_SUPPORT_ALL_POLICIES_HPP

#include <cstdint>
#include <limits>
#include <ostream>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/adapt/batch_sizers/dynamix.hpp>
#include <rubato/adapt/batch_sizers/goodput.hpp>
#include <rubato/adapt/batch_sizers/speed_proportional.hpp>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/learned/distilled.hpp>
#include <rubato/learned/q_policy.hpp>
#include <rubato/learned/residual_policy.hpp>
#include <rubato/learned/stigmergic.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/aap.hpp>
#include <rubato/sync/rivals/ada_sync.hpp>
#include <rubato/sync/rivals/aimd.hpp>
#include <rubato/sync/rivals/backup_workers.hpp>
#include <rubato/sync/rivals/batched.hpp>
#include <rubato/sync/rivals/buffered.hpp>
#include <rubato/sync/rivals/capped.hpp>
#include <rubato/sync/rivals/concurrency_scaled.hpp>
#include <rubato/sync/rivals/dssp.hpp>
#include <rubato/sync/rivals/k_async.hpp>
#include <rubato/sync/rivals/k_batch_async.hpp>
#include <rubato/sync/rivals/k_batch_sync.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <rubato/sync/rivals/m_fastest.hpp>
#include <rubato/sync/rivals/rennala.hpp>
#include <rubato/sync/rivals/ringmaster.hpp>
#include <rubato/sync/rivals/scaled.hpp>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <rubato/sync/rivals/zipline.hpp>
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
[[nodiscard]] any_policy unlearned(std::uint64_t seed, double max_idle = std::numeric_limits<double>::infinity()) {
  return q_policy<Encoder, nn::dynamic_mlp>{random_network(seed, Encoder::dim), {.max_idle = max_idle}};
}
[[nodiscard]] inline any_policy unlearned_residual(std::uint64_t seed) {
  return residual_policy<progress_state, nn::dynamic_mlp>{random_network(seed, progress_state::dim, 8, corrections)};
}

[[nodiscard]] inline any_policy unlearned_batches(std::uint64_t seed) {
  return adapt::batch_sized{
      ssp{.staleness = 2},
      {.period = 2},
      adapt::dynamix<nn::dynamic_mlp>{random_network(seed, adapt::batch_state::size, 8, adapt::batch_deltas.size())}};
}

/// A test that makes stragglers of many, for a switch that has much to do.
[[nodiscard]] inline sync_switch_options switching_options(straggler_reaction reaction) {
  return {.share = 0.5,
          .workload = 200,
          .reaction = reaction,
          .stragglers = {.test = straggler_options::published, .window = 0.0, .steps = 1, .windows = 1}};
}
[[nodiscard]] inline any_policy switching(straggler_reaction reaction) {
  return sync_switch<>{switching_options(reaction)};
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
          {"knee_decayed", loss_decayed{knee{}}},
          {"aimd", aimd{}},
          {"k_sync_2", k_sync{.k = 2}},
          {"k_sync_4", k_sync{.k = 4}},
          {"k_batch_sync_3", k_batch_sync{.k = 3}},
          {"k_async_2", k_async{.k = 2}},
          {"k_async_4", k_async{.k = 4}},
          {"k_batch_async_1", k_batch_async{.k = 1}},
          {"k_batch_async_3", k_batch_async{.k = 3}},
          {"buffered_4_2_1", buffered{.active = 4, .buffer = 2, .open = 1}},
          {"buffered_4_4_4", buffered{.active = 4, .buffer = 4, .open = 4}},
          {"buffered_3_5_2", buffered{.active = 3, .buffer = 5, .open = 2}},
          {"backup_1", backup_workers{.backups = 1}},
          {"rennala_3", rennala{.batch = 3}},
          {"ringmaster_2", ringmaster{.delay = 2}},
          {"ringmaster_3_stop", ringmaster{.delay = 3, .stops = true}},
          {"m_fastest_2", m_fastest{.m = 2}},
          {"m_fastest_3_probing", m_fastest{.m = 3, .probe = 4}},
          {"cap_2_fifo", capped{.running = 2}},
          {"cap_3_fastest", capped{.running = 3, .order = release_order::fastest}},
          {"cap_2_random", capped{.running = 2, .order = release_order::random}},
          {"pairs", pairs{}},
          {"one_by_one", one_by_one{}},
          {"excluding", excluding{}},
          {"timed_rounds", timed_rounds{}},
          {"breathing_ssp", breathing_ssp{.rebases = false}},
          {"rebasing_ssp", breathing_ssp{}},
          {"weighing", weighing{}},
          {"dssp_0_4", dssp{.lower = 0, .upper = 4}},
          {"dssp_2_9", dssp{.lower = 2, .upper = 9, .smoothing = 0.25}},
          {"zipline_1", zipline{.lookahead = 1}},
          {"zipline_6", zipline{.lookahead = 6}},
          {"aap_1", aap{}},
          {"aap_3_half", aap{.floor = 3, .fraction = 0.5, .staleness = 4}},
          {"aap_all", aap{.floor = unbounded, .staleness = 1}},
          {"ada_sync", ada_sync{.by = ada_sync::rule::k_sync, .interval = 2.0}},
          {"ada_async", ada_sync{.interval = 0.0, .newest = 0.7, .monotone = false}},
          {"ada_batch_sync", ada_sync{.by = ada_sync::rule::k_batch_sync, .interval = 2.0, .monotone = false}},
          {"ada_batch_async", ada_sync{.by = ada_sync::rule::k_batch_async, .interval = 0.0, .newest = 0.7}},
          {"sync_switch", sync_switch<>{{.share = 0.5, .workload = 100, .scales_rate = true}}},
          {"sync_switch_greedy", switching(straggler_reaction::greedy)},
          {"sync_switch_elastic", switching(straggler_reaction::elastic)},
          {"sync_switch_rounds",
           sync_switch{k_async{.k = 2}, k_batch_sync{.k = 3}, switching_options(straggler_reaction::elastic)}},
          {"sync_switch_bounds", sync_switch{aap{.floor = 0, .staleness = 1}, ssp{.staleness = 2},
                                             switching_options(straggler_reaction::greedy)}},
          {"scaled_k_async", rubato::scaled{k_async{.k = 2}}},
          {"scaled_weighing", rubato::scaled{weighing{}, staleness_weight::polynomial(0.5F)}},
          {"treated_ssp", loss_decayed{concurrency_scaled{rubato::scaled{ssp{.staleness = 2}}}}},
          {"batched_knee", batched{knee{}, 3}},
          {"rlp", unlearned<rlp_state>(2)},
          {"rlp_normalised", unlearned<rlp_normalised_state>(3, 2.0)},
          {"cluster", unlearned<cluster_state>(5)},
          {"residual", unlearned_residual(6)},
          {"learned", learned_policy{}},
          {"distilled", distilled_policy{}},
          {"batches_by_speed", adapt::batch_sized{bsp{}, {.period = 1}, adapt::speed_proportional{}}},
          {"batches_by_goodput", adapt::batch_sized{rubato::scaled{k_async{.k = 2}}, {.period = 3}, adapt::goodput{}}},
          {"batches_unlearned", unlearned_batches(7)},
          {"stigmergic_rule", stigmergic_rule{.first_level = 2.0F, .breath = 10.0F}},
          {"stigmergic", stigmergic{}}};
}

/// Those of them whose options fit so many workers.
[[nodiscard]] inline std::vector<any_policy> policies_for(std::uint32_t workers) {
  std::vector<any_policy> all;
  for (const named_policy& p : all_policies())
    if (p.policy.problem(workers).empty()) all.push_back(p.policy);
  return all;
}

[[nodiscard]] inline std::vector<any_policy> policies_of(const std::vector<named_policy>& named) {
  std::vector<any_policy> all;
  for (const named_policy& p : named) all.push_back(p.policy);
  return all;
}

}  // namespace rubato::test

#endif
