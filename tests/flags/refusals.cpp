// What must be refused, whatever a unit is built with: its flags may say that there is no NaN and no infinity. Compiled
// once for each set of flags, as the unit RUBATO_FLAGS_UNIT.
#include "refusals.hpp"

// The library under a name of its own: of functions with one name the linker would keep one unit's body for all.
// Not so where it takes the program's kernels, which have the library's own name.
#include <rubato/config.hpp>
#if !defined(RUBATO_EXTERN_KERNELS)
#undef RUBATO_ABI
#define RUBATO_ABI RUBATO_FLAGS_UNIT
#endif

#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <rubato/adapt/switch_timing.hpp>
#include <rubato/encode/action_set.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/learned/loader.hpp>
#include <rubato/learned/residual_policy.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/rivals.hpp>
#include <rubato/rl.hpp>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/cma_es.hpp>
#include <rubato/sim.hpp>
#include <rubato/sync.hpp>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace {

using namespace rubato;

double strange_double(std::size_t which) { return std::bit_cast<double>(strange_doubles[which]); }
float strange_float(std::size_t which) { return std::bit_cast<float>(strange_floats[which]); }
double no_double() { return strange_double(0); }
float no_float() { return strange_float(0); }

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

class refusals {
 public:
  void add(std::string what, bool refused) { all_.push_back({std::move(what), refused}); }
  // A problem() of options, of which one number is none.
  void add(std::string what, const std::string& problem) { add(std::move(what), !problem.empty()); }
  void add(std::string what, const char* problem) { add(std::move(what), problem != nullptr); }
  // Options of which nothing may be refused.
  void add_sound(const std::string& what, const std::string& problem) {
    add("what is no mistake: " + what + ' ' + problem, problem.empty());
  }
  void add_sound(const std::string& what, const char* problem) {
    add_sound(what, std::string{problem != nullptr ? problem : ""});
  }
  [[nodiscard]] std::vector<refusal> all() && { return std::move(all_); }

 private:
  std::vector<refusal> all_;
};

struct any_sink {
  void release(int, worker_id, const grant&) {}
  void flush(std::uint64_t, float scale, std::uint32_t) { scales.push_back(scale); }
  void discard(std::uint64_t, std::uint32_t) {}
  std::vector<float> scales{};
};

// Answers with whatever it is told.
struct told {
  admission verdict = admission::apply();
  decision answer = decision::submitter();
  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept { return verdict; }
  [[nodiscard]] decision release(const cluster_view&, const event& what) const noexcept {
    return what.why == cause::push ? answer : decision::all();
  }
};

// One push of a policy that says so: the verdict, and the controller afterwards.
struct one_push {
  explicit one_push(const told& policy) : sync{{.capacity = 2, .quorum = 1}, policy} {
    errc done = sync.join({0, 0}, 0.0, 1, sink);
    const admitted answer = sync.admit({.worker = {0, 0}, .now = 1.0, .loss = 1.0F});
    verdict_on = answer.what;
    done = sync.commit(answer.work, 1.0, outcome::done, 1, sink);
    static_cast<void>(done);
  }
  any_sink sink;
  controller<told, int> sync;
  admission verdict_on{};
  [[nodiscard]] bool says_invalid() const { return sync.counts().total(reason::invalid_decision) > 0; }
};

void add_times(refusals& all) {
  for (std::size_t n = 0; n < 3; ++n) {
    const double now = strange_double(n);
    const auto name = [n](std::string_view call) {
      return std::string{call} + " at strange time " + std::to_string(n);
    };
    any_sink sink;
    controller<ssp, int> pushed{{.capacity = 3, .quorum = 1}, ssp{.staleness = 1}};
    controller<ssp, int> pulled{{.capacity = 2, .quorum = 1, .park = park_on::pull}, ssp{.staleness = 1}};
    static_cast<void>(pushed.join({0, 0}, 0.0, 1, sink));
    static_cast<void>(pulled.join({0, 0}, 0.0, std::nullopt, sink));
    all.add(name("join"), pushed.join({1, 0}, now, 1, sink) == errc::invalid_time);
    all.add(name("depart"), pushed.depart({0, 0}, now, cause::death, sink) == errc::invalid_time);
    all.add(name("pull"), pulled.pull({0, 0}, now, 1, sink) == errc::invalid_time);
    all.add(name("switch_to"), pushed.switch_to(ssp{}, now, pending_gradients::flush, sink) == errc::invalid_time);
    all.add(name("set_quorum"), pushed.set_quorum(1, now, sink) == errc::invalid_time);
    all.add(name("force_release"), pushed.force_release({0, 0}, now, sink) == errc::invalid_time);
    const std::uint64_t before = pushed.counts().total(reason::invalid_time);
    pushed.poll(now, sink);
    all.add(name("poll"), pushed.counts().total(reason::invalid_time) == before + 1);
    all.add(name("admit"), pushed.admit({.worker = {0, 0}, .now = now}).what.what == verdict::refused);
    const admitted good = pushed.admit({.worker = {0, 0}, .now = 1.0});
    all.add(name("commit"), pushed.commit(good.work, now, outcome::done, 1, sink) == errc::invalid_time);
  }
}

