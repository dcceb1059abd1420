#include <rubato/nn/kernels/kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/core/rng.hpp>
#include <rubato/nn/kernels/training/training_for.hpp>
#include <rubato/nn/loss.hpp>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/optimiser.hpp>
#include <type_traits>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using kernels::available;
using kernels::dense_layer;
using kernels::kernel_set;
using test::product;
using test::random_values;

template <class T>
void expect_like(const kernel_set<T>& set, const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << set.name << " at " << i;
}

// Not only equal: -0 is not 0. Which NaN an operation on two of them gives is up to the compiler.
template <class T>
void expect_same_bits(const kernel_set<T>& set, const std::vector<T>& got, const std::vector<T>& expected) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(std::bit_cast<bits>(got[i]) == std::bit_cast<bits>(expected[i]) ||
                (std::isnan(got[i]) && std::isnan(expected[i])))
        << set.name << " at " << i << ": " << got[i] << ", not " << expected[i];
}

// Numbers of which one in eight is -0, 0, a denormal, the largest, infinite or NaN.
template <class T>
std::vector<T> special_values(std::size_t count, std::uint64_t stream) {
  using limits = std::numeric_limits<T>;
  constexpr T special[] = {T(-0.0),
                           T(0),
                           limits::denorm_min(),
                           -limits::min() / 2,
                           limits::max(),
                           limits::infinity(),
                           -limits::infinity(),
                           limits::quiet_NaN()};
  random_sequence random{7, stream};
  std::vector<T> values = random_values<T>(count, stream);
  const std::uint64_t kinds = 4 + 2 * (stream % 3);  // with infinity in every sum, there would be nothing else to see
  for (T& value : values)
    if (random.below(8) == 0) value = special[random.below(static_cast<std::uint32_t>(kinds))];
  return values;
}

struct shape {
  std::size_t rows, inputs, outputs;
};
constexpr shape shapes[] = {{1, 1, 1},  {3, 40, 64}, {2, 64, 32}, {5, 32, 3}, {4, 7, 17},
                            {9, 21, 3}, {6, 13, 2},  {1, 9, 8},   {33, 5, 49}, {1, 8, 3}, {2, 72, 3},
                            {4, 45, 11}};

// The sets that promise the bits of a plain loop.
template <class T>
std::vector<const kernel_set<T>*> reproducible_sets() {
  std::vector<const kernel_set<T>*> sets{&kernels::portable::set<T>};
  if (kernels::avx2::supported()) sets.push_back(&kernels::avx2::set<T>);
  return sets;
}

// Each set beside another one that promises the same bits.
template <class T>
std::vector<std::array<const kernel_set<T>*, 2>> equals() {
  std::vector<std::array<const kernel_set<T>*, 2>> pairs;
  if (kernels::avx2::supported()) pairs.push_back({&kernels::avx2::set<T>, &kernels::portable::set<T>});
  if constexpr (std::same_as<T, float>)
    if (kernels::available<T>().size() == 4) pairs.push_back({&kernels::avx512::set<T>, &kernels::fma::set<T>});
  return pairs;
}

// One row of one layer.
template <class T>
std::vector<T> evaluated(const kernel_set<T>& set, const dense_layer<T>& layer, const T* in) {
  std::vector<T> parameters(layer.weight, layer.weight + layer.inputs * layer.outputs), out(layer.outputs);
  parameters.insert(parameters.end(), layer.bias, layer.bias + layer.outputs);
  const layer_shape shape{layer.inputs, layer.outputs, 0};
  const kernels::ending last{layer.f};
  set.evaluate({.shapes = &shape, .layers = 1, .parameters = parameters.data(), .output = &last}, in, nullptr,
               out.data());
  return out;
}

template <class T>
class Kernels : public ::testing::Test {};
using scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, scalars);

TYPED_TEST(Kernels, EvaluateMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : reproducible_sets<T>())
    for (const shape& s : shapes)
      for (const auto kind :
           {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
        const auto weight = random_values<T>(s.inputs * s.outputs, 1), bias = random_values<T>(s.outputs, 2);
        const auto in = random_values<T>(s.inputs, 3);
        const activation f{kind, 0.3};
        const std::vector<T> out = evaluated<T>(*set, {s.inputs, s.outputs, weight.data(), bias.data(), f}, in.data());
        expect_like(*set, out, test::layer(f, weight, bias, in));
      }
}

