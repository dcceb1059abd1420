#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rubato/nn/activation_text.hpp>

namespace rubato::nn {
namespace {

constexpr activation_kind all_kinds[] = {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu,
                                         activation_kind::tanh};

TEST(Activation, ValuesByHand) {
  EXPECT_EQ(activate(activation{activation_kind::identity}, -3.5), -3.5);
  EXPECT_EQ(activate(activation{activation_kind::relu}, -3.5), 0.0);
  EXPECT_EQ(activate(activation{activation_kind::relu}, 3.5), 3.5);
  EXPECT_EQ(activate(activation{activation_kind::leaky_relu, 0.25}, -3.0), -0.75);
  EXPECT_EQ(activate(activation{activation_kind::leaky_relu, 0.25}, 3.0), 3.0);
  EXPECT_EQ(activate(activation{activation_kind::leaky_relu}, -1.0F), -0.01F) << "the default slope";
  EXPECT_DOUBLE_EQ(activate(activation{activation_kind::tanh}, 0.5), 0.46211715726000975);
}

// A network that has diverged must show it.
TEST(Activation, KeepsNaN) {
  for (const activation_kind kind : all_kinds)
    EXPECT_TRUE(std::isnan(activate(activation{kind}, std::numeric_limits<float>::quiet_NaN()))) << name(kind);
}

TEST(Activation, NamesAndProblems) {
  EXPECT_EQ(name(activation_kind::leaky_relu), "leaky_relu");
  EXPECT_EQ(name(static_cast<activation_kind>(9)), "invalid");
  EXPECT_EQ(problem(activation{}), nullptr);
  for (const double slope : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_STREQ(problem(activation{activation_kind::leaky_relu, slope}), "slope: expected a finite number >= 0");
  EXPECT_NE(problem(activation{static_cast<activation_kind>(4)}), nullptr);
}

TEST(Activation, AsText) {
  for (const activation f : {activation{activation_kind::identity}, activation{activation_kind::relu},
                             activation{activation_kind::tanh}, activation{activation_kind::leaky_relu, 0.1},
                             activation{activation_kind::leaky_relu, 1e-7}}) {
    const auto back = activation_named(to_text(f));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, (f.kind == activation_kind::leaky_relu ? f : activation{f.kind}));
  }
  EXPECT_EQ(to_text({activation_kind::leaky_relu, 0.01}), "leaky_relu(0.01)");
  for (const char* bad : {"", "swish", "leaky_relu", "leaky_relu()", "leaky_relu(0.1", "leaky_relu(x)",
                          "leaky_relu(0.1 )", "leaky_relu(-1)", "leaky_relu(nan)", "leaky_relu(1e400)"})
    EXPECT_FALSE(activation_named(bad).has_value()) << bad;
}

TEST(Activation, DerivativeMatchesFiniteDifferences) {
  constexpr double h = 1e-6;
  for (const activation_kind kind : all_kinds)
    for (const double slope : {0.0, 0.01, 0.5, 1.5})
      for (const double x : {-3.0, -0.7, -0.01, 0.01, 0.3, 2.0}) {
        const activation f{kind, slope};
        const double expected = (activate(f, x + h) - activate(f, x - h)) / (2 * h);
        EXPECT_NEAR(chain(f, activate(f, x), 1.0), expected, 1e-8) << name(kind) << slope << " at " << x;
        EXPECT_NEAR(chain(f, activate(f, x), -2.5), -2.5 * expected, 1e-8);
      }
}

TEST(Activation, CompileTimeAndRunTimeAgree) {
  for (const float x : {-2.0F, -0.1F, 0.0F, 0.1F, 2.0F}) {
    EXPECT_EQ(activate<activation_kind::leaky_relu>(x, 0.2F),
              activate(activation{activation_kind::leaky_relu, 0.2}, x));
    EXPECT_EQ(activate<activation_kind::tanh>(x, 0.2F), activate(activation{activation_kind::tanh}, x));
    EXPECT_EQ((chain<activation_kind::relu>(x, 3.0F, 0.2F)), chain(activation{activation_kind::relu}, x, 3.0F));
  }
}

}  // namespace
}  // namespace rubato::nn
