#ifndef RUBATO_LEARNED_LOADER_HPP
#define RUBATO_LEARNED_LOADER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../encode/cluster_state.hpp"
#include "../encode/rlp_state.hpp"
#include "../io/policy_card.hpp"
#include "../io/safetensors.hpp"
#include "../io/safetensors_writer.hpp"
#include "../io/utf8.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "../pinned.hpp"
#include "../sync/any_policy.hpp"
#include "network_file.hpp"
#include "q_policy.hpp"
#include "residual_file.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

[[nodiscard]] inline error check_options(const q_policy_options& options) {
  const char* const wrong = problem(options);
  return wrong == nullptr ? error{} : error{errc::invalid_option, std::string{"q_policy: "} + wrong};
}

/// The policy of a file whose card has been read, and so checked against the tensors. Precondition: options that are
/// checked as well.
template <StateEncoder Encoder>
[[nodiscard]] result<q_policy<Encoder, nn::dynamic_mlp>> read_q_policy(const policy_card& card, const safetensors& file,
                                                                       const q_policy_options& options) {
  if (error e = check_kind(card, file, Encoder::kind, Encoder{}.features(), group_action_names); e.code != errc::ok)
    return e;
  if (error e = check_without(card, file, "obs_range/least"); e.code != errc::ok) return e;
  auto network = read_network<nn::dynamic_mlp>(card, file);
  if (!network) return network.error();

  normaliser<Encoder::dim> scale;
  if (const tensor* mean = file.find("obs_norm/mean"); mean != nullptr) {
    std::array<double, Encoder::dim> means{}, variances{};
    static_cast<void>(mean->copy_to(std::span<double>{means}));
    static_cast<void>(file.find("obs_norm/var")->copy_to(std::span<double>{variances}));
    const tensor* count = file.find("obs_norm/count");
    scale.assign(means, variances, count == nullptr ? 1 : count->at<std::uint64_t>(0));
  }
  return q_policy<Encoder, nn::dynamic_mlp>{*network, options, {}, scale};
}

}  // namespace detail

/// The policy in a file that save_q_policy, or anybody else, has written; of the encoder that is named.
///
///     auto policy = rubato::load_q_policy("rlp.safetensors");
///     if (!policy) return complain(policy.error().message);
///
/// Errors  those of safetensors::load and read_policy_card (the file is damaged, or its tensors are not what its card
///         says: size, type, NaN). wrong_kind, with the first difference, if card and build disagree: kind, a feature
///         or its unit, an action, the decision period, an activation or layers that this build lacks. invalid_option
///         for options. Nothing is loaded then.
/// Cost    reads the file whole. Allocates.
/// Tests   tests/learned/loader_test.cpp: RoundTripIsBitExact, TransposesWeights, RestoresTheNormaliser,
///         ReadsWhatPythonWrote, SaysWhatDisagrees, ARangeIsRefused, RefusesNaN, RefusesAMissingFile, SavesWhatItLoaded
template <StateEncoder Encoder = rlp_state>
[[nodiscard]] result<q_policy<Encoder, nn::dynamic_mlp>> load_q_policy(const std::string& path,
                                                                       const q_policy_options& options = {}) {
  using loaded = result<q_policy<Encoder, nn::dynamic_mlp>>;
  return detail::load_with_card(path, [&options](const policy_card& card, const safetensors& file) -> loaded {
    if (error e = detail::check_options(options); e.code != errc::ok) return e;
    return detail::read_q_policy<Encoder>(card, file, options);
  });
}

/// What `take` returns for the policy in a file whose card has been read: it is called once, with a result of the type
/// that the card names, a q_policy or a residual_policy over nn::dynamic_mlp.
/// A residual_policy has no use for the options; they are checked all the same.
/// Errors  what `take` is called with: wrong_kind as of load_q_policy, and if no encoder of this build has that kind;
///         invalid_option.
/// Tests   tests/learned/loader_test.cpp: FindsTheEncoder, RefusesAnUnknownKind, RefusesARule,
///         BadOptionsAreRefusedForEveryKind
template <class Take>
[[nodiscard]] auto with_policy_of(const policy_card& card, const safetensors& file, const q_policy_options& options,
                                  const Take& take) {
  using refused = result<q_policy<rlp_state, nn::dynamic_mlp>>;
  if (error e = detail::check_options(options); e.code != errc::ok) return take(refused{std::move(e)});
  if (card.kind == rlp_normalised_state::kind)
    return take(detail::read_q_policy<rlp_normalised_state>(card, file, options));
  if (card.kind == cluster_state::kind) return take(detail::read_q_policy<cluster_state>(card, file, options));
  if (card.kind == progress_state::kind) return take(detail::read_residual_policy<progress_state>(card, file));
  if (card.kind == rlp_state::kind || card.layers.empty())  // the latter is a rule, which is then said
    return take(detail::read_q_policy<rlp_state>(card, file, options));
  return take(refused{
      error{errc::wrong_kind, file.source() + ": policy card: found kind " + in_quotes(card.kind) +
                                  ", expected rlp, rlp_normalised, cluster or progress"}});
}

