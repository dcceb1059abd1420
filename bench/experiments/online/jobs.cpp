// A job that recurs, and learns: fifty jobs of the learned policy, whose network's biases (the binary logarithms of a
// factor on the learning rate, and of one on the batch) an online_search moves. docs/adapt.md, "On the job", says what
// came out.
//
//   online_jobs --scenario link [--set KEY=VALUE]... [--biases 1] [--host threads --unit 0.01] [--searches 20]
//
// Each search has its own seeds. What it ends with is compared with what it began with in as many new jobs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <rubato/adapt/online.hpp>
#include <rubato/learned/builtin.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/given.hpp"
#include "lab/threads_host.hpp"
#include "lab/workbench.hpp"
#include "support/statistics.hpp"
#include "support/user_error.hpp"

namespace {

namespace lab = rubato::lab;
using rubato::adapt::online_search;
using rubato::detail::builtin::network;

// Fixed: those of the policy that ships, whose biases these are added to.
rubato::any_policy policy_of(std::span<const float> biases) {
  network of = rubato::detail::builtin::trained_network<network>();
  for (std::size_t i = 0; i < biases.size(); ++i) of.parameters()[network::layers().back().bias() + i] += biases[i];
  return rubato::residual_policy<rubato::progress_state, network>{
      of, {rubato::detail::builtin::least, rubato::detail::builtin::most}};
}

struct arguments {
  std::string scenario = "link", host = "simulator", data;
  std::vector<std::string> settings;
  double unit = 0.01;
  std::uint64_t first_seed = 1;
  std::uint32_t searches = 20, jobs = 50, biases = rubato::corrections;
  rubato::adapt::online_options options;
};

// Jobs one after another, of which each has the next seed.
class jobs {
 public:
  jobs(const arguments& given, const rubato::support::scenario& scenario)
      : at_{scenario, lab::hidden_layers_of(scenario, 0)}, data_{lab::given_data(scenario, given.data)}, bench_{data_} {
    if (given.host == "threads") {
      at_.host = lab::host_kind::threads;
      at_.unit_seconds = given.unit;
      if (const std::string lacks = lab::not_on_threads(scenario); !lacks.empty())
        throw rubato::support::user_error{lacks};
    }
  }
  // The logarithm of its time, which is the scenario's limit if it does not arrive.
  struct outcome {
    double log_time;
    bool arrived;
    [[nodiscard]] double cost() const { return arrived ? log_time : std::numeric_limits<double>::infinity(); }
  };
  outcome make(std::span<const float> biases, std::uint64_t seed) {
    const std::atomic<bool> stop = false;
    const auto policy = policy_of(biases);
    const auto of = at_.host == lab::host_kind::threads ? lab::run_on_threads(at_, data_, policy, seed, stop)
                                                        : bench_.run(at_, policy, seed, stop);
    missed_ += of->reached ? 0 : 1;
    return {std::log(of->time), of->reached};
  }
  [[nodiscard]] std::uint32_t missed() const { return missed_; }  // that did not arrive

 private:
  lab::setting at_;
  lab::training_data data_;
  lab::workbench bench_;
  std::uint32_t missed_ = 0;
};

int run(const arguments& given) {
  const rubato::support::scenario scenario = lab::given_scenario(given.scenario, given.settings);
  jobs each{given, scenario};
  const std::vector<float> none(given.biases);
  std::vector<double> gains, prices;
  std::uint32_t changed = 0;
  std::size_t candidates = 0;
  std::printf("%s on %s, %u jobs a search; logarithms of time over that of `learned` as it ships\n",
              scenario.name.c_str(), given.host.c_str(), given.jobs);
  for (std::uint32_t s = 0; s < given.searches; ++s) {
    rubato::adapt::online_options options = given.options;
    options.seed = given.first_seed + s;
    auto search = online_search::make(none, options);
    if (!search) throw rubato::support::user_error{search.error().message};
    const std::uint64_t seed = 2'000'000 + std::uint64_t{options.seed} * 1'000;
    // Twice each seed: in a search, and with what ships, to say what the search itself costs.
    double price = 0, gain = 0;
    for (std::uint32_t j = 0; j < given.jobs; ++j) {
      const bool is_none = std::ranges::equal(search->next(), none);
      const auto made = each.make(search->next(), seed + j);
      price += made.log_time - (is_none ? made : each.make(none, seed + j)).log_time;
      if (const auto refused = search->report(made.cost()); refused.code != rubato::errc::ok)
        throw rubato::support::user_error{refused.message};
    }
    const auto found = search->incumbent();
    const bool has_changed = !std::ranges::equal(found, none);
    for (std::uint32_t j = 0; j < given.jobs && has_changed; ++j)
      gain += each.make(found, seed + 500 + j).log_time - each.make(none, seed + 500 + j).log_time;
    changed += has_changed ? 1 : 0;
    candidates += search->trials().size() - 1;
    prices.push_back(price / given.jobs);
    gains.push_back(gain / given.jobs);
    std::printf("search %llu: %zu candidates;", static_cast<unsigned long long>(options.seed), search->trials().size());
    for (const float bias : found) std::printf(" %+.2f", static_cast<double>(bias));
    std::printf(" in use; during the search %+.3f, afterwards %+.3f\n", prices.back(), gains.back());
    std::fflush(stdout);
  }
  for (const auto& [name, values] : {std::pair{"during the searches", &prices}, std::pair{"afterwards", &gains}}) {
    const auto middle = rubato::support::bootstrap_interquartile_mean(*values);
    std::printf("%s: interquartile mean %+.3f (95 %% interval %+.3f to %+.3f), from %+.3f to %+.3f\n", name,
                middle.value, middle.low, middle.high, *std::ranges::min_element(*values),
                *std::ranges::max_element(*values));
  }
  std::printf("%u of %u searches changed something; of %zu candidates up to %.1f are taken by chance; %u jobs missed\n",
              changed, given.searches, candidates, given.options.level * static_cast<double>(candidates),
              each.missed());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{"A job that recurs, and whose policy learns from one to the next."};
  arguments given;
  app.add_option("--scenario", given.scenario, "what each job is")->capture_default_str();
  app.add_option("--set", given.settings, "KEY=VALUE of the scenario");
  app.add_option("--data", given.data, "folder of images; without it those that ship");
  app.add_option("--host", given.host, "where jobs run")
      ->check(CLI::IsMember({"simulator", "threads"}))
      ->capture_default_str();
  auto* const unit = app.add_option("--unit", given.unit, "seconds of a unit of time, on threads")
                         ->check(CLI::PositiveNumber)
                         ->capture_default_str();
  app.add_option("--searches", given.searches, "one after another, each with its own seeds")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  app.add_option("--jobs", given.jobs, "of a search")->check(CLI::Range(1, 500))->capture_default_str();
  app.add_option("--biases", given.biases, "that it learns: 1 for the rate's, 2 for the batch's as well")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  app.add_option("--first-seed", given.first_seed, "of the first search")->capture_default_str();
  app.add_option("--step", given.options.step, "of the first candidate")->capture_default_str();
  app.add_option("--pairs", given.options.pairs, "of jobs that decide about a candidate")->capture_default_str();
  app.add_option("--level", given.options.level, "how likely one is taken that is no better")->capture_default_str();
  CLI11_PARSE(app, count, words);
  try {
    if (given.host != "threads" && unit->count() > 0)
      throw rubato::support::user_error{"--unit: found --host " + given.host + ", expected threads"};
    return run(given);
  } catch (const rubato::support::user_error& e) {
    std::fprintf(stderr, "online_jobs: %s\n", e.what());
    return 2;
  }
}
