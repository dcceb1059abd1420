#include "batch_policies.hpp"

#include <cstdint>
#include <rubato/adapt/batch_policy_file.hpp>
#include <rubato/adapt/batch_size.hpp>
#include <rubato/adapt/batch_sizers/goodput.hpp>
#include <rubato/adapt/batch_sizers/random.hpp>
#include <rubato/adapt/batch_sizers/speed_proportional.hpp>
#include <rubato/adapt/batch_sizers/warm_up.hpp>
#include <rubato/sim/options.hpp>
#include <rubato/sync/bsp.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "shipped.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using adapt::batch_options;

// N[:PERIOD], from this place on.
[[nodiscard]] batch_options options_in(policy_arguments given, std::size_t place = 0) {
  batch_options options = batch_defaults;
  if (given.size() > place)
    options.initial = whole_number(given[place], "32 to 1024 samples", options.least, options.most);
  if (given.size() > place + 1) options.period = whole_number(given[place + 1], "1 or more steps of a period", 1);
  at_most(given, place + 2);
  return options;
}

template <class Sizer>
[[nodiscard]] any_policy put(any_policy policy, const batch_options& options, Sizer by) {
  return adapt::batch_sized<any_policy, Sizer>{std::move(policy), options, std::move(by)};
}

any_policy put_static(any_policy policy, policy_arguments given) {
  return put(std::move(policy), options_in(given), adapt::same_batches{});
}
any_policy put_lb_bsp(any_policy policy, policy_arguments given) {
  return put(std::move(policy), options_in(given), adapt::speed_proportional{});
}
any_policy put_goodput(any_policy policy, policy_arguments given) {
  return put(std::move(policy), options_in(given), adapt::goodput{});
}
any_policy put_balanced_goodput(any_policy policy, policy_arguments given) {
  return put(std::move(policy), options_in(given), adapt::goodput{.balanced = true});
}
any_policy put_random(any_policy policy, policy_arguments given) {
  return put(std::move(policy), options_in(given), adapt::random_batches{});
}
any_policy put_warm_up(any_policy policy, policy_arguments given) {
  adapt::warm_up by;
  if (given.size() > 1)
    by.last = whole_number(given[1], "32 to 1024 samples in the end", batch_defaults.least, batch_defaults.most);
  if (given.size() > 2) by.over = whole_number(given[2], "1 or more periods", 1);
  at_most(given, 3);
  return put(std::move(policy), options_in(given.first(given.empty() ? 0 : 1)), by);
}

// The policy that ships, or one in a file.
any_policy put_dynamix(any_policy policy, policy_arguments given) {
  at_most(given, 2);
  batch_options options = options_in(given.first(given.empty() ? 0 : 1));
  options.period = adapt::learned_period;
  const std::string file =
      given.size() > 1 ? std::string{given[1]} : shipped("examples/lab/policies/dynamix.safetensors").string();
  auto learned = adapt::load_batch_policy(file);
  if (!learned) throw support::user_error{learned.error().message};
  return put(std::move(policy), options, std::move(*learned));
}

struct batch_policy {
  std::string_view syntax;  // of the treatment; that of the rule is without the '+'
  std::string_view meaning;
  std::vector<std::string_view> variants;  // likewise
  any_policy (*put_on)(any_policy, policy_arguments);
  any_policy (*make)(policy_arguments);
};

template <any_policy (*put_on)(any_policy, policy_arguments)>
any_policy with_barrier(policy_arguments given) {
  return put_on(bsp{}, given);
}

template <any_policy (*put_on)(any_policy, policy_arguments)>
[[nodiscard]] batch_policy entry(std::string_view syntax, std::string_view meaning,
                                 std::vector<std::string_view> variants) {
  return {syntax, meaning, std::move(variants), put_on, with_barrier<put_on>};
}

[[nodiscard]] std::string_view without_plus(std::string_view text) { return text.substr(1); }
[[nodiscard]] std::string_view name_in(std::string_view syntax) {
  return without_plus(syntax.substr(0, syntax.find('[')));
}

[[nodiscard]] const std::vector<batch_policy>& all() {
  static const std::vector<batch_policy> policies{
      entry<put_static>("+static[:N]", "N samples (64) in every step",
                        {"+static:32", "+static:64", "+static:128", "+static:256", "+static:512", "+static:1024"}),
      entry<put_lb_bsp>("+lb-bsp[:N[:PERIOD]]",
                        "samples by the workers' speeds, N (64) on average, every PERIOD (5) steps",
                        {"+lb-bsp:32", "+lb-bsp:64", "+lb-bsp:128", "+lb-bsp:256", "+lb-bsp:512", "+lb-bsp:1024"}),
      entry<put_warm_up>("+warm-up[:FROM:TO[:OVER]]",
                         "samples that grow FROM (64) TO (256) in OVER (10) periods of 5 steps, for all",
                         {"+warm-up:32:128:10", "+warm-up:32:256:10", "+warm-up:32:256:40", "+warm-up:64:256:10",
                          "+warm-up:64:512:20", "+warm-up:64:512:40"}),
      entry<put_goodput>(
          "+goodput[:N[:PERIOD]]",
          "from N samples (64), those of the highest goodput by the noise of gradients, for all the same",
          {"+goodput:64:2", "+goodput:64:5", "+goodput:64:10", "+goodput:128:5", "+goodput:256:5", "+goodput:512:5"}),
      entry<put_balanced_goodput>("+goodput-balanced[:N[:PERIOD]]", "the same, with steps that take equally long",
                                  {"+goodput-balanced:64:2", "+goodput-balanced:64:5", "+goodput-balanced:64:10",
                                   "+goodput-balanced:128:5", "+goodput-balanced:256:5", "+goodput-balanced:512:5"}),
      entry<put_dynamix>(
          "+dynamix[:N[:FILE]]",
          "from N samples (64), up or down as a network says that sees what each worker's steps showed: "
          "the one that ships, or one in a policy file (no ':' in its path)",
          {"+dynamix:32", "+dynamix:64", "+dynamix:128", "+dynamix:256", "+dynamix:512", "+dynamix:1024"}),
      entry<put_random>("+random[:N[:PERIOD]]", "from N samples (64), up or down by chance",
                        {"+random:32", "+random:64", "+random:128", "+random:256", "+random:512", "+random:1024"})};
  return policies;
}

}  // namespace

std::vector<rule> batch_rules() {
  std::vector<rule> rules;
  for (const batch_policy& each : all()) {
    std::vector<std::string_view> variants;
    for (const std::string_view variant : each.variants) variants.push_back(without_plus(variant));
    rules.push_back({.name = name_in(each.syntax),
                     .syntax = without_plus(each.syntax),
                     .meaning = each.meaning,
                     .variants = std::move(variants),
                     .make = each.make,
                     .of_batches = true});
  }
  return rules;
}

std::vector<treatment> batch_treatments() {
  std::vector<treatment> treatments;
  for (const batch_policy& each : all())
    treatments.push_back({name_in(each.syntax), each.syntax, each.meaning, {each.variants.front()}, each.put_on});
  return treatments;
}

}  // namespace rubato::lab
