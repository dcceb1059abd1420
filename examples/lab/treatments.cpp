#include "treatments.hpp"

#include <algorithm>
#include <rubato/sim/options.hpp>
#include <rubato/sync/rivals/batched.hpp>
#include <rubato/sync/rivals/concurrency_scaled.hpp>
#include <rubato/sync/rivals/loss_decayed.hpp>
#include <rubato/sync/rivals/scaled.hpp>
#include <utility>

#include "batch_policies.hpp"
#include "gone.hpp"

namespace rubato::lab {
namespace {

constexpr float least_factor = 1e-6F;
constexpr std::string_view a_factor = "a number above 0";

[[nodiscard]] float factor_in(std::string_view text) {
  return static_cast<float>(real_number(text, a_factor, static_cast<double>(least_factor), 1e6));
}

any_policy put_scale(any_policy policy, policy_arguments given) {
  const std::string_view law = argument(given, 0);
  staleness_weight by;
  std::size_t used = 1;
  if (law == "1/tau") {
    by = staleness_weight::inverse();
  } else if (law == "poly") {
    used = 2;
    by = staleness_weight::polynomial(factor_in(argument(given, 1)));
  } else if (law == "hinge") {
    used = 3;
    by =
        staleness_weight::hinge(factor_in(argument(given, 1)), whole_number(argument(given, 2), "a number of updates"));
  } else if (law != "1/(tau+1)" && law != "dyn") {
    refuse_argument(law, "1/tau, 1/(tau+1), dyn, poly:A or hinge:A:B");
  }
  at_most(given, used);
  return scaled<any_policy>{std::move(policy), by};
}

any_policy put_const(any_policy policy, policy_arguments given) {
  at_most(given, 1);
  return scaled<any_policy>{std::move(policy), staleness_weight::constant(factor_in(argument(given, 0)))};
}

any_policy put_lr(any_policy policy, policy_arguments given) {
  constexpr std::string_view form = "R/M, as in 1/M";
  at_most(given, 1);
  const std::string_view text = argument(given, 0);
  if (!text.ends_with("/M")) refuse_argument(text, form);
  const std::uint32_t reference = whole_number(text.substr(0, text.size() - 2), form, 1);
  return concurrency_scaled<any_policy>{std::move(policy), {.reference = static_cast<float>(reference)}};
}

any_policy put_decay(any_policy policy, policy_arguments given) {
  at_most(given, 0);
  return loss_decayed<any_policy>{std::move(policy)};
}

any_policy put_batch(any_policy policy, policy_arguments given) {
  at_most(given, 1);
  constexpr std::uint32_t most = sim::largest_batch;
  return batched<any_policy>{std::move(policy), whole_number(argument(given, 0), "1 to 65535 samples", 1, most)};
}

any_policy put_gone(any_policy policy, policy_arguments given) {
  at_most(given, 1);
  return gone<any_policy>{std::move(policy), real_number(argument(given, 0), "a time, 0 or more", 0)};
}

// Those of batches come last.
[[nodiscard]] std::vector<treatment> with_those_of_batches(std::vector<treatment> own) {
  for (treatment& each : batch_treatments()) own.push_back(std::move(each));
  return own;
}

const std::vector<treatment> all_treatments = with_those_of_batches({
    {"scale",
     "+scale:1/tau|1/(tau+1)|dyn|poly:A|hinge:A:B",
     "gradients weighed by their staleness tau: 1/tau; 1/(tau+1), which is dyn; (tau+1)^-A; 1 up to B, then "
     "1/(A(tau-B)+1)",
     {"+scale:1/tau", "+scale:1/(tau+1)", "+scale:poly:0.5", "+scale:hinge:0.5:4"},
     put_scale},
    {"const", "+const:C", "gradients weighed by C", {"+const:0.1"}, put_const},
    {"lr", "+lr:R/M", "learning rate times R/M, at most 1, with M workers running", {"+lr:1/M", "+lr:4/M"}, put_lr},
    {"decay",
     "+decay",
     "learning rate times 5 L, from 0.35 to 1, L being the running loss as a share of the first",
     {"+decay"},
     put_decay},
    {"batch", "+batch:N", "batches of N samples, for whoever it runs", {"+batch:4"}, put_batch},
    {"gone",
     "+gone:TIME",
     "from TIME on it releases nobody, as if whoever decides were gone: all wait but for whom the guard lets go",
     {"+gone:20"},
     put_gone},
});

[[nodiscard]] std::string names_of_all() {
  std::string names;
  for (const treatment& each : all_treatments) names += (names.empty() ? "" : ", ") + std::string{each.name};
  return names;
}

// Where a treatment begins, with its '+'; the end of the text if none does.
[[nodiscard]] std::size_t begin_of_treatment(std::string_view text) {
  for (std::size_t plus = text.find('+'); plus != std::string_view::npos; plus = text.find('+', plus + 1)) {
    const std::string_view rest = text.substr(plus + 1);
    const std::string_view word = rest.substr(0, rest.find_first_of(":+"));
    if (std::ranges::find(all_treatments, word, &treatment::name) != all_treatments.end()) return plus;
  }
  return text.size();
}

}  // namespace

std::span<const treatment> treatments() { return all_treatments; }

std::string_view without_treatments(std::string_view policy) { return policy.substr(0, begin_of_treatment(policy)); }

any_policy treated(any_policy policy, std::string_view suffixes) {
  while (!suffixes.empty()) {
    suffixes.remove_prefix(1);  // the '+'
    const std::string_view one = suffixes.substr(0, begin_of_treatment(suffixes));
    suffixes.remove_prefix(one.size());
    const std::vector<std::string_view> parts = split(one, ':');
    const auto which = std::ranges::find(all_treatments, parts.front(), &treatment::name);
    if (which == all_treatments.end()) refuse_argument(one, "treatments, each after a +: " + names_of_all());
    policy = which->put_on(std::move(policy), policy_arguments{parts}.subspan(1));
  }
  return policy;
}

}  // namespace rubato::lab
