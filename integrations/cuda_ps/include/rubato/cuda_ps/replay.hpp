#ifndef RUBATO_CUDA_PS_REPLAY_HPP
#define RUBATO_CUDA_PS_REPLAY_HPP

#include <algorithm>
#include <cstdint>
#include <rubato/core/result.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host_shards.hpp"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// The entries of a log in their order, of which the memory is a ring.
/// Errors  invalid_option: the ring was too small, and has not the first entries any more
/// Tests   tests/integrations/cuda_ps/replay_test.cpp: ALogThatIsTooShortIsRefused
[[nodiscard]] inline result<std::vector<log_entry>> in_order(std::span<const log_entry> ring) {
  std::vector<log_entry> entries;
  for (const log_entry& each : ring)
    if (each.number != 0) entries.push_back(each);
  std::ranges::sort(entries, {}, &log_entry::number);
  if (!entries.empty() && entries.front().number != 1)
    return error{errc::invalid_option, "the log has lost its first " + std::to_string(entries.front().number - 1) +
                                           " entries, expected a log of at least " +
                                           std::to_string(entries.back().number)};
  return entries;
}

/// Does again, on the host, what a log says: the parameters that it comes to, with the same bits.
///
/// `gradient_of(worker, step, version)` gives, as a span of as many floats as there are parameters, the gradient that
/// the worker has computed in this step, with parameters that had so many updates.
/// Errors  corrupt: entries that no server writes; invalid_option: a gradient of another size
/// Tests   tests/integrations/cuda_ps/replay_test.cpp: GivesTheSameBits, RefusesWhatNoServerWrites
template <class GradientOf>
[[nodiscard]] result<std::vector<float>> replay(std::span<const log_entry> entries, const rule_options& rule,
                                                std::span<const float> initial, GradientOf&& gradient_of) {
  host_shards all{initial, 1};
  rule_state state;
  const waiting_gradients nobody{};
  std::uint64_t number = 0;
  std::uint32_t added = 0;
  float weight = 0;
  for (const log_entry& each : entries) {
    const auto wrong = [&](const char* what) {
      return error{errc::corrupt, "entry " + std::to_string(number) + " of the log " + what};
    };
    if (++number != each.number) return wrong("has another number");
    order o{.what = each.what, .adds_up = added != 0};
    if (each.what == deed::apply || each.what == deed::add) {
      const std::span<const float> gradient = gradient_of(each.worker, each.step, each.version);
      if (gradient.size() != initial.size())
        return error{errc::invalid_option, "a gradient has " + std::to_string(gradient.size()) + " numbers, expected " +
                                               std::to_string(initial.size())};
      std::ranges::copy(gradient, all.gradient(0, 0).begin());
      o.adds_up = false;
      o.gradient.weight = each.factor;
      if (each.what == deed::apply)
        o.step = next_step(rule, state, each.factor, 1.0F);
      else
        ++added, weight = exact::plus_product(weight, 1.0F, each.factor);
    } else if (each.what == deed::flush || each.what == deed::discard) {
      if (each.what == deed::flush) {
        if (each.step != added) return wrong("flushes another number of gradients than were added");
        o.step = next_step(rule, state, each.factor, weight);
      }
      added = 0, weight = 0;
    } else {
      return wrong("says nothing that could be done");
    }
    static_cast<void>(all.carry_out(o, nobody));
  }
  return std::vector<float>(all.values().begin(), all.values().end());
}

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
