#include <rubato/nn/lstm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <rubato/core/rng.hpp>
#include <span>
#include <vector>

namespace rubato::nn {
namespace {

template <class T>
std::vector<T> draws_of(std::size_t count, std::uint64_t seed, double size = 1) {
  random_sequence draws{seed};
  std::vector<T> values(count);
  for (T& x : values) x = static_cast<T>(size * (2 * draws.uniform() - 1));
  return values;
}
template <class T>
basic_lstm<T> drawn_lstm(std::size_t inputs, std::size_t units, std::uint64_t seed,
                          const kernels::kernel_set<T>& kernel = kernels::native<T>()) {
  basic_lstm<T> made = *basic_lstm<T>::make(inputs, units, kernel);
  const auto values = draws_of<T>(made.parameters().size(), seed);
  std::copy(values.begin(), values.end(), made.parameters().begin());
  return made;
}

// By the book, in double.
template <class T>
std::vector<double> expected_states(const basic_lstm<T>& net, const std::vector<T>& sequence,
                                    lstm_direction direction = lstm_direction::forwards) {
  const std::size_t in = net.inputs(), n = net.units(), steps = sequence.size() / in;
  const auto p = net.parameters();
  std::vector<double> h(n), c(n), all(steps * n), sum(4 * n);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t at = direction == lstm_direction::forwards ? step : steps - 1 - step;
    for (std::size_t g = 0; g < 4 * n; ++g) {
      sum[g] = static_cast<double>(p[(in + n) * 4 * n + g]);
      for (std::size_t i = 0; i < in; ++i)
        sum[g] += static_cast<double>(sequence[at * in + i]) * static_cast<double>(p[i * 4 * n + g]);
      for (std::size_t u = 0; u < n; ++u) sum[g] += h[u] * static_cast<double>(p[(in + u) * 4 * n + g]);
    }
    for (std::size_t u = 0; u < n; ++u) {
      c[u] = sigmoid(sum[n + u]) * c[u] + sigmoid(sum[u]) * std::tanh(sum[2 * n + u]);
      h[u] = sigmoid(sum[3 * n + u]) * std::tanh(c[u]);
      all[at * n + u] = h[u];
    }
  }
  return all;
}

TEST(Lstm, MatchesALoopInDouble) {
  random_sequence random{1};
  for (const auto* kernel : kernels::available<float>())
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const std::size_t inputs = 1 + random.below(40), units = 1 + random.below(60), steps = random.below(12);
      const lstm net = drawn_lstm<float>(inputs, units, seed, *kernel);
      const auto sequence = draws_of<float>(steps * inputs, seed + 100);
      lstm::workspace work{net, 12};
      const auto got = net.forward(sequence, work);
      const auto expected = expected_states(net, sequence);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(static_cast<double>(got[i]), expected[i], 2e-5)
            << kernel->name << ' ' << inputs << " x " << units << ", " << steps << " steps";
    }
}

TEST(Lstm, ReadsBackwards) {
  const auto net = drawn_lstm<double>(3, 5, 1);
  const auto sequence = draws_of<double>(4 * 3, 2);
  lstm_workspace<double> work{net, 4};
  const auto got = net.forward(sequence, work, lstm_direction::backwards);
  const auto expected = expected_states(net, sequence, lstm_direction::backwards);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
  EXPECT_NE(expected, expected_states(net, sequence));
}

TEST(Lstm, GradientMatchesFiniteDifferences) {
  constexpr std::size_t inputs = 3, units = 6, steps = 5;
  for (const auto direction : {lstm_direction::forwards, lstm_direction::backwards})
    for (const auto* kernel : kernels::available<double>()) {
      auto net = drawn_lstm<double>(inputs, units, 7, *kernel);
      auto sequence = draws_of<double>(steps * inputs, 8);
      const auto weight = draws_of<double>(steps * units, 9);  // the loss is the weighted sum of all states
      lstm_workspace<double> work{net, steps};
      const auto loss = [&] {
        const auto states = net.forward(sequence, work, direction);
        double sum = 0;
        for (std::size_t i = 0; i < states.size(); ++i) sum += weight[i] * states[i];
        return sum;
      };
      static_cast<void>(loss());
      std::vector<double> gradients(net.parameters().size()), by_input(sequence.size());
      net.backward(weight, work, gradients, by_input);
      const auto check = [&](std::span<double> variables, std::span<const double> slopes) {
        for (std::size_t i = 0; i < variables.size(); ++i) {
          const double here = variables[i], step = 1e-5;
          variables[i] = here + step;
          const double above = loss();
          variables[i] = here - step;
          const double below = loss();
          variables[i] = here;
          ASSERT_NEAR(slopes[i], (above - below) / (2 * step), 1e-8) << kernel->name << " number " << i;
        }
      };
      check(net.parameters(), gradients);
      check(sequence, by_input);
    }
}

