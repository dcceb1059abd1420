#ifndef RUBATO_LEARNED_NETWORK_FILE_HPP
#define RUBATO_LEARNED_NETWORK_FILE_HPP

#include <algorithm>
#include <cstddef>
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
#include "../io/utf8.hpp"
#include "../nn/activation_text.hpp"
#include "../nn/layer.hpp"
#include "../pinned.hpp"

namespace rubato::inline RUBATO_ABI::detail {

inline std::string layer_tensor(std::size_t layer, std::string_view part) {
  return std::string{"policy/layer"}.append(std::to_string(layer)).append("/").append(part);
}

/// A network of a file whose card has been read, and so checked against the tensors.
template <class Network>
[[nodiscard]] result<Network> read_network(const policy_card& card, const safetensors& file) {
  const auto f = nn::activation_named(card.activation);
  if (!f)
    return error{errc::wrong_kind, file.source() + ": policy card: found activation " + in_quotes(card.activation) +
                                       ", expected identity, relu, tanh or leaky_relu(SLOPE)"};
  const std::vector<std::size_t> widths(card.layers.begin(), card.layers.end());
  auto network = Network::make(widths, {.hidden = *f});
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

/// Whether the card is one of a network of this kind, asked so often, with these inputs and an output per action.
template <class Actions>
[[nodiscard]] error check_kind(const policy_card& card, const safetensors& file, std::string_view kind,
                               const std::vector<feature>& features, const Actions& actions,
                               std::string_view period = "push") {
  const std::string source = file.source() + ": policy card";
  const auto refused = [&](const std::string& found, const std::string& expected) {
    return error{errc::wrong_kind, source + ": found " + found + ", expected " + expected};
  };
  if (card.layers.empty())
    return {errc::wrong_kind, source + ": found the rule " + in_quotes(card.rule) +
                                  ", expected a learned policy, with layers"};
  if (card.kind != kind) return refused("kind " + in_quotes(card.kind), in_quotes(kind));
  if (error e = check_known(card, features, actions, source); e.code != errc::ok) return e;
  if (card.decision_period != period)
    return refused("decision_period " + in_quotes(card.decision_period), in_quotes(period));
  std::string names;
  for (const std::string_view each : actions) names += (names.empty() ? ": " : ", ") + std::string{each};
  if (card.layers.back() != actions.size())
    return refused("an output layer of " + std::to_string(card.layers.back()),
                   "one of " + std::to_string(actions.size()) + names);
  return {};
}

/// Whether the file lacks this tensor, which policies of its kind do not use: with it the file says more than they do.
[[nodiscard]] inline error check_without(const policy_card& card, const safetensors& file, const std::string& name) {
  if (file.find(name) == nullptr) return {};
  return {errc::wrong_kind, file.source() + ": tensor " + in_quotes(name) +
                                ": found one, expected none in a policy of kind " + in_quotes(card.kind)};
}

/// What read(card, tensors) makes of a file; an error if there is none, or it is damaged.
template <class Read>
[[nodiscard]] auto load_with_card(const std::string& path, Read read)
    -> decltype(read(std::declval<const policy_card&>(), std::declval<const safetensors&>())) {
  const result<safetensors> file = safetensors::load(path);
  if (!file) return file.error();
  const result<policy_card> card = read_policy_card(*file);
  if (!card) return card.error();
  return read(*card, *file);
}

/// What a network and this build determine of a card: version, kind, features, actions, decision period, layers,
/// activation.
template <class Network, class Actions>
void describe_network(policy_card& card, std::string_view kind, std::vector<feature> features, const Network& network,
                      const Actions& actions, std::string_view period = "push") {
  card.kind = std::string{kind};
  card.features = std::move(features);
  card.actions.assign(actions.begin(), actions.end());
  card.format = policy_card::current_format;
  card.rubato = std::to_string(RUBATO_VERSION_MAJOR) + "." + std::to_string(RUBATO_VERSION_MINOR) + "." +
                std::to_string(RUBATO_VERSION_PATCH);
  card.rule.clear();
  card.decision_period = std::string{period};
  card.layers.assign(1, static_cast<std::uint32_t>(network.inputs()));
  for (const nn::layer_shape& layer : network.layers())
    card.layers.push_back(static_cast<std::uint32_t>(layer.outputs));
  card.activation = nn::to_text(network.options().hidden);
}
template <class Policy, class Actions>
void describe_policy(policy_card& card, const Policy& policy, const Actions& actions) {
  describe_network(card, Policy::encoder_type::kind, policy.encoder().features(), policy.network(), actions);
}

[[nodiscard]] inline error not_written(const std::string& path, const std::string& found, const std::string& expected) {
  return {errc::invalid_option, path + ": not written: found " + found + ", expected " + expected};
}

/// Why no file can hold the network; `ok` if one can.
template <class Network>
[[nodiscard]] error check_network(const std::string& path, const Network& network) {
  if (network.options().output.kind != nn::activation_kind::identity)
    return not_written(path, "an output layer with an activation", "none");
  if (!std::ranges::all_of(network.parameters(), [](float w) { return pinned::is_finite(w); }))
    return not_written(path, "a weight that is not finite", "finite weights");
  return {};
}

/// Weights in the order of files: a row per output, where memory has one per input. The network must outlive them.
template <class Network>
class network_tensors {
 public:
  explicit network_tensors(const Network& network) : network_{network}, rows_(network.layers().size()) {
    for (std::size_t l = 0; l < rows_.size(); ++l) {
      const auto from = network.weight(l);
      for (std::size_t o = 0; o < from.outputs; ++o)
        for (std::size_t i = 0; i < from.inputs; ++i) rows_[l].push_back(from(i, o));
    }
  }

  /// They must outlive what is written.
  void add_to(safetensors_writer& file) const {
    for (std::size_t l = 0; l < rows_.size(); ++l) {
      const nn::layer_shape& shape = network_.layers()[l];
      file.add(layer_tensor(l, "weight"), {shape.outputs, shape.inputs}, rows_[l]);
      file.add(layer_tensor(l, "bias"), {shape.outputs}, network_.bias(l));
    }
  }

 private:
  const Network& network_;
  std::vector<std::vector<float>> rows_;
};

}  // namespace rubato::inline RUBATO_ABI::detail

#endif
