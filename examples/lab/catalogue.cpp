// What there is to choose from: `policies` and `scenarios`.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "policies.hpp"
#include "shipped.hpp"
#include "support/scenario_files.hpp"
#include "support/user_error.hpp"
#include "treatments.hpp"

namespace rubato::lab {
namespace {

// A variant that lies in a file may be missing; the others are there all the same.
struct described {
  description text;
  std::string refused;  // in place of text
};

[[nodiscard]] described describe(std::string_view policy) {
  try {
    return {parse_policy(policy).policy.describe(), ""};
  } catch (const support::user_error& error) {
    return {{}, error.what()};
  }
}

[[nodiscard]] std::vector<std::string> examples_of(const treatment& each) {
  std::vector<std::string> names;
  for (const auto& suffix : each.variants) names.push_back("asp" + std::string{suffix});
  return names;
}

void print_policies() {
  for (const rule& each : rules()) {
    std::cout << each.syntax << "\n    " << each.meaning << '\n';
    for (const auto& name : each.variants) {
      const auto [text, refused] = describe(name);
      std::cout << "    " << name << std::string(name.size() < 10 ? 10 - name.size() : 1, ' ')
                << (refused.empty() ? text.line : "not here: " + refused) << '\n';
    }
  }
  std::cout << "\nAfter any name, also several in turn, as in ssp:3+scale:1/tau+decay:\n\n";
  for (const treatment& each : treatments()) std::cout << each.syntax << "\n    " << each.meaning << '\n';
}

[[nodiscard]] nlohmann::json policies_json() {
  nlohmann::json list = nlohmann::json::array();
  for (const rule& each : rules()) {
    nlohmann::json variants = nlohmann::json::array();
    for (const auto& name : each.variants) {
      const auto [text, refused] = describe(name);
      if (refused.empty())
        variants.push_back({{"policy", name}, {"line", text.line}, {"describe", nlohmann::json::parse(text.json)}});
      else
        variants.push_back({{"policy", name}, {"line", nullptr}, {"describe", nullptr}, {"refused", refused}});
    }
    list.push_back(
        {{"name", each.name}, {"syntax", each.syntax}, {"meaning", each.meaning}, {"variants", std::move(variants)}});
  }
  for (const treatment& each : treatments()) {
    nlohmann::json variants = nlohmann::json::array();
    for (const std::string& name : examples_of(each)) {
      const description text = parse_policy(name).policy.describe();
      variants.push_back({{"policy", name}, {"line", text.line}, {"describe", nlohmann::json::parse(text.json)}});
    }
    list.push_back({{"name", "+" + std::string{each.name}},
                    {"syntax", each.syntax},
                    {"meaning", each.meaning},
                    {"variants", std::move(variants)}});
  }
  return list;
}

}  // namespace

int run_policies(bool json) {
  if (json)
    std::cout << policies_json().dump(2) << '\n';
  else
    print_policies();
  return 0;
}

int run_scenarios(const std::string& name, bool keys) {
  const auto directory = shipped("examples/lab/scenarios");
  if (keys) {
    std::cout << support::describe_keys();
  } else if (!name.empty()) {
    std::cout << support::to_json(support::find_scenario(name, directory)).dump(2) << '\n';
  } else {
    for (const auto& each : support::scenario_names(directory))
      std::cout << each << "\n    " << support::find_scenario(each, directory).description << '\n';
    std::cout
        << "random:NUMBER\n    Drawn at random, the same each time: cores, links, stragglers, rates and models of "
           "many kinds.\n";
  }
  return 0;
}

}  // namespace rubato::lab
