#ifndef RUBATO_ADAPT_BATCH_POLICY_FILE_HPP
#define RUBATO_ADAPT_BATCH_POLICY_FILE_HPP

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/feature.hpp"
#include "../core/result.hpp"
#include "../io/policy_card.hpp"
#include "../io/safetensors.hpp"
#include "../io/safetensors_writer.hpp"
#include "../learned/network_file.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "batch_sizers/dynamix.hpp"
#include "batch_state.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// A learned BatchSizer, as a file holds it.
using learned_batches = dynamix<nn::dynamic_mlp>;

/// The steps of each worker after which it was trained to decide: batch_options::period.
inline constexpr std::uint32_t learned_period = 2;

namespace detail {

inline constexpr std::string_view learned_period_text = "2 steps of each worker";
inline constexpr std::array<std::string_view, 5> delta_names{"-100", "-25", "0", "+25", "+100"};

/// Inputs of a network: the features, and whether each is known.
[[nodiscard]] inline std::vector<feature> batch_features() {
  std::vector<feature> all;
  for (const std::string_view name : batch_state::names) all.push_back({std::string{name}, ""});
  for (const std::string_view name : batch_state::names) all.push_back({std::string{name} + "_known", ""});
  return all;
}

}  // namespace detail

/// The policy in a file that was read.
/// Errors  those of check_kind: what the card or the tensors have, and what a policy for batches has
[[nodiscard]] inline result<learned_batches> read_batch_policy(const policy_card& card, const safetensors& file) {
  const error wrong = rubato::detail::check_kind(card, file, "dynamix", detail::batch_features(), detail::delta_names,
                                                 detail::learned_period_text);
  if (wrong.code != errc::ok) return wrong;
  auto network = rubato::detail::read_network<nn::dynamic_mlp>(card, file);
  if (!network) return network.error();
  return learned_batches{std::move(*network)};
}

/// The policy in a file that save_batch_policy, or anybody else, has written.
/// Errors  those of load_q_policy
/// Cost    reads the file whole. Allocates.
/// Tests   tests/adapt/batch_policy_file_test.cpp: RoundTripIsBitExact, SaysWhatDisagrees
[[nodiscard]] inline result<learned_batches> load_batch_policy(const std::string& path) {
  return rubato::detail::load_with_card(path, read_batch_policy);
}

/// A card with everything that the policy itself determines, as that of a q_policy; the actions are batch_deltas.
[[nodiscard]] inline policy_card card_of(const learned_batches& policy, policy_card about) {
  rubato::detail::describe_network(about, "dynamix", detail::batch_features(), policy.network, detail::delta_names,
                                   detail::learned_period_text);
  return about;
}

/// Writes a policy with its card, complete or not at all; the number of bytes. The same policy and card give the same
/// bytes.
/// Errors  those of save_q_policy; invalid_option for a network of other inputs or outputs
/// Tests   tests/adapt/batch_policy_file_test.cpp: RoundTripIsBitExact, RefusesToSave
inline result<std::uint64_t> save_batch_policy(const std::string& path, const learned_batches& policy,
                                               policy_card about = {}) {
  const nn::dynamic_mlp& network = policy.network;
  if (network.inputs() != batch_state::size || network.outputs() != batch_deltas.size())
    return rubato::detail::not_written(
        path, "a network from " + std::to_string(network.inputs()) + " to " + std::to_string(network.outputs()),
        "one from " + std::to_string(batch_state::size) + " to " + std::to_string(batch_deltas.size()));
  if (error e = rubato::detail::check_network(path, network); e.code != errc::ok) return e;
  const result<std::string> json = to_json(card_of(policy, std::move(about)));
  if (!json) return json.error();
  safetensors_writer file;
  file.metadata("rubato", *json);
  const rubato::detail::network_tensors weights{network};
  weights.add_to(file);
  return file.save(path);
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
