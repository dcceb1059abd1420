#include "switch_cases.hpp"

#include <algorithm>
#include <array>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <utility>

#include "latency_model.hpp"
#include "number_text.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;
using case_list = std::vector<switch_case>;

// Windows of ten seconds, about two rounds; three of them find a straggler of 100 s in time.
constexpr straggler_options robust_detector{.window = 10.0, .steps = 2};
constexpr straggler_options published_detector{.test = straggler_options::published, .window = 10.0, .steps = 2};

// What the logs say of ResNet32 on CIFAR-10 with eight workers: share, accuracy, time.
struct logged_share_of_bsp {
  double share;
  logged_case logged;
};
const std::array<logged_share_of_bsp, 11> logged_shares_of_bsp{{{1, {0.9188, 10'532}},
                                                                {0.75, {0.9019, 8'400}},
                                                                {0.5, {0.9202, 5'980}},
                                                                {0.25, {0.9186, 3'870}},
                                                                {0.125, {}},
                                                                {0.1, {0.9142, 2'518}},
                                                                {0.0625, {0.9102, 2'076}},
                                                                {0.05, {0.9174, 2'055}},
                                                                {0.04, {0.9127, 1'956}},
                                                                {0.02, {0.9037, 1'774}},
                                                                {0, {0.8918, 1'598}}}};

[[nodiscard]] logged_case logged_at(double share) {
  return std::ranges::find(logged_shares_of_bsp, share, &logged_share_of_bsp::share)->logged;
}

[[nodiscard]] std::uint64_t pushes_of(const support::scenario& s) { return s.run.workload / s.run.batch; }
[[nodiscard]] std::uint64_t samples_of_a_round(const support::scenario& s) {
  return std::uint64_t{s.run.batch} * s.cluster.workers;
}

[[nodiscard]] any_policy bsp_then_asp(double share, const support::scenario& s,
                                      straggler_reaction reaction = straggler_reaction::none,
                                      const straggler_options& detector = {}) {
  if (share >= 1) return bsp{};
  if (share <= 0) return asp{};
  return sync_switch{
      bsp{}, asp{}, {.share = share, .workload = pushes_of(s), .reaction = reaction, .stragglers = detector}};
}
[[nodiscard]] any_policy asp_then_bsp(double share_of_bsp, const support::scenario& s) {
  return sync_switch{asp{}, bsp{}, {.share = 1 - share_of_bsp, .workload = pushes_of(s)}};
}

[[nodiscard]] switch_case a_case(std::string name, const support::scenario& s, any_policy policy, std::size_t baseline,
                                 const logged_case& logged = {}, const switching_host& host = {}) {
  return {std::move(name), {.scenario = s, .switching = host}, std::move(policy), baseline, logged};
}

// The time of a round without stragglers.
[[nodiscard]] double round_of(const support::scenario& s) {
  return s.cluster.round_time * s.cluster.workers + *std::ranges::max_element(s.cluster.step_time);
}

// ---- the parts

// An eighth of the workload: it is a matter of time alone. Latency is there from the beginning to the end.
[[nodiscard]] case_list latency_cases(support::scenario s) {
  s.run.workload = (std::max)(s.run.workload / 8, samples_of_a_round(s));
  const latency_model model = fit_latency();
  case_list all;
  for (const bool synchronous : {true, false}) {
    const any_policy policy = synchronous ? any_policy{bsp{}} : any_policy{asp{}};
    const std::string rule = synchronous ? "BSP" : "ASP";
    const std::size_t first = all.size();
    all.push_back(a_case(rule + ", no latency", s, policy, first));
    for (const logged_latency& each : logged_latencies) {
      support::scenario slow = s;
      for (std::uint32_t w = 0; w < each.workers; ++w)
        slow.cluster.stragglers.episodes.push_back(
            {w, 0, s.run.max_time, model.excess(each.delay, each.workers) * round_of(s)});
      all.push_back(
          a_case(rule + ", " + short_text(each.delay) + " ms x " + std::to_string(each.workers), slow, policy, first));
    }
  }
  return all;
}

[[nodiscard]] case_list share_cases(const support::scenario& s) {
  case_list all;
  for (const auto& [share, logged] : logged_shares_of_bsp)
    all.push_back(a_case(share_text(share), s, bsp_then_asp(share, s), 0, logged));
  return all;
}

[[nodiscard]] case_list order_cases(const support::scenario& s) {
  // ASP first: a75-b25, a50-b50, a25-b75 of the logs.
  constexpr std::array<std::pair<double, logged_case>, 3> reversed{
      {{0.25, {0.8997, 3'719}}, {0.5, {0.8914, 5'988}}, {0.75, {0.9064, 8'239}}}};
  case_list all;
  for (const auto& [share, logged] : reversed) {
    const std::size_t first = all.size();
    all.push_back(a_case(share_text(share) + " BSP first", s, bsp_then_asp(share, s), first, logged_at(share)));
    all.push_back(a_case(share_text(share) + " BSP last", s, asp_then_bsp(share, s), first, logged));
  }
  return all;
}

// A tenth of the workload in BSP; stages are those parts of the workload that they were of 64,000 steps.
[[nodiscard]] case_list configuration_cases(const support::scenario& s) {
  constexpr double share = 0.1;
  const auto part_of_workload = [&](std::uint64_t steps) {
    return (std::max)(std::uint64_t{1}, steps * pushes_of(s) / 64'000);
  };
  const any_policy policy = bsp_then_asp(share, s);
  using enum momentum_rule;
  return {
      a_case("keep", s, policy, 0, logged_at(share)),
      a_case("zero", s, policy, 0, {.accuracy = 0.8694}, {.after = zero}),
      a_case("scaled", s, policy, 0, {.accuracy = 0.8918}, {.after = scaled}),
      a_case("ramped", s, policy, 0, {.accuracy = 0.9116}, {.after = ramped, .stage = part_of_workload(4'000)}),
      a_case("multi_step", s, policy, 0, {.accuracy = 0.8970}, {.after = multi_step, .stage = part_of_workload(6'400)}),
      a_case("additive", s, policy, 0, {.accuracy = 0.9051}, {.after = additive, .stage = part_of_workload(2'000)}),
      a_case("rate kept at n eta", s, policy, 0, {.diverged = true}, {.keeps_rate = true}),
      a_case("rate eta before, too", s, policy, 0, {}, {.scales_rounds = false})};
}

// So many occurrences of 100 s, evenly over the time that the share takes without them; all stragglers at the same
// time.
[[nodiscard]] support::scenario with_occurrences(support::scenario s, double share, std::uint32_t stragglers,
                                                 std::uint32_t occurrences, double delay) {
  constexpr double longest = 100, part_of_gap = 0.75;
  const double lasts = share * static_cast<double>(pushes_of(s)) / s.cluster.workers * round_of(s);
  const double gap = lasts / (occurrences + 1);
  const double length = (std::min)(longest, part_of_gap * gap);
  const double sleep = fit_latency().excess(delay, stragglers) * round_of(s);
  for (std::uint32_t i = 0; i < occurrences; ++i)
    for (std::uint32_t w = 0; w < stragglers; ++w) {
      const double from = gap * (i + 1) - length / 2;
      s.cluster.stragglers.episodes.push_back({w, from, from + length, sleep});
    }
  return s;
}

[[nodiscard]] case_list straggler_cases(const support::scenario& s) {
  constexpr double share = 0.0625;
  const support::scenario mild = with_occurrences(s, share, 1, 1, 10), moderate = with_occurrences(s, share, 2, 4, 30);
  case_list all{a_case("no straggler", s, bsp_then_asp(share, s), 0)};
  const auto add = [&](const std::string& what, const support::scenario& in, const logged_case& baseline,
                       const logged_case& of_greedy, const logged_case& of_elastic) {
    using enum straggler_reaction;
    const std::size_t first = all.size();
    all.push_back(a_case(what + ": baseline", in, bsp_then_asp(share, in), first, baseline));
    for (const straggler_options& detector : {published_detector, robust_detector}) {
      const bool as_published = detector.test == straggler_options::published;
      const std::string by = as_published ? ", published" : ", robust";
      all.push_back(a_case(what + ": greedy" + by, in, bsp_then_asp(share, in, straggler_reaction::greedy, detector),
                           first, as_published ? of_greedy : logged_case{}));
      all.push_back(a_case(what + ": elastic" + by, in, bsp_then_asp(share, in, straggler_reaction::elastic, detector),
                           first, as_published ? of_elastic : logged_case{}));
    }
  };
  add("mild", mild, {0.9073, 2'063}, {0.8938, 2'066}, {0.9092, 2'056});
  add("moderate", moderate, {0.9091, 2'288}, {}, {0.9139, 2'038});
  return all;
}

[[nodiscard]] case_list cluster_cases(support::scenario s) {
  std::vector<double>& step_times = s.cluster.step_time;
  const std::vector<double> once = step_times;
  if (once.size() > 1) step_times.insert(step_times.end(), once.begin(), once.end());
  s.cluster.workers *= 2;
  case_list all;
  for (const auto& [share, logged] : {std::pair<double, logged_case>{1, {0.9229, 9'631}},
                                      {0.5, {0.9206, 5'158}},
                                      {0.25, {.diverged = true}},
                                      {0, {.diverged = true}}})
    all.push_back(a_case(share_text(share), s, bsp_then_asp(share, s), 0, logged));
  return all;
}

// Figure 14: the policies that were found for the three experiments, in the first of them.
[[nodiscard]] case_list policy_cases(const support::scenario& s) {
  const double time = 2'055;
  return {a_case("policy 1: 6.25 %", s, bsp_then_asp(0.0625, s), 0, {0.917, time}),
          a_case("policy 2: 12.5 %", s, bsp_then_asp(0.125, s), 0, {0.914, 1.33 * time}),
          a_case("policy 3: 50 %", s, bsp_then_asp(0.5, s), 0, {0.9202, 3 * time})};
}

}  // namespace

const std::vector<switch_part>& switch_parts() {
  static const std::vector<switch_part> all{
      {"latency", "the model of injected latency, and what it does to BSP and ASP in an eighth of a training"},
      {"share", "accuracy and time against the share of BSP"},
      {"order", "BSP first against ASP first"},
      {"configuration", "momentum and learning rate after the switch"},
      {"stragglers", "baseline, greedy and elastic, with mild and moderate stragglers"},
      {"cluster", "twice as many workers"},
      {"policies", "the shares that were found for each experiment, in the first"}};
  return all;
}

std::vector<switch_case> cases_of(std::string_view part, const support::scenario& s) {
  if (s.run.stop != sim::stop_rule::workload)
    throw user_error{"--scenario: found another stop rule, expected stop = workload"};
  if (s.cluster.workers < 4)
    throw user_error{"--scenario: found " + std::to_string(s.cluster.workers) + " workers, expected at least 4"};
  if (s.run.workload < samples_of_a_round(s))
    throw user_error{"--scenario: found objective.workload = " + std::to_string(s.run.workload) +
                     ", expected at least " + std::to_string(samples_of_a_round(s)) + ": a batch of each worker"};
  if (part == "latency") return latency_cases(s);
  if (part == "share") return share_cases(s);
  if (part == "order") return order_cases(s);
  if (part == "configuration") return configuration_cases(s);
  if (part == "stragglers") return straggler_cases(s);
  if (part == "cluster") return cluster_cases(s);
  return policy_cases(s);
}

}  // namespace rubato::lab
