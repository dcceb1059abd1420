// `inspect`: what a policy file says about itself, and what its tensors hold.
#include "inspect.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <rubato/learned/q_policy.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "policies.hpp"
#include "screen.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

struct spread {
  double least, most, rms;
};

template <class T>
[[nodiscard]] std::optional<spread> spread_of(const tensor& values) {
  if (values.size() == 0) return std::nullopt;
  spread all{values.at<T>(0), values.at<T>(0), 0};
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values.at<T>(i);
    if (!std::isfinite(x)) return std::nullopt;
    all.least = std::min(all.least, x);
    all.most = std::max(all.most, x);
    largest = std::max(largest, std::abs(x));
  }
  double squares = 0;  // of shares of the largest: those of the values themselves may overflow
  for (std::size_t i = 0; i < values.size() && largest > 0; ++i)
    squares += std::pow(static_cast<double>(values.at<T>(i)) / largest, 2);
  all.rms = largest * std::sqrt(squares / static_cast<double>(values.size()));
  return all;
}

// Nothing for integers, no values, and values that are not finite (which only tensors of no concern to a policy have).
[[nodiscard]] std::optional<spread> spread_of(const tensor& values) {
  if (values.type == dtype::f32) return spread_of<float>(values);
  if (values.type == dtype::f64) return spread_of<double>(values);
  return std::nullopt;
}

[[nodiscard]] std::uint64_t parameters_of(const policy_card& card) {
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l + 1 < card.layers.size(); ++l)
    sum += (card.layers[l] + std::uint64_t{1}) * card.layers[l + 1];
  return sum;
}

// As q_policy::describe: of all weights in the order of memory, which has a row per input where the file has a column.
[[nodiscard]] std::string weights_of(const policy_file& file) {
  std::vector<float> all;
  for (std::size_t l = 0; l + 1 < file.card.layers.size(); ++l) {
    const std::string layer = "policy/layer" + std::to_string(l);
    const tensor& weight = *file.tensors.find(layer + "/weight");
    const tensor& bias = *file.tensors.find(layer + "/bias");
    const std::size_t inputs = file.card.layers[l], outputs = file.card.layers[l + 1];
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t o = 0; o < outputs; ++o) all.push_back(weight.at<float>(o * inputs + i));
    for (std::size_t o = 0; o < outputs; ++o) all.push_back(bias.at<float>(o));
  }
  return fingerprint_of(all);
}

[[nodiscard]] std::optional<std::uint64_t> observations_of(const policy_file& file) {
  const tensor* count = file.tensors.find("obs_norm/count");
  return count == nullptr ? std::nullopt : std::optional{count->at<std::uint64_t>(0)};
}

[[nodiscard]] bool is_normalised(const policy_file& file) { return file.tensors.find("obs_norm/mean") != nullptr; }

// The n of a name like "loss@n".
[[nodiscard]] std::optional<std::uint32_t> place_in_history(std::string_view name) {
  const std::string_view digits = name.substr(name.find_last_of('@') + 1);
  std::uint32_t place = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  const bool whole = status == std::errc{} && end == digits.data() + digits.size();
  if (digits.size() == name.size() || !whole || std::to_string(place) != digits) return std::nullopt;
  return place;
}

// Features with units, those that differ only in their place in a history as one: "loss@0..@9 [nats]".
[[nodiscard]] std::vector<std::string> features_of(const policy_card& card) {
  struct group {
    std::string name, unit;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges{};  // none: a name without a place
  };
  std::vector<group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> histories;  // a card may list tens of thousands
  for (const feature& each : card.features) {
    const auto place = place_in_history(each.name);
    const std::string name = place ? each.name.substr(0, each.name.find_last_of('@')) : each.name;
    const bool known = place && !histories.try_emplace({name, each.unit}, groups.size()).second;
    if (!known) groups.push_back({name, each.unit});
    if (!place) continue;
    auto& ranges = groups[histories[{name, each.unit}]].ranges;
    if (!ranges.empty() && ranges.back().second + std::uint64_t{1} == *place)
      ranges.back().second = *place;
    else
      ranges.emplace_back(*place, *place);
  }
  std::vector<std::string> words;
  for (const group& each : groups) {
    std::string text = each.name;
    for (const auto& [first, last] : each.ranges) {
      text += (&first == &each.ranges.front().first ? "@" : ",@") + std::to_string(first);
      if (last != first) text += "..@" + std::to_string(last);
    }
    words.push_back(each.unit.empty() ? text : text + " [" + each.unit + "]");
  }
  return words;
}