void add_gradients(refusals& all) {
  for (std::size_t n = 0; n < 3; ++n) {
    any_sink sink;
    controller<asp, int> sync{{.capacity = 2, .quorum = 1}, {}};
    const auto drops = [&](const push_event& push) {
      const admitted answer = sync.admit(push);
      static_cast<void>(sync.commit(answer.work, push.now, outcome::done, 1, sink));
      return answer.what.what == verdict::drop && answer.what.why == reason::non_finite;
    };
    static_cast<void>(sync.join({0, 0}, 0.0, 1, sink));
    all.add("loss " + std::to_string(n), drops({.worker = {0, 0}, .now = 1.0, .loss = strange_float(n)}));
    all.add("norm " + std::to_string(n), drops({.worker = {0, 0}, .now = 2.0, .grad_norm = strange_float(n)}));
  }
}

void add_decisions(refusals& all) {
  for (std::size_t n = 0; n < 3; ++n) {
    const std::string which = ' ' + std::to_string(n);
    const float number = strange_float(n);
    const one_push weighed{{.verdict = admission::apply(number)}};
    all.add("weight" + which, weighed.says_invalid() && weighed.verdict_on.what == verdict::drop);
    const one_push completed{{.verdict = admission::accumulate_and_flush(1.0F, number)}};
    all.add("scale of a round" + which, completed.says_invalid() && completed.sink.scales == std::vector{1.0F});
    const one_push flushed{{admission::accumulate(), decision::submitter().with_flush(number)}};
    all.add("scale of a flush" + which, flushed.says_invalid() && flushed.sink.scales == std::vector{1.0F});
    const one_push rated{{.answer = decision::submitter().with_lr_scale(number)}};
    all.add("lr_scale" + which, rated.says_invalid() && rated.sync.workers()[0].granted.lr_scale == 1.0F);
    const one_push rated_all{{.answer = decision::all().with_lr_scale(number)}};
    all.add("lr_scale of all" + which,
            rated_all.says_invalid() && rated_all.sync.workers()[0].granted.lr_scale == 1.0F);
  }
  const auto deadline = [](double at) {
    const one_push woken{{.answer = decision::submitter().with_wake_at(at)}};
    return std::pair{woken.says_invalid(), bits_of(woken.sync.next_deadline())};
  };
  const std::uint64_t never = strange_doubles[1];
  all.add("wake_at NaN", deadline(strange_double(0)) == std::pair{true, never});
  all.add("wake_at -infinity", deadline(strange_double(2)) == std::pair{true, never});
  all.add("what is no mistake: wake_at infinity", deadline(strange_double(1)) == std::pair{false, never});
  all.add("what is no mistake: wake_at 5", deadline(5.0) == std::pair{false, bits_of(5.0)});
}

