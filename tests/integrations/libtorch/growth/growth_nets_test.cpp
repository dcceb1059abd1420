#include "../../../../integrations/libtorch/programs/growth_nets.hpp"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstddef>
#include <cstdint>
#include <rubato/libtorch/growth/net2net.hpp>
#include <string>
#include <vector>

namespace libtorch_growth_nets_test {
namespace {

namespace lt = rubato::libtorch;

TEST(GrowthNets, ParameterCounts) {
  EXPECT_EQ(growth_nets::conv_net_2()->parameter_count(), 10'602);
  EXPECT_EQ(growth_nets::conv_net_3()->parameter_count(), 20'778);
}

TEST(GrowthNets, WhatDeepeningAdds) {
  const std::vector<std::uint64_t> of_2{9'312, 9'312, 110}, of_3{37'056, 9'312, 110};
  lt::growable_sequential two = growth_nets::conv_net_2(), three = growth_nets::conv_net_3();
  for (int again = 0; again < 2; ++again)
    for (std::size_t block = 0; block < 3; ++block) {
      EXPECT_EQ(*lt::deepen(two, block), of_2[block]);
      EXPECT_EQ(*lt::deepen(three, block), of_3[block]);
    }
}

TEST(GrowthNets, DeepeningIsTheIdentity) {
  torch::manual_seed(1);
  for (lt::growable_sequential net : {growth_nets::conv_net_2(), growth_nets::conv_net_3()}) {
    static_cast<void>(net->forward(torch::randn({16, 3, 32, 32})));  // moves the running means
    net->eval();
    const torch::NoGradGuard no_graph;
    const torch::Tensor x = torch::randn({8, 3, 32, 32}), before = net->forward(x);
    for (const std::size_t block : {1U, 1U, 0U, 2U}) {
      ASSERT_TRUE(lt::deepen(net, block));
      EXPECT_LT((net->forward(x) - before).abs().max().item<float>(), 1e-4F) << block;
    }
  }
}

// As the lab has them (examples/lab/growth_tasks.cpp) and the published vocabulary.
TEST(GrowthNets, TheirLayersAreThePublishedOnes) {
  const auto conv = [](const char* widths, bool padded = false) {
    return "Conv2d(" + std::string{widths} + ", kernel_size=(3, 3), stride=(1, 1)" +
           (padded ? ", padding=(1, 1))" : ")");
  };
  const auto norm = [](int n) {
    return "BatchNorm2d(" + std::to_string(n) + ", eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)";
  };
  const std::string relu = "ReLU()", pool = "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)",
                    flat_pool = "AdaptiveAvgPool2d(output_size=(1, 1))",
                    linear = "Linear(in_features=32, out_features=10, bias=True)";
  const auto two = growth_nets::conv_net_2()->description(), three = growth_nets::conv_net_3()->description();
  ASSERT_TRUE(two) << two.error().message;
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_EQ((std::vector<std::string>{two->layers().begin(), two->layers().end()}),
            (std::vector<std::string>{conv("3, 32"), norm(32), relu, pool, conv("32, 32"), norm(32), relu, flat_pool,
                                      linear, relu}));
  EXPECT_EQ((std::vector<std::string>{three->layers().begin(), three->layers().end()}),
            (std::vector<std::string>{conv("3, 64"), norm(64), relu, conv("64, 32"), norm(32), relu, flat_pool, linear,
                                      relu}));
  EXPECT_EQ(two->blocks()[1].insertion, (std::vector<std::string>{conv("32, 32", true), norm(32), relu}));
  EXPECT_EQ(three->blocks()[0].insertion, (std::vector<std::string>{conv("64, 64", true), norm(64), relu}));
  EXPECT_EQ(three->blocks()[2].insertion,
            (std::vector<std::string>{"Linear(in_features=10, out_features=10, bias=True)", relu}));
}

}  // namespace
}  // namespace libtorch_growth_nets_test
