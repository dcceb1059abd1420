#include "policies.hpp"

#include <algorithm>
#include <limits>
#include <rubato/io/utf8.hpp>
#include <rubato/learned/builtin.hpp>
#include <rubato/learned/distilled.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/learned/stigmergic.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/knee.hpp>
#include <rubato/sync/rivals/capped.hpp>
#include <rubato/sync/ssp.hpp>
#include <set>
#include <stdexcept>

#include "adaptive_policies.hpp"
#include "batch_policies.hpp"
#include "policy_arguments.hpp"
#include "rival_policies.hpp"
#include "shipped.hpp"
#include "support/json_schema.hpp"
#include "support/user_error.hpp"
#include "treatments.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using arguments = policy_arguments;

[[nodiscard]] std::string quoted(std::string_view text) { return "\"" + std::string{text} + "\""; }

any_policy make_bsp(arguments given) {
  at_most(given, 1);
  if (given.empty() || given[0] == "mean") return bsp{};
  if (given[0] == "sum") return bsp{.aggregate = bsp::sum};
  refuse_argument(given[0], "mean or sum");
}

any_policy make_asp(arguments given) {
  at_most(given, 0);
  return asp{};
}

any_policy make_ssp(arguments given) {
  constexpr std::string_view bound = "a number of steps, or inf";
  at_most(given, 2);
  if (given.empty()) refuse_argument("", bound);
  if (given.size() == 1 && given[0] == "inf") return ssp{.staleness = unbounded};
  const std::uint32_t steps = whole_number(given[0], given.size() == 1 ? bound : "a number of steps");
  if (given.size() == 1) return ssp{.staleness = steps};
  if (given[1] != "rlp") refuse_argument(given[1], "rlp or nothing");
  if (steps == 0) refuse_argument(given[0], "at least 1 with rlp: nobody could ever run");
  return ssp_rlp(steps);
}

any_policy make_knee(arguments given) {
  constexpr std::string_view threshold = "a number above 0 and below 1";
  at_most(given, 2);
  knee policy;
  if (!given.empty()) policy.threshold = static_cast<float>(real_number(given[0], threshold, 0.0, 1.0));
  if (!policy.problem(1).empty()) refuse_argument(given[0], threshold);
  const std::string_view how = argument(given, 1);
  if (given.size() == 2 && how != "fixed" && how != "eager") refuse_argument(how, "fixed, eager or nothing");
  policy.scales_rate = how != "fixed";
  if (how == "eager") policy.most_scatter = std::numeric_limits<float>::infinity();
  return policy;
}

any_policy make_learned(arguments given) {
  at_most(given, 0);
  return learned_policy{};
}

any_policy make_stigmergic(arguments given) {
  at_most(given, 0);
  return stigmergic{};
}

any_policy make_distilled(arguments given) {
  at_most(given, 0);
  return distilled_policy{};
}

[[nodiscard]] policy_file open_file(const std::string& path) {
  auto file = read_policy_file(path);
  if (!file) throw user_error{file.error().message};
  return *std::move(file);
}

any_policy made_from(const policy_file& file) {
  auto policy = policy_in(file);
  if (!policy) throw user_error{policy.error().message};
  return *std::move(policy);
}

// Names end up in result files, which are UTF-8 and have a run in a line.
[[nodiscard]] std::string path_in(arguments given) {
  if (given.empty() || given[0].empty()) refuse_argument("", "the path of a policy file");
  if (!is_plain(given[0])) refuse_argument(given[0], "a path of UTF-8 without control or hidden characters");
  return std::string{given[0]};
}

any_policy make_file(arguments given) { return made_from(open_file(path_in(given))); }

any_policy make_rlp(arguments given) {
  const policy_file file =
      open_file(given.empty() ? shipped("examples/lab/policies/rlp-paper.safetensors").string() : path_in(given));
  const std::string& kind = file.card.kind;
  if (kind != rlp_state::kind && kind != rlp_normalised_state::kind)
    throw user_error{file.tensors.source() + ": policy card: found kind " + in_quotes(kind) +
                     ", expected rlp or rlp_normalised"};
  return made_from(file);
}

// The rivals come after the classical rules, and before those that read files.
[[nodiscard]] std::vector<rule> with_rivals(std::vector<rule> own) {
  for (const std::vector<rule>& rivals : {rival_rules(), adaptive_rules(), batch_rules()})
    own.insert(std::ranges::find_if(own, &rule::of_file), rivals.begin(), rivals.end());
  return own;
}