/// The policy in a file that has been read, with the encoder that its card names. A Policy is any type that can be made
/// of each of those that with_policy_of takes.
/// Errors  those of read_policy_card and with_policy_of
/// Tests   tests/learned/loader_test.cpp: FindsTheEncoder, RefusesAnUnknownKind, RefusesARule, RefusesAnEmptyContainer,
///         MakesWhatIsAskedFor
template <class Policy = any_policy>
[[nodiscard]] result<Policy> policy_of(const safetensors& file, const q_policy_options& options = {}) {
  const result<policy_card> card = read_policy_card(file);
  if (!card) return card.error();
  return with_policy_of(*card, file, options, [](auto policy) -> result<Policy> {
    if (!policy) return policy.error();
    return Policy{*std::move(policy)};
  });
}

/// Reads a file, too.
///
///     auto policy = rubato::load_policy("policy.safetensors");  // a result<any_policy>
///
/// Errors  those of load_q_policy and policy_of.
/// Tests   tests/learned/loader_test.cpp: FindsTheEncoder, RefusesAnUnknownKind, RefusesARule, MakesWhatIsAskedFor
template <class Policy = any_policy>
[[nodiscard]] result<Policy> load_policy(const std::string& path, const q_policy_options& options = {}) {
  const result<safetensors> file = safetensors::load(path);
  if (!file) return file.error();
  return policy_of<Policy>(*file, options);
}

/// A card with everything that the policy itself determines: version, kind, features, actions, decision period, layers
/// and activation. The rest is as in `about`: reward, training, evaluation, licence, loss source.
template <StateEncoder Encoder, class Network>
[[nodiscard]] policy_card card_of(const q_policy<Encoder, Network>& policy, policy_card about) {
  detail::describe_policy(about, policy, group_action_names);
  return about;
}

/// Writes a policy with its card, complete or not at all; the number of bytes. The same policy and card give the same
/// bytes, and load_q_policy gives the same policy back, bit for bit. Options are not saved: they are the user's.
///
/// Errors  invalid_option if the network ends with something else than the identity, or a weight, a mean or a variance
///         is not finite; those of to_json and safetensors_writer::save.
/// Tests   tests/learned/loader_test.cpp: RoundTripIsBitExact, SameBytesTwice, WritesTheBytesThatPythonWrites,
///         RefusesToSave
template <StateEncoder Encoder, class Network>
result<std::uint64_t> save_q_policy(const std::string& path, const q_policy<Encoder, Network>& policy,
                                    policy_card about = {}) {
  const Network& network = policy.network();
  if (error e = detail::check_network(path, network); e.code != errc::ok) return e;
  const auto& scale = policy.scale();
  std::vector<double> variances;
  for (std::size_t i = 0; i < Encoder::dim; ++i) variances.push_back(scale.variance(i));
  for (const auto statistics : {scale.mean(), std::span<const double, Encoder::dim>{variances}})
    if (!std::ranges::all_of(statistics, [](double x) { return pinned::is_finite(x); }))
      return detail::not_written(path, "a mean or variance of a feature that is not finite", "finite ones");
  const result<std::string> json = to_json(card_of(policy, std::move(about)));
  if (!json) return json.error();

  safetensors_writer file;
  file.metadata("rubato", *json);
  const detail::network_tensors weights{network};
  weights.add_to(file);
  const std::uint64_t count = scale.count();
  if (count > 0) {
    file.add("obs_norm/mean", {Encoder::dim}, scale.mean());
    file.add("obs_norm/var", {Encoder::dim}, variances);
    file.add("obs_norm/count", {}, std::span{&count, 1});
  }
  return file.save(path);
}

}  // namespace rubato::inline RUBATO_ABI

#endif
