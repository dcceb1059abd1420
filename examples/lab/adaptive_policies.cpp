#include "adaptive_policies.hpp"

#include <rubato/sync/rivals/aap.hpp>
#include <rubato/sync/rivals/ada_sync.hpp>
#include <rubato/sync/rivals/dssp.hpp>
#include <rubato/sync/rivals/sync_switch.hpp>
#include <rubato/sync/rivals/zipline.hpp>

#include "policy_arguments.hpp"
#include "support/sync_switch_name.hpp"

namespace rubato::lab {
namespace {

// A step takes about 1 in the scenarios, and a run some hundreds.
constexpr double adasync_interval = 10.0;
// In runs of some hundreds of rounds stragglers have to be found within some six barriers.
constexpr straggler_options quickly{.window = 5.0, .steps = 2};

any_policy make_dssp(policy_arguments given) {
  constexpr std::string_view range = "two numbers of steps, the lower one first: L-U, as in 3-15";
  at_most(given, 1);
  const std::string_view text = argument(given, 0);
  const std::vector<std::string_view> parts = split(text, '-');
  if (parts.size() != 2) refuse_argument(text, range);
  dssp policy;
  policy.lower = whole_number(parts[0], range);
  policy.upper = whole_number(parts[1], range);
  if (!policy.problem(1).empty()) refuse_argument(text, range);
  return policy;
}

any_policy make_zipline(policy_arguments given) {
  at_most(given, 1);
  zipline policy;
  if (!given.empty()) policy.lookahead = whole_number(given[0], "a number of steps, at least 1", 1);
  return policy;
}

any_policy make_aap(policy_arguments given) {
  constexpr std::string_view updates = "a number of updates, or inf";
  at_most(given, 3);
  aap policy;
  if (!given.empty()) policy.floor = given[0] == "inf" ? unbounded : whole_number(given[0], updates);
  if (given.size() > 1) policy.fraction = real_number(given[1], "a part of a step time, 0 or more", 0.0, 1e6);
  if (given.size() > 2) policy.staleness = whole_number(given[2], "a number of steps");
  return policy;
}

any_policy make_adasync(policy_arguments given) {
  using rule_of = ada_sync::rule;
  ada_sync policy{.interval = adasync_interval};
  const bool has_number = !given.empty() && given[0].find_first_not_of("0123456789") == std::string_view::npos;
  if (has_number) {
    policy.initial = whole_number(given[0], "a number of gradients, at least 1", 1);
    given = given.subspan(1);
  }
  at_most(given, 1);
  if (given.empty()) return policy;
  if (given[0] == "ksync")
    policy.by = rule_of::k_sync;
  else if (given[0] == "kasync")
    policy.by = rule_of::k_async;
  else if (given[0] == "kbatch")
    policy.by = rule_of::k_batch_sync;
  else if (given[0] == "kbatchasync")
    policy.by = rule_of::k_batch_async;
  else
    refuse_argument(given[0], has_number ? "ksync, kasync, kbatch or kbatchasync"
                                         : "a number of gradients, ksync, kasync, kbatch or kbatchasync");
  return policy;
}

any_policy make_syncswitch(policy_arguments given) {
  auto options = support::sync_switch_named(given);
  if (!options) throw std::invalid_argument{options.error().message};
  options->stragglers = quickly;
  return sync_switch<>{*options};
}

}  // namespace

std::vector<rule> adaptive_rules() {
  return {
      {"dssp",
       "dssp:L-U",
       "ssp with a bound of L, which is stretched up to U for the fastest worker where that spares it a wait",
       {"dssp:1-4", "dssp:2-8", "dssp:3-15"},
       make_dssp},
      {"zipline",
       "zipline[:R]",
       "a barrier after up to R (15) steps of each worker, placed where they arrive closest together",
       {"zipline", "zipline:4", "zipline:60"},
       make_zipline},
      {"aap",
       "aap[:L[:F[:S]]]",
       "wait for L (1) updates of others and those of F (0) step times, but no longer than they are expected to take; "
       "staleness S",
       {"aap", "aap:0:0.5", "aap:3", "aap:3:0.5:8"},
       make_aap},
      {"adasync",
       "adasync[:K0][:ksync|:kasync|:kbatch|:kbatchasync]",
       "kasync, or another K rule, whose K starts at K0 (1) and grows as the loss falls",
       {"adasync", "adasync:2:ksync", "adasync:1:kasync", "adasync:1:kbatch", "adasync:1:kbatchasync"},
       make_adasync},
      {"syncswitch",
       support::sync_switch_syntax,
       "bsp, at the rate of bsp:sum, for that SHARE of the STEPS of all workers, then asp; until then greedy is asp "
       "while somebody straggles, and elastic excludes who does",
       {"syncswitch:0.0625:1000", "syncswitch:0.125:1000", "syncswitch:0.25:1000", "syncswitch:0.5:1000",
        "syncswitch:0.125:greedy:1000", "syncswitch:0.125:elastic:1000"},
       make_syncswitch},
  };
}

}  // namespace rubato::lab
