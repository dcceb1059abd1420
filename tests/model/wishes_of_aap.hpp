#ifndef RUBATO_TESTS_MODEL_WISHES_OF_AAP_HPP
#define RUBATO_TESTS_MODEL_WISHES_OF_AAP_HPP

#include <bit>
#include <cstdint>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/rivals/aap.hpp>

namespace rubato::test::model {

/// What aap keeps of those who wait, none of which it saves.
inline void wishes_of_aap(const any_policy& policy, void (*add)(void*, std::uint64_t), void* to) {
  const aap* rule = policy.target<aap>();
  if (rule == nullptr) return;  // another policy is in charge
  add(to, rule->farewells);
  for (std::uint32_t w = 0; w < rule->wishes.size(); ++w) {
    for (const detail::worker_heap* each : {&rule->ahead, &rule->by_deadline, &rule->due, &rule->named})
      add(to, each->has(w) ? 1 : 0);
    if (!rule->waits(w)) continue;
    const auto& wish = rule->wishes[w];
    for (const std::uint64_t word :
         {wish.updates, std::bit_cast<std::uint64_t>(wish.deadline), std::uint64_t{wish.clock}, wish.farewell})
      add(to, word);
  }
  for (const detail::worker_heap* each : {&rule->ahead, &rule->by_updates, &rule->by_deadline})
    if (each->size() > 0) add(to, each->front());
}

}  // namespace rubato::test::model

#endif
