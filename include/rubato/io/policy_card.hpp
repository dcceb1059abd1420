#ifndef RUBATO_IO_POLICY_CARD_HPP
#define RUBATO_IO_POLICY_CARD_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/feature.hpp"
#include "../core/fnv1a.hpp"
#include "../core/number_text.hpp"
#include "../core/result.hpp"
#include "../pinned.hpp"
#include "json_reader.hpp"
#include "json_writer.hpp"
#include "safetensors.hpp"
#include "tensor.hpp"
#include "utf8.hpp"

namespace rubato::inline RUBATO_ABI {

/// How a policy did against one other: the ratio of times to target, theirs to ours, interquartile mean over seeds.
struct card_evaluation {
  std::string scenario{};   ///< in which both ran, by its name
  std::string baseline{};   ///< the other policy, such as "ssp:3"
  double ratio = 0.0;       ///< above 1: ours was sooner at the target
  double low = 0.0;         ///< of the 95 % interval
  double high = 0.0;        ///< of the 95 % interval
  std::uint32_t seeds = 0;  ///< that both ran with

  friend bool operator==(const card_evaluation&, const card_evaluation&) = default;
};

/// What a policy file says about itself: what the policy sees and may do, how it was made, how good it was.
///
/// It lies as one line of JSON under "rubato" in the metadata of a safetensors file, in the order of the members here
/// and with a hash of the features. A learned policy has `layers`, a rule-based one `rule`; of neither, or both, nobody
/// could make a policy. All text is plain: UTF-8 without control or hidden characters, line ends among them.
///
/// Nothing here depends on when or where a policy was made, so that the same training gives the same bytes.
/// Tests   tests/io/policy_card_test.cpp: RoundTrip, GoldenJson, ReadsWhatPythonWrote, RefusesUnknownKeys,
///         NamesMissingKeys, RefusesWhatMakesNoSense, OtherFormatVersion, FeatureHash
struct policy_card {
  static constexpr std::uint32_t current_format = 1;  ///< what is written; a card of another is refused
  static constexpr std::size_t max_layers = 64;       ///< sizes in `layers`

  std::uint32_t format = current_format;      ///< version of this list of members
  std::string rubato{};                       ///< version of rubato that wrote it, such as "0.1.0"
  std::string kind{};                         ///< as the policy's `kind`: "rlp", "ssp"
  std::string rule{};                         ///< a rule with its parameters, as in "ssp:3"; empty if learned
  std::vector<feature> features{};            ///< in the order of the network's inputs
  std::string loss_source{};                  ///< which loss the features are made of
  std::vector<std::string> actions{};         ///< in the order of the outputs; outputs after them mean no action
  std::string decision_period{};              ///< when it decides: "push"
  std::string reward{};                       ///< definition
  std::string trained_on{};                   ///< scenario, or distribution of scenarios
  std::string command{};                      ///< that trained it
  std::uint64_t seed = 0;                     ///< of the training
  std::vector<card_evaluation> evaluation{};  ///< one per scenario and baseline
  std::string licence{};                      ///< SPDX identifier
  std::vector<std::uint32_t> layers{};        ///< sizes of input, hidden and output layers; empty if rule-based
  std::string activation{};                   ///< of the hidden layers, such as "leaky_relu(0.01)"

  friend bool operator==(const policy_card&, const policy_card&) = default;
};

/// Names and units in their order, as one number: FNV-1a (64 bits) over each name and unit, a line end after each.
/// `features` is any range of things with `name` and `unit`.
template <class Features>
[[nodiscard]] constexpr std::uint64_t feature_hash(const Features& features) noexcept {
  std::uint64_t hash = fnv1a(std::string_view{});
  for (const auto& each : features)
    for (const std::string_view text : std::array<std::string_view, 2>{each.name, each.unit})
      hash = fnv1a(std::string_view{"\n"}, fnv1a(text, hash));
  return hash;
}

namespace detail {

[[nodiscard]] inline bool contains(const std::vector<std::string>& all, std::string_view name) noexcept {
  for (const std::string& each : all)
    if (each == name) return true;
  return false;
}

// The card as JSON: writes one, or reads it. One list of members serves both directions.
class card_json {
 public:
  [[nodiscard]] static std::string write(policy_card card) {
    std::string text;
    sink to{text};
    json_writer json{to};
    card_json{&json, nullptr}.value(card);
    return text;
  }

