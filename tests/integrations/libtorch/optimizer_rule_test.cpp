#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <cmath>
#include <memory>
#include <rubato/libtorch/optimizer_rule.hpp>
#include <rubato/threads_ps/slice.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace libtorch_optimizer_rule_test {
namespace {

namespace lt = rubato::libtorch;
using rubato::threads_ps::slice;
using numbers = std::vector<float>;

const numbers start{1, -2, 3, -4, 5, -6, 7}, gradient{0.5F, 1, -1.5F, 2, 0.25F, -0.125F, 3};

template <class Optimizer, class Options>
lt::optimizer_rule rule_of(Options options, lt::optimizer_rule::schedule factor = {}) {
  auto made = lt::optimizer_rule::of<Optimizer>(options, std::move(factor));
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}
lt::optimizer_rule adam(double rate = 0.1, lt::optimizer_rule::schedule factor = {}) {
  return rule_of<torch::optim::Adam>(torch::optim::AdamOptions(rate), std::move(factor));
}
numbers values_of(const slice<lt::optimizer_rule>& s) { return {s.parameters().begin(), s.parameters().end()}; }

// What the optimizer does by itself.
template <class Optimizer, class Options>
numbers by_torch(Options options, int steps) {
  torch::Tensor p = torch::tensor(start);
  Optimizer optimizer{std::vector<torch::Tensor>{p}, options};
  for (int i = 0; i < steps; ++i) {
    p.mutable_grad() = torch::tensor(gradient) * (i + 1);
    optimizer.step();
  }
  return {p.data_ptr<float>(), p.data_ptr<float>() + p.numel()};
}
numbers times(float factor) {
  numbers all = gradient;
  for (float& each : all) each *= factor;
  return all;
}

template <class Optimizer, class Options>
void is_what_torch_does(Options options) {
  slice<lt::optimizer_rule> s{start, rule_of<Optimizer>(options)};
  for (int i = 0; i < 5; ++i) s.apply(times(static_cast<float>(i + 1)), 1);
  EXPECT_EQ(values_of(s), (by_torch<Optimizer>(options, 5)));
}

TEST(OptimizerRule, IsWhatTorchDoes) {
  is_what_torch_does<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
  is_what_torch_does<torch::optim::Adam>(torch::optim::AdamOptions(0.1).amsgrad(true));
  is_what_torch_does<torch::optim::AdamW>(torch::optim::AdamWOptions(0.1));
  is_what_torch_does<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.1).momentum(0.5).centered(true));
  is_what_torch_does<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1));
}

TEST(OptimizerRule, HowSlicesAreCutMakesNoDifference) {
  const std::span<const float> all{start};
  slice<lt::optimizer_rule> whole{all, adam()}, left{all.first(3), adam()}, right{all.subspan(3), adam()};
  for (int i = 1; i < 6; ++i) {
    const numbers g = times(static_cast<float>(i));
    whole.apply(g, 0.5F);
    left.apply(std::span{g}.first(3), 0.5F), right.apply(std::span{g}.subspan(3), 0.5F);
  }
  numbers both = values_of(left);
  both.insert(both.end(), right.parameters().begin(), right.parameters().end());
  EXPECT_EQ(both, values_of(whole));
}

// Adam takes the size of a gradient out: only its rate can make a step shorter.
TEST(OptimizerRule, AWeightIsAFactorOnTheRate) {
  slice<lt::optimizer_rule> whole{start, adam(0.1)}, half{start, adam(0.1)}, slow{start, adam(0.05)};
  whole.apply(gradient, 1), half.apply(gradient, 0.5F), slow.apply(gradient, 1);
  EXPECT_EQ(values_of(half), values_of(slow));
  EXPECT_NE(values_of(half), values_of(whole));
}

TEST(OptimizerRule, ARoundIsOneStepOfItsMean) {
  slice<lt::optimizer_rule> alone{start, adam()}, mean{start, adam()}, sum{start, adam()}, doubled{start, adam(0.2)};
  alone.apply(gradient, 1), doubled.apply(gradient, 1);
  for (slice<lt::optimizer_rule>* each : {&mean, &sum}) each->add(0, times(0.5F), 1), each->add(0, times(1.5F), 1);
  mean.flush(0, 0.5F), sum.flush(0, 1);
  EXPECT_EQ(values_of(mean), values_of(alone));
  EXPECT_EQ(values_of(sum), values_of(doubled)) << "the sum of two gradients: twice the rate";
}

