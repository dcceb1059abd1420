#include "scenario.hpp"

#include <algorithm>
#include <map>
#include <rubato/core/fnv1a.hpp>

#include "json_schema.hpp"

namespace rubato::support {
namespace {

using namespace rubato::sim;

constexpr double longest_time = 1e9;
constexpr double shortest_time = 1e-6;  // added to longest_time it still makes a difference, so that time goes on
constexpr double most_bursts = 1e8;     // of one worker or the link in one run: all of them are drawn
constexpr double largest_factor = 1e6;
constexpr std::uint32_t most_workers = 10'000;
constexpr std::uint64_t most_pushes = 1'000'000'000'000;

constexpr number duration{0, longest_time};
constexpr number positive_duration{shortest_time, longest_time};
constexpr number fraction{0, 1};
constexpr number positive_fraction{0, 1, true};

[[nodiscard]] schema<failure> failure_schema() {
  std::vector<key<failure>> keys{
      make_key("time", duration, "when", &failure::time),
      make_key("worker", whole<std::uint32_t>{0, most_workers - 1}, "who", &failure::worker),
      make_key("kind",
               choice<failure_kind>{
                   {{"death", failure_kind::death}, {"leave", failure_kind::leave}, {"join", failure_kind::join}}},
               "what", &failure::kind),
  };
  for (auto& each : keys) each.required = true;
  return keys;
}

[[nodiscard]] schema<straggler_episode> episode_schema() {
  std::vector<key<straggler_episode>> keys{
      make_key("worker", whole<std::uint32_t>{0, most_workers - 1}, "who", &straggler_episode::worker),
      make_key("from", duration, "when it begins", &straggler_episode::from),
      make_key("until", duration, "when it is over", &straggler_episode::until),
      make_key("sleep", duration, "of each step", &straggler_episode::sleep),
  };
  for (auto& each : keys) each.required = true;
  return keys;
}

[[nodiscard]] schema<rate_boundary> boundary_schema() {
  std::vector<key<rate_boundary>> keys{
      make_key("after_pushes", whole<std::uint64_t>{0, most_pushes}, "when", &rate_boundary::after_pushes),
      make_key("factor", number{0, largest_factor}, "on the learning rate as set", &rate_boundary::factor),
  };
  for (auto& each : keys) each.required = true;
  return keys;
}

[[nodiscard]] std::vector<key<scenario>> general_keys() {
  using s = scenario;
  std::vector<key<scenario>> keys{
      make_key("name", text{.empty_allowed = false, .plain = true}, "name, also of the result", &s::name),
      make_key("description", text{}, "what this setting stands for", &s::description),
      make_key("workers", whole<std::uint32_t>{1, most_workers}, "number of workers", &s::cluster,
               &cluster_options::workers),
      make_key(
          "stop",
          choice<stop_rule>{
              {{"target", stop_rule::target}, {"workload", stop_rule::workload}, {"converged", stop_rule::converged}}},
          "when a run ends: at the target accuracy, after objective.workload samples, or when five evaluations in "
          "a row change by at most 0.1 %",
          &s::run, &run_options::stop),
  };
  keys.front().required = true;
  return keys;
}

[[nodiscard]] std::vector<key<scenario>> cluster_keys() {
  using c = cluster_options;
  using l = link_options;
  constexpr auto cluster = &scenario::cluster;
  return {
      make_key("cluster.cores", whole<std::uint32_t>{0, most_workers},
               "cores that computing workers share in equal parts; 0 gives each worker its own", cluster, &c::cores),
      make_key("cluster.step_time", one_or_many<number>{positive_duration},
               "mean computing time of a step on one core, for all workers or a list with one for each", cluster,
               &c::step_time),
      make_key("cluster.fixed_share", fraction, "share of the step time that another batch size does not change",
               cluster, &c::fixed_share),
      make_key("cluster.jitter", number{0, 0.5}, "relative standard deviation of the computing time", cluster,
               &c::jitter),
      make_key("cluster.link.bandwidth", number{0, largest_factor},
               "bandwidth of the server link that all transfers share in equal parts; 0 for no link", cluster, &c::link,
               &l::bandwidth),
      make_key("cluster.link.latency", duration, "time added to each transfer", cluster, &c::link, &l::latency),
      make_key("cluster.link.model_size", number{0, largest_factor},
               "size of the model; a pull or a push alone takes model_size / bandwidth + latency", cluster, &c::link,
               &l::model_size),
      make_key("cluster.link.congestion.share", number{0.001, 1},
               "share of the bandwidth that other traffic leaves at times; 1 for no other traffic", cluster, &c::link,
               &l::congestion, &congestion_options::share),
      make_key("cluster.link.congestion.length", positive_duration, "mean time that a congestion lasts", cluster,
               &c::link, &l::congestion, &congestion_options::length),
      make_key("cluster.link.congestion.gap", positive_duration, "mean time between two congestions", cluster, &c::link,
               &l::congestion, &congestion_options::gap),
      make_key("cluster.decision_time", duration, "server time for each decision", cluster, &c::decision_time),
      make_key("cluster.decision_latency", duration, "from a release until its worker hears of it", cluster,
               &c::decision_latency),
      make_key("cluster.apply_time", duration, "server time for each push", cluster, &c::apply_time),
      make_key("cluster.round_time", duration,
               "time for each gradient of a round to make them an update, for which all who start meanwhile wait",
               cluster, &c::round_time),
      make_key("cluster.failures", list_of<failure>{failure_schema()},
               "workers that go or come; one whose first event is a join is absent from the start", cluster,
               &c::failures),
  };
}

// The count, where there is one, decides in its place: then it reads and writes null.
[[nodiscard]] key<scenario> probability_key() {
  const auto member = [](auto& s) -> auto& { return s.cluster.stragglers.probability; };
  return {.path = "stragglers.probability",
          .expected = fraction.expected() + " or null",
          .meaning = "that a worker (static, burst) or a step (transient, heavy_tailed) is drawn",
          .read =
              [=](scenario& s, const json& value, const std::string& where) {
                if (!value.is_null()) member(s) = fraction.read(value, where);
              },
          .write = [=](const scenario& s) { return s.cluster.stragglers.count ? json(nullptr) : json(member(s)); },
          .excludes = "stragglers.count"};
}

[[nodiscard]] std::vector<key<scenario>> straggler_keys() {
  using g = straggler_options;
  constexpr auto cluster = &scenario::cluster;
  constexpr auto stragglers = &cluster_options::stragglers;
  std::vector<key<scenario>> keys{
      make_key("stragglers.kind",
               choice<straggler_kind>{{{"none", straggler_kind::none},
                                       {"static", straggler_kind::fixed},
                                       {"transient", straggler_kind::transient},
                                       {"burst", straggler_kind::burst},
                                       {"heavy_tailed", straggler_kind::heavy_tailed}}},
               "who sleeps after computing: nobody; workers drawn once; steps drawn one by one; drawn workers for a "
               "while at a time; steps drawn one by one with Pareto sleeps",
               cluster, stragglers, &g::kind),
      probability_key(),
      make_key("stragglers.count", optional<whole<std::uint32_t>>{{0, most_workers}, ""},
               "exact number drawn, in place of stragglers.probability", cluster, stragglers, &g::count),
      make_key("stragglers.mean", duration, "mean of the sleep", cluster, stragglers, &g::mean),
      make_key("stragglers.sd", duration, "standard deviation of the normal sleep, which is cut off at 0", cluster,
               stragglers, &g::sd),
      make_key("stragglers.burst_length", positive_duration, "mean time that a burst lasts", cluster, stragglers,
               &g::burst_length),
      make_key("stragglers.burst_gap", positive_duration, "mean time between two bursts of a worker", cluster,
               stragglers, &g::burst_gap),
      make_key("stragglers.tail_index", number{1, 100, true}, "of the Pareto sleep; smaller is heavier", cluster,
               stragglers, &g::tail_index),
      make_key("stragglers.slowdown", number{1, 1000}, "factor on the computing time of who is drawn, beside the sleep",
               cluster, stragglers, &g::slowdown),
      make_key(
          "stragglers.episodes", list_of<straggler_episode>{episode_schema()},
          "slowdowns that are known: each step of the worker that ends computing within one sleeps so much longer, "
          "whatever stragglers.kind is",
          cluster, stragglers, &g::episodes),
  };
  keys[2].excludes = "stragglers.probability";
  return keys;
}

/// An accuracy, or the word for what BSP converges to.
struct target_codec {
  using value_type = double;
  [[nodiscard]] std::string expected() const { return positive_fraction.expected() + " or auto"; }
  [[nodiscard]] double read(const json& value, const std::string& where) const {
    if (value == "auto") return scenario::auto_target;
    if (!value.is_number()) refuse_value(where, value, expected());
    return positive_fraction.read(value, where);
  }
  [[nodiscard]] json write(double value) const { return value == scenario::auto_target ? json("auto") : json(value); }
};

[[nodiscard]] std::vector<key<scenario>> objective_keys() {
  using r = run_options;
  using rate = learning_rate_options;
  using g = sgd_options;
  constexpr auto run = &scenario::run;
  constexpr auto sgd = &scenario::sgd;
  return {
      make_key("objective.kind",
               choice<objective_kind>{{{"sgd", objective_kind::sgd}, {"quadratic", objective_kind::quadratic}}},
               "real SGD on images, or a noisy quadratic", &scenario::objective),
      make_key("objective.hidden_layers", one_or_many<whole<std::uint32_t>>{{0, 6}},
               "hidden layers of 256 units; of a list, each seed draws one", &scenario::hidden_layers),
      make_key("objective.learning_rate", number{0, largest_factor, true}, "learning rate of one push", run,
               &r::learning_rate, &rate::base),
      make_key("objective.learning_rate_boundaries", list_of<rate_boundary>{boundary_schema()},
               "from so many pushes on, the learning rate is factor times the one set", run, &r::learning_rate,
               &rate::boundaries),
      make_key("objective.momentum", number{0, 0.999}, "of the server's update", sgd, &g::momentum),
      make_key("objective.batch", whole<std::uint32_t>{1, 65'535}, "samples of one gradient", run, &r::batch),
      make_key("objective.input",
               choice<input_scale>{{{"unit", input_scale::unit}, {"standardised", input_scale::standardised}}},
               "pixels in [0, 1], or with mean 0 and deviation 1", sgd, &g::input),
      make_key("objective.data_fraction", positive_fraction, "share of the training images, drawn for each seed", sgd,
               &g::data_fraction),
      make_key("objective.label_noise", fraction,
               "share of the training images whose label is drawn anew for each seed, among all classes", sgd,
               &g::label_noise),
      make_key("objective.validation_size", whole<std::uint32_t>{1, 1'000'000},
               "images that accuracy is measured on: the first ones of the validation part", sgd,
               &g::validation_samples),
      make_key("objective.target_accuracy", target_codec{}, "accuracy to reach; auto for what BSP converges to", run,
               &r::target_accuracy),
      make_key("objective.max_time", positive_duration, "when a run is given up and counts as this", run, &r::max_time),
      make_key("objective.evaluate_every", whole<std::uint64_t>{1, most_pushes}, "pushes between two evaluations", run,
               &r::evaluate_every),
      make_key("objective.loss_source",
               choice<loss_source>{{{"worker_ema", loss_source::worker_ema}, {"probe", loss_source::probe}}},
               "the loss a policy sees: running mean of the workers' losses, or measured on a probe set", run,
               &r::loss),
      make_key("objective.probe_time", duration, "server time of one probe", run, &r::probe_time),
      make_key("objective.workload", whole<std::uint64_t>{0, most_pushes}, "samples to push where stop is workload",
               run, &r::workload),
  };
}

[[nodiscard]] const schema<scenario>& keys() {
  static const schema<scenario> all = [] {
    std::vector<key<scenario>> joined = general_keys();
    for (const auto& part : {cluster_keys(), straggler_keys(), objective_keys()})
      joined.insert(joined.end(), part.begin(), part.end());
    return schema<scenario>{std::move(joined)};
  }();
  return all;
}

// What no key can check alone.

void check_failures(const scenario& s, const std::string& where) {
  auto events = s.cluster.failures;
  std::ranges::stable_sort(events, {}, &failure::time);
  std::map<std::uint32_t, bool> present;
  for (const failure& event : events) {
    const std::string place = where + ": cluster.failures";
    if (event.worker >= s.cluster.workers)
      refuse_value(place, {{"worker", event.worker}}, "a worker below workers = " + std::to_string(s.cluster.workers));
    const bool joins = event.kind == failure_kind::join;
    const auto known = present.find(event.worker);
    if (known == present.end() ? false : known->second == joins)
      throw user_error{place + ": found worker " + std::to_string(event.worker) +
                       (joins ? " joining while present" : " going while absent") + " at time " + excerpt(event.time) +
                       ", expected going and joining in turn"};
    present[event.worker] = joins;
  }
}

// `keys`: the two whose sum this is, the mean from one burst to the next.
void check_bursts(const std::string& where, const std::string& keys, double between, double max_time) {
  if (max_time > most_bursts * between)
    throw user_error{where + ": found " + keys + " = " + excerpt(between) +
                     ", expected at least objective.max_time / " + excerpt(most_bursts)};
}

void check(const scenario& s, const std::string& where) {
  const std::size_t times = s.cluster.step_time.size();
  if (times != 1 && times != s.cluster.workers)
    throw user_error{where + ": cluster.step_time: found " + std::to_string(times) +
                     " values, expected 1 or workers = " + std::to_string(s.cluster.workers)};
  if (s.cluster.link.bandwidth == 0 && s.cluster.link.latency > 0)
    refuse_value(where + ": cluster.link.latency", s.cluster.link.latency, "0 where cluster.link.bandwidth is 0");
  check_failures(s, where);

  if (s.cluster.stragglers.count && *s.cluster.stragglers.count > s.cluster.workers)
    refuse_value(where + ": stragglers.count", *s.cluster.stragglers.count,
                 "at most workers = " + std::to_string(s.cluster.workers));

  const sim::straggler_options& g = s.cluster.stragglers;
  const congestion_options& congestion = s.cluster.link.congestion;
  if (congestion.share < 1)
    check_bursts(where, "cluster.link.congestion.length + cluster.link.congestion.gap",
                 congestion.length + congestion.gap, s.run.max_time);
  for (const straggler_episode& each : g.episodes) {
    const std::string place = where + ": stragglers.episodes";
    if (each.worker >= s.cluster.workers)
      refuse_value(place, {{"worker", each.worker}}, "a worker below workers = " + std::to_string(s.cluster.workers));
    if (!(each.until > each.from))
      refuse_value(place, {{"from", each.from}, {"until", each.until}}, "one that ends after it has begun");
  }
  if (g.kind == straggler_kind::burst)
    check_bursts(where, "stragglers.burst_length + stragglers.burst_gap", g.burst_length + g.burst_gap, s.run.max_time);

  const auto& boundaries = s.run.learning_rate.boundaries;
  const auto not_later = [](const rate_boundary& a, const rate_boundary& b) {
    return a.after_pushes >= b.after_pushes;
  };
  if (const auto bad = std::ranges::adjacent_find(boundaries, not_later); bad != boundaries.end())
    refuse_value(where + ": objective.learning_rate_boundaries", {{"after_pushes", std::next(bad)->after_pushes}},
                 "more than the " + std::to_string(bad->after_pushes) + " before it");
  if (s.run.stop == stop_rule::workload && s.run.workload == 0)
    refuse_value(where + ": objective.workload", s.run.workload, "at least 1 where stop is workload");
}

}  // namespace

bool operator==(const scenario& a, const scenario& b) { return to_json(a) == to_json(b); }

scenario read_scenario(std::string_view text, const std::string& source) {
  scenario read = keys().read(parse_json(text, source), source);
  check(read, source);
  return read;
}

void apply_settings(scenario& target, std::span<const std::string> assignments) {
  scenario changed = target;
  for (const std::string& each : assignments) keys().set(changed, each, "--set");
  check(changed, "--set");
  target = std::move(changed);
}

json to_json(const scenario& s) { return keys().write(s); }

std::string canonical_form(const scenario& s) {
  json document = to_json(s);
  document.erase("name");
  document.erase("description");
  // Keys of later versions, where they change nothing: what earlier ones have measured stays valid.
  if (s.cluster.round_time == 0) document["cluster"].erase("round_time");
  if (s.cluster.fixed_share == 0) document["cluster"].erase("fixed_share");
  if (s.cluster.link.congestion.share == 1) document["cluster"]["link"].erase("congestion");
  if (s.cluster.stragglers.slowdown == 1) document["stragglers"].erase("slowdown");
  if (s.cluster.decision_latency == 0) document["cluster"].erase("decision_latency");
  if (s.cluster.stragglers.episodes.empty()) document["stragglers"].erase("episodes");
  if (s.sgd.label_noise == 0) document["objective"].erase("label_noise");
  return document.dump();
}

std::uint64_t hash(const scenario& s) { return fnv1a(canonical_form(s)); }

std::string describe_keys() {
  std::string text;
  for (const auto& each : keys().keys()) {
    text += each.path + "\n    " + each.meaning + "\n    " + each.expected;
    text += each.required ? "; required\n" : "; default " + each.write(scenario{}).dump() + "\n";
  }
  return text;
}

}  // namespace rubato::support
