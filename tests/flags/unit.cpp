// Everything that is pinned, run and hashed. This file is compiled once for each set of flags, as the unit
// RUBATO_FLAGS_UNIT; its own arithmetic is exact, so that flags have nothing to change in it.
#include "unit.hpp"

// The library under a name of its own: of functions with one name the linker would keep one unit's body for all.
// Not so where it takes the program's kernels, which have the library's own name.
#include <rubato/config.hpp>
#if !defined(RUBATO_EXTERN_KERNELS)
#undef RUBATO_ABI
#define RUBATO_ABI RUBATO_FLAGS_UNIT
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <rubato/core/archive.hpp>
#include <rubato/core/rng.hpp>
#include <rubato/core/roster.hpp>
#include <rubato/encode/cluster_state.hpp>
#include <rubato/encode/normaliser.hpp>
#include <rubato/encode/progress_state.hpp>
#include <rubato/encode/rlp_state.hpp>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/initialiser.hpp>
#include <rubato/nn/kernels/kernels.hpp>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/optimiser.hpp>
#include <rubato/rl/dqn.hpp>
#include <rubato/rl/ppo.hpp>
#include <rubato/rl/trace.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace nn = rubato::nn;
namespace rl = rubato::rl;

// Of bits; all NaN are one.
class hash {
 public:
  void add(std::uint64_t bits) { value_ = std::rotl((value_ ^ bits) * 0x9E3779B97F4A7C15, 29); }
  void add(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    add(std::uint64_t{(bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : bits});
  }
  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    add((bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000 ? 0x7FF8000000000000 : bits);
  }
  template <class T>
  void add(const std::vector<T>& numbers) {
    for (const T x : numbers) add(x);
  }
  void add(const rubato::archive& saved) {
    for (const std::byte byte : saved.bytes()) add(static_cast<std::uint64_t>(byte));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

class results {
 public:
  void add(std::string what, const hash& of) { all_.push_back({std::move(what), of.value()}); }
  [[nodiscard]] std::vector<fingerprint> all() && { return std::move(all_); }

 private:
  std::vector<fingerprint> all_;
};

// Numbers as bits: of `special` ones each eighth is -0, 0, a denormal, the largest, infinite or NaN.
enum class sort { ordinary, small, special };

template <class T>
T special(std::size_t which) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr std::array<std::uint32_t, 8> bits{0x80000000, 0,          1,          0x80400000,
                                                0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000};
    return std::bit_cast<float>(bits[which]);
  } else {
    constexpr std::array<std::uint64_t, 8> bits{
        0x8000000000000000, 0, 1, 0x8008000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
        0x7FF8000000000000};
    return std::bit_cast<double>(bits[which]);
  }
}

template <class T>
class source {
 public:
  explicit source(std::uint64_t stream) : random_{42, stream} {}

  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.below(n)); }
  // `bits` of an integer, with the point after the first: in (-2, 2), the product of two halves fits into a T.
  [[nodiscard]] T number(int bits) {
    const auto whole = static_cast<std::int64_t>(random_.below(std::uint64_t{1} << bits));
    const auto x = static_cast<T>(whole) / static_cast<T>(std::int64_t{1} << (bits - 1));
    return random_.below(2) == 0 ? x : -x;
  }
  [[nodiscard]] std::vector<T> numbers(std::size_t count, sort kind = sort::ordinary) {
    constexpr int digits = sizeof(T) == 4 ? 24 : 53;
    const std::size_t kinds = 4 + 2 * below(3);  // with infinity in every sum, there would be nothing else to see
    std::vector<T> made(count);
    for (T& x : made) {
      x = number(kind == sort::small ? digits / 2 : digits);
      if (kind == sort::special && below(8) == 0) x = special<T>(below(kinds));
    }
    return made;
  }
  // Exact, and >= 0.
  [[nodiscard]] std::vector<T> squares(std::size_t count) {
    std::vector<T> made = numbers(count, sort::small);
    for (T& x : made) x *= x;
    return made;
  }

 private:
  rubato::random_sequence random_;
};

