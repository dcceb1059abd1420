// What must be refused, whatever a unit is built with: its flags may say that there is no NaN and no infinity. Compiled
// once for each set of flags, as the unit RUBATO_FLAGS_UNIT.
#include "refusals.hpp"

// The library under a name of its own: of functions with one name the linker would keep one unit's body for all.
#include <rubato/config.hpp>
#undef RUBATO_ABI
#define RUBATO_ABI RUBATO_FLAGS_UNIT

#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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
  add_files(all);
  return std::move(all).all();
}

template <class Options, class Number>
Options with(Number Options::*member, Options o = {}) {
  o.*member = std::bit_cast<Number>([] {
    if constexpr (sizeof(Number) == 4)
      return strange_floats[0];
    else
      return strange_doubles[0];
  }());
  return o;
}

template <class Policy>
std::string problem_with(const Policy& policy) {
  return problem_of(policy, 4);
}

void add_rules(refusals& all) {
  all.add("guard.max_wait", problem(with(&guard_options::max_wait)));
  all.add("guard.max_lr_scale", problem(with(&guard_options::max_lr_scale)));
  all.add("knee.threshold", problem_with(with(&knee::threshold)));
  all.add("aimd.tolerance", problem_with(with(&aimd::tolerance)));
  all.add("aimd.decrease", problem_with(with(&aimd::decrease)));
  all.add("dssp.smoothing", problem_with(with(&dssp::smoothing)));
  all.add("ada_sync.interval", problem_with(with(&ada_sync::interval)));
  all.add("ada_sync.newest", problem_with(with(&ada_sync::newest)));
  all.add("loss_decay.slope", with(&loss_decay::slope).problem());
  all.add("loss_decay.least", with(&loss_decay::least).problem());
  all.add("loss_decay.most", with(&loss_decay::most).problem());
  all.add("loss_decay.newest", with(&loss_decay::newest).problem());
  all.add("concurrency_scale.reference", with(&concurrency_scale::reference).problem());
  all.add("concurrency_scale.least", with(&concurrency_scale::least).problem());
  all.add("concurrency_scale.most", with(&concurrency_scale::most).problem());
  all.add("staleness_weight.a", with(&staleness_weight::a, staleness_weight::polynomial(1)).problem());
  all.add("sync_switch.share", with(&sync_switch_options::share).problem());
  all.add("straggler_options.window", problem(with(&straggler_options::window)));
  all.add("straggler_options.slow", problem(with(&straggler_options::slow)));
  all.add("straggler_options.recovered", problem(with(&straggler_options::recovered)));
  all.add("dc_asgd.lambda", problem(with(&dc_asgd_options::lambda)));
  all.add("dc_asgd.decay", problem(with(&dc_asgd_options::decay)));
  all.add("dc_asgd.epsilon", problem(with(&dc_asgd_options::epsilon)));
  all.add("q_policy.max_idle", problem(with(&q_policy_options::max_idle)));
}

void add_training(refusals& all) {
  all.add("sgd.learning_rate", nn::problem<float>(with(&nn::sgd_options::learning_rate)));
  all.add("sgd.momentum", nn::problem<float>(with(&nn::sgd_options::momentum)));
  all.add("adam.learning_rate", nn::problem<float>(with(&nn::adam_options::learning_rate)));
  all.add("adam.beta1", nn::problem<float>(with(&nn::adam_options::beta1)));
  all.add("adam.beta2", nn::problem<float>(with(&nn::adam_options::beta2)));
  all.add("adam.epsilon", nn::problem<float>(with(&nn::adam_options::epsilon)));
  all.add("adam.weight_decay", nn::problem<float>(with(&nn::adam_options::weight_decay)));
  all.add("activation.slope", nn::problem(with(&nn::activation::slope)));
  all.add("dqn.gamma", rl::problem(with(&rl::dqn_options::gamma)));
  all.add("dqn.time_unit", rl::problem(with(&rl::dqn_options::time_unit)));
  all.add("dqn.target_rate", rl::problem(with(&rl::dqn_options::target_rate)));
  all.add("dqn.huber_delta", rl::problem(with(&rl::dqn_options::huber_delta)));
  all.add("dqn.max_gradient_norm", rl::problem(with(&rl::dqn_options::max_gradient_norm)));
  all.add("dqn.learning_rate", rl::problem(with(&rl::dqn_options::learning_rate)));
  all.add("ppo.gamma", rl::problem(with(&rl::ppo_options::gamma)));
  all.add("ppo.lambda", rl::problem(with(&rl::ppo_options::lambda)));
  all.add("ppo.time_unit", rl::problem(with(&rl::ppo_options::time_unit)));
  all.add("ppo.clip", rl::problem(with(&rl::ppo_options::clip)));
  all.add("ppo.entropy_bonus", rl::problem(with(&rl::ppo_options::entropy_bonus)));
  all.add("ppo.max_divergence", rl::problem(with(&rl::ppo_options::max_divergence)));
  all.add("ppo.max_gradient_norm", rl::problem(with(&rl::ppo_options::max_gradient_norm)));
  all.add("ppo.learning_rate", rl::problem(with(&rl::ppo_options::learning_rate)));
  all.add("ppo.value_learning_rate", rl::problem(with(&rl::ppo_options::value_learning_rate)));
  all.add("cma_es.step_size", rl::problem(with(&rl::cma_es_options::step_size)));
  all.add("antithetic_es.step_size", rl::problem(with(&rl::antithetic_es_options::step_size)));
  all.add("antithetic_es.learning_rate", rl::problem(with(&rl::antithetic_es_options::learning_rate)));
  all.add("antithetic_es.averaging", rl::problem(with(&rl::antithetic_es_options::averaging)));
  all.add("switch_search.beta", adapt::problem(with(&adapt::switch_search_options::beta)));
}

