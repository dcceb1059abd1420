#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <cstddef>
#include <memory>
#include <rubato/libtorch/growth/carried_optimizer.hpp>
#include <rubato/libtorch/growth/net2net.hpp>
#include <string>
#include <utility>

namespace libtorch_carried_optimizer_test {
namespace {

namespace lt = rubato::libtorch;
namespace optim = torch::optim;
using namespace torch::nn;

lt::growable_sequential small_net() {
  torch::manual_seed(1);
  return *lt::growable_sequential::make(lt::growable_parts{}.block("a", Linear(3, 4)).block("b", Linear(4, 2)));
}
void train(lt::growable_sequential net, optim::Optimizer& with, int steps) {
  torch::manual_seed(2);
  for (int n = 0; n < steps; ++n) {
    with.zero_grad();
    (net->forward(torch::randn({8, 3})) - 1).pow(2).mean().backward();
    with.step();
  }
}
bool same_values(const lt::growable_sequential& a, const lt::growable_sequential& b) {
  const auto theirs = b->named_parameters();
  for (const auto& each : a->named_parameters())
    if (!torch::equal(*each, theirs[each.key()])) return false;
  return true;
}
template <class Optimizer, class Options>
lt::grown_optimizer<Optimizer> carried(const Optimizer& before, const lt::growable_sequential& net,
                                       const Options& options,
                                       lt::optimizer_state what = lt::optimizer_state::carried) {
  auto made = lt::carried_optimizer(before, net->parameters(), options, what);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(CarriedOptimizer, CarriedAdamGoesOnAsIfNothingHadHappened) {
  lt::growable_sequential net = small_net(), same = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}}, other{same->parameters(), optim::AdamOptions{1e-2}};
  train(net, adam, 5), train(same, other, 5);
  const auto next = carried(adam, net, optim::AdamOptions{1e-2});
  EXPECT_EQ(next.carried, 4U);
  train(net, *next.optimizer, 5), train(same, other, 5);
  EXPECT_TRUE(same_values(net, same));

  ASSERT_TRUE(lt::deepen(net, 0));
  const auto grown = carried(*next.optimizer, net, optim::AdamOptions{1e-2});
  EXPECT_EQ(grown.carried, 4U);
  EXPECT_EQ(grown.optimizer->param_groups()[0].params().size(), 6U);
  train(net, *grown.optimizer, 1);
}

TEST(CarriedOptimizer, ResetAdamIsAFreshOne) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  train(net, adam, 5);
  lt::growable_sequential same = net.copy();
  const auto next = carried(adam, net, optim::AdamOptions{1e-2}, lt::optimizer_state::reset);
  EXPECT_EQ(next.carried, 0U);
  optim::Adam fresh{same->parameters(), optim::AdamOptions{1e-2}};
  train(net, *next.optimizer, 5), train(same, fresh, 5);
  EXPECT_TRUE(same_values(net, same));
}

TEST(CarriedOptimizer, SgdsMomentumIsCarried) {
  const optim::SGDOptions options = optim::SGDOptions{0.1}.momentum(0.9);
  lt::growable_sequential net = small_net(), same = small_net();
  optim::SGD sgd{net->parameters(), options}, other{same->parameters(), options};
  train(net, sgd, 5), train(same, other, 5);
  const auto next = carried(sgd, net, options);
  EXPECT_EQ(next.carried, 4U);
  train(net, *next.optimizer, 5), train(same, other, 5);
  EXPECT_TRUE(same_values(net, same));
}

TEST(CarriedOptimizer, WidenedParametersBeginAnew) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  train(net, adam, 5);
  rubato::random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 6, random));
  const auto next = carried(adam, net, optim::AdamOptions{1e-2});
  EXPECT_EQ(next.carried, 1U) << "b's bias";
  train(net, *next.optimizer, 5);
}

template <class Optimizer, class Options>
void expect_carried(const Options& options) {
  lt::growable_sequential net = small_net(), same = small_net();
  Optimizer one{net->parameters(), options}, other{same->parameters(), options};
  train(net, one, 5), train(same, other, 5);
  const auto next = carried(one, net, options);
  EXPECT_EQ(next.carried, 4U);
  train(net, *next.optimizer, 5), train(same, other, 5);
  EXPECT_TRUE(same_values(net, same));
}

TEST(CarriedOptimizer, OtherOptimizersOfTorch) {
  expect_carried<optim::AdamW>(optim::AdamWOptions{1e-2}.amsgrad(true));
  expect_carried<optim::RMSprop>(optim::RMSpropOptions{1e-2}.momentum(0.5).centered(true));
  expect_carried<optim::Adagrad>(optim::AdagradOptions{1e-2});
}

TEST(CarriedOptimizer, OptionsAreThoseThatAreGiven) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  const auto next = carried(adam, net, optim::AdamOptions{3e-4});
  EXPECT_EQ(next.optimizer->param_groups()[0].options().get_lr(), 3e-4);
}

TEST(CarriedOptimizer, StateIsCopied) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  train(net, adam, 2);
  const auto moment = [&](optim::Adam& of) {
    const auto key = lt::detail::state_key(net->parameters()[0]);
    return static_cast<optim::AdamParamState&>(*of.state().at(key)).exp_avg();
  };
  const auto next = carried(adam, net, optim::AdamOptions{1e-2});
  const torch::Tensor before = moment(adam).clone();
  EXPECT_TRUE(torch::equal(moment(*next.optimizer), before));
  train(net, *next.optimizer, 3);
  EXPECT_TRUE(torch::equal(moment(adam), before));
}

TEST(CarriedOptimizer, ACopysParametersAreOthers) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  train(net, adam, 2);
  EXPECT_EQ(carried(adam, net.copy(), optim::AdamOptions{1e-2}).carried, 0U);
}

TEST(CarriedOptimizer, RefusesImpossibleOptions) {
  lt::growable_sequential net = small_net();
  optim::Adam adam{net->parameters(), optim::AdamOptions{1e-2}};
  const auto made =
      lt::carried_optimizer(adam, net->parameters(), optim::AdamOptions{-1}, lt::optimizer_state::carried);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, rubato::errc::invalid_option);
  EXPECT_EQ(made.error().message, "carried_optimizer: Invalid learning rate: -1");
}

}  // namespace
}  // namespace libtorch_carried_optimizer_test