// In float a gradient is that in double but for rounding, in every set.
TEST(Lstm, FloatGradientsAreThoseOfDouble) {
  for (const auto* kernel : kernels::available<float>())
    for (const auto& [inputs, units] : {std::pair<std::size_t, std::size_t>{16, 50}, {100, 16}, {1, 1}, {7, 9}}) {
      const lstm net = drawn_lstm<float>(inputs, units, 3, *kernel);
      auto exact = *basic_lstm<double>::make(inputs, units);
      std::copy(net.parameters().begin(), net.parameters().end(), exact.parameters().begin());
      const auto sequence = draws_of<float>(6 * inputs, 4), slopes = draws_of<float>(6 * units, 5);
      const std::vector<double> sequence_in_double(sequence.begin(), sequence.end());
      const std::vector<double> slopes_in_double(slopes.begin(), slopes.end());
      lstm::workspace work{net, 6};
      lstm_workspace<double> work_in_double{exact, 6};
      static_cast<void>(net.forward(sequence, work));
      static_cast<void>(exact.forward(sequence_in_double, work_in_double));
      std::vector<float> got(net.parameters().size()), by_input(sequence.size());
      std::vector<double> expected(got.size()), by_input_in_double(sequence.size());
      net.backward(slopes, work, got, by_input);
      exact.backward(slopes_in_double, work_in_double, expected, by_input_in_double);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(static_cast<double>(got[i]), expected[i], 1e-4);
      for (std::size_t i = 0; i < by_input.size(); ++i)
        ASSERT_NEAR(static_cast<double>(by_input[i]), by_input_in_double[i], 1e-4);
    }
}

TEST(Lstm, GradientsAccumulate) {
  const auto net = drawn_lstm<double>(2, 3, 1);
  const auto sequence = draws_of<double>(4, 2), slopes = draws_of<double>(6, 3);
  lstm_workspace<double> work{net, 2};
  static_cast<void>(net.forward(sequence, work));
  std::vector<double> once(net.parameters().size()), twice(once.size());
  net.backward(slopes, work, once);
  net.backward(slopes, work, twice);
  net.backward(slopes, work, twice);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-12);
}

TEST(Lstm, EqualSetsGiveTheSameBits) {
  const auto trained = [](const kernels::kernel_set<float>& kernel, std::size_t inputs, std::size_t units) {
    lstm net = drawn_lstm<float>(inputs, units, 5, kernel);
    lstm::workspace work{net, 7};
    std::vector<float> gradients(net.parameters().size()), by_input(7 * inputs), all;
    for (std::uint64_t round = 0; round < 5; ++round) {
      const auto states = net.forward(draws_of<float>(7 * inputs, round), work);
      all.assign(states.begin(), states.end());
      std::fill(gradients.begin(), gradients.end(), 0.0F);
      net.backward(all, work, gradients, by_input);
      training_for(kernel).sgd(gradients.size(), 0.1F, gradients.data(), net.parameters().data());
    }
    all.insert(all.end(), by_input.begin(), by_input.end());
    all.insert(all.end(), net.parameters().begin(), net.parameters().end());
    return all;
  };
  const auto sets = kernels::available<float>();
  for (const auto& [one, other] : {std::pair{0, 1}, {2, 3}})
    if (sets.size() > static_cast<std::size_t>(other))
      for (const auto& [inputs, units] : {std::pair<std::size_t, std::size_t>{16, 50}, {100, 16}, {3, 13}}) {
        const auto a = trained(*sets[static_cast<std::size_t>(one)], inputs, units);
        const auto b = trained(*sets[static_cast<std::size_t>(other)], inputs, units);
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << other;
      }
}