constexpr std::array kinds{nn::activation_kind::identity, nn::activation_kind::relu, nn::activation_kind::leaky_relu,
                           nn::activation_kind::tanh};

template <class T>
constexpr const char* scalar = std::is_same_v<T, float> ? " of float" : " of double";

template <class T>
void add_kernels(results& all, const nn::kernels::kernel_set<T>& set) {
  const auto name = [&](std::string what) { return std::string{set.name} + ": " + std::move(what) + scalar<T>; };
  std::array<hash, kinds.size()> forward, evaluate, activation;
  hash parameter, input, norm, scale, sgd, momentum, adam;
  source<T> from{1};
  for (std::size_t outputs = 1; outputs <= 40; ++outputs)
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const sort sorts = outputs % 3 == 0 ? sort::special : sort::ordinary;
      const std::size_t inputs = 1 + from.below(40), rows = 1 + from.below(9);
      const auto draw = [&](std::size_t count) { return from.numbers(count, sorts); };
      const auto weight = draw(inputs * outputs), bias = draw(outputs), in = draw(rows * inputs);
      const nn::kernels::dense_layer<T> layer{inputs, outputs, weight.data(), bias.data(), {kinds[k], 0.3}};

      std::vector<T> out(rows * outputs), one(outputs), in_slope(in.size());
      training_for(set).forward(layer, rows, in.data(), out.data());
      forward[k].add(out);
      std::vector<T> parameters = weight;
      parameters.insert(parameters.end(), bias.begin(), bias.end());
      const nn::layer_shape shape{inputs, outputs, 0};
      const nn::kernels::ending last{layer.f};
      set.evaluate({.shapes = &shape, .layers = 1, .parameters = parameters.data(), .output = &last}, in.data(),
                   nullptr, one.data());
      evaluate[k].add(one);
      auto delta = draw(out.size());
      training_for(set).activation_gradient(layer.f, out.size(), out.data(), delta.data());
      activation[k].add(delta);
      auto weight_slope = draw(weight.size()), bias_slope = draw(bias.size());
      training_for(set).parameter_gradient(layer, rows, in.data(), delta.data(), nn::gradient_mode::accumulate,
                                           weight_slope.data(), bias_slope.data());
      parameter.add(weight_slope);
      parameter.add(bias_slope);
      training_for(set).input_gradient(layer, rows, delta.data(), layer.f, in.data(), in_slope.data());
      input.add(in_slope);
      norm.add(training_for(set).sum_of_squares(weight.size(), weight.data()));

      const std::size_t count = weight.size();
      auto p = draw(count), velocity = draw(count), mean = draw(count), square = from.squares(count);
      training_for(set).sgd(count, static_cast<T>(0.1), weight.data(), p.data());
      sgd.add(p);
      training_for(set).momentum(count, static_cast<T>(0.1), static_cast<T>(0.8), weight.data(), velocity.data(),
                                 p.data());
      momentum.add(velocity);
      momentum.add(p);
      training_for(set).adam(count,
                             {static_cast<T>(0.9), static_cast<T>(0.1), static_cast<T>(0.99), static_cast<T>(0.01),
                              static_cast<T>(0.003), static_cast<T>(1.7), static_cast<T>(1e-6), static_cast<T>(0.999)},
                             weight.data(), mean.data(), square.data(), p.data());
      adam.add(mean);
      adam.add(square);
      adam.add(p);
      training_for(set).scale(count, static_cast<T>(0.7), p.data());
      scale.add(p);
    }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const std::string kind{nn::name(kinds[k])};
    all.add(name("forward, " + kind), forward[k]);
    all.add(name("evaluate, " + kind), evaluate[k]);
    all.add(name("gradient of " + kind), activation[k]);
  }
  all.add(name("gradient of parameters"), parameter);
  all.add(name("gradient of inputs"), input);
  all.add(name("sum of squares"), norm);
  all.add(name("scale"), scale);
  all.add(name("sgd"), sgd);
  all.add(name("momentum"), momentum);
  all.add(name("adam"), adam);
}