TEST(OptimizerRule, ARoundWithoutGradientsIsAStepByZeros) {
  const auto momentum = torch::optim::SGDOptions(0.1).momentum(0.5);
  slice<lt::optimizer_rule> s{start, rule_of<torch::optim::SGD>(momentum)};
  s.apply(gradient, 1), s.flush(4, 1);
  slice<lt::optimizer_rule> zeros{start, rule_of<torch::optim::SGD>(momentum)};
  zeros.apply(gradient, 1), zeros.apply(times(0), 1);
  EXPECT_EQ(values_of(s), values_of(zeros));
}

TEST(OptimizerRule, AScheduleCountsUpdates) {
  std::vector<std::uint64_t> asked;
  slice<lt::optimizer_rule> s{numbers{0}, rule_of<torch::optim::SGD>(torch::optim::SGDOptions(1), [&](std::uint64_t n) {
                                asked.push_back(n);
                                return n < 2 ? 1.0 : 0.125;
                              })};
  asked.clear();  // make() has tried one
  for (int i = 0; i < 3; ++i) s.apply(numbers{1}, 1);
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(values_of(s), (numbers{-2.125F}));
}

TEST(OptimizerRule, CopiesBeginAnew) {
  lt::optimizer_rule used = adam();
  numbers a = start, b = start;
  used.update(a, {.direction = gradient});
  lt::optimizer_rule copy = used;
  copy.update(b, {.direction = gradient});
  EXPECT_EQ(a, b);
  copy = adam(0.5);
  copy.update(b, {.direction = gradient});
  EXPECT_NE(a, b);
}

TEST(OptimizerRule, TheSliceMayMove) {
  slice<lt::optimizer_rule> stays{start, adam()}, moves{start, adam()};
  stays.apply(gradient, 1), moves.apply(gradient, 1);
  moves.restore(moves.version(), values_of(moves), {});
  stays.apply(times(-2), 1), moves.apply(times(-2), 1);
  EXPECT_EQ(values_of(stays), values_of(moves));
}

template <class Optimizer, class Options>
void goes_on(Options options) {
  std::vector<std::uint64_t> asked;
  const auto schedule = [&](std::uint64_t n) {
    asked.push_back(n);
    return 1.0 / static_cast<double>(1 + n);
  };
  slice<lt::optimizer_rule> here{start, rule_of<Optimizer>(options, schedule)}, there = here;
  for (int i = 0; i < 3; ++i) here.apply(times(static_cast<float>(i)), 1);
  ASSERT_TRUE(there.rule().restore(here.rule().state()));
  there.restore(here.version(), values_of(here), here.rounds());
  EXPECT_EQ(there.rule().state(), here.rule().state()) << "also before it is used";
  asked.clear();
  here.apply(gradient, 1), there.apply(gradient, 1);
  EXPECT_EQ(values_of(here), values_of(there));
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{3, 3}));
}

TEST(OptimizerRule, StateRoundTrip) {
  goes_on<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9));
  goes_on<torch::optim::SGD>(torch::optim::SGDOptions(0.1));
  goes_on<torch::optim::Adam>(torch::optim::AdamOptions(0.1).amsgrad(true));
  goes_on<torch::optim::AdamW>(torch::optim::AdamWOptions(0.1));
  goes_on<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.1));
  goes_on<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1));
}

TEST(OptimizerRule, RefusesTheStateOfAnother) {
  slice<lt::optimizer_rule> long_one{start, adam()}, short_one{numbers{1, 2}, adam()};
  slice<lt::optimizer_rule> momentum{start, rule_of<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9))};
  long_one.apply(gradient, 1), short_one.apply(numbers{1, 2}, 1), momentum.apply(gradient, 1);
  const std::string state = long_one.rule().state();
  EXPECT_FALSE(short_one.rule().restore(state)) << "as many parameters";
  EXPECT_FALSE(momentum.rule().restore(state)) << "the same optimizer";
  for (const std::string& damaged : {std::string{"a text"}, state.substr(0, state.size() / 2)})
    EXPECT_FALSE(long_one.rule().restore(damaged));
  EXPECT_EQ(long_one.rule().state(), state) << "nothing has changed";
}

TEST(OptimizerRule, RefusesWhatCannotBeARule) {
  const auto lbfgs = lt::optimizer_rule::of<torch::optim::LBFGS>(torch::optim::LBFGSOptions(1));
  ASSERT_FALSE(lbfgs);
  EXPECT_EQ(lbfgs.error().message, "optimizer: LBFGS does not treat each parameter by itself, expected one that does");
  const auto negative = lt::optimizer_rule::of<torch::optim::Adam>(torch::optim::AdamOptions(-1));
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code, rubato::errc::invalid_option);
  EXPECT_EQ(negative.error().message, "optimizer: Invalid learning rate: -1");
  const auto none = lt::optimizer_rule::make([](std::vector<torch::Tensor>) { return nullptr; });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "optimizer: the factory made none");
}

}  // namespace
}  // namespace libtorch_optimizer_rule_test