[[nodiscard]] std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value + 0.0);  // -0 as 0
  return text;
}

[[nodiscard]] std::string shape_of(const tensor& values) {
  return std::string{name(values.type)} + " " + to_text(values.shape);
}

[[nodiscard]] std::vector<std::vector<std::string>> evaluation_rows(const policy_card& card) {
  std::vector<std::vector<std::string>> rows;
  for (const card_evaluation& each : card.evaluation)
    rows.push_back({each.scenario, number(each.ratio) + " x " + each.baseline,
                    "[" + number(each.low) + ", " + number(each.high) + "]", std::to_string(each.seeds) + " seeds"});
  return rows;
}

[[nodiscard]] std::vector<std::vector<std::string>> tensor_rows(const policy_file& file) {
  std::vector<std::vector<std::string>> rows;
  for (const tensor& each : file.tensors.tensors()) {
    rows.push_back({each.name, shape_of(each)});
    if (const auto range = spread_of(each))
      rows.back().push_back(number(range->least) + " to " + number(range->most) + ", rms " + number(range->rms));
  }
  return rows;
}

[[nodiscard]] std::string network_line(const policy_file& file) {
  const policy_card& card = file.card;
  std::string text;
  for (const std::uint32_t width : card.layers) text += (text.empty() ? "" : "-") + std::to_string(width);
  return text + ", " + card.activation + "; " + std::to_string(parameters_of(card)) + " parameters, fingerprint " +
         weights_of(file);
}

[[nodiscard]] std::string normaliser_line(const policy_file& file) {
  if (!is_normalised(file)) return "none";
  const auto count = observations_of(file);
  return "mean and variance of each feature" + (count ? ", of " + std::to_string(*count) + " observations" : "");
}

}  // namespace

std::string inspection(const policy_file& file) {
  const policy_card& card = file.card;
  const bool learned = !card.layers.empty();
  screen out;
  out.line("file", file.tensors.source());
  out.line("bytes", std::to_string(file.bytes));
  out.line("kind", card.kind);
  if (learned)
    out.line("network", network_line(file));
  else
    out.line("rule", card.rule);
  if (learned) {
    out.list(std::to_string(card.features.size()) + " features", features_of(card));
    out.line("normaliser", normaliser_line(file));
    out.list("actions", card.actions);
    out.line("decides at", card.decision_period);
    out.line("loss source", card.loss_source);
    out.line("reward", card.reward);
    out.line("trained on", card.trained_on);
    out.line("command", card.command);
    out.line("seed", std::to_string(card.seed));
  }
  out.rows("evaluation", evaluation_rows(card));
  out.line("licence", card.licence);
  out.line("rubato", card.rubato + ", card format " + std::to_string(card.format));
  if (!file.tensors.tensors().empty()) out.rows("tensors", tensor_rows(file));
  const auto policy = policy_in(file);
  out.line("runs here", policy ? "yes: " + policy->describe().line : "no: " + policy.error().message);
  return out.text();
}

json inspection_json(const policy_file& file) {
  const policy_card& card = file.card;
  const bool learned = !card.layers.empty();
  json tensors = json::array();
  for (const tensor& each : file.tensors.tensors()) {
    const auto range = spread_of(each);
    tensors.push_back({{"name", each.name},
                       {"dtype", name(each.type)},
                       {"shape", each.shape},
                       {"min", range ? json(range->least) : json(nullptr)},
                       {"max", range ? json(range->most) : json(nullptr)},
                       {"rms", range ? json(range->rms) : json(nullptr)}});
  }
  const auto count = observations_of(file);
  const auto policy = policy_in(file);
  return {{"file", file.tensors.source()},
          {"bytes", file.bytes},
          {"card", json::parse(*to_json(card))},
          {"parameters", learned ? json(parameters_of(card)) : json(nullptr)},
          {"weights", learned ? json(weights_of(file)) : json(nullptr)},
          {"normalised", is_normalised(file)},
          {"observations", count ? json(*count) : json(nullptr)},
          {"tensors", std::move(tensors)},
          {"describe", policy ? json::parse(policy->describe().json) : json(nullptr)},
          {"refused", policy ? json(nullptr) : json(policy.error().message)}};
}

int run_inspect(const std::string& path, bool as_json) {
  const auto file = read_policy_file(path);
  if (!file) throw support::user_error{file.error().message};
  if (as_json)
    std::cout << inspection_json(*file).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  else
    std::cout << inspection(*file);
  return 0;
}

}  // namespace rubato::lab