  [[nodiscard]] static result<policy_card> read(std::string_view text, std::string_view source) {
    policy_card card;
    json_reader json{text, {.source = source}};
    card_json{nullptr, &json}.value(card);
    if (!json.end()) return json.problem();
    return card;
  }

 private:
  struct sink {
    std::string& text;
    void operator()(std::string_view bytes) noexcept { text += bytes; }
  };
  card_json(json_writer<sink>* out, json_reader* in) noexcept : out_{out}, in_{in} {}

  // A member of an object: is written, is read if it has the key that was found, or is missing if no key has its name.
  struct visitor {
    card_json& json;
    const std::vector<std::string>& found;
    std::string_view key{};
    bool at_end = false;
    bool known = false;
    std::string missing{};

    template <class Member>
    void operator()(std::string_view name, Member& member) {
      if (json.out_ != nullptr) {
        json.out_->key(name);
        json.value(member);
      } else if (at_end) {
        if (!contains(found, name)) missing += (missing.empty() ? "" : ", ") + in_quotes(name);
      } else if (name == key) {
        known = true;
        json.value(member);
      }
    }
  };

  static void members(feature& item, std::string&, visitor& visit) {
    visit("name", item.name);
    visit("unit", item.unit);
  }
  static void members(card_evaluation& item, std::string&, visitor& visit) {
    visit("scenario", item.scenario);
    visit("baseline", item.baseline);
    visit("ratio", item.ratio);
    visit("low", item.low);
    visit("high", item.high);
    visit("seeds", item.seeds);
  }
  static void members(policy_card& item, std::string& hash, visitor& visit) {
    visit("format", item.format);
    visit("rubato", item.rubato);
    visit("kind", item.kind);
    visit("rule", item.rule);
    visit("features", item.features);
    visit("features_hash", hash);
    visit("loss_source", item.loss_source);
    visit("actions", item.actions);
    visit("decision_period", item.decision_period);
    visit("reward", item.reward);
    visit("trained_on", item.trained_on);
    visit("command", item.command);
    visit("seed", item.seed);
    visit("evaluation", item.evaluation);
    visit("licence", item.licence);
    visit("layers", item.layers);
    visit("activation", item.activation);
  }

  [[nodiscard]] static std::string hash_of(const policy_card& card) { return hexadecimal(feature_hash(card.features)); }
  [[nodiscard]] static std::string hash_of(const auto&) { return {}; }

  void value(std::string& text) {
    if (out_ != nullptr)
      out_->value(std::string_view{text});
    else if (in_->string(text) && !is_plain(text))
      in_->refuse("a control or hidden character", "none");
  }
  void value(double& number) {
    if (out_ != nullptr)
      out_->value(number);
    else
      in_->number(number);
  }
  void value(std::uint64_t& number) { integer(number, (std::numeric_limits<std::uint64_t>::max)()); }
  void value(std::uint32_t& number) {
    std::uint64_t wide = number;
    integer(wide, (std::numeric_limits<std::uint32_t>::max)());
    number = static_cast<std::uint32_t>(wide);
  }
  void integer(std::uint64_t& number, std::uint64_t most) {
    if (out_ != nullptr)
      out_->value(number);
    else
      in_->integer(number, most);
  }
  template <class T>
  void value(std::vector<T>& list) {
    if (in_ != nullptr) return static_cast<void>(in_->array([&] { value(list.emplace_back()); }));
    out_->begin_array();
    for (T& each : list) value(each);
    out_->end_array();
  }
  template <class Item>
  void value(Item& item) {
    std::vector<std::string> found;
    std::string hash;
    visitor visit{*this, found};
    if (out_ != nullptr) {
      hash = hash_of(item);
      out_->begin_object();
      members(item, hash, visit);
      out_->end_object();
      return;
    }
    in_->object([&](std::string_view key) {
      found.emplace_back(key);
      visit.key = key;
      visit.known = false;
      members(item, hash, visit);
      if (!visit.known) in_->refuse("the unknown key " + in_quotes(key), "a key of the policy card");
      if constexpr (std::same_as<Item, policy_card>)  // told before a later format's unknown keys: it comes first
        if (item.format != policy_card::current_format)
          in_->refuse("format " + std::to_string(item.format), "1, the one this build reads", errc::wrong_kind);
    });
    visit.at_end = true;
    members(item, hash, visit);
    if (!visit.missing.empty()) in_->refuse("no " + visit.missing, "every key of the policy card");
    if (hash != hash_of(item)) in_->refuse("features_hash " + in_quotes(hash), in_quotes(hash_of(item)));
  }

