#ifndef RUBATO_TESTS_MODEL_PROGRAM_HPP
#define RUBATO_TESTS_MODEL_PROGRAM_HPP

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>

#include "explorer.hpp"

namespace rubato::test::model {

/// The clusters in which each rule is explored.
[[nodiscard]] inline std::vector<scope> scopes() {
  return {{.name = "two", .workers = 2},
          {.name = "three", .workers = 3, .quorum = 2, .guarded = true, .at_once = 1, .lead = 2, .faults = 1},
          {.name = "entered", .workers = 2, .quorum = 1, .park = park_on::pull, .entered = true}};
}

/// A rule in a scope.
[[nodiscard]] inline plan plan_of(rule of, scope in) {
  plan p{.of = std::move(of), .in = std::move(in), .policies = {}, .stateful = {}};
  traits& is = p.of.is;
  if (is.arbitrary) p.in.guarded = true;
  if (is.arbitrary && p.in.workers > 2) is.named = true;  // of several excluded the lowest index is readmitted
  // A load brings lists that are ordered by grant or arrival into that of the indices.
  const bool ordered = is.cancels || is.slowest;
  if (ordered && p.in.workers > 2) p.in.reloads = 0;
  if (ordered && p.in.reloads > 0) is.named = true;
  if (p.in.entered)
    p.policies = {bsp{}, p.of.policy};
  else
    p.policies = {p.of.policy, bsp{}, ssp{.staleness = 1}};
  for (any_policy each : p.policies) {
    each.resize(p.in.workers);
    archive bytes;
    each.state(bytes);
    p.stateful.push_back(!bytes.bytes().empty());
  }
  return p;
}

struct program_options {
  std::string_view rule{}, scope{};     // empty: all
  std::uint32_t shard = 0, shards = 1;  // which of how many parts of the list
  std::uint64_t states = 0;             // at most, of each exploration
  std::uint64_t least = 0;              // of all together: fewer are a failure
};

[[nodiscard]] inline bool number(std::string_view text, std::uint64_t& to) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
  return code == std::errc{} && end == text.data() + text.size();
}

/// False where the arguments are not understood.
[[nodiscard]] inline bool parse(int count, char** arguments, program_options& o) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = arguments[i];
    if (i + 1 == count) return false;
    const std::string_view value = arguments[i + 1];
    if (name == "--rule") {
      o.rule = value;
    } else if (name == "--scope") {
      o.scope = value;
    } else if (name == "--states") {
      if (!number(value, o.states) || o.states == 0) return false;
    } else if (name == "--least") {
      if (!number(value, o.least)) return false;
    } else if (name == "--shard") {
      const std::size_t slash = value.find('/');
      std::uint64_t part = 0, parts = 0;
      if (slash == std::string_view::npos || !number(value.substr(0, slash), part) ||
          !number(value.substr(slash + 1), parts) || part >= parts)
        return false;
      o.shard = static_cast<std::uint32_t>(part), o.shards = static_cast<std::uint32_t>(parts);
    } else {
      return false;
    }
  }
  return true;
}

/// Explores these rules as the command line says: one line for each, and the first counter-example of each that has
/// one. Returns the exit status of the program: 1 if there is any or there were too few states, 2 where the command
/// line is wrong.
inline int run_program(const std::vector<rule>& rules, int count, char** arguments, std::uint64_t usual_states) {
  program_options o{.states = usual_states};
  if (!parse(count, arguments, o)) {
    std::fputs(
        "usage: model [--rule NAME] [--scope two|three|entered] [--shard I/N] [--states MOST] [--least STATES]\n",
        stderr);
    return 2;
  }
  using clock = std::chrono::steady_clock;
  const auto since = [](clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  std::printf("%-22s %-8s %2s %4s %6s %8s %7s %10s %11s %-12s %8s %7s\n", "rule", "scope", "k", "lead", "faults",
              "switches", "reloads", "states", "transitions", "actions", "compared", "seconds");
  std::uint64_t states = 0, transitions = 0, compared = 0;
  std::uint32_t explorations = 0, broken = 0, place = 0;
  const auto start = clock::now();
  for (const rule& r : rules)
    for (const scope& s : scopes()) {
      if (!r.policy.problem(s.workers).empty() || (r.is.arbitrary && s.entered)) continue;
      if (!o.rule.empty() && r.name != o.rule) continue;
      if (!o.scope.empty() && s.name != o.scope) continue;
      if (place++ % o.shards != o.shard) continue;
      const auto begin = clock::now();
      const plan p = plan_of(r, s);
      const findings found = explorer{p, o.states}.run();
      const std::string depth = std::to_string(found.depth) + (found.complete ? " complete" : "");
      std::printf("%-22s %-8s %2u %4u %6u %8u %7u %10llu %11llu %-12s %8llu %7.1f\n", r.name.c_str(), s.name.c_str(),
                  p.in.workers, static_cast<unsigned>(p.in.lead), p.in.faults, p.in.switches, p.in.reloads,
                  static_cast<unsigned long long>(found.states), static_cast<unsigned long long>(found.transitions),
                  depth.c_str(), static_cast<unsigned long long>(found.compared), since(begin));
      if (!found.problem.empty()) {
        std::printf("  BROKEN: %s, after %u actions:\n", found.problem.c_str(), found.actions);
        for (const std::string& line : found.path) std::printf("  %s\n", line.c_str());
        ++broken;
      }
      std::fflush(stdout);
      ++explorations;
      states += found.states, transitions += found.transitions, compared += found.compared;
    }
  std::printf("%u explorations, %llu states, %llu transitions, %llu states compared, %.0f s, %u broken\n", explorations,
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(transitions),
              static_cast<unsigned long long>(compared), since(start), broken);
  if (explorations == 0) std::fputs("no rule of this name has a scope of that name\n", stderr);
  if (states < o.least) std::fprintf(stderr, "fewer than %llu states\n", static_cast<unsigned long long>(o.least));
  return broken > 0 || explorations == 0 || states < o.least ? 1 : 0;
}

}  // namespace rubato::test::model

#endif
