#include "log_policy.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "support/sync_switch_name.hpp"
#include "support/user_error.hpp"
#include "treatments.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

// Names of the rules by the members of their descriptions; null is inf. Where several are of a kind, the one whose
// policy has the description is it.
constexpr auto patterns = std::to_array<std::string_view>({"ssp:<staleness>",
                                                           "knee:<threshold>",
                                                           "knee:<threshold>:fixed",
                                                           "knee:<threshold>:eager",
                                                           "ksync:<k>",
                                                           "kbatch:<k>",
                                                           "kasync:<k>",
                                                           "kbatchasync:<k>",
                                                           "buffer:<active>-<buffer>-<open>",
                                                           "backup:<backups>",
                                                           "rennala:<batch>",
                                                           "ringmaster:<delay>",
                                                           "ringmaster:<delay>:stop",
                                                           "mfastest:<m>",
                                                           "mfastest:<m>:<probe>",
                                                           "cap:<running>",
                                                           "cap:<running>:<order>",
                                                           "dssp:<lower>-<upper>",
                                                           "zipline:<lookahead>",
                                                           "aap:<floor>:<fraction>",
                                                           "aap:<floor>:<fraction>:<staleness>",
                                                           "adasync:<initial>:<rule>",
                                                           "syncswitch:<share>:<workload>",
                                                           "syncswitch:<share>:<reaction>:<workload>"});

// Of no more treatments than this is a policy recognised.
constexpr int most_treatments = 8;

[[nodiscard]] std::string part_of_name(const json& member) {
  if (member.is_null()) return "inf";
  return member.is_string() ? member.get<std::string>() : member.is_number() ? member.dump() : std::string{};
}

// Empty if the description lacks a member.
[[nodiscard]] std::string name_after(std::string_view pattern, const json& description) {
  std::string name;
  for (;;) {
    const std::size_t begin = pattern.find('<');
    name += pattern.substr(0, begin);
    if (begin == std::string_view::npos) return name;
    const std::size_t end = pattern.find('>');
    const auto member = description.find(pattern.substr(begin + 1, end - begin - 1));
    if (member == description.end()) return {};
    name += part_of_name(*member);
    pattern.remove_prefix(end + 1);
  }
}

[[nodiscard]] std::vector<std::string> names_of_kind(const std::string& kind, const json& description) {
  std::vector<std::string> names;
  for (const rule& each : rules())
    if (each.name == kind || each.of_file)
      for (const std::string_view variant : each.variants) names.emplace_back(variant);
  for (const std::string_view pattern : patterns)
    if (pattern.substr(0, pattern.find(':')) == kind)
      if (std::string name = name_after(pattern, description); !name.empty()) names.push_back(std::move(name));
  return names;
}

// None where the name does not mean anything, as it is put together from a file.
[[nodiscard]] std::optional<named_policy> parsed_name(const std::string& name) {
  try {
    return parse_policy(name);
  } catch (const support::user_error&) {
    return std::nullopt;
  }
}

// Hosts look for stragglers as the library does by default, the lab in windows of its own.
[[nodiscard]] std::optional<named_policy> named_by_hosts(const std::string& name) {
  const std::vector<std::string_view> parts = support::split(name, ':');
  if (parts.front() != "syncswitch") return std::nullopt;
  const auto options = support::sync_switch_named(std::span{parts}.subspan(1));
  return options ? std::optional{named_policy{name, sync_switch<>{*options}}} : std::nullopt;
}

// What the treatment may be called that sets batches like that.
[[nodiscard]] std::vector<std::string> batch_treatments_of(const json& batches) {
  const auto number = [](const json& of, const char* member) {
    return of.contains(member) && of.at(member).is_number() ? of.at(member).dump() : std::string{};
  };
  if (!batches.is_object() || !batches.contains("by") || !batches.at("by").is_object()) return {};
  const json& by = batches.at("by");
  const std::string kind = by.contains("kind") ? part_of_name(by.at("kind")) : std::string{};
  const std::string from = ":" + number(batches, "initial"), every = ":" + number(batches, "period");
  if (kind == "dynamix") return {"+" + kind + from};  // what would follow is a file
  return {"+" + kind + from, "+" + kind + from + every, "+" + kind + "-balanced" + from + every,
          "+" + kind + from + ":" + number(by, "last") + ":" + number(by, "over")};
}

