#include <rubato/nn/dynamic_mlp.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/nn/mlp.hpp>
#include <rubato/nn/training_concepts.hpp>
#include <string>
#include <vector>

#include "plain_loops.hpp"

namespace rubato::nn {
namespace {

using test::random_values;

static_assert(ActionValueFunction<dynamic_mlp> && TrainableNetwork<dynamic_mlp>);
static_assert(TrainableNetwork<basic_dynamic_mlp<double>>);

template <class T, std::size_t... Widths>
void expect_equal_bits(const mlp_options& options, const kernels::kernel_set<T>& set) {
  SCOPED_TRACE(set.name);
  basic_mlp<T, Widths...> fixed{options, set};
  auto made = basic_dynamic_mlp<T>::make({Widths...}, options, set);
  ASSERT_TRUE(made);
  auto& free = *made;
  ASSERT_TRUE(std::ranges::equal(fixed.layers(), free.layers()));
  const auto values = random_values<T>(fixed.parameters().size(), 5);
  std::ranges::copy(values, fixed.parameters().begin());
  std::ranges::copy(values, free.parameters().begin());

  constexpr std::size_t rows = 9;
  const auto in = random_values<T>(rows * fixed.inputs(), 6), slope = random_values<T>(rows * fixed.outputs(), 7);
  std::vector<T> a(fixed.outputs()), b(fixed.outputs());
  fixed.evaluate(std::span{in}.first(fixed.inputs()), a);
  free.evaluate(std::span{in}.first(fixed.inputs()), b);
  EXPECT_EQ(a, b);

  batch_workspace<T> fixed_work{fixed, rows}, free_work{free, rows};
  EXPECT_TRUE(std::ranges::equal(fixed.forward(in, fixed_work), free.forward(in, free_work)));
  std::vector<T> fixed_gradient(values.size()), free_gradient(values.size());
  fixed.backward(slope, fixed_work, fixed_gradient);
  free.backward(slope, free_work, free_gradient);
  EXPECT_EQ(fixed_gradient, free_gradient);
}

template <class T, std::size_t... Widths>
void expect_equal_bits(const mlp_options& options) {
  for (const kernels::kernel_set<T>* set : kernels::available<T>()) expect_equal_bits<T, Widths...>(options, *set);
}

TEST(DynamicMlp, EqualsStaticBitForBit) {
  for (const auto kind :
       {activation_kind::identity, activation_kind::relu, activation_kind::leaky_relu, activation_kind::tanh}) {
    expect_equal_bits<float, 40, 64, 32, 3>({.hidden = {kind}});
    expect_equal_bits<float, 3, 17, 5>({.hidden = {kind}, .output = {kind}});
    expect_equal_bits<double, 7, 9, 33, 2, 4>({.hidden = {kind}});
    expect_equal_bits<float, 13, 200, 63, 24, 8, 4, 1>({.hidden = {kind}});
  }
  expect_equal_bits<float, 6, 2>({});
}

template <std::size_t... Widths>
void expect_same_in_two_parts() {
  for (const kernels::kernel_set<float>* set : kernels::available<float>()) {
    SCOPED_TRACE(set->name);
    basic_mlp<float, Widths...> fixed{{}, *set};
    auto made = dynamic_mlp::make({Widths...}, {}, *set);
    ASSERT_TRUE(made);
    const auto values = random_values<float>(fixed.parameters().size(), 5);
    std::ranges::copy(values, fixed.parameters().begin());
    std::ranges::copy(values, made->parameters().begin());
    const auto in = random_values<float>(fixed.inputs(), 6);
    std::vector<float> whole(fixed.outputs());
    fixed.evaluate(in, whole);

    const auto parts = [&](const auto& net, std::size_t newest) {
      constexpr float unread = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> older = in, recent = in, sums(net.history_size()), out(net.outputs());
      std::fill_n(older.begin(), newest, unread);
      std::fill(recent.begin() + static_cast<std::ptrdiff_t>(newest), recent.end(), unread);
      net.begin(newest, older, sums);
      net.finish(newest, recent, sums, out);
      return out;
    };
    for (std::size_t newest = 0; newest <= fixed.inputs(); ++newest) {
      EXPECT_EQ(parts(fixed, newest), whole) << newest;
      EXPECT_EQ(parts(*made, newest), whole) << newest;
    }
  }
}

TEST(DynamicMlp, TwoPartsAreAsGoodAsOne) {
  expect_same_in_two_parts<40, 64, 32, 3>();
  expect_same_in_two_parts<9, 2>();
  expect_same_in_two_parts<21, 127, 5>();
  expect_same_in_two_parts<3, 255, 4>();
}

TEST(DynamicMlp, StateIsThatOfTheStaticNet) {
  mlp<4, 5, 2> fixed;
  std::ranges::copy(random_values<float>(fixed.parameters().size(), 1), fixed.parameters().begin());
  archive out;
  fixed.state(out);
  auto made = dynamic_mlp::make({4, 5, 2});
  archive in{out.bytes()};
  made->state(in);
  EXPECT_TRUE(in.finished());
  EXPECT_TRUE(std::ranges::equal(made->parameters(), fixed.parameters()));
}

TEST(DynamicMlp, ImpossibleShapesAreRefused) {
  const auto message = [](std::vector<std::size_t> widths, mlp_options options = {}) -> std::string {
    const auto made = dynamic_mlp::make(widths, options);
    if (made) return "";
    EXPECT_EQ(made.error().code, errc::invalid_option);
    return made.error().message;
  };
  EXPECT_EQ(message({}), "dynamic_mlp: 0 widths, expected 2 to 17");
  EXPECT_EQ(message({4}), "dynamic_mlp: 1 widths, expected 2 to 17");
  EXPECT_EQ(message(std::vector<std::size_t>(18, 1)), "dynamic_mlp: 18 widths, expected 2 to 17");
  EXPECT_EQ(message({4, 0, 2}), "dynamic_mlp: width 1 is 0, expected 1 to 2048");
  EXPECT_EQ(message({4, 2049, 2}), "dynamic_mlp: width 1 is 2049, expected 1 to 2048");
  EXPECT_EQ(message({0, 2}), "dynamic_mlp: width 0 is 0, expected 1 to 268435456");
  EXPECT_EQ(message({4, std::numeric_limits<std::size_t>::max()}),
            "dynamic_mlp: width 1 is " + std::to_string(std::numeric_limits<std::size_t>::max()) +
                ", expected 1 to 268435456");
  EXPECT_EQ(message({std::size_t{1} << 28, std::size_t{1} << 28}), "dynamic_mlp: more than 268435456 parameters");
  EXPECT_EQ(message({1 << 16, 2048, 1 << 16}), "dynamic_mlp: more than 268435456 parameters") << "of all layers";
  EXPECT_EQ(message({4, 2}, {.hidden = {activation_kind::leaky_relu, -1}}),
            "dynamic_mlp: slope: expected a finite number >= 0");
  EXPECT_EQ(message(std::vector<std::size_t>(17, 2)), "");
  EXPECT_EQ(message({5000, 2048, 3000}), "") << "only hidden layers are narrow";
}

TEST(DynamicMlp, ParametersStartOnACacheLine) {
  const auto made = dynamic_mlp::make({3, 5, 2});
  const dynamic_mlp copy = *made;
  for (const dynamic_mlp* net : {&*made, &copy})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(net->parameters().data()) % cache_line, 0u);
}

TEST(DynamicMlp, CopiesAreIndependent) {
  auto made = dynamic_mlp::make({3, 5, 2});
  dynamic_mlp copy = *made;
  copy.parameters()[0] = 1;
  EXPECT_EQ(made->parameters()[0], 0);
  *made = copy;
  EXPECT_EQ(made->parameters()[0], 1);
}

TEST(DynamicMlp, OutputsAreNoHiddenLayer) {
  EXPECT_EQ(dynamic_mlp::make({5, 2, 3, 7})->widest_hidden(), 3u);
  EXPECT_EQ(dynamic_mlp::make({5, 7})->widest_hidden(), 0u);
}

TEST(DynamicMlp, WidestLayersFitTheScratch) {
  auto made = dynamic_mlp::make({1, max_hidden_width, max_hidden_width, 1});
  std::ranges::fill(made->parameters(), 0.0F);
  made->bias(1).back() = 3;
  made->weight(2)(max_hidden_width - 1, 0) = 2;
  const float in = 1;
  float out = 0;
  made->evaluate({&in, 1}, {&out, 1});
  EXPECT_EQ(out, 6);
}

}  // namespace
}  // namespace rubato::nn