TYPED_TEST(Kernels, ForwardEqualsEvaluate) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const shape& s : shapes) {
      const auto weight = random_values<T>(s.inputs * s.outputs, 1), bias = random_values<T>(s.outputs, 2);
      const auto in = random_values<T>(s.rows * s.inputs, 3);
      const dense_layer<T> layer{s.inputs, s.outputs, weight.data(), bias.data(), {activation_kind::leaky_relu}};
      std::vector<T> batch(s.rows * s.outputs), single;
      training_for(*set).forward(layer, s.rows, in.data(), batch.data());
      for (std::size_t row = 0; row < s.rows; ++row) {
        const std::vector<T> out = evaluated(*set, layer, in.data() + row * s.inputs);
        single.insert(single.end(), out.begin(), out.end());
      }
      ASSERT_EQ(batch, single) << set->name;
    }
}

TYPED_TEST(Kernels, ActivationGradientIsTheChainRule) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const auto kind :
         {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
      const activation f{kind, 0.3};
      const auto y = random_values<T>(45, 1);
      const auto delta = random_values<T>(45, 2);
      auto got = delta, expected = delta;
      training_for(*set).activation_gradient(f, got.size(), y.data(), got.data());
      for (std::size_t i = 0; i < y.size(); ++i) expected[i] = chain(f, y[i], delta[i]);
      expect_like(*set, got, expected);
    }
}

// On top of what is there, row after row.
TYPED_TEST(Kernels, ParameterGradientMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : reproducible_sets<T>())
    for (const shape& s : shapes) {
      const auto in = random_values<T>(s.rows * s.inputs, 1), delta = random_values<T>(s.rows * s.outputs, 2);
      auto weight = random_values<T>(s.inputs * s.outputs, 3), bias = random_values<T>(s.outputs, 4);
      auto expected_weight = weight, expected_bias = bias;
      for (std::size_t r = 0; r < s.rows; ++r)
        for (std::size_t o = 0; o < s.outputs; ++o) {
          const T d = delta[r * s.outputs + o];
          for (std::size_t i = 0; i < s.inputs; ++i)
            expected_weight[i * s.outputs + o] += product(in[r * s.inputs + i], d);
          expected_bias[o] += d;
        }
      training_for(*set).parameter_gradient({s.inputs, s.outputs}, s.rows, in.data(), delta.data(),
                                            gradient_mode::accumulate, weight.data(), bias.data());
      expect_like(*set, weight, expected_weight);
      expect_like(*set, bias, expected_bias);
    }
}

// In place of what is there, which is no number, to the bit, and of signs of zeros, too.
TYPED_TEST(Kernels, OverwrittenParameterGradientIsThatOnTopOfZeros) {
  using T = TypeParam;
  const auto bits = [](const std::vector<T>& of) {
    std::vector<std::array<std::byte, sizeof(T)>> all;
    for (const T x : of) all.push_back(std::bit_cast<std::array<std::byte, sizeof(T)>>(x));
    return all;
  };
  for (const kernel_set<T>* set : available<T>())
    for (const shape& s : shapes) {
      auto in = random_values<T>(s.rows * s.inputs, 1);
      const auto delta = random_values<T>(s.rows * s.outputs, 2);
      for (std::size_t i = 0; i < in.size(); i += 3) in[i] = -T{};
      std::vector<T> weight(s.inputs * s.outputs), bias(s.outputs);
      std::vector<T> got_weight(weight.size(), std::numeric_limits<T>::quiet_NaN()), got_bias(bias.size(), T{7});
      training_for(*set).parameter_gradient({s.inputs, s.outputs}, s.rows, in.data(), delta.data(),
                                            gradient_mode::accumulate, weight.data(), bias.data());
      training_for(*set).parameter_gradient({s.inputs, s.outputs}, s.rows, in.data(), delta.data(),
                                            gradient_mode::overwrite, got_weight.data(), got_bias.data());
      ASSERT_EQ(bits(got_weight), bits(weight)) << set->name << " " << s.inputs << " x " << s.outputs;
      ASSERT_EQ(bits(got_bias), bits(bias)) << set->name << " " << s.inputs << " x " << s.outputs;
    }
}

