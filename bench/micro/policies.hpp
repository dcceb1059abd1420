// The policies that bench_policies measures, by name: a new one is one line.
#ifndef RUBATO_BENCH_MICRO_POLICIES_HPP
#define RUBATO_BENCH_MICRO_POLICIES_HPP

#include <cstdint>
#include <rubato/rivals.hpp>
#include <rubato/rubato.hpp>
#include <string>
#include <vector>

namespace rubato::bench {

struct named_policy {
  std::string name;
  any_policy policy;
};

/// With options that make sense for so many workers.
[[nodiscard]] inline std::vector<named_policy> policies(std::uint32_t workers) {
  const std::uint32_t half = workers / 2;
  const std::uint32_t tenth = workers / 10;
  return {
      {"asp", asp{}},
      {"bsp", bsp{}},
      {"bsp_sum", bsp{bsp::sum}},
      {"ssp_0", ssp{.staleness = 0}},
      {"ssp_3", ssp{.staleness = 3}},
      {"ssp_16", ssp{.staleness = 16}},
      {"k_sync", k_sync{.k = half}},
      {"k_batch_sync", k_batch_sync{.k = half}},
      {"k_async", k_async{.k = half}},
      {"k_batch_async", k_batch_async{.k = half}},
      {"backup_workers", backup_workers{.backups = tenth}},
      {"rennala", rennala{.batch = half}},
      {"ringmaster", ringmaster{.delay = workers}},
      {"ringmaster_stops", ringmaster{.delay = workers, .stops = true}},
      {"buffered", buffered{.active = half, .buffer = tenth, .open = tenth}},
      {"capped_fifo", capped{.running = half}},
      {"capped_fastest", capped{.running = half, .order = release_order::fastest}},
      {"capped_random", capped{.running = half, .order = release_order::random}},
      {"m_fastest", m_fastest{.m = half}},
      {"dssp", dssp{}},
      {"zipline", zipline{}},
      {"aap", aap{}},
      {"knee", knee{}},
      {"aimd", aimd{}},
      {"ada_sync", ada_sync{.by = ada_sync::rule::k_sync}},
      {"ada_async", ada_sync{}},
      {"sync_switch", sync_switch<>{{.share = 0.5, .workload = 1'000'000'000}}},
      {"sync_switch_elastic",
       sync_switch<>{{.share = 0.5, .workload = 1'000'000'000, .reaction = straggler_reaction::elastic}}},
      {"scaled_asp", scaled{asp{}}},
      {"concurrency_scaled_asp", concurrency_scaled{asp{}}},
      {"loss_decayed_asp", loss_decayed{asp{}}},
  };
}

}  // namespace rubato::bench

#endif