void add_choices(refusals& all) {
  const auto chosen = [](float hold, float submitter, float all_of_them) {
    return greedy(std::array{hold, submitter, all_of_them}, 7);
  };
  all.add("greedy: hold is NaN", chosen(no_float(), 1, 0) == group_action::submitter);
  all.add("greedy: all is NaN", chosen(0, 1, no_float()) == group_action::submitter);
  all.add("greedy: all are NaN", chosen(no_float(), no_float(), no_float()) == group_action::submitter);
  const auto best = [](float a, float b, float c) { return rl::best_action(std::array{a, b, c}, 7, 2); };
  all.add("best action: the first is NaN", best(no_float(), 1, 2) == 2);
  all.add("best action: the second is NaN", best(0, no_float(), -1) == 0);
  all.add("best action: all are NaN", best(no_float(), no_float(), no_float()) == 2);
  const trained_range<2> range{{0, 0}, {1, 1}};
  all.add("outside the trained range", !range.contains(std::array{0.5F, no_float()}));
  const auto unsound = [](float seen, float reward, double elapsed) {
    const std::array<float, 1> here{seen}, next{0};
    return !rl::detail::is_sound({.observation = here, .reward = reward, .elapsed = elapsed, .next = next}, 2);
  };
  all.add("transition: observation", unsound(no_float(), 0, 1));
  all.add("transition: reward", unsound(0, no_float(), 1));
  all.add("transition: elapsed", unsound(0, 0, no_double()));
}

void add_normalised(refusals& all) {
  normaliser<1> scale;
  scale.assign(std::array{0.0}, std::array{1.0}, 7);
  const auto made = [&](float x) {
    std::array<float, 1> numbers{x};
    scale.apply(numbers);
    return std::bit_cast<std::uint32_t>(numbers[0]);
  };
  all.add("an observation that is NaN is 0", made(no_float()) == 0);
  all.add("an observation that is infinite is 10", made(strange_float(1)) == 0x41200000);
  all.add("an observation that is -infinite is -10", made(strange_float(2)) == 0xC1200000);
  all.add("what is no mistake: an observation of 1", made(1.0F) == 0x3F800000);
}

void add_finite_floats(refusals& all) {
  const auto made = [](double x) { return std::bit_cast<std::uint32_t>(detail::finite_float(x)); };
  all.add("finite_float of NaN is 0", made(no_double()) == 0);
  all.add("finite_float of infinity is the largest", made(strange_double(1)) == 0x7F7FFFFF);
  all.add("finite_float of -infinity is the smallest", made(strange_double(2)) == 0xFF7FFFFF);
  all.add("what is no mistake: finite_float of 1", made(1.0) == 0x3F800000);
}

void add_evaluations(refusals& all) {
  const auto end = [](double loss, double accuracy) {
    return sim::finish_line{{.target_accuracy = 0.9}}.judge({loss, accuracy}, 100);
  };
  for (std::size_t n = 0; n < 3; ++n) {
    all.add("evaluation: loss " + std::to_string(n), end(strange_double(n), 0.99) == sim::run_end::diverged);
    all.add("evaluation: accuracy " + std::to_string(n), end(1, strange_double(n)) == sim::run_end::diverged);
  }
  all.add("what is no mistake: an evaluation", end(1, 0.5) == sim::run_end::unfinished);
  all.add("what is no mistake: one at the target", end(1, 0.99) == sim::run_end::reached);
}

nn::dynamic_mlp network(std::size_t inputs, std::size_t outputs) {
  nn::dynamic_mlp net = *nn::dynamic_mlp::make({inputs, 4, outputs});
  random_sequence random{3};
  nn::initialise(net, {nn::initialiser_kind::xavier_uniform}, random);
  return net;
}

// A policy file, and whether it is refused with each number of it, in turn, replaced by NaN or infinity.
void add_files(refusals& all) {
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string{folder != nullptr ? folder : "/tmp"} + "/rubato_refusals_XXXXXX";
  const int made = ::mkstemp(path.data());
  if (made < 0) return all.add("no file in " + path, false);
  ::close(made);
  normaliser<rlp_state::dim> scale;
  std::array<double, rlp_state::dim> means{}, variances{};
  variances.fill(1.0);
  scale.assign(means, variances, 7);
  const q_policy<rlp_state, nn::dynamic_mlp> policy{network(rlp_state::dim, 3), {}, {}, scale};
  const auto written = save_q_policy(path, policy);
  std::ifstream file{path, std::ios::binary};
  std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
  std::remove(path.c_str());
  all.add("what is no mistake: the file", written.has_value());
  const auto load = [&bytes] {
    const auto read = safetensors::parse(std::as_bytes(std::span{bytes}));
    return read.has_value() && policy_of(*read).has_value();
  };
  all.add("what is no mistake: the policy", load());
  const auto whole = safetensors::parse(std::as_bytes(std::span{bytes}));
  if (!whole) return;
  std::size_t data = bytes.size();
  for (const tensor& t : whole->tensors()) data -= t.bytes.size();
  for (const tensor& t : whole->tensors()) {
    if (t.type != dtype::f32 && t.type != dtype::f64) continue;
    const std::size_t width = t.type == dtype::f32 ? 4 : 8;
    const auto begin = data + static_cast<std::size_t>(t.bytes.data() - whole->tensors().front().bytes.data());
    for (std::size_t n = 0; n < 3; ++n) {
      const std::vector<char> before = bytes;
      const std::uint64_t bits = width == 4 ? strange_floats[n] : strange_doubles[n];
      for (std::size_t i = 0; i < width; ++i)
        bytes[begin + t.bytes.size() - width + i] = static_cast<char>(bits >> (8 * i) & 0xFF);
      all.add(t.name + ' ' + std::to_string(n), !load());
      bytes = before;
    }
  }
}