TYPED_TEST(Kernels, InputGradientMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : reproducible_sets<T>())
    for (const shape& s : shapes) {
      const auto weight = random_values<T>(s.inputs * s.outputs, 1), delta = random_values<T>(s.rows * s.outputs, 2);
      std::vector<T> got(s.rows * s.inputs, T{77}), expected(got.size());
      for (std::size_t r = 0; r < s.rows; ++r)
        for (std::size_t i = 0; i < s.inputs; ++i) {
          T lanes[8] = {};
          for (std::size_t o = 0; o < s.outputs; ++o)
            lanes[o % 8] += product(delta[r * s.outputs + o], weight[i * s.outputs + o]);
          for (const T lane : lanes) expected[r * s.inputs + i] += lane;
        }
      training_for(*set).input_gradient({s.inputs, s.outputs, weight.data()}, s.rows, delta.data(), {}, nullptr,
                                        got.data());
      expect_like(*set, got, expected);
    }
}

// The same bits as the two one after another.
TYPED_TEST(Kernels, InputGradientAppliesTheChainRule) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const shape& s : shapes)
      for (const auto kind :
           {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
        const activation below{kind, 0.3};
        const auto weight = random_values<T>(s.inputs * s.outputs, 1), delta = random_values<T>(s.rows * s.outputs, 2);
        const auto in = random_values<T>(s.rows * s.inputs, 3);
        const dense_layer<T> layer{s.inputs, s.outputs, weight.data()};
        std::vector<T> got(s.rows * s.inputs, T{77}), expected = got;
        training_for(*set).input_gradient(layer, s.rows, delta.data(), below, in.data(), got.data());
        training_for(*set).input_gradient(layer, s.rows, delta.data(), {}, nullptr, expected.data());
        training_for(*set).activation_gradient(below, expected.size(), in.data(), expected.data());
        ASSERT_EQ(got, expected) << set->name << ' ' << s.rows << " x " << s.inputs << " x " << s.outputs;
      }
}

// Squares of these are no floats: infinite, or next to nothing.
TYPED_TEST(Kernels, NormsOfLargeAndSmallNumbers) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const double scale : {1e-30, 1e-15, 1e-10, 1e10, 1e15, 1e30}) {
      auto x = random_values<T>(1000, 1);
      double squares = 0;
      for (T& value : x) {
        value *= static_cast<T>(scale);
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
      EXPECT_NEAR(training_for(*set).sum_of_squares(x.size(), x.data()) / squares, 1, 1e-6)
          << set->name << ' ' << scale;
      x[77] = std::numeric_limits<T>::infinity();
      EXPECT_EQ(training_for(*set).sum_of_squares(x.size(), x.data()), std::numeric_limits<double>::infinity());
      x[77] = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(std::isnan(training_for(*set).sum_of_squares(x.size(), x.data())));
    }
}

TYPED_TEST(Kernels, NormAndScaleMatchALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const std::size_t count : {0u, 1u, 7u, 8u, 100u}) {
      auto x = random_values<T>(count, 1);
      long double squares = 0;
      for (const T value : x) squares += static_cast<long double>(value) * static_cast<long double>(value);
      const bool in_double = std::ranges::count(reproducible_sets<T>(), set) > 0;
      EXPECT_NEAR(training_for(*set).sum_of_squares(count, x.data()), static_cast<double>(squares),
                  in_double ? 1e-12 : 1e-6);
      auto expected = x;
      for (T& value : expected) value *= T(0.7);
      training_for(*set).scale(count, T(0.7), x.data());
      EXPECT_EQ(x, expected);
    }
}

