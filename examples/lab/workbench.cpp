#include "workbench.hpp"

#include <rubato/core/fnv1a.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/sim/cluster.hpp>
#include <rubato/sim/quadratic.hpp>
#include <rubato/sim/sgd.hpp>
#include <utility>
#include <vector>

#include "gloo_host.hpp"
#include "support/user_error.hpp"
#include "threads_host.hpp"

namespace rubato::lab {
namespace {

using support::objective_kind;

constexpr std::uint64_t hidden_layers_stream = std::uint64_t{1} << 62;  // the simulator uses none near it

[[nodiscard]] std::optional<measurement> run_in_real_time(const setting& at, const training_data& data,
                                                          const any_policy& policy, std::uint64_t seed,
                                                          const std::atomic<bool>& stop, any_observer* watcher) {
  if (at.host == host_kind::threads) return run_on_threads(at, data, policy, seed, stop, watcher);
  return run_on_gloo(at, data, policy, seed, stop, watcher);
}

}  // namespace

std::string text_of(const training_data& data) {
  return data.description + (data.fingerprint != 0 ? " " + hexadecimal(data.fingerprint) : "");
}

training_data load_data(const support::scenario& scenario, const std::filesystem::path& directory) {
  training_data data;
  if (scenario.objective == objective_kind::quadratic) return data;
  data.directory = directory;
  data.images = support::read_image_set(directory);
  const support::image_set& images = data.images;
  if (images.samples() < 2)
    throw support::user_error{directory.string() + ": found one image, expected some to train on and some to validate"};
  data.fingerprint = support::fingerprint(images);
  data.description = images.description;
  const sim::dataset all{images.pixels, images.labels, images.inputs, images.classes};
  const std::size_t training = images.training_samples();
  data.prepared = std::make_unique<sim::image_data>(split(all, training, images.samples() - training));
  return data;
}

std::uint32_t hidden_layers_of(const support::scenario& scenario, std::uint64_t seed) {
  if (scenario.objective == objective_kind::quadratic) return 0;
  std::vector<std::uint32_t> order = scenario.hidden_layers;
  random_sequence draw{seed / order.size(), hidden_layers_stream};
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(draw.below(i))]);
  return order[seed % order.size()];
}

sim::run_options run_options_of(const setting& at, std::uint64_t seed) {
  sim::run_options run = at.scenario.run;
  run.seed = seed;
  return run;
}

sim::sgd_options sgd_options_of(const setting& at) {
  sim::sgd_options sgd = at.scenario.sgd;
  sgd.hidden_layers = at.hidden_layers;
  sgd.batch = at.scenario.run.batch;
  return sgd;
}

any_objective& workbench::objective(const setting& at, bool gradient_statistics) {
  const objective_kind kind = at.scenario.objective;
  sim::sgd_options options = sgd_options_of(at);
  options.gradient_statistics = gradient_statistics;
  for (const prepared& each : objectives_)
    if (each.kind == kind && each.options == options) return *each.objective;
  std::unique_ptr<any_objective> made;
  if (kind == objective_kind::sgd)
    made = std::make_unique<objective_of<sim::sgd_objective>>(options, *data_->prepared);
  else
    made = std::make_unique<objective_of<sim::quadratic>>(sim::quadratic_options{.momentum = options.momentum});
  objectives_.push_back({kind, options, std::move(made)});
  return *objectives_.back().objective;
}

std::optional<measurement> workbench::run(const setting& at, const any_policy& policy, std::uint64_t seed,
                                          const std::atomic<bool>& stop) {
  if (at.host != host_kind::simulator) return run_in_real_time(at, *data_, policy, seed, stop, nullptr);
  no_observer nobody;
  return simulated(at, policy, seed, nobody, stop);
}

std::optional<measurement> workbench::watch(const setting& at, const any_policy& policy, std::uint64_t seed,
                                            any_observer& watcher, const std::atomic<bool>& stop) {
  if (at.host != host_kind::simulator) return run_in_real_time(at, *data_, policy, seed, stop, &watcher);
  return simulated(at, policy, seed, watcher, stop);
}

measurement workbench::watch(const setting& at, const any_policy& policy, std::uint64_t seed, any_observer& watcher) {
  return *watch(at, policy, seed, watcher, std::atomic<bool>{false});
}

template <Observer Watcher>
std::optional<measurement> workbench::simulated(const setting& at, const any_policy& policy, std::uint64_t seed,
                                                Watcher& watcher, const std::atomic<bool>& stop) {
  any_objective* trained = &objective(at, measures_of(policy));
  std::optional<switched_objective> switched;
  if (at.switching)
    trained = &switched.emplace(*trained, *at.switching, at.scenario.sgd.momentum, at.scenario.cluster.workers);
  sim::run_options run = run_options_of(at, seed);
  run.keep_curve = true;
  sim::cluster<any_policy, any_objective, Watcher> cluster{at.scenario.cluster, run, policy, *trained, watcher, &jitter_};
  while (cluster.advance())
    if (stop.load(std::memory_order_relaxed)) return std::nullopt;
  measurement made = summary(cluster.result());
  if (switched) made.switches = switched->switches();
  return made;
}

}  // namespace rubato::lab