const std::vector<rule> all_rules = with_rivals({
    {"bsp",
     "bsp[:mean|:sum]",
     "a barrier after each step; one update by the mean (default) or by the sum of the round",
     {"bsp", "bsp:mean", "bsp:sum"},
     make_bsp},
    {"asp", "asp", "nobody waits", {"asp"}, make_asp},
    {"ssp",
     "ssp:S|ssp:inf|ssp:S:rlp",
     "wait while more than S steps ahead of the slowest; with rlp: S or more",
     {"ssp:0", "ssp:1", "ssp:2", "ssp:3", "ssp:5", "ssp:8"},
     make_ssp},
    {"knee",
     "knee[:THRESHOLD[:fixed|eager]]",
     "the fastest workers, as many as raise the throughput with an elasticity of THRESHOLD (0.3); with fixed at the "
     "host's learning rate; with eager it tries levels even while steps scatter",
     {"knee", "knee:0.5", "knee:0.3:fixed", "knee:0.3:eager"},
     make_knee},
    {"learned",
     "learned",
     "knee+decay, corrected by the network that ships; needs no options",
     {"learned"},
     make_learned},
    {"distilled",
     "distilled",
     "knee+decay, with a batch that grows with the cube root of a step's overhead; needs no options",
     {"distilled"},
     make_distilled},
    {"stigmergic",
     "stigmergic",
     "each worker decides for itself, by traces that others leave at the server; rate and batch as learned; needs no "
     "options",
     {"stigmergic"},
     make_stigmergic},
    {"rlp",
     "rlp[:PATH]",
     "a learned policy that sees what Zhu et al. (2020) see: the one that ships, or one in a policy file",
     {"rlp"},
     make_rlp,
     true},
    {"file", "file:PATH", "what a policy file holds, a network or a rule; PATH without ','", {}, make_file, true},
});

[[nodiscard]] std::string known_names() {
  std::string names;
  for (const rule& each : all_rules)
    if (!each.of_batches) names += (names.empty() ? "" : ", ") + std::string{each.syntax};
  names += "; after any of them";
  for (const treatment& each : treatments()) names += " " + std::string{each.syntax};
  return names + "; from +static on also without the +";
}

[[nodiscard]] std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

[[nodiscard]] const rule& find_rule(std::string_view policy) {
  const auto found = std::ranges::find(all_rules, split(policy, ':').front(), &rule::name);
  if (found != all_rules.end()) return *found;
  std::vector<std::string> names;
  for (const rule& each : all_rules) names.emplace_back(each.name);
  throw user_error{"found " + quoted(policy) + ", expected one of " + known_names() + "; the nearest is " +
                   support::nearest_key(policy, names)};
}

[[nodiscard]] policy_request parse_request(std::string_view name, bool tunable) {
  const std::string_view bare = without_treatments(name);
  const std::string suffixes{name.substr(bare.size())};
  const rule& which = find_rule(bare);
  policy_request request{std::string{name}, {}};
  if (bare == which.name && !which.variants.empty() && which.variants.front() != bare) {
    if (!tunable)
      throw user_error{"found " + quoted(name) + ", expected " + std::string{which.syntax} +
                       " (only --tune finds the parameter by itself)"};
    for (const auto& variant : which.variants)
      request.candidates.push_back(parse_policy(std::string{variant} + suffixes));
  } else {
    request.candidates.push_back(parse_policy(name));
  }
  return request;
}

// The rule of a policy's name, without its treatments, as the rule wants what follows the first ':'.
[[nodiscard]] any_policy make_untreated(const rule& which, std::string_view name) {
  if (name == which.name) return which.make({});
  const std::string_view rest = name.substr(which.name.size() + 1);
  if (which.of_file) return which.make(std::span{&rest, 1});
  return which.make(split(rest, ':'));
}

[[nodiscard]] any_policy make(const rule& which, std::string_view name) {
  const std::string_view bare = without_treatments(name);
  return treated(make_untreated(which, bare), name.substr(bare.size()));
}

}  // namespace

std::span<const rule> rules() { return all_rules; }

result<any_policy> policy_in(const policy_file& file) {
  const policy_card& card = file.card;
  if (card.rule.empty()) return policy_of(file.tensors);
  const auto refused = [&](const std::string& found, const std::string& expected) {
    return error{errc::wrong_kind, file.tensors.source() + ": policy card: found " + found + ", expected " + expected};
  };
  const auto known = std::ranges::find(all_rules, split(without_treatments(card.rule), ':').front(), &rule::name);
  if (known == all_rules.end() || known->of_file)  // a file that names a file might name itself
    return refused("the rule " + in_quotes(card.rule), "a rule of --policies that reads no file");
  try {
    any_policy policy = make(*known, card.rule);
    if (policy.kind() == card.kind) return policy;
  } catch (const std::invalid_argument& why) {
    return error{errc::wrong_kind,
                 file.tensors.source() + ": policy card: rule " + in_quotes(card.rule) + ": " + why.what()};
  }
  return refused("the rule " + in_quotes(card.rule) + " of kind " + in_quotes(card.kind), "the kind of that rule");
}