TYPED_TEST(Kernels, UpdatesMatchALoop) {
  using T = TypeParam;
  const kernels::adam_step<T> step{T(0.9), T(0.1), T(0.99), T(0.01), T(0.003), T(1.7), T(1e-6), T(0.999)};
  for (const kernel_set<T>* set : available<T>())
    for (const std::size_t count : {1u, 7u, 8u, 21u, 50u}) {
      const auto g = random_values<T>(count, 1);
      auto p = random_values<T>(count, 2), m = random_values<T>(count, 3), v = random_values<T>(count, 4);
      for (T& value : v) value *= value;
      auto ep = p, em = m, ev = v;

      training_for(*set).sgd(count, T(0.1), g.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) ep[i] -= product(T(0.1), g[i]);
      expect_like(*set, p, ep);

      training_for(*set).momentum(count, T(0.1), T(0.8), g.data(), m.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) {
        em[i] = product(T(0.8), em[i]) + g[i];
        ep[i] -= product(T(0.1), em[i]);
      }
      expect_like(*set, m, em);
      expect_like(*set, p, ep);

      training_for(*set).adam(count, step, g.data(), m.data(), v.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) {
        em[i] = product(T(0.9), em[i]) + product(T(0.1), g[i]);
        ev[i] = product(T(0.99), ev[i]) + product(T(0.01), product(g[i], g[i]));
        const T below = product(T(1.7), static_cast<T>(std::sqrt(ev[i]))) + T(1e-6);
        ep[i] = product(T(0.999), ep[i]) - product(T(0.003), em[i] / below);
      }
      const auto sets = reproducible_sets<T>();
      if (std::find(sets.begin(), sets.end(), set) != sets.end()) {
        expect_like(*set, m, em);
        expect_like(*set, v, ev);
        expect_like(*set, p, ep);
      }
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(m[i], em[i], 4e-7) << set->name;
        EXPECT_NEAR(v[i], ev[i], 4e-7) << set->name;
        EXPECT_NEAR(p[i], ep[i], 4e-7) << set->name;
      }
    }
}

// Steps of parameters at 0, which are nothing but the quotient: to a few units in the last place, whatever its size.
TYPED_TEST(Kernels, AdamDividesToTheLastPlaces) {
  using T = TypeParam;
  const std::size_t count = 4'000;
  for (const kernel_set<T>* set : available<T>()) {
    std::vector<T> g(count), m(count), v(count), p(count);
    random_sequence random{5};
    for (std::size_t i = 0; i < count; ++i) {
      m[i] = static_cast<T>(2 * random.uniform() - 1);
      v[i] = static_cast<T>(std::pow(10.0, 74 * random.uniform() - 37));
    }
    v[0] = 0;
    const auto mean = m, square = v;
    for (const double rate : {1e-6, 1e-3, 1.0, 1e3}) {
      std::fill(p.begin(), p.end(), T{0});
      training_for(*set).adam(count, {T(1), T(0), T(1), T(0), T(rate), T(1), T(1e-8), T(1)}, g.data(), m.data(),
                              v.data(), p.data());
      EXPECT_EQ(m, mean);
      EXPECT_EQ(v, square);
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = -static_cast<double>(T(rate)) * static_cast<double>(mean[i]) /
                                (std::sqrt(static_cast<double>(square[i])) + static_cast<double>(T(1e-8)));
        ASSERT_NEAR(static_cast<double>(p[i]) / expected, 1, 4 * static_cast<double>(std::numeric_limits<T>::epsilon()))
            << set->name << ' ' << v[i];
      }
    }
    // A rate of 0 moves nothing.
    const auto before = p;
    training_for(*set).adam(count, {T(1), T(0), T(1), T(0), T(0), T(1), T(1e-8), T(1)}, g.data(), m.data(), v.data(),
                            p.data());
    EXPECT_EQ(p, before) << set->name;
    // A mean of squares that is infinite stops a parameter; NaN stays NaN.
    v.assign({std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()});
    m.assign(2, T{1});
    p.assign(2, T{3});
    training_for(*set).adam(2, {T(1), T(0), T(1), T(0), T(1), T(1), T(1e-8), T(1)}, g.data(), m.data(), v.data(),
                            p.data());
    EXPECT_EQ(p[0], 3);
    EXPECT_TRUE(std::isnan(p[1]));
  }
}

