#include "policies.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
#include <stdexcept>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using arguments = std::span<const std::string_view>;

[[nodiscard]] std::string quoted(std::string_view text) { return "\"" + std::string{text} + "\""; }

[[noreturn]] void refuse(std::string_view found, std::string_view expected) {
  throw std::invalid_argument{"found " + quoted(found) + ", expected " + std::string{expected}};
}

void at_most(arguments given, std::size_t count) {
  if (given.size() > count) refuse(given[count], "nothing more");
}

any_policy make_bsp(arguments given) {
  at_most(given, 1);
  if (given.empty() || given[0] == "mean") return bsp{};
  if (given[0] == "sum") return bsp{.aggregate = bsp::sum};
  refuse(given[0], "mean or sum");
}

any_policy make_asp(arguments given) {
  at_most(given, 0);
  return asp{};
}

any_policy make_ssp(arguments given) {
  constexpr std::string_view bound = "a number of steps, or inf";
  at_most(given, 2);
  if (given.empty()) refuse("", bound);
  if (given.size() == 1 && given[0] == "inf") return ssp{.staleness = unbounded};
  std::uint32_t steps = 0;
  const char* const end = given[0].data() + given[0].size();
  const auto [rest, error] = std::from_chars(given[0].data(), end, steps);
  if (error != std::errc{} || rest != end) refuse(given[0], given.size() == 1 ? bound : "a number of steps");
  if (given.size() == 1) return ssp{.staleness = steps};
  if (given[1] != "rlp") refuse(given[1], "rlp or nothing");
  if (steps == 0) refuse(given[0], "at least 1 with rlp: nobody could ever run");
  return ssp_rlp(steps);
}

const std::vector<rule> all_rules{
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
};

[[nodiscard]] std::string known_names() {
  std::string names;
  for (const rule& each : all_rules) names += (names.empty() ? "" : ", ") + std::string{each.syntax};
  return names;
}

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[nodiscard]] std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

[[nodiscard]] const rule& find_rule(std::string_view policy) {
  const auto found = std::ranges::find(all_rules, split(policy, ':').front(), &rule::name);
  if (found == all_rules.end())
    throw user_error{"--policies: found " + quoted(policy) + ", expected one of " + known_names()};
  return *found;
}

[[nodiscard]] policy_request parse_request(std::string_view name, bool tunable) {
  const rule& which = find_rule(name);
  policy_request request{std::string{name}, {}};
  if (name == which.name && which.variants.front() != name) {
    if (!tunable)
      throw user_error{"--policies: found " + quoted(name) + ", expected " + std::string{which.syntax} +
                       " (only --tune finds the parameter by itself)"};
    for (const auto& variant : which.variants) request.candidates.push_back(parse_policy(variant));
  } else {
    request.candidates.push_back(parse_policy(name));
  }
  return request;
}

}  // namespace

std::span<const rule> rules() { return all_rules; }

named_policy parse_policy(std::string_view name) {
  const rule& which = find_rule(name);
  const auto parts = split(name, ':');
  try {
    return {std::string{name}, which.make(arguments{parts}.subspan(1))};
  } catch (const std::invalid_argument& error) {
    throw user_error{"--policies: " + quoted(name) + ": " + error.what() + " (known: " + known_names() + ")"};
  }
}

std::vector<policy_request> parse_policies(std::string_view list, bool tunable) {
  std::vector<policy_request> requests;
  for (const std::string_view item : split(list, ',')) {
    const std::string_view name = trimmed(item);
    if (std::ranges::find(requests, name, &policy_request::name) != requests.end())
      throw user_error{"--policies: found " + quoted(name) + " twice, expected it once"};
    requests.push_back(parse_request(name, tunable));
  }
  return requests;
}

}  // namespace rubato::lab