template <class T>
void add_losses(results& all) {
  hash squared, huber, entropy;
  source<T> from{2};
  for (std::size_t count = 1; count <= 100; ++count) {
    const sort sorts = count % 3 == 0 ? sort::special : sort::ordinary;
    const auto prediction = from.numbers(count, sorts), target = from.numbers(count, sorts);
    std::vector<T> slope(count);
    const std::span<const T> seen{prediction}, aim{target};
    squared.add(nn::squared_error<T>(seen, aim, slope, static_cast<T>(0.3)));
    squared.add(slope);
    huber.add(nn::huber<T>(seen, aim, slope, static_cast<T>(0.3), static_cast<T>(0.7)));
    huber.add(slope);
    entropy.add(nn::softmax_cross_entropy<T>(seen, count / 2, slope, static_cast<T>(0.3)));
    entropy.add(slope);
  }
  all.add(std::string{"squared error"} + scalar<T>, squared);
  all.add(std::string{"huber"} + scalar<T>, huber);
  all.add(std::string{"cross-entropy"} + scalar<T>, entropy);
}

template <class T, class Optimiser>
hash stepped(Optimiser optimiser, std::size_t count) {
  hash steps;
  source<T> from{3};
  auto p = from.numbers(count);
  for (int step = 0; step < 200; ++step) {
    optimiser.set_learning_rate(0.0013 * (1 + step % 17));
    optimiser.step(p, from.numbers(count));
    steps.add(p);
  }
  return steps;
}

template <class T>
void add_optimisers(results& all, const nn::kernels::kernel_set<T>& set) {
  constexpr std::size_t count = 37;
  const auto name = [&](std::string what) { return std::string{set.name} + ": " + std::move(what) + scalar<T>; };
  all.add(name("steps of sgd"), stepped<T>(nn::basic_sgd<T>{count, {.momentum = 0.9}, set}, count));
  all.add(name("steps of adam"), stepped<T>(nn::basic_adam<T>{count, {.weight_decay = 30}, set}, count));
}

template <class T>
void add_orthogonal(results& all) {
  hash vectors;
  source<T> from{4};
  for (std::size_t count = 1; count < 40; ++count) {
    auto x = from.numbers(2 * count), y = from.numbers(2 * count);
    vectors.add(nn::detail::normalise<T>(count, 2, y.data(), 1e-3));
    nn::detail::remove_component<T>(count, 2, x.data(), y.data());
    vectors.add(x);
    vectors.add(y);
  }
  all.add(std::string{"orthogonal vectors"} + scalar<T>, vectors);
}

void add_values(results& all) {
  hash dueling, follow, td, returns, plus;
  source<float> from{5};
  source<double> doubles{6};
  for (std::size_t count = 1; count <= 32; ++count) {
    const auto outputs = from.numbers(count + 1);
    std::vector<float> values(count), slopes(count + 1);
    rl::dueling_values(outputs, values);
    dueling.add(values);
    rl::dueling_gradient(values, slopes);
    dueling.add(slopes);
    const auto online = from.numbers(count);
    rl::detail::follow(count, 0.3F, online.data(), values.data());
    follow.add(values);
    td.add(rl::detail::td_value(online[0], 0.9F, values[0]));

    rl::trace log{1};
    for (std::size_t i = 0; i < count; ++i) log.add(std::array{1.0F}, 0, online[i], 1);
    log.end_episode();
    log.compute_returns({.gamma = 0.9});
    returns.add(log.returns);

    const auto terms = doubles.numbers(3);
    plus.add(rubato::pinned::plus_product(terms[0], terms[1], terms[2]));
    plus.add(rubato::pinned::plus_product(online[0], values[0], outputs[0]));
  }
  all.add("dueling values", dueling);
  all.add("follow", follow);
  all.add("value of a step", td);
  all.add("returns", returns);
  all.add("sums of products", plus);
}

