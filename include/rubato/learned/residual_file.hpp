#ifndef RUBATO_LEARNED_RESIDUAL_FILE_HPP
#define RUBATO_LEARNED_RESIDUAL_FILE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "../core/result.hpp"
#include "../encode/progress_state.hpp"
#include "../io/policy_card.hpp"
#include "../io/safetensors.hpp"
#include "../io/safetensors_writer.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "../pinned.hpp"
#include "network_file.hpp"
#include "residual_policy.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

/// The policy of a file whose card has been read, and so checked against the tensors.
template <StateEncoder Encoder>
[[nodiscard]] result<residual_policy<Encoder, nn::dynamic_mlp>> read_residual_policy(const policy_card& card,
                                                                                     const safetensors& file) {
  if (error e = check_kind(card, file, Encoder::kind, Encoder{}.features(), correction_names); e.code != errc::ok)
    return e;
  if (error e = check_without(card, file, "obs_norm/mean"); e.code != errc::ok) return e;
  auto network = read_network<nn::dynamic_mlp>(card, file);
  if (!network) return network.error();

  trained_range<Encoder::dim> range;
  if (const tensor* least = file.find("obs_range/least"); least != nullptr) {
    static_cast<void>(least->copy_to(std::span<float>{range.least}));
    static_cast<void>(file.find("obs_range/most")->copy_to(std::span<float>{range.most}));
  }
  return residual_policy<Encoder, nn::dynamic_mlp>{*network, range};
}

}  // namespace detail

/// The correction of knee in a file that save_residual_policy, or anybody else, has written. The rule that it corrects
/// is loss_decayed{knee{}} as this build has it. A file without obs_range/ has no range: it always corrects.
/// Errors  those of load_q_policy
/// Cost    reads the file whole. Allocates.
/// Tests   tests/learned/residual_file_test.cpp: RoundTripIsBitExact, SameBytesTwice, SaysWhatDisagrees,
///         WithoutARangeItAlwaysCorrects, StatisticsAreRefused
template <StateEncoder Encoder = progress_state>
[[nodiscard]] result<residual_policy<Encoder, nn::dynamic_mlp>> load_residual_policy(const std::string& path) {
  return detail::load_with_card(path, detail::read_residual_policy<Encoder>);
}

/// A card with everything that the policy itself determines, as that of a q_policy; the actions are correction_names.
template <StateEncoder Encoder, class Network>
[[nodiscard]] policy_card card_of(const residual_policy<Encoder, Network>& policy, policy_card about) {
  detail::describe_policy(about, policy, correction_names);
  return about;
}

/// Writes a policy with its card and its trained range, complete or not at all; the number of bytes. The same policy
/// and card give the same bytes, and load_residual_policy the same policy, bit for bit, if its rule has no options
/// other than the default ones: the rule is not saved.
///
/// Errors  those of save_q_policy; invalid_option for a range that has some finite ends but not all, or is empty
/// Tests   tests/learned/residual_file_test.cpp: RoundTripIsBitExact, SameBytesTwice, RefusesToSave
template <StateEncoder Encoder, class Network>
result<std::uint64_t> save_residual_policy(const std::string& path, const residual_policy<Encoder, Network>& policy,
                                           policy_card about = {}) {
  const Network& network = policy.network();
  if (error e = detail::check_network(path, network); e.code != errc::ok) return e;
  const trained_range<Encoder::dim>& range = policy.range();
  const trained_range<Encoder::dim> none{};
  const bool ranged = range.least != none.least || range.most != none.most;
  for (std::size_t i = 0; ranged && i < Encoder::dim; ++i)
    if (!pinned::is_finite(range.least[i]) || !pinned::is_finite(range.most[i]) || range.least[i] > range.most[i])
      return detail::not_written(path, "a trained range that is empty, or has an end that is not finite",
                                 "finite ones, the least first");
  const result<std::string> json = to_json(card_of(policy, std::move(about)));
  if (!json) return json.error();

  safetensors_writer file;
  file.metadata("rubato", *json);
  const detail::network_tensors weights{network};
  weights.add_to(file);
  if (ranged) {
    file.add("obs_range/least", {Encoder::dim}, range.least);
    file.add("obs_range/most", {Encoder::dim}, range.most);
  }
  return file.save(path);
}

}  // namespace rubato::inline RUBATO_ABI

#endif