// Every width of the last pack, short batches, numbers of every kind: what a network learns must not depend on the
// machine that it learns on.
TYPED_TEST(Kernels, EqualSetsGiveTheSameBits) {
  using T = TypeParam;
  random_sequence random{3};
  for (const auto& [set, like] : equals<T>())
    for (std::size_t outputs = 1; outputs <= 140; ++outputs)
      for (const auto kind :
           {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
        const std::size_t inputs = 1 + random.below(70), rows = 1 + random.below(9);
        const auto values = random.below(2) == 0 ? &random_values<T> : &special_values<T>;
        const auto draw = [&](std::size_t count) { return values(count, random.below(1000)); };
        const auto weight = draw(inputs * outputs), bias = draw(outputs), in = draw(rows * inputs);
        const auto slope = draw(rows * outputs);
        const dense_layer<T> layer{inputs, outputs, weight.data(), bias.data(), {kind, 0.3}};
        SCOPED_TRACE(testing::Message() << rows << " x " << inputs << " x " << outputs << ' ' << name(kind));

        struct results {
          std::vector<T> single, out, delta, weight_gradient, bias_gradient, in_gradient, norm, p, m, v;
        };
        const auto run = [&](const kernel_set<T>& with) {
          results made{.single = {},
                       .out = slope,
                       .delta = slope,
                       .weight_gradient = weight,
                       .bias_gradient = bias,
                       .in_gradient = in,
                       .norm = {},
                       .p = weight,
                       .m = weight,
                       .v = weight};
          made.single = evaluated(with, layer, in.data());
          training_for(with).forward(layer, rows, in.data(), made.out.data());
          training_for(with).activation_gradient(layer.f, rows * outputs, made.out.data(), made.delta.data());
          training_for(with).parameter_gradient(layer, rows, in.data(), made.delta.data(), gradient_mode::accumulate,
                                                made.weight_gradient.data(), made.bias_gradient.data());
          training_for(with).input_gradient(layer, rows, made.delta.data(), layer.f, in.data(),
                                            made.in_gradient.data());

          const std::size_t count = inputs * outputs;
          made.norm = {static_cast<T>(training_for(with).sum_of_squares(count, made.weight_gradient.data()))};
          for (T& square : made.v) square = std::abs(square);
          training_for(with).sgd(count, T(0.1), made.weight_gradient.data(), made.p.data());
          training_for(with).momentum(count, T(0.1), T(0.8), made.weight_gradient.data(), made.m.data(), made.p.data());
          training_for(with).adam(count, {T(0.9), T(0.1), T(0.99), T(0.01), T(0.003), T(1.7), T(1e-6), T(0.999)},
                                  made.weight_gradient.data(), made.m.data(), made.v.data(), made.p.data());
          training_for(with).scale(count, T(0.7), made.weight_gradient.data());
          return made;
        };
        const results got = run(*set), expected = run(*like);
        for (const auto member :
             {&results::single, &results::out, &results::delta, &results::weight_gradient, &results::bias_gradient,
              &results::in_gradient, &results::norm, &results::p, &results::m, &results::v})
          ASSERT_NO_FATAL_FAILURE(expect_same_bits(*set, got.*member, expected.*member));
      }
}

TYPED_TEST(Kernels, TrainingGivesTheSameBits) {
  using T = TypeParam;
  using network = basic_mlp<T, 10, 37, 16, 3>;
  constexpr std::size_t rows = 6;
  const auto train = [&](const kernel_set<T>& set) {
    network net{{.hidden = {activation_kind::leaky_relu}}, set};
    const auto start = random_values<T>(net.parameters().size(), 1);
    std::copy(start.begin(), start.end(), net.parameters().begin());
    basic_adam<T> optimiser{start.size(), {.learning_rate = 0.01}, set};
    typename network::workspace work{net, rows};
    std::vector<T> slope(rows * 3), gradient(start.size());
    for (std::uint64_t step = 0; step < 50; ++step) {
      const auto in = random_values<T>(rows * 10, 100 + step), target = random_values<T>(rows * 3, 200 + step);
      std::fill(gradient.begin(), gradient.end(), T{0});
      huber<T>(net.forward(in, work), target, slope, T(1.0 / rows));
      net.backward(slope, work, gradient);
      static_cast<void>(clip_by_norm<T>(gradient, 1.0, set));
      optimiser.step(net.parameters(), gradient);
    }
    return std::vector<T>(net.parameters().begin(), net.parameters().end());
  };
  for (const auto& [set, like] : equals<T>()) expect_same_bits(*set, train(*set), train(*like));
}

// Every set against sums in double, on shapes of every kind: what differs is rounding.
TYPED_TEST(Kernels, AgreeWithAnOracleInDoubleOnRandomShapes) {
  using T = TypeParam;
  const double allowed = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
  random_sequence random{11};
  for (std::size_t round = 0; round < 400; ++round) {
    const auto size = [&](std::uint32_t most) {  // multiples of eight, too
      const std::size_t any = 1 + random.below(most);
      return random.below(2) == 0 ? any : (any + 7) / 8 * 8;
    };
    const std::size_t inputs = size(80), outputs = size(150), rows = 1 + random.below(20);
    const activation f{static_cast<activation_kind>(random.below(4)), random.below(2) == 0 ? 0.01 : 1.5};
    const auto weight = random_values<T>(inputs * outputs, 4 * round), bias = random_values<T>(outputs, 4 * round + 1);
    const auto in = random_values<T>(rows * inputs, 4 * round + 2),
               delta = random_values<T>(rows * outputs, 4 * round + 3);
    const dense_layer<T> layer{inputs, outputs, weight.data(), bias.data(), f};
    SCOPED_TRACE(testing::Message() << rows << " x " << inputs << " x " << outputs << ' ' << name(f.kind));

    std::vector<double> out(rows * outputs), by_weight(weight.begin(), weight.end()), by_bias(bias.begin(), bias.end()),
        by_input(rows * inputs);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t o = 0; o < outputs; ++o) {
        double sum = static_cast<double>(bias[o]);
        const double slope = static_cast<double>(delta[r * outputs + o]);
        for (std::size_t i = 0; i < inputs; ++i) {
          const double x = static_cast<double>(in[r * inputs + i]), w = static_cast<double>(weight[i * outputs + o]);
          sum += x * w;
          by_weight[i * outputs + o] += x * slope;
          by_input[r * inputs + i] += w * slope;
        }
        by_bias[o] += slope;
        out[r * outputs + o] = activate(f, sum);
      }
    for (const kernel_set<T>* set : available<T>()) {
      const auto expect_near = [&](const std::vector<T>& got, const std::vector<double>& expected, std::size_t terms) {
        for (std::size_t k = 0; k < got.size(); ++k)
          ASSERT_NEAR(static_cast<double>(got[k]), expected[k], allowed * static_cast<double>(terms))
              << set->name << " at " << k;
      };
      std::vector<T> made(rows * outputs), weights = weight, biases = bias, made_inputs(rows * inputs);
      training_for(*set).forward(layer, rows, in.data(), made.data());
      expect_near(made, out, inputs);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto row = made.begin() + static_cast<std::ptrdiff_t>(r * outputs);
        ASSERT_EQ(evaluated(*set, layer, in.data() + r * inputs),
                  (std::vector<T>{row, row + static_cast<std::ptrdiff_t>(outputs)}))
            << set->name;
      }
      training_for(*set).parameter_gradient(layer, rows, in.data(), delta.data(), gradient_mode::accumulate,
                                            weights.data(), biases.data());
      expect_near(weights, by_weight, rows);
      expect_near(biases, by_bias, rows);
      training_for(*set).input_gradient(layer, rows, delta.data(), {}, nullptr, made_inputs.data());
      expect_near(made_inputs, by_input, outputs);
    }
  }
}