template <class T>
void add_surrogate(results& all) {
  hash surrogate;
  source<T> from{11};
  for (std::size_t count = 1; count <= 32; ++count) {
    const auto preferences = from.numbers(count);
    std::vector<T> slopes(count);
    const auto action = static_cast<std::uint32_t>(count / 2);
    const std::uint32_t legal = 0x5555'5555U | 1U << action;
    for (const T advantage : {T(-3), T(2)}) {
      const rl::surrogate_term<T> term = rl::clipped_surrogate<T>(
          preferences, {.action = action, .legal = legal, .log_probability = T(-1.1), .advantage = advantage},
          {.clip = T(0.3), .entropy_bonus = T(0.07), .factor = T(0.3)}, slopes);
      surrogate.add(term.loss);
      surrogate.add(term.divergence);
      surrogate.add(slopes);
    }
  }
  all.add(std::string{"clipped surrogate"} + scalar<T>, surrogate);
}

void add_rollouts(results& all) {
  hash drawn, advantages;
  source<float> from{12};
  for (std::size_t count = 1; count <= 32; ++count) {
    const auto preferences = from.numbers(count), values = from.numbers(count);
    std::vector<float> numbers(count);
    rl::log_probabilities(preferences, 0x3333'3333U, numbers);
    drawn.add(numbers);
    for (int i = 0; i < 16; ++i)
      drawn.add(std::uint64_t{rl::detail::at_share(count, numbers.data(), 0x3333'3333U & ((2ULL << (count - 1)) - 1),
                                                   static_cast<double>(i) / 16)});
    rl::rollout_buffer rollout{count, 1, 1};
    for (std::size_t i = 0; i < count; ++i)
      rollout.add(std::array{1.0F}, {.reward = preferences[i], .discount = 0.9F, .last = i % 7 == 6}, std::array{1.0F});
    rollout.advantages(values, 0.95, numbers);
    advantages.add(numbers);
    rl::detail::standardise(count, numbers.data());
    advantages.add(numbers);
  }
  all.add("drawn actions", drawn);
  all.add("advantages", advantages);
}

void add_statistics(results& all) {
  hash statistics;
  source<float> from{7};
  rubato::normaliser<21> scale;
  for (std::size_t row = 0; row < 300; ++row) {
    const auto numbers = from.numbers(21, row % 3 == 0 ? sort::special : sort::ordinary);
    scale.observe(std::span<const float, 21>{numbers});
    rubato::archive bytes;
    scale.state(bytes);
    statistics.add(bytes);
  }
  all.add("normaliser", statistics);
}

template <class T>
void add_all_of(results& all) {
  for (const auto* set : nn::kernels::available<T>()) {
    add_kernels(all, *set);
    add_optimisers(all, *set);
  }
  add_losses<T>(all);
  add_orthogonal<T>(all);
  add_surrogate<T>(all);
}

std::vector<fingerprint> pinned() {
  results all;
  add_all_of<float>(all);
  add_all_of<double>(all);
  add_values(all);
  add_rollouts(all);
  add_statistics(all);
  return std::move(all).all();
}

// A learner that lives for a while: everything it has then, and what it has chosen.
template <rl::Learner Agent>
hash lived(Agent agent) {
  hash life;
  source<float> from{8};
  for (std::uint64_t i = 0; i < 600; ++i) {
    rubato::random_sequence random{9, 0, i << 20};
    const auto here = from.numbers(3), there = from.numbers(3);
    const std::uint32_t action = agent.act(here, rl::all_legal, random);
    life.add(std::uint64_t{action});
    agent.record({.observation = here,
                  .action = action,
                  .reward = here[0],
                  .elapsed = 0.5 + random.uniform(),
                  .next = there,
                  .terminated = i % 11 == 0,
                  .truncated = i % 17 == 0});
    life.add(agent.update(random).loss);
  }
  rubato::archive bytes;
  agent.state(bytes);
  life.add(bytes);
  return life;
}
nn::dynamic_mlp network(std::size_t outputs) {
  rubato::random_sequence weights{1};
  auto net = *nn::dynamic_mlp::make({3, 17, outputs});
  nn::initialise(net, {nn::initialiser_kind::orthogonal}, weights);
  return net;
}
hash lived(const rl::dqn_options& options) {
  return lived(*rl::dqn<>::make(network(options.dueling ? 4U : 3U), options));
}
hash lived(const rl::ppo_options& options) { return lived(*rl::ppo<>::make(network(3), network(1), options)); }

// What an encoder says of four workers, and what it remembers.
template <class Encoder>
hash watched() {
  hash seen;
  constexpr std::uint32_t count = 4;
  rubato::roster workers{count};
  rubato::view_totals totals{};
  Encoder encoder;
  encoder.resize(count);
  for (std::uint32_t w = 0; w < count; ++w) workers.enter(w, 0, 0.0);
  source<float> from{10};
  for (std::uint64_t push = 1; push < 300; ++push) {
    const auto w = static_cast<std::uint32_t>(from.below(count));
    totals.now += 0.1 + static_cast<double>(from.below(100)) / 128;
    const double step_time = 0.5 + static_cast<double>(from.below(1000)) / 256;
    workers.note_step_time(w, step_time);
    workers.clock().tick(w);
    const float loss = 1 + from.numbers(1)[0] / 4;
    const std::uint32_t samples = push % 3 == 0 ? 8 : 16;
    encoder.observe({.what = {.worker = w, .staleness = push % 7, .now = totals.now, .loss = loss, .samples = samples},
                     .step_time = step_time});
    std::array<float, Encoder::dim> out{};
    encoder.encode({workers, totals, w}, {.worker = w, .now = totals.now}, out);
    for (const float x : out) seen.add(x);
    if constexpr (requires { encoder.granted(w, 0U); }) encoder.granted(w, from.below(2) == 0 ? 0U : 8U);
    if constexpr (requires { encoder.started(rubato::cluster_view{workers, totals, w}, w); })
      encoder.started({workers, totals, w}, w);
  }
  rubato::archive bytes;
  encoder.state(bytes);
  seen.add(bytes);
  return seen;
}

std::vector<fingerprint> learned() {
  results all;
  all.add("cluster_state", watched<rubato::cluster_state>());
  all.add("rlp_state", watched<rubato::rlp_state>());
  all.add("rlp_normalised_state", watched<rubato::rlp_normalised_state>());
  all.add("progress_state", watched<rubato::progress_state>());
  rl::dqn_options robust = rl::dqn_options::robust();
  robust.learn_after = 64;
  robust.replay_capacity = 200;
  robust.epsilon.steps = 500;
  rl::dqn_options rainbow = robust;
  rainbow.dueling = true;
  rainbow.sample = rl::sampling::prioritised;
  rainbow.priority.beta_updates = 300;
  all.add("paper", lived(rl::dqn_options::paper()));
  all.add("robust", lived(robust));
  all.add("prioritised", lived(rainbow));
  rl::ppo_options ppo = rl::ppo_options::robust();
  ppo.horizon = 128;
  ppo.entropy_bonus = 0.01;
  all.add("ppo", lived(ppo));
  return std::move(all).all();
}

constexpr bool fast_math = std::string_view{RUBATO_FLAGS}.find("-ffast-math") != std::string_view::npos;

[[maybe_unused]] const bool is_registered =
    (flags_units().push_back({RUBATO_FLAGS, fast_math, &pinned, &learned}), true);

}  // namespace