// Between neighbouring floats around the true value lies one unit in its last place.
double units_off(float got, double expected) {
  const auto near = static_cast<float>(expected);
  const double unit = static_cast<double>(std::nextafter(std::abs(near), 2 * std::abs(near) + 1)) -
                      static_cast<double>(std::abs(near));
  return std::abs(static_cast<double>(got) - expected) / unit;
}

TEST(Lstm, FunctionsAreWithinThreeUnits) {
  constexpr std::size_t units = 1000;
  for (const auto* kernel : kernels::available<float>()) {
    double sigmoid_off = 0, tanh_off = 0;
    for (std::uint64_t round = 0; round < 300; ++round) {
      const double size = std::exp2(static_cast<double>(round % 30) - 23);  // up to 2^6
      std::vector<float> gate = draws_of<float>(4 * units, round, size), sums = gate, before(units), to(3 * units);
      training_for(*kernel).lstm_step(units, gate.data(), before.data(), to.data(), to.data() + units,
                                      to.data() + 2 * units);
      for (std::size_t i = 0; i < 4 * units; ++i) {
        const auto x = static_cast<double>(sums[i]);
        if (i / units == 2)
          tanh_off = std::max(tanh_off, units_off(gate[i], std::tanh(x)));
        else
          sigmoid_off = std::max(sigmoid_off, units_off(gate[i], 1 / (1 + std::exp(-x))));
      }
    }
    EXPECT_LT(sigmoid_off, 3) << kernel->name;
    EXPECT_LT(tanh_off, 3) << kernel->name;
    RecordProperty(std::string{"sigmoid_"} + kernel->name, std::to_string(sigmoid_off));
    RecordProperty(std::string{"tanh_"} + kernel->name, std::to_string(tanh_off));

    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> edges{inf, -inf, 1e30F, -1e30F, 0.0F, -0.0F, nan};
    for (const float x : edges) {
      std::vector<float> gate(4, x), before(1), to(3);
      training_for(*kernel).lstm_step(1, gate.data(), before.data(), to.data(), to.data() + 1, to.data() + 2);
      if (std::isnan(x)) {
        for (const float y : gate) EXPECT_TRUE(std::isnan(y)) << kernel->name;
        EXPECT_TRUE(std::isnan(to[2]));
      } else {
        EXPECT_NEAR(static_cast<double>(gate[0]), 1 / (1 + std::exp(-static_cast<double>(x))), 1e-37) << kernel->name;
        EXPECT_EQ(gate[2], std::tanh(x)) << kernel->name;
      }
    }
  }
}

TEST(Lstm, ShorterSequencesFit) {
  const auto net = drawn_lstm<double>(2, 3, 1);
  lstm_workspace<double> work{net, 9};
  static_cast<void>(net.forward(draws_of<double>(18, 1), work));
  const auto sequence = draws_of<double>(6, 2);
  const auto got = net.forward(sequence, work);
  EXPECT_EQ(work.steps(), 3U);
  const auto expected = expected_states(net, sequence);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
  EXPECT_EQ(net.forward({}, work).size(), 0U);
}

TEST(Lstm, ImpossibleShapesAreRefused) {
  using widths = std::pair<std::size_t, std::size_t>;
  for (const auto& [inputs, units] :
       {widths{0, 1}, {1, 0}, {max_parameters, 1}, {1, std::size_t{1} << 13}, {~0ULL, ~0ULL}}) {
    const auto made = lstm::make(inputs, units);
    ASSERT_FALSE(made.has_value()) << inputs << ' ' << units;
    EXPECT_EQ(made.error().code, errc::invalid_option);
    EXPECT_NE(made.error().message.find("expected"), std::string::npos);
  }
  EXPECT_TRUE(lstm::make(1, 1).has_value());
}

TEST(Lstm, StateRoundTrip) {
  lstm net = drawn_lstm<float>(4, 5, 1), other = drawn_lstm<float>(4, 5, 2), another = drawn_lstm<float>(5, 4, 2);
  archive saved;
  net.state(saved);
  archive read{saved.bytes()};
  other.state(read);
  EXPECT_TRUE(read.ok());
  EXPECT_TRUE(std::equal(net.parameters().begin(), net.parameters().end(), other.parameters().begin()));
  archive refused{saved.bytes()};
  another.state(refused);
  EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace rubato::nn