// Rows on which a sum is infinite or not a number, with the activations as activate() has them.
TYPED_TEST(Kernels, ActivationsKeepInfinityAndNaN) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const kernel_set<T>* set : available<T>())
    for (const std::size_t outputs : {3u, 7u, 8u, 24u, 64u, 128u})
      for (const activation f : {activation{}, activation{activation_kind::relu},
                                 activation{activation_kind::leaky_relu}, activation{activation_kind::leaky_relu, 0},
                                 activation{activation_kind::leaky_relu, 3}, activation{activation_kind::tanh}})
        for (const T x : {infinity, -infinity, nan, T{0}, T{-2}, T{2}}) {
          const std::vector<T> weight(outputs, T{1}), bias(outputs);
          const T expected = activate(f, x);
          for (const T y : evaluated<T>(*set, {1, outputs, weight.data(), bias.data(), f}, &x))
            ASSERT_TRUE(y == expected || (std::isnan(y) && std::isnan(expected)))
                << set->name << ' ' << name(f.kind) << ' ' << f.slope << " of " << x << ": " << y;
        }
}

TEST(KernelSets, NativeIsTheLastAvailable) {
  EXPECT_EQ(&kernels::native<float>(), available<float>().back());
  EXPECT_EQ(simd_info().active, kernels::native<float>().name);
  EXPECT_EQ(available<float>().front(), &kernels::portable::set<float>);
  const auto compiled = simd_info().compiled;
  for (const kernel_set<float>* set : available<float>())
    EXPECT_NE(std::find(compiled.begin(), compiled.end(), set->name), compiled.end()) << set->name;
  EXPECT_EQ(simd_info<double>().active, kernels::native<double>().name);
  EXPECT_EQ(simd_info<double>().compiled.size(), kernels::avx2::compiled ? 2U : 1U);
}

}  // namespace
}  // namespace rubato::nn