std::vector<refusal> inputs() {
  refusals all;
  add_times(all);
  add_gradients(all);
  add_decisions(all);
  add_choices(all);
  add_normalised(all);
  add_finite_floats(all);
  add_evaluations(all);
  add_files(all);
  return std::move(all).all();
}

// Where plus infinity is no mistake, but says that there is no limit.
enum class infinity { refused, accepted };

// A number of options in turn replaced by NaN and the infinities. `place` leads to it: a member, or a function; `says`
// is what problem() says, which is nothing before.
template <class Options, class Says, class Place>
void spoil(refusals& all, const std::string& name, Options options, Says says, Place place,
           infinity plus = infinity::refused) {
  all.add_sound(name + " as it is", says(options));
  auto& number = std::invoke(place, options);
  const std::array<std::string, 3> found{" NaN", " infinity", " -infinity"};
  for (std::size_t n = 0; n < 3; ++n) {
    if constexpr (sizeof number == sizeof(float))
      number = strange_float(n);
    else
      number = strange_double(n);
    if (n == 1 && plus == infinity::accepted)
      all.add_sound(name + found[n], says(options));
    else
      all.add(name + found[n], says(options));
  }
}

constexpr auto says = [](const auto& options) { return problem(options); };
constexpr auto policy_says = [](const auto& policy) { return problem_of(policy, 4); };
constexpr auto member_says = [](const auto& options) { return options.problem(); };
constexpr auto float_says = [](const auto& options) { return nn::problem<float>(options); };
constexpr auto stragglers_say = [](const sim::straggler_options& options) { return sim::problem(options, 4); };

void add_rules(refusals& all) {
  spoil(all, "guard.max_wait", guard_options{}, says, &guard_options::max_wait, infinity::accepted);
  spoil(all, "guard.max_lr_scale", guard_options{}, says, &guard_options::max_lr_scale, infinity::accepted);
  spoil(all, "knee.threshold", knee{}, policy_says, &knee::threshold);
  spoil(all, "knee.most_scatter", knee{}, policy_says, &knee::most_scatter, infinity::accepted);
  spoil(all, "aimd.tolerance", aimd{}, policy_says, &aimd::tolerance);
  spoil(all, "aimd.decrease", aimd{}, policy_says, &aimd::decrease);
  spoil(all, "dssp.smoothing", dssp{}, policy_says, &dssp::smoothing);
  spoil(all, "ada_sync.interval", ada_sync{}, policy_says, &ada_sync::interval);
  spoil(all, "ada_sync.newest", ada_sync{}, policy_says, &ada_sync::newest);
  spoil(all, "loss_decay.slope", loss_decay{}, member_says, &loss_decay::slope);
  spoil(all, "loss_decay.least", loss_decay{}, member_says, &loss_decay::least);
  spoil(all, "loss_decay.most", loss_decay{}, member_says, &loss_decay::most);
  spoil(all, "loss_decay.newest", loss_decay{}, member_says, &loss_decay::newest);
  spoil(all, "concurrency_scale.reference", concurrency_scale{}, member_says, &concurrency_scale::reference);
  spoil(all, "concurrency_scale.least", concurrency_scale{}, member_says, &concurrency_scale::least);
  spoil(all, "concurrency_scale.most", concurrency_scale{}, member_says, &concurrency_scale::most);
  spoil(all, "staleness_weight.a", staleness_weight::polynomial(1), member_says, &staleness_weight::a);
  spoil(all, "sync_switch.share", sync_switch_options{.workload = 1}, member_says, &sync_switch_options::share);
  spoil(all, "straggler_options.window", straggler_options{}, says, &straggler_options::window);
  spoil(all, "straggler_options.slow", straggler_options{}, says, &straggler_options::slow);
  spoil(all, "straggler_options.recovered", straggler_options{}, says, &straggler_options::recovered);
  spoil(all, "dc_asgd.lambda", dc_asgd_options{}, says, &dc_asgd_options::lambda);
  spoil(all, "dc_asgd.decay", dc_asgd_options{}, says, &dc_asgd_options::decay);
  spoil(all, "dc_asgd.epsilon", dc_asgd_options{}, says, &dc_asgd_options::epsilon);
  spoil(all, "q_policy.max_idle", q_policy_options{}, says, &q_policy_options::max_idle, infinity::accepted);
}

