#ifndef RUBATO_TESTS_MODEL_RULES_HPP
#define RUBATO_TESTS_MODEL_RULES_HPP

#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
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
#include <vector>

#include "../support/test_policies.hpp"
#include "any_answer.hpp"
#include "wishes_of_aap.hpp"
#include "world.hpp"

namespace rubato::test::model {

/// Every rule of sync and of sync/rivals, every treatment once, and the policies of the tests that use what those do
/// not; with numbers so small that all of their branches are near.
[[nodiscard]] inline std::vector<rule> all_rules() {
  constexpr traits plain{}, rounds{.rounds = true}, cancels{.cancels = true}, losses{.losses = true};
  constexpr traits cancelling_rounds{.cancels = true, .rounds = true};
  constexpr traits timed{.timed = true, .named = true, .absolute = true};
  constexpr traits waits_for_others{
      .timed = true, .named = true, .absolute = true, .staleness = true, .unsaved = wishes_of_aap};
  constexpr traits switching{.named = false, .rebases = true};
  constexpr traits minds_stragglers{.timed = true, .named = true, .absolute = true, .rebases = true};
  constexpr traits anything{.slowest = true, .cancels = true, .arbitrary = true};
  const auto stragglers = [](straggler_reaction reaction) {
    return sync_switch_options{
        .share = 0.5,
        .workload = 16,
        .reaction = reaction,
        .stragglers = {.test = straggler_options::published, .window = 0.0, .steps = 1, .windows = 1}};
  };
  const auto ada = [](ada_sync::rule by, bool monotone) {
    return ada_sync{.by = by, .interval = 0.0, .newest = 1.0, .monotone = monotone};
  };
  return {
      {"bsp_mean", bsp{}, rounds},
      {"bsp_sum", bsp{bsp::sum}, plain},
      {"asp", asp{}, plain},
      {"ssp_0", ssp{.staleness = 0}, plain},
      {"ssp_1", ssp{.staleness = 1}, plain},
      {"ssp_unbounded", ssp{.staleness = unbounded}, plain},
      {"knee", knee{}, timed},
      {"aimd", aimd{}, timed},
      {"k_sync_1", k_sync{.k = 1}, cancelling_rounds},
      {"k_sync_2", k_sync{.k = 2}, cancelling_rounds},
      {"backup_1", backup_workers{.backups = 1}, rounds},
      {"k_batch_sync_2", k_batch_sync{.k = 2}, cancels},
      {"k_batch_sync_3", k_batch_sync{.k = 3}, cancels},
      {"rennala_2", rennala{.batch = 2}, plain},
      {"k_async_1", k_async{.k = 1}, rounds},
      {"k_async_2", k_async{.k = 2}, rounds},
      {"k_batch_async_1", k_batch_async{.k = 1}, plain},
      {"k_batch_async_2", k_batch_async{.k = 2}, plain},
      {"buffered_1_2_1", buffered{.active = 1, .buffer = 2, .open = 1}, plain},
      {"buffered_2_1_2", buffered{.active = 2, .buffer = 1, .open = 2}, plain},
      {"buffered_2_2_2", buffered{.active = 2, .buffer = 2, .open = 2}, plain},
      {"ringmaster_1", ringmaster{.delay = 1}, plain},
      {"ringmaster_2", ringmaster{.delay = 2}, plain},
      {"ringmaster_1_stop", ringmaster{.delay = 1, .stops = true}, cancels},
      {"m_fastest_1", m_fastest{.m = 1, .probe = 2}, {.timed = true}},
      {"cap_1_fifo", capped{.running = 1}, plain},
      {"cap_2_fifo", capped{.running = 2}, plain},
      {"cap_1_fastest", capped{.running = 1, .order = release_order::fastest}, {.timed = true}},
      {"cap_1_random", capped{.running = 1, .order = release_order::random}, plain},
      {"dssp_0_2", dssp{.lower = 0, .upper = 2}, {.timed = true, .named = true, .absolute = true, .slowest = true}},
      {"dssp_1_1", dssp{.lower = 1, .upper = 1}, {.timed = true, .named = true, .absolute = true, .slowest = true}},
      {"zipline_2", zipline{.lookahead = 2}, {.timed = true, .named = true}},
      {"aap_1", aap{}, waits_for_others},
      {"aap_2_half", aap{.floor = 2, .fraction = 0.5, .staleness = 1}, waits_for_others},
      {"aap_all", aap{.floor = unbounded, .staleness = 1}, waits_for_others},
      {"ada_sync", ada(ada_sync::rule::k_sync, true), {.losses = true, .cancels = true}},
      {"ada_async", ada(ada_sync::rule::k_async, false), losses},
      {"ada_batch_sync", ada(ada_sync::rule::k_batch_sync, false), {.losses = true, .cancels = true}},
      {"ada_batch_async", ada(ada_sync::rule::k_batch_async, true), losses},
      {"ada_timed", ada_sync{.interval = 2.0, .newest = 1.0}, {.timed = true, .absolute = true, .losses = true}},
      {"sync_switch", sync_switch<>{{.share = 0.5, .workload = 8, .scales_rate = true}}, switching},
      {"sync_switch_greedy", sync_switch<>{stragglers(straggler_reaction::greedy)}, minds_stragglers},
      {"sync_switch_elastic", sync_switch<>{stragglers(straggler_reaction::elastic)}, minds_stragglers},
      {"sync_switch_rounds",
       sync_switch{k_async{.k = 2}, k_batch_sync{.k = 2}, sync_switch_options{.share = 0.5, .workload = 6}},
       {.cancels = true, .rebases = true}},
      {"sync_switch_bounds", sync_switch{asp{}, ssp{.staleness = 0}, sync_switch_options{.share = 0.5, .workload = 6}},
       switching},
      {"scaled_k_async", rubato::scaled{k_async{.k = 2}}, rounds},
      {"scaled_ssp", rubato::scaled{ssp{.staleness = 1}, staleness_weight::polynomial(0.5F)}, plain},
      {"concurrency_scaled", concurrency_scaled{ssp{.staleness = 0}}, plain},
      {"loss_decayed", loss_decayed{bsp{}}, {.losses = true, .rounds = true}},
      {"batched", batched{bsp{}, 3}, rounds},
      {"pairs", pairs{}, plain},
      {"one_by_one", one_by_one{}, {.slowest = true}},
      {"excluding", excluding{.lag = 1}, {.named = true, .absolute = true, .slowest = true, .rebases = true}},
      {"timed_rounds", timed_rounds{}, {.timed = true}},
      {"breathing_ssp", breathing_ssp{.tight = 0, .loose = 1, .rebases = false, .period = 3}, plain},
      {"rebasing_ssp", breathing_ssp{.tight = 0, .loose = 2, .period = 3}, {.rebases = true}},
      {"weighing", weighing{.limit = 1, .losses = {}}, {.named = true, .absolute = true, .losses = true}},
      {"any_answer", any_answer{}, anything},
      {"any_answer_1", any_answer{.bound = 1}, anything},
      {"any_answer_0", any_answer{.bound = 0}, anything},
  };
}

}  // namespace rubato::test::model

#endif
