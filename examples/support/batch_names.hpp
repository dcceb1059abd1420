#ifndef RUBATO_EXAMPLES_SUPPORT_BATCH_NAMES_HPP
#define RUBATO_EXAMPLES_SUPPORT_BATCH_NAMES_HPP

#include <cstdint>
#include <optional>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/adapt/batch_sizers/goodput.hpp>
#include <rubato/adapt/batch_sizers/speed_proportional.hpp>
#include <rubato/sync/any_policy.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "name_parts.hpp"

namespace rubato::support {

/// This policy, with batches set by the rule of this name: static:N, lb-bsp:N, goodput:N, dynamix:N:FILE; `usual` are
/// the samples of a step that the learning rate was chosen for. Nothing for other names, and where a file holds no
/// policy for batches.
///
/// Tests   tests/examples/policy_names_test.cpp: BatchesAreATreatment, NoSuchBatches
inline std::optional<any_policy> with_batches(any_policy policy, std::string_view name, std::uint32_t usual) {
  const std::vector<std::string_view> parts = split(name, ':');
  const auto samples = parts.size() > 1 ? number_in<std::uint32_t>(parts[1]) : std::nullopt;
  if (!samples) return std::nullopt;
  adapt::batch_options options{.usual = usual, .initial = *samples, .period = 5, .rate = adapt::rate_rule::none};
  const auto put = [&]<class Sizer>(Sizer sizer) -> std::optional<any_policy> {
    if (!options.problem().empty()) return std::nullopt;
    return adapt::batch_sized<any_policy, Sizer>{std::move(policy), options, std::move(sizer)};
  };
  if (parts.front() == "dynamix" && parts.size() == 3) {
    auto learned = adapt::load_batch_policy(std::string{parts[2]});
    if (!learned) return std::nullopt;
    options.period = adapt::learned_period;
    return put(std::move(*learned));
  }
  if (parts.size() != 2) return std::nullopt;
  if (parts.front() == "static") return put(adapt::same_batches{});
  if (parts.front() == "lb-bsp") return put(adapt::speed_proportional{});
  if (parts.front() == "goodput") return put(adapt::goodput{});
  return std::nullopt;
}

}  // namespace rubato::support

#endif