void add_simulator(refusals& all) {
  all.add("cluster.jitter", sim::problem(with(&sim::cluster_options::jitter)));
  all.add("cluster.decision_time", sim::problem(with(&sim::cluster_options::decision_time)));
  all.add("cluster.apply_time", sim::problem(with(&sim::cluster_options::apply_time)));
  all.add("cluster.round_time", sim::problem(with(&sim::cluster_options::round_time)));
  all.add("cluster.step_time", sim::problem(sim::cluster_options{.step_time = {no_double()}}));
  all.add("cluster.link.bandwidth", sim::problem(sim::cluster_options{.link = {.bandwidth = no_double()}}));
  all.add("cluster.link.latency", sim::problem(sim::cluster_options{.link = {1, no_double(), 1}}));
  all.add("cluster.failures.time", sim::problem(sim::cluster_options{.failures = {{.time = no_double()}}}));
  all.add("run.target_accuracy", sim::problem(with(&sim::run_options::target_accuracy)));
  all.add("run.max_time", sim::problem(with(&sim::run_options::max_time)));
  all.add("run.learning_rate", sim::problem(sim::run_options{.learning_rate = {.base = no_double()}}));
  all.add("stragglers.probability", sim::problem(with(&sim::straggler_options::probability,
                                                      sim::straggler_options{.kind = sim::straggler_kind::fixed}),
                                                 4));
  all.add("quadratic.condition", sim::problem(with(&sim::quadratic_options::condition)));
  all.add("quadratic.noise", sim::problem(with(&sim::quadratic_options::noise)));
  all.add("quadratic.momentum", sim::problem(with(&sim::quadratic_options::momentum)));
  all.add("sgd_objective.momentum", sim::problem(with(&sim::sgd_options::momentum)));
  all.add("sgd_objective.data_fraction", sim::problem(with(&sim::sgd_options::data_fraction)));
}

std::vector<refusal> options() {
  refusals all;
  add_rules(all);
  add_training(all);
  add_simulator(all);
  return std::move(all).all();
}

// NaN and infinities at every place of what a controller has saved, with the right checksum.
std::uint64_t forged_states_of(const any_policy& policy) {
  any_sink sink;
  controller<any_policy, int> sync{{.capacity = 2, .guard = {.enabled = false}}, policy};
  for (std::uint32_t w = 0; w < 2; ++w) static_cast<void>(sync.join({w, 0}, 0.0, 1, sink));
  for (int push = 0; push < 40; ++push)
    for (std::uint32_t w = 0; w < 2; ++w)
      if (sync.workers()[w].state == worker_state::running)
        static_cast<void>(sync.push({.worker = {w, 0}, .now = 1.0 + push, .samples = 16, .loss = 2.0F}, 1, sink));
  archive saved;
  if (sync.save(saved) != errc::ok) return 0;
  const std::vector<std::byte> bytes{saved.bytes().begin(), saved.bytes().end() - 8};
  std::uint64_t hash = 1;
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
      hash = std::rotl(hash ^ static_cast<std::uint64_t>(answer), 7) * 0x9E3779B97F4A7C15;
    }
  return hash;
}

std::vector<std::uint64_t> forged_states() {
  std::vector<std::uint64_t> all;
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
