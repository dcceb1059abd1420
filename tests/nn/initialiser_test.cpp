#include <rubato/nn/initialiser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <rubato/nn/dynamic_mlp.hpp>
#include <rubato/nn/mlp.hpp>
#include <vector>

namespace rubato::nn {
namespace {

std::vector<double> drawn(initialiser how, std::size_t in, std::size_t out) {
  std::vector<double> values(in * out, 7.0);
  random_sequence random{11};
  initialise(matrix_view<double>{values, in, out}, how, random);
  return values;
}

struct moments {
  double mean = 0, variance = 0, largest = 0;
};
moments moments_of(const std::vector<double>& values) {
  moments m;
  for (const double x : values) m.mean += x / static_cast<double>(values.size());
  for (const double x : values) m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  for (const double x : values) m.largest = (std::max)(m.largest, std::fabs(x));
  return m;
}

TEST(Initialiser, UniformMoments) {
  constexpr std::size_t in = 300, out = 200;
  for (const double gain : {1.0, 3.0})
    for (const auto kind : {initialiser_kind::xavier_uniform, initialiser_kind::he_uniform}) {
      const double bound = gain * std::sqrt(6.0 / (kind == initialiser_kind::he_uniform ? in : in + out));
      const moments m = moments_of(drawn({kind, gain}, in, out));
      const double deviation = bound / std::sqrt(3.0);
      EXPECT_NEAR(m.mean, 0, 4 * deviation / std::sqrt(in * out));
      EXPECT_NEAR(m.variance, deviation * deviation, 4 * bound * bound * std::sqrt(4.0 / 45 / (in * out)));
      EXPECT_LE(m.largest, bound);
      EXPECT_GT(m.largest, 0.999 * bound);
    }
}

TEST(Initialiser, NormalMoments) {
  constexpr std::size_t in = 300, out = 200;
  for (const auto kind : {initialiser_kind::xavier_normal, initialiser_kind::he_normal}) {
    const double variance = 4.0 * 2.0 / (kind == initialiser_kind::he_normal ? in : in + out);
    const moments m = moments_of(drawn({kind, 2.0}, in, out));
    EXPECT_NEAR(m.mean, 0, 4 * std::sqrt(variance / (in * out)));
    EXPECT_NEAR(m.variance, variance, 4 * variance * std::sqrt(2.0 / (in * out)));
    EXPECT_GT(m.largest, 3 * std::sqrt(variance)) << "normal, not uniform";
  }
}

template <class T>
void expect_orthogonal(std::size_t in, std::size_t out, double gain, double tolerance) {
  std::vector<T> values(in * out);
  random_sequence random{3};
  initialise(matrix_view<T>{values, in, out}, {initialiser_kind::orthogonal, gain}, random);
  const bool rows = in < out;
  const std::size_t count = rows ? in : out, size = rows ? out : in;
  const auto at = [&](std::size_t v, std::size_t j) {
    return static_cast<double>(rows ? values[v * out + j] : values[j * out + v]);
  };
  for (std::size_t u = 0; u < count; ++u)
    for (std::size_t v = 0; v <= u; ++v) {
      double dot = 0;
      for (std::size_t j = 0; j < size; ++j) dot += at(u, j) * at(v, j);
      ASSERT_NEAR(dot, u == v ? gain * gain : 0, tolerance) << in << " x " << out << ": " << u << ", " << v;
    }
}

TEST(Initialiser, OrthogonalInBothShapes) {
  for (const auto& [in, out] : {std::pair{40u, 64u}, {64u, 32u}, {50u, 50u}, {1u, 5u}, {5u, 1u}}) {
    expect_orthogonal<double>(in, out, 1.5, 1e-13);
    expect_orthogonal<float>(in, out, 1.0, 1e-6);
  }
}

TEST(Initialiser, SameSeedSameBits) {
  for (const auto kind : {initialiser_kind::xavier_uniform, initialiser_kind::xavier_normal,
                          initialiser_kind::he_uniform, initialiser_kind::he_normal, initialiser_kind::orthogonal}) {
    mlp<40, 64, 3> fixed;
    auto free = dynamic_mlp::make({40, 64, 3});
    random_sequence first{5, 2}, second{5, 2}, other{6, 2};
    initialise(fixed, {kind}, first);
    initialise(*free, {kind}, second);
    EXPECT_TRUE(std::ranges::equal(fixed.parameters(), free->parameters())) << name(kind);
    EXPECT_EQ(first(), second()) << "both sequences stand at the same place";
    initialise(*free, {kind}, other);
    EXPECT_FALSE(std::ranges::equal(fixed.parameters(), free->parameters())) << name(kind);
  }
}

// Bits that a policy's card can name: seed 1, stream 0, 2 x 2 weights in +-sqrt(6 / 4).
TEST(Initialiser, KnownBits) {
  mlp<2, 2> net;
  random_sequence random{1}, expected{1};
  initialise(net, {initialiser_kind::xavier_uniform}, random);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(net.parameters()[i], static_cast<float>(std::sqrt(1.5) * (2 * expected.uniform() - 1)));
}

TEST(Initialiser, BiasesAreZero) {
  mlp<3, 4, 2> net;
  std::ranges::fill(net.parameters(), 9.0F);
  random_sequence random{1};
  initialise(net, {initialiser_kind::he_normal}, random);
  for (std::size_t l = 0; l < 2; ++l)
    for (const float bias : net.bias(l)) EXPECT_EQ(bias, 0);
  initialise(net, {initialiser_kind::zeros}, random);
  for (const float parameter : net.parameters()) EXPECT_EQ(parameter, 0);
}

}  // namespace
}  // namespace rubato::nn