void add_training(refusals& all) {
  using nn::adam_options, rl::dqn_options, rl::ppo_options;
  spoil(all, "sgd.learning_rate", nn::sgd_options{}, float_says, &nn::sgd_options::learning_rate);
  spoil(all, "sgd.momentum", nn::sgd_options{}, float_says, &nn::sgd_options::momentum);
  spoil(all, "adam.learning_rate", adam_options{}, float_says, &adam_options::learning_rate);
  spoil(all, "adam.beta1", adam_options{}, float_says, &adam_options::beta1);
  spoil(all, "adam.beta2", adam_options{}, float_says, &adam_options::beta2);
  spoil(all, "adam.epsilon", adam_options{}, float_says, &adam_options::epsilon);
  spoil(all, "adam.weight_decay", adam_options{}, float_says, &adam_options::weight_decay);
  spoil(all, "activation.slope", nn::activation{}, says, &nn::activation::slope);
  spoil(all, "dqn.gamma", dqn_options{}, says, &dqn_options::gamma);
  spoil(all, "dqn.time_unit", dqn_options{}, says, &dqn_options::time_unit);
  spoil(all, "dqn.epsilon.first", dqn_options{}, says, [](dqn_options& o) -> double& { return o.epsilon.first; });
  spoil(all, "dqn.epsilon.last", dqn_options{}, says, [](dqn_options& o) -> double& { return o.epsilon.last; });
  spoil(all, "dqn.priority.alpha", dqn_options{}, says, [](dqn_options& o) -> double& { return o.priority.alpha; });
  spoil(all, "dqn.priority.beta", dqn_options{}, says, [](dqn_options& o) -> double& { return o.priority.beta; });
  spoil(all, "dqn.priority.final_beta", dqn_options{}, says,
        [](dqn_options& o) -> double& { return o.priority.final_beta; });
  spoil(all, "dqn.priority.smallest", dqn_options{}, says,
        [](dqn_options& o) -> double& { return o.priority.smallest; });
  spoil(all, "dqn.target_rate", dqn_options{}, says, &dqn_options::target_rate);
  spoil(all, "dqn.huber_delta", dqn_options{}, says, &dqn_options::huber_delta);
  spoil(all, "dqn.max_gradient_norm", dqn_options{}, says, &dqn_options::max_gradient_norm, infinity::accepted);
  spoil(all, "dqn.learning_rate", dqn_options{}, says, &dqn_options::learning_rate);
  spoil(all, "ppo.gamma", ppo_options{}, says, &ppo_options::gamma);
  spoil(all, "ppo.lambda", ppo_options{}, says, &ppo_options::lambda);
  spoil(all, "ppo.time_unit", ppo_options{}, says, &ppo_options::time_unit);
  spoil(all, "ppo.clip", ppo_options{}, says, &ppo_options::clip);
  spoil(all, "ppo.entropy_bonus", ppo_options{}, says, &ppo_options::entropy_bonus);
  spoil(all, "ppo.max_divergence", ppo_options{}, says, &ppo_options::max_divergence, infinity::accepted);
  spoil(all, "ppo.max_gradient_norm", ppo_options{}, says, &ppo_options::max_gradient_norm, infinity::accepted);
  spoil(all, "ppo.learning_rate", ppo_options{}, says, &ppo_options::learning_rate);
  spoil(all, "ppo.value_learning_rate", ppo_options{}, says, &ppo_options::value_learning_rate);
  spoil(all, "cma_es.step_size", rl::cma_es_options{}, says, &rl::cma_es_options::step_size);
  using es_options = rl::antithetic_es_options;
  spoil(all, "antithetic_es.step_size", es_options{}, says, &es_options::step_size);
  spoil(all, "antithetic_es.learning_rate", es_options{}, says, &es_options::learning_rate);
  spoil(all, "antithetic_es.averaging", es_options{}, says, &es_options::averaging);
}

