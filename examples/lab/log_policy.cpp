#include "log_policy.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

[[nodiscard]] std::vector<std::string> names_to_try() {
  std::vector<std::string> names;
  for (const rule& each : rules())
    if (!each.of_file)
      for (const std::string_view variant : each.variants) names.emplace_back(variant);
  constexpr int most = 64;
  for (int n = 0; n <= most; ++n) names.push_back("ssp:" + std::to_string(n));
  for (const char* order : {"", ":fifo", ":fastest", ":random"})
    for (int n = 1; n <= most; ++n) names.push_back("cap:" + std::to_string(n) + order);
  return names;
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
  return nlohmann::json::parse(policy.describe().json).dump() == description;
}

std::optional<named_policy> policy_described(const std::string& description) {
  for (const std::string& name : names_to_try()) {
    named_policy policy = parse_policy(name);
    if (describes(description, policy.policy)) return policy;
  }
  return std::nullopt;
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