named_policy parse_policy(std::string_view name) {
  const rule& which = find_rule(without_treatments(name));
  try {
    return {std::string{name}, make(which, name)};
  } catch (const std::invalid_argument& error) {
    throw user_error{quoted(name) + ": " + error.what() + " (usage: " + std::string{which.syntax} +
                     "[+TREATMENT...]; rubato-lab policies explains them)"};
  }
}

namespace {

[[nodiscard]] bool has(const std::vector<policy_request>& requests, std::string_view name) {
  return std::ranges::find(requests, name, &policy_request::name) != requests.end();
}

// What `all`, with treatments behind it, stands for; but for those that are there already.
void add_all(std::vector<policy_request>& requests, const std::string& treatments, bool tunable) {
  for (const rule& each : all_rules) {
    if (each.of_file || each.of_batches) continue;
    std::vector<std::string> names{std::string{each.name}};
    if (!tunable || each.variants.front() == each.name) names.assign(each.variants.begin(), each.variants.end());
    std::vector<std::string> descriptions;  // bsp is bsp:mean
    for (std::string& name : names) {
      name += treatments;
      if (has(requests, name)) continue;
      policy_request request = parse_request(name, tunable);
      request.of_all = true;
      std::string described = request.candidates.front().policy.describe().json;
      if (request.candidates.size() == 1 && std::ranges::find(descriptions, described) != descriptions.end()) continue;
      descriptions.push_back(std::move(described));
      requests.push_back(std::move(request));
    }
  }
}

}  // namespace

std::vector<policy_request> parse_policies(std::string_view list, bool tunable) {
  std::vector<policy_request> requests;
  for (const std::string_view item : split(list, ',')) {
    const std::string_view name = trimmed(item);
    const std::string_view bare = without_treatments(name);
    if (bare == "all") {
      add_all(requests, std::string{name.substr(bare.size())}, tunable);
      continue;
    }
    const auto same = std::ranges::find(requests, name, &policy_request::name);
    if (same != requests.end() && std::exchange(same->of_all, false)) continue;  // after `all`
    if (same != requests.end()) throw user_error{"--policies: found " + quoted(name) + " twice, expected it once"};
    try {
      requests.push_back(parse_request(name, tunable));
    } catch (const user_error& error) {
      throw user_error{"--policies: " + std::string{error.what()}};
    }
  }
  return requests;
}

std::vector<std::string> files_in(std::string_view list) {
  std::vector<std::string> files;
  for (const std::string_view item : split(list, ',')) {
    const std::string_view bare = without_treatments(trimmed(item));
    if (bare == "all") continue;
    const rule& which = find_rule(bare);
    if (which.of_file && bare != which.name) files.emplace_back(bare.substr(which.name.size() + 1));
  }
  return files;
}

namespace {

// With as many running as there are workers nobody waits, so that the order is of no matter.
[[nodiscard]] bool caps_nobody(const std::string& policy, std::uint32_t workers) {
  const any_policy bare = parse_policy(without_treatments(policy)).policy;
  const auto* const cap = bare.target<capped>();
  return cap != nullptr && cap->running >= workers;
}

}  // namespace

void fit_policies(std::vector<policy_request>& requests, std::uint32_t workers) {
  std::set<std::string> uncapped;  // treatments of those caps so far that are none
  for (policy_request& request : requests) {
    const bool is_named = request.candidates.size() == 1 && !request.of_all;
    const auto problem = [&](const named_policy& candidate) { return candidate.policy.problem(workers); };
    const std::string first = problem(request.candidates.front());
    std::erase_if(request.candidates, [&](const named_policy& candidate) { return !problem(candidate).empty(); });
    if (!is_named) {
      std::erase_if(request.candidates, [&](const named_policy& candidate) {
        const std::string treatments = candidate.name.substr(without_treatments(candidate.name).size());
        return caps_nobody(candidate.name, workers) && !uncapped.insert(treatments).second;
      });
    }
    if (request.candidates.empty() && !request.of_all)
      throw user_error{"--policies: " + in_quotes(request.name) + ": " + first};
  }
  std::erase_if(requests, [](const policy_request& request) { return request.candidates.empty(); });
}

}  // namespace rubato::lab