  json_writer<sink>* out_;
  json_reader* in_;
};

// Tensors that hold what a card declares.
class card_tensors {
 public:
  card_tensors(const policy_card& card, const safetensors& file) noexcept : card_{card}, file_{file} {}

  [[nodiscard]] error check() {
    if (!card_.layers.empty()) {
      for (std::size_t i = 0; i + 1 < card_.layers.size(); ++i) {
        const std::string layer = "policy/layer" + std::to_string(i);
        const std::uint64_t in = card_.layers[i], out = card_.layers[i + 1];
        require(layer + "/weight", dtype::f32, {out, in});
        require(layer + "/bias", dtype::f32, {out});
      }
      const bool normalised = file_.find("obs_norm/mean") != nullptr || file_.find("obs_norm/var") != nullptr;
      if (normalised) {
        require("obs_norm/mean", dtype::f64, {card_.layers.front()});
        require("obs_norm/var", dtype::f64, {card_.layers.front()});
        if (const tensor* count = file_.find("obs_norm/count"); count != nullptr) {
          require("obs_norm/count", dtype::u64, {});
          if (count->type == dtype::u64 && count->size() == 1 && count->at<std::uint64_t>(0) == 0)
            refuse(count->name, "0", "at least 1 observation");
        }
      }
      const bool bounded = file_.find("obs_range/least") != nullptr || file_.find("obs_range/most") != nullptr;
      if (bounded) check_range();
    }
    for (const tensor& t : file_.tensors()) {
      const std::string_view name = t.name;
      const bool of_policy =
          name.starts_with("policy/") || name.starts_with("obs_norm/") || name.starts_with("obs_range/");
      if (!of_policy && !name.starts_with("value/")) continue;
      if (card_.layers.empty())
        refuse(t.name, words(t.type, t.shape), "no tensor of a network, because the card has no layers");
      if (of_policy && !contains(required_, name))
        refuse(t.name, words(t.type, t.shape), "only tensors of the layers that the card declares");
      if (t.type == dtype::f32) check_values<float>(t);
      if (t.type == dtype::f64) check_values<double>(t);
    }
    return problem_;
  }

 private:
  void check_range() {
    for (const char* end : {"obs_range/least", "obs_range/most"}) require(end, dtype::f32, {card_.layers.front()});
    if (problem_.code != errc::ok) return;
    const tensor &least = *file_.find("obs_range/least"), &most = *file_.find("obs_range/most");
    for (std::size_t i = 0; i < most.size(); ++i)
      if (most.at<float>(i) < least.at<float>(i))
        refuse(most.name, detail::text_of(most.at<float>(i)) + " at " + std::to_string(i),
               "at least what obs_range/least has there, " + detail::text_of(least.at<float>(i)));
  }

  void refuse(const std::string& name, const std::string& found, const std::string& expected) {
    if (problem_.code != errc::ok) return;
    problem_ = {errc::corrupt,
                file_.source() + ": tensor " + in_quotes(name) + ": found " + found + ", expected " + expected};
  }

