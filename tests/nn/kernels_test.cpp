#include <rubato/nn/kernels/kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using kernels::available;
using kernels::dense_layer;
using kernels::kernel_set;
using test::product;
using test::random_values;

// The portable set promises the very bits of the loop; other sets may fuse, and promise to be close.
template <class T>
void expect_like(const kernel_set<T>& set, const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  const double tolerance = &set == &kernels::portable::set<T> ? 0 : 1e2 * std::numeric_limits<T>::epsilon();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(expected[i]), tolerance) << set.name << " at " << i;
}

struct shape {
  std::size_t rows, inputs, outputs;
};
constexpr shape shapes[] = {{1, 1, 1}, {3, 40, 64}, {2, 64, 32}, {5, 32, 3}, {4, 7, 17}, {1, 9, 8}, {33, 5, 49}};

template <class T>
class Kernels : public ::testing::Test {};
using scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, scalars);

TYPED_TEST(Kernels, EvaluateMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const shape& s : shapes)
      for (const auto kind :
           {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
        const auto weight = random_values<T>(s.inputs * s.outputs, 1), bias = random_values<T>(s.outputs, 2);
        const auto in = random_values<T>(s.inputs, 3);
        const activation f{kind, 0.3};
        std::vector<T> out(s.outputs);
        set->evaluate({s.inputs, s.outputs, weight.data(), bias.data(), f}, in.data(), out.data());
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
      std::vector<T> batch(s.rows * s.outputs), single(s.rows * s.outputs);
      set->forward(layer, s.rows, in.data(), batch.data());
      for (std::size_t row = 0; row < s.rows; ++row)
        set->evaluate(layer, in.data() + row * s.inputs, single.data() + row * s.outputs);
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
      set->activation_gradient(f, got.size(), y.data(), got.data());
      for (std::size_t i = 0; i < y.size(); ++i) expected[i] = chain(f, y[i], delta[i]);
      expect_like(*set, got, expected);
    }
}

// On top of what is there, row after row.
TYPED_TEST(Kernels, ParameterGradientMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
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
      set->parameter_gradient({s.inputs, s.outputs}, s.rows, in.data(), delta.data(), weight.data(), bias.data());
      expect_like(*set, weight, expected_weight);
      expect_like(*set, bias, expected_bias);
    }
}

TYPED_TEST(Kernels, InputGradientMatchesALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
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
      set->input_gradient({s.inputs, s.outputs, weight.data()}, s.rows, delta.data(), got.data());
      expect_like(*set, got, expected);
    }
}

TYPED_TEST(Kernels, NormAndScaleMatchALoop) {
  using T = TypeParam;
  for (const kernel_set<T>* set : available<T>())
    for (const std::size_t count : {0u, 1u, 7u, 8u, 100u}) {
      auto x = random_values<T>(count, 1);
      long double squares = 0;
      for (const T value : x) squares += static_cast<long double>(value) * static_cast<long double>(value);
      EXPECT_NEAR(set->sum_of_squares(count, x.data()), static_cast<double>(squares), 1e-12);
      auto expected = x;
      for (T& value : expected) value *= T(0.7);
      set->scale(count, T(0.7), x.data());
      EXPECT_EQ(x, expected);
    }
}

TYPED_TEST(Kernels, UpdatesMatchALoop) {
  using T = TypeParam;
  const kernels::adam_step<T> step{T(0.9), T(0.1), T(0.99), T(0.01), T(0.003), T(1.7), T(1e-6), T(0.999)};
  for (const kernel_set<T>* set : available<T>())
    for (const std::size_t count : {1u, 7u, 50u}) {
      const auto g = random_values<T>(count, 1);
      auto p = random_values<T>(count, 2), m = random_values<T>(count, 3), v = random_values<T>(count, 4);
      for (T& value : v) value *= value;
      auto ep = p, em = m, ev = v;

      set->sgd(count, T(0.1), g.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) ep[i] -= product(T(0.1), g[i]);
      expect_like(*set, p, ep);

      set->momentum(count, T(0.1), T(0.8), g.data(), m.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) {
        em[i] = product(T(0.8), em[i]) + g[i];
        ep[i] -= product(T(0.1), em[i]);
      }
      expect_like(*set, m, em);
      expect_like(*set, p, ep);

      set->adam(count, step, g.data(), m.data(), v.data(), p.data());
      for (std::size_t i = 0; i < count; ++i) {
        em[i] = product(T(0.9), em[i]) + product(T(0.1), g[i]);
        ev[i] = product(T(0.99), ev[i]) + product(T(0.01), product(g[i], g[i]));
        const T below = product(T(1.7), static_cast<T>(std::sqrt(ev[i]))) + T(1e-6);
        ep[i] = product(T(0.999), ep[i]) - product(T(0.003), em[i] / below);
      }
      expect_like(*set, m, em);
      expect_like(*set, v, ev);
      expect_like(*set, p, ep);
    }
}

TEST(KernelSets, NativeIsTheLastAvailable) {
  EXPECT_EQ(&kernels::native<float>(), available<float>().back());
  EXPECT_EQ(simd_info().active, kernels::native<float>().name);
  EXPECT_EQ(available<float>().front(), &kernels::portable::set<float>);
  const auto compiled = simd_info().compiled;
  for (const kernel_set<float>* set : available<float>())
    EXPECT_NE(std::find(compiled.begin(), compiled.end(), set->name), compiled.end()) << set->name;
}

}  // namespace
}  // namespace rubato::nn
