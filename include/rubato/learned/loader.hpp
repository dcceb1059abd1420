#ifndef RUBATO_LEARNED_LOADER_HPP
#define RUBATO_LEARNED_LOADER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/result.hpp"
#include "../encode/cluster_state.hpp"
#include "../encode/rlp_state.hpp"
#include "../io/policy_card.hpp"
#include "../io/safetensors.hpp"
#include "../io/safetensors_writer.hpp"
#include "../io/utf8.hpp"
#include "../nn/activation_text.hpp"
#include "../nn/dynamic_mlp.hpp"
#include "../sync/any_policy.hpp"
#include "q_policy.hpp"

namespace rubato::inline RUBATO_ABI {

namespace detail {

inline std::string layer_tensor(std::size_t layer, std::string_view part) {
  return std::string{"policy/layer"}.append(std::to_string(layer)).append("/").append(part);
}

/// A network of a file whose card has been read, and so checked against the tensors.
[[nodiscard]] inline result<nn::dynamic_mlp> read_network(const policy_card& card, const safetensors& file) {
  const auto f = nn::activation_named(card.activation);
  if (!f)
    return error{errc::wrong_kind, file.source() + ": policy card: found activation " + in_quotes(card.activation) +
                                       ", expected identity, relu, tanh or leaky_relu(SLOPE)"};
  const std::vector<std::size_t> widths(card.layers.begin(), card.layers.end());
  auto network = nn::dynamic_mlp::make(widths, {.hidden = *f});
  if (!network) return error{errc::wrong_kind, file.source() + ": policy card: layers: " + network.error().message};
  for (std::size_t l = 0; l < network->layers().size(); ++l) {
    const tensor& weight = *file.find(layer_tensor(l, "weight"));
    const auto into = network->weight(l);
    for (std::size_t o = 0; o < into.outputs; ++o)  // the file has a row per output, memory one per input
      for (std::size_t i = 0; i < into.inputs; ++i) into(i, o) = weight.template at<float>(o * into.inputs + i);
    static_cast<void>(file.find(layer_tensor(l, "bias"))->copy_to(network->bias(l)));
  }
  return network;
}

/// That the card is one of a rule.
[[nodiscard]] inline error no_network(const policy_card& card, const safetensors& file) {
  return {errc::wrong_kind, file.source() + ": policy card: found the rule " + in_quotes(card.rule) +
                                ", expected a learned policy, with layers"};
}

/// The policy of a file whose card has been read, and so checked against the tensors.
template <StateEncoder Encoder>
[[nodiscard]] result<q_policy<Encoder, nn::dynamic_mlp>> read_q_policy(const policy_card& card, const safetensors& file,
                                                                       const q_policy_options& options) {
  const std::string source = file.source() + ": policy card";
  const auto refused = [&](const std::string& found, const std::string& expected) {
    return error{errc::wrong_kind, source + ": found " + found + ", expected " + expected};
  };
  if (const char* wrong = problem(options)) return error{errc::invalid_option, std::string{"q_policy: "} + wrong};
  if (card.layers.empty()) return no_network(card, file);
  if (card.kind != Encoder::kind)
    return refused("kind " + in_quotes(card.kind), in_quotes(Encoder::kind));
  if (error e = check_known(card, Encoder{}.features(), group_action_names, source); e.code != errc::ok) return e;
  if (card.decision_period != "push")
    return refused("decision_period " + in_quotes(card.decision_period), "\"push\"");
  if (card.layers.back() != group_actions)
    return refused("an output layer of " + std::to_string(card.layers.back()), "one of 3: hold, submitter, all");
  auto network = read_network(card, file);
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
///         ReadsWhatPythonWrote, SaysWhatDisagrees, RefusesNaN, RefusesAMissingFile, SavesWhatItLoaded
template <StateEncoder Encoder = rlp_state>
[[nodiscard]] result<q_policy<Encoder, nn::dynamic_mlp>> load_q_policy(const std::string& path,
                                                                       const q_policy_options& options = {}) {
  const result<safetensors> file = safetensors::load(path);
  if (!file) return file.error();
  const result<policy_card> card = read_policy_card(*file);
  if (!card) return card.error();
  return detail::read_q_policy<Encoder>(*card, *file, options);
}

/// The policy in a file that has been read, with the encoder that its card names.
/// Errors  those of read_policy_card. wrong_kind as of load_q_policy, and if no encoder of this build has that kind.
///         invalid_option.
/// Tests   tests/learned/loader_test.cpp: FindsTheEncoder, RefusesAnUnknownKind, RefusesARule, RefusesAnEmptyContainer
[[nodiscard]] inline result<any_policy> policy_of(const safetensors& file, const q_policy_options& options = {}) {
  const result<policy_card> card = read_policy_card(file);
  if (!card) return card.error();
  const auto with = [&]<class Encoder>(std::type_identity<Encoder>) -> result<any_policy> {
    auto policy = detail::read_q_policy<Encoder>(*card, file, options);
    if (!policy) return policy.error();
    return any_policy{*std::move(policy)};
  };
  if (card->layers.empty()) return detail::no_network(*card, file);
  if (card->kind == rlp_normalised_state::kind) return with(std::type_identity<rlp_normalised_state>{});
  if (card->kind == rlp_state::kind) return with(std::type_identity<rlp_state>{});
  if (card->kind == cluster_state::kind) return with(std::type_identity<cluster_state>{});
  return error{errc::wrong_kind, file.source() + ": policy card: found kind " + in_quotes(card->kind) +
                                     ", expected rlp, rlp_normalised or cluster"};
}

/// Reads a file, too.
/// Errors  those of load_q_policy and policy_of.
/// Tests   tests/learned/loader_test.cpp: FindsTheEncoder, RefusesAnUnknownKind, RefusesARule
[[nodiscard]] inline result<any_policy> load_policy(const std::string& path, const q_policy_options& options = {}) {
  const result<safetensors> file = safetensors::load(path);
  if (!file) return file.error();
  return policy_of(*file, options);
}

/// A card with everything that the policy itself determines: version, kind, features, actions, decision period, layers
/// and activation. The rest is as in `about`: reward, training, evaluation, licence, loss source.
template <StateEncoder Encoder, class Network>
[[nodiscard]] policy_card card_of(const q_policy<Encoder, Network>& policy, policy_card about) {
  about.format = policy_card::current_format;
  about.rubato = std::to_string(RUBATO_VERSION_MAJOR) + "." + std::to_string(RUBATO_VERSION_MINOR) + "." +
                 std::to_string(RUBATO_VERSION_PATCH);
  about.kind = std::string{Encoder::kind};
  about.rule.clear();
  about.features = policy.encoder().features();
  about.actions.assign(group_action_names.begin(), group_action_names.end());
  about.decision_period = "push";
  about.layers.assign(1, static_cast<std::uint32_t>(policy.network().inputs()));
  for (const nn::layer_shape& layer : policy.network().layers())
    about.layers.push_back(static_cast<std::uint32_t>(layer.outputs));
  about.activation = nn::to_text(policy.network().options().hidden);
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
  const auto refused = [&](const std::string& found, const std::string& expected) {
    return error{errc::invalid_option, path + ": not written: found " + found + ", expected " + expected};
  };
  const Network& network = policy.network();
  if (network.options().output.kind != nn::activation_kind::identity)
    return refused("an output layer with an activation", "none");
  const auto numbers = network.parameters();
  if (!std::ranges::all_of(numbers, [](float w) { return std::isfinite(w); }))
    return refused("a weight that is not finite", "finite weights");
  const auto& scale = policy.scale();
  std::vector<double> variances;
  for (std::size_t i = 0; i < Encoder::dim; ++i) variances.push_back(scale.variance(i));
  for (const auto statistics : {scale.mean(), std::span<const double, Encoder::dim>{variances}})
    if (!std::ranges::all_of(statistics, [](double x) { return std::isfinite(x); }))
      return refused("a mean or variance of a feature that is not finite", "finite ones");
  const result<std::string> json = to_json(card_of(policy, std::move(about)));
  if (!json) return json.error();

  safetensors_writer file;
  file.metadata("rubato", *json);
  std::vector<std::vector<float>> weights(network.layers().size());
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const auto from = network.weight(l);
    for (std::size_t o = 0; o < from.outputs; ++o)
      for (std::size_t i = 0; i < from.inputs; ++i) weights[l].push_back(from(i, o));
    file.add(detail::layer_tensor(l, "weight"), {from.outputs, from.inputs}, weights[l]);
    file.add(detail::layer_tensor(l, "bias"), {from.outputs}, network.bias(l));
  }
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