  [[nodiscard]] static std::string words(dtype type, const std::vector<std::uint64_t>& shape) {
    return std::string{rubato::name(type)} + " of shape " + to_text(shape);
  }

  void require(std::string name, dtype type, const std::vector<std::uint64_t>& shape) {
    const tensor* t = file_.find(name);
    if (t == nullptr)
      refuse(name, "nothing", words(type, shape));
    else if (t->type != type || t->shape != shape)
      refuse(name, words(t->type, t->shape), words(type, shape));
    required_.push_back(std::move(name));
  }

  template <class T>
  void check_values(const tensor& t) {
    const bool variances = t.name == "obs_norm/var";
    for (std::size_t i = 0; i < t.size(); ++i) {
      const T value = t.at<T>(i);
      if (pinned::is_finite(value) && (value > 0 || !variances)) continue;
      return refuse(t.name, detail::text_of(value) + " at " + std::to_string(i),
                    variances ? "a finite variance above 0" : "a finite number");
    }
  }

  const policy_card& card_;
  const safetensors& file_;
  std::vector<std::string> required_;
  error problem_;
};

// The first name of an `item` that is empty or stands there twice, in words; empty if there is none.
[[nodiscard]] inline std::string bad_name(const std::string& item, std::vector<std::string_view> names) {
  const std::string_view* const twice = repeated(names);
  if (!names.empty() && names.front().empty()) return "a nameless " + item;
  return twice == nullptr ? std::string{} : item + ' ' + in_quotes(*twice) + " twice";
}

// What about a card makes no sense; the message begins with `source`.
[[nodiscard]] inline error check_sense(const policy_card& card, std::string_view source) {
  const auto refused = [&](const std::string& found, const std::string& expected) {
    return error{errc::corrupt, std::string{source} + ": found " + found + ", expected " + expected};
  };
  const std::size_t depth = card.layers.size();
  if (card.kind.empty()) return refused("an empty kind", "the kind of the policy");
  if (card.rule.empty() == card.layers.empty())
    return refused(card.rule.empty() ? "neither rule nor layers" : "both rule and layers", "one of them");
  const std::vector<std::string_view> actions(card.actions.begin(), card.actions.end());
  std::vector<std::string_view> features;
  for (const feature& each : card.features) features.emplace_back(each.name);
  if (const std::string bad = bad_name("feature", features); !bad.empty()) return refused(bad, "different names");
  if (const std::string bad = bad_name("action", actions); !bad.empty()) return refused(bad, "different names");
  if (depth == 0 && !card.activation.empty())
    return refused("the activation " + in_quotes(card.activation), "none, because there are no layers");
  if (depth == 0) return {};

  if (depth == 1 || depth > policy_card::max_layers)
    return refused(std::to_string(depth) + (depth == 1 ? " layer size" : " layer sizes"), "2 to 64");
  for (std::size_t i = 0; i < depth; ++i)
    if (card.layers[i] == 0) return refused("size 0 of layer " + std::to_string(i), "at least 1");
  if (card.layers.front() != features.size())
    return refused(std::to_string(features.size()) + " features",
                   std::to_string(card.layers.front()) + ", the size of the input layer");
  if (actions.empty() || actions.size() > card.layers.back())
    return refused(std::to_string(actions.size()) + " actions",
                   "at least 1 and at most " + std::to_string(card.layers.back()) + ", the size of the output layer");
  if (card.activation.empty()) return refused("no activation", "one, because there are layers");
  return {};
}

}  // namespace detail

/// Reads a card from the JSON text that to_json made. `source` is what messages begin with.
/// Errors  wrong_kind for another format version. corrupt for keys that are unknown, repeated or missing, text that is
///         not plain UTF-8, a hash that does not belong to the features, and what makes no sense: neither or both of
///         rule and layers, names that are empty or repeated, not one feature per input, more actions than outputs.
[[nodiscard]] inline result<policy_card> parse_policy_card(std::string_view json,
                                                           std::string_view source = "policy card") {
  result<policy_card> card = detail::card_json::read(json, source);
  if (!card) return card;
  if (error e = detail::check_sense(*card, source); e.code != errc::ok) return e;
  return card;
}

/// The card as one line of JSON, for safetensors_writer::metadata("rubato", ...).
/// Errors  invalid_option if parse_policy_card would not give the same card back.
[[nodiscard]] inline result<std::string> to_json(const policy_card& card) {
  std::string text = detail::card_json::write(card);
  const result<policy_card> back = parse_policy_card(text);
  if (!back) return error{errc::invalid_option, back.error().message};
  if (*back != card) return error{errc::invalid_option, "policy card: found text that is not UTF-8, expected UTF-8"};
  return text;
}

/// Whether the tensors are those that the card declares; `ok`, or what is wrong.
///
///     policy/layer{i}/weight   F32 [layers[i + 1], layers[i]]: one row of the file per output, as in torch.nn.Linear
///     policy/layer{i}/bias     F32 [layers[i + 1]]
///     value/...                anything finite
///     obs_norm/mean, var       F64 [layers[0]], both or none; variances above 0
///     obs_norm/count           U64 [], at least 1; optional, only with those. Without it 1 is taken: it only matters
///                              to who goes on observing
///     obs_range/least, most    F32 [layers[0]], both or none: what the inputs have been in training
///
/// All values of these are finite, and nothing else is called policy/, obs_norm/ or obs_range/. Other tensors are not
/// looked at.
/// A rule-based policy has none of these.
/// Tests   tests/io/policy_card_test.cpp: TensorsAgree, TensorsDisagree, ValuesMustBeFinite, VariancesMustBePositive,
///         SomethingMustHaveBeenObserved, RangesHaveTwoEnds, RangesBeginWithTheLeast, RuleBasedHasNoTensors
[[nodiscard]] inline error check_tensors(const policy_card& card, const safetensors& file) {
  return detail::card_tensors{card, file}.check();
}

/// The card of a policy file, after its tensors were checked against it.
/// Errors  those of parse_policy_card and check_tensors; corrupt if there is no card.
[[nodiscard]] inline result<policy_card> read_policy_card(const safetensors& file) {
  const std::string* json = file.metadata("rubato");
  if (json == nullptr)
    return error{errc::corrupt, file.source() + ": found no \"rubato\" in __metadata__, expected a policy card"};
  result<policy_card> card = parse_policy_card(*json, file.source() + ": policy card");
  if (!card) return card;
  if (error e = check_tensors(*card, file); e.code != errc::ok) return e;
  return card;
}

/// Whether the policy sees exactly `known`, a range of things with `name` and `unit`, and may do exactly `actions`, a
/// range of names, both in that order: what a build checks that has compiled them in. `ok`, or wrong_kind and the first
/// difference.
/// Tests   tests/io/policy_card_test.cpp: KnownFeaturesAndActions
template <class Features, class Actions>
[[nodiscard]] error check_known(const policy_card& card, const Features& known, const Actions& actions,
                                std::string_view source = "policy card") {
  const auto words = [](const auto& each) {
    return in_quotes(each.name) + (each.unit.empty() ? "" : " in " + in_quotes(each.unit));
  };
  const auto compare = [&](std::string_view what, const auto& found, const auto& expected, auto&& text) {
    auto f = std::begin(found);
    auto e = std::begin(expected);
    while (f != std::end(found) && e != std::end(expected) && text(*f) == text(*e)) ++f, ++e;
    if (f == std::end(found) && e == std::end(expected)) return error{};
    return error{errc::wrong_kind, std::string{source} + ": " + std::string{what} + ' ' +
                                       std::to_string(std::distance(std::begin(found), f)) + ": found " +
                                       (f == std::end(found) ? "none" : text(*f)) + ", expected " +
                                       (e == std::end(expected) ? "none" : text(*e))};
  };
  if (error e = compare("feature", card.features, known, words); e.code != errc::ok) return e;
  return compare("action", card.actions, actions, [](std::string_view text) { return in_quotes(text); });
}

}  // namespace rubato::inline RUBATO_ABI

#endif