// What a treatment may be called whose member this is.
[[nodiscard]] std::vector<std::string> treatments_of(std::string_view member, const json& content) {
  if (member == "batches") return batch_treatments_of(content);
  const std::string value = part_of_name(content);
  if (member == "loss_decay") return {"+decay"};
  if (member == "batch" || member == "gone") return {"+" + std::string{member} + ":" + value};
  if (member == "lr_scale") return {"+lr:" + value.substr(0, value.find(' '))};
  if (member != "weight") return {};
  std::vector<std::string> names{"+scale:" + value, "+const:" + value};
  const std::size_t power = value.find("^-"), factor = value.find(" max(tau-"), end = value.find(",0)");
  if (power != std::string::npos) names.push_back("+scale:poly:" + value.substr(power + 2));
  if (value.starts_with("1/(") && factor != std::string::npos && end != std::string::npos && end > factor)
    names.push_back("+scale:hinge:" + value.substr(3, factor - 3) + ":" + value.substr(factor + 9, end - factor - 9));
  return names;
}

[[nodiscard]] std::optional<named_policy> recognised(const json& description, int treatments);

[[nodiscard]] std::optional<named_policy> recognised_under_treatment(const json& description, int treatments) {
  const auto of = description.find("of");
  if (of == description.end() || treatments == most_treatments) return std::nullopt;
  const std::optional<named_policy> inner = recognised(*of, treatments + 1);
  if (!inner) return std::nullopt;
  for (const auto& [member, value] : description.items())
    for (const std::string& name : treatments_of(member, value)) try {
        named_policy outer{inner->name + name, treated(inner->policy, name)};
        if (describes(description.dump(), outer.policy)) return outer;
      } catch (const std::invalid_argument&) {  // no such treatment
      } catch (const support::user_error&) {  // the file that ships is not here
      }
  return std::nullopt;
}

std::optional<named_policy> recognised(const json& description, int treatments) {
  const auto kind = description.find("kind");
  if (kind == description.end() || !kind->is_string()) return std::nullopt;
  const std::string text = description.dump();
  for (const std::string& name : names_of_kind(kind->get<std::string>(), description))
    for (std::optional<named_policy> policy : {parsed_name(name), named_by_hosts(name)})
      if (policy && describes(text, policy->policy)) return policy;
  return recognised_under_treatment(description, treatments);
}

[[nodiscard]] std::optional<named_policy> find_policy(const decision_history& history, const std::string& given) {
  if (!given.empty()) {
    named_policy policy = parse_policy(given);
    if (!describes(history.description, policy.policy))
      throw support::user_error{"--policy: found " + given + " (" + policy.policy.describe().line +
                                "), expected the policy of " + history.source + " (" + history.policy + ")"};
    return policy;
  }
  return policy_described(history.description);
}

}  // namespace

bool describes(const std::string& description, const any_policy& policy) {
  return json::parse(policy.describe().json).dump() == description;
}

std::optional<named_policy> policy_described(const std::string& description) {
  const json parsed = json::parse(description, nullptr, false);
  return parsed.is_object() ? recognised(parsed, 0) : std::nullopt;
}

std::optional<named_policy> policy_of_log(const decision_history& history, const std::string& given) {
  std::optional<named_policy> found = find_policy(history, given);
  if (found)
    if (const std::string wrong = found->policy.problem(history.workers); !wrong.empty())
      throw support::user_error{history.source + ": found " + std::to_string(history.workers) + " workers under " +
                                found->name + ": " + wrong};
  return found;
}

}  // namespace rubato::lab