void add_switch_search(refusals& all) {
  using search = adapt::switch_search_options;
  spoil(all, "switch_search.beta", search{}, says, &search::beta);
  const search testing{.acceptance = adapt::switch_acceptance::welch};
  spoil(all, "switch_search.level", testing, says, &search::level);
  const search levels{.levels = {0.25, 0.5}};
  for (std::size_t i = 0; i < 2; ++i)
    spoil(all, "switch_search.levels", levels, says, [i](search& o) -> double& { return o.levels[i]; });
  const search recurring{.stored = adapt::switch_target{.accuracy = {2, 0.9, 0.01}, .time = 1}, .target_runs = 0};
  spoil(all, "switch_search.stored.accuracy.mean", recurring, says,
        [](search& o) -> double& { return o.stored->accuracy.mean; });
  spoil(all, "switch_search.stored.accuracy.variance", recurring, says,
        [](search& o) -> double& { return o.stored->accuracy.variance; });
  spoil(all, "switch_search.stored.time", recurring, says, [](search& o) -> double& { return o.stored->time; });
}

void add_cluster(refusals& all) {
  using sim::cluster_options;
  spoil(all, "cluster.jitter", cluster_options{}, says, &cluster_options::jitter);
  spoil(all, "cluster.decision_time", cluster_options{}, says, &cluster_options::decision_time);
  spoil(all, "cluster.apply_time", cluster_options{}, says, &cluster_options::apply_time);
  spoil(all, "cluster.round_time", cluster_options{}, says, &cluster_options::round_time);
  spoil(all, "cluster.step_time", cluster_options{}, says,
        [](cluster_options& o) -> double& { return o.step_time[0]; });
  const cluster_options linked{.link = {.bandwidth = 1, .latency = 1, .model_size = 1}};
  spoil(all, "cluster.link.bandwidth", linked, says, [](cluster_options& o) -> double& { return o.link.bandwidth; });
  spoil(all, "cluster.link.latency", linked, says, [](cluster_options& o) -> double& { return o.link.latency; });
  spoil(all, "cluster.link.model_size", linked, says, [](cluster_options& o) -> double& { return o.link.model_size; });
  spoil(all, "cluster.failures.time", cluster_options{.failures = {{.time = 1}}}, says,
        [](cluster_options& o) -> double& { return o.failures[0].time; });
}

void add_stragglers(refusals& all) {
  using options = sim::straggler_options;
  spoil(all, "stragglers.probability", options{}, stragglers_say, &options::probability);
  spoil(all, "stragglers.mean", options{}, stragglers_say, &options::mean);
  spoil(all, "stragglers.sd", options{}, stragglers_say, &options::sd);
  spoil(all, "stragglers.burst_length", options{}, stragglers_say, &options::burst_length);
  spoil(all, "stragglers.burst_gap", options{}, stragglers_say, &options::burst_gap);
  spoil(all, "stragglers.tail_index", options{}, stragglers_say, &options::tail_index, infinity::accepted);
  const options known{.episodes = {{.worker = 1, .from = 1, .until = 2, .sleep = 1}}};
  const auto of_episode = [&](const char* name, double sim::straggler_episode::*number) {
    spoil(all, std::string{"stragglers.episodes."} + name, known, stragglers_say,
          [number](options& o) -> double& { return o.episodes[0].*number; });
  };
  of_episode("from", &sim::straggler_episode::from);
  of_episode("until", &sim::straggler_episode::until);
  of_episode("sleep", &sim::straggler_episode::sleep);
}

