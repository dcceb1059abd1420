#include <gtest/gtest.h>
#include <torch/nn.h>

#include <algorithm>
#include <memory>
#include <rubato/libtorch/replica.hpp>
#include <string>
#include <utility>
#include <vector>

#include "some_nets.hpp"

namespace libtorch_replica_test {
namespace {

namespace lt = rubato::libtorch;
using lt::test::Net;

lt::replica<Net> replica_of(Net net) {
  auto made = lt::replica<Net>::make(std::move(net));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(Replica, ParametersAreTheModules) {
  torch::manual_seed(1);
  lt::replica<Net> r = replica_of(Net{});
  Net other;
  ASSERT_EQ(r.size(), 2 * 5 + 5 + 5 + 1u);
  const torch::Tensor x = torch::rand({3, 2});
  EXPECT_FALSE(torch::equal(r->forward(x), other->forward(x)));
  std::vector<float> flat;
  for (const torch::Tensor& p : other->parameters())
    flat.insert(flat.end(), p.data_ptr<float>(), p.data_ptr<float>() + p.numel());
  std::copy(flat.begin(), flat.end(), r.parameters().begin());
  EXPECT_TRUE(torch::equal(r->forward(x), other->forward(x)));
  for (const auto& p : r->named_parameters())
    EXPECT_TRUE(p.value().data_ptr<float>() >= r.values().data() &&
                p.value().data_ptr<float>() < r.values().data() + r.size())
        << p.key();
}

TEST(Replica, MakingOneLeavesTheValues) {
  torch::manual_seed(2);
  Net net;
  const torch::Tensor x = torch::rand({3, 2}), before = net->forward(x).detach();
  EXPECT_TRUE(torch::equal(replica_of(net)->forward(x), before));
}

TEST(Replica, TheGradientIsTorchs) {
  torch::manual_seed(3);
  lt::replica<Net> r = replica_of(Net{});
  const torch::Tensor x = torch::rand({4, 2});
  const auto span = r.gradient(r->forward(x).pow(2).mean());
  const std::vector<float> gradient{span.begin(), span.end()};
  for (const torch::Tensor& p : r->parameters()) EXPECT_FALSE(p.grad().defined());
  r->forward(x).pow(2).mean().backward();
  std::vector<float> expected;
  for (const torch::Tensor& p : r->parameters()) {
    const torch::Tensor g = p.grad().contiguous();
    expected.insert(expected.end(), g.data_ptr<float>(), g.data_ptr<float>() + g.numel());
  }
  EXPECT_EQ(gradient, expected);
}

TEST(Replica, WhatTheLossDoesNotNeedHasAZeroGradient) {
  lt::replica<Net> r = replica_of(Net{});
  static_cast<void>(r.gradient(r->forward(torch::rand({4, 2})).sum()));
  const auto gradient = r.gradient(r->b->bias.sum());
  EXPECT_EQ(std::count(gradient.begin(), gradient.end(), 0.0F), static_cast<std::ptrdiff_t>(r.size() - 1));
  EXPECT_EQ(gradient.back(), 1.0F);
}

struct BagImpl : torch::nn::Module {
  torch::nn::Embedding words{
      register_module("words", torch::nn::Embedding(torch::nn::EmbeddingOptions(10, 3).sparse(true)))};
  torch::Tensor forward(const torch::Tensor& x) { return words(x); }
};

TEST(Replica, ASparseGradientIsMadeDense) {
  auto r = lt::replica<std::shared_ptr<BagImpl>>::make(std::make_shared<BagImpl>());
  ASSERT_TRUE(r) << r.error().message;
  const auto gradient = r->gradient((*r)->forward(torch::tensor({4, 4, 7}, torch::kLong)).sum());
  std::vector<float> expected(30, 0.0F);
  std::fill(expected.begin() + 12, expected.begin() + 15, 2.0F);
  std::fill(expected.begin() + 21, expected.begin() + 24, 1.0F);
  EXPECT_EQ(std::vector<float>(gradient.begin(), gradient.end()), expected);
}

TEST(Replica, ASharedPointerIsAModule) {
  auto r = lt::replica<std::shared_ptr<lt::test::NetImpl>>::make(std::make_shared<lt::test::NetImpl>());
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->size(), 21U);
  EXPECT_EQ((*r)->forward(torch::rand({3, 2})).sizes(), (std::vector<std::int64_t>{3, 1}));
}

TEST(Replica, FrozenAndSharedParameters) {
  Net net;
  net->a->weight.set_requires_grad(false);
  net->register_parameter("again", net->b->bias);
  lt::replica<Net> r = replica_of(net);
  EXPECT_EQ(r.size(), 5u + 5 + 1);
  ASSERT_EQ(lt::frozen_of(*r.module()).size(), 1u);
  EXPECT_TRUE(lt::frozen_of(*r.module())[0].is_same(net->a->weight));
}

TEST(Replica, AGraphOfOlderValuesIsRefused) {
  lt::replica<Net> r = replica_of(Net{});
  const torch::Tensor loss = r->forward(torch::rand({4, 2})).pow(2).sum();
  r.parameters()[0] += 1;
  try {
    static_cast<void>(r.gradient(loss));
    FAIL() << "the gradient would be of neither";
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string{e.what()}.find("inplace operation"), std::string::npos) << e.what();
  }
}

TEST(Replica, RefusesOtherModules) {
  Net doubles;
  doubles->to(torch::kFloat64);
  EXPECT_EQ(lt::replica<Net>::make(doubles).error().message,
            "parameter a.weight is Double, Strided, on cpu, expected Float, Strided, on cpu");
  Net frozen;
  for (torch::Tensor& p : frozen->parameters()) p.set_requires_grad(false);
  EXPECT_EQ(lt::replica<Net>::make(frozen).error().message, "the module has no parameter that needs a gradient");
}

}  // namespace
}  // namespace libtorch_replica_test