void add_runs(refusals& all) {
  using sim::run_options;
  spoil(all, "run.target_accuracy", run_options{.stop = sim::stop_rule::target}, says, &run_options::target_accuracy);
  spoil(all, "run.max_time", run_options{}, says, &run_options::max_time);
  spoil(all, "run.probe_time", run_options{}, says, &run_options::probe_time);
  spoil(all, "run.learning_rate", run_options{}, says, [](run_options& o) -> double& { return o.learning_rate.base; });
  spoil(all, "quadratic.condition", sim::quadratic_options{}, says, &sim::quadratic_options::condition);
  spoil(all, "quadratic.noise", sim::quadratic_options{}, says, &sim::quadratic_options::noise);
  spoil(all, "quadratic.momentum", sim::quadratic_options{}, says, &sim::quadratic_options::momentum);
  spoil(all, "sgd_objective.momentum", sim::sgd_options{}, says, &sim::sgd_options::momentum);
  spoil(all, "sgd_objective.data_fraction", sim::sgd_options{}, says, &sim::sgd_options::data_fraction);
}

std::vector<refusal> options() {
  refusals all;
  add_rules(all);
  add_training(all);
  add_switch_search(all);
  add_cluster(all);
  add_stragglers(all);
  add_runs(all);
  return std::move(all).all();
}

// NaN and infinities at every place of what a controller has saved, with the right checksum.
forgeries forged_states_of(const any_policy& policy) {
  any_sink sink;
  controller<any_policy, int> sync{{.capacity = 2, .guard = {.enabled = false}}, policy};
  for (std::uint32_t w = 0; w < 2; ++w) static_cast<void>(sync.join({w, 0}, 0.0, 1, sink));
  for (int push = 0; push < 40; ++push)
    for (std::uint32_t w = 0; w < 2; ++w)
      if (sync.workers()[w].state == worker_state::running)
        static_cast<void>(sync.push({.worker = {w, 0}, .now = 1.0 + push, .samples = 16, .loss = 2.0F}, 1, sink));
  archive saved;
  forgeries all;
  if (sync.save(saved) != errc::ok) return all;
  const std::vector<std::byte> bytes{saved.bytes().begin(), saved.bytes().end() - 8};
  for (std::size_t at = 0; at + 8 <= bytes.size(); ++at)
    for (std::size_t n = 0; n < 6; ++n) {
      const std::size_t width = n < 3 ? 8 : 4;
      const std::uint64_t bits = n < 3 ? strange_doubles[n] : strange_floats[n - 3];
      archive forged;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto byte = static_cast<std::uint8_t>(bytes[i]);
        if (i >= at && i < at + width) byte = static_cast<std::uint8_t>(bits >> (8 * (i - at)) & 0xFF);
        forged(byte);
      }
      forged.seal();
      archive read{forged.bytes()};
      controller<any_policy, int> fresh{{.capacity = 2, .guard = {.enabled = false}}, policy};
      const errc answer = fresh.load(read, [](worker_id) { return std::optional{1}; });
      all.hash = std::rotl(all.hash ^ static_cast<std::uint64_t>(answer), 7) * 0x9E3779B97F4A7C15;
      ++(answer == errc::ok ? all.accepted : all.refused);
    }
  return all;
}

std::vector<forgeries> forged_states() {
  std::vector<forgeries> all;
  for (const any_policy& policy :
       {any_policy{ssp{.staleness = 2}}, any_policy{knee{}}, any_policy{aimd{}},
        any_policy{dssp{.lower = 0, .upper = 4}}, any_policy{ada_sync{}}, any_policy{loss_decayed{asp{}}},
        any_policy{zipline{.lookahead = 2}},
        any_policy{sync_switch<>{{.share = 0.5, .workload = 100, .reaction = straggler_reaction::greedy}}},
        any_policy{q_policy<rlp_normalised_state, nn::dynamic_mlp>{network(rlp_normalised_state::dim, 3)}},
        any_policy{q_policy<cluster_state, nn::dynamic_mlp>{network(cluster_state::dim, 3)}},
        any_policy{residual_policy<progress_state, nn::dynamic_mlp>{network(progress_state::dim, corrections)}}})
    all.push_back(forged_states_of(policy));
  return all;
}

[[maybe_unused]] const bool is_registered =
    (refusing_units().push_back({RUBATO_FLAGS, &inputs, &options, &forged_states}), true);

}  // namespace
