#include <gtest/gtest.h>
#include <torch/nn.h>

#include <memory>
#include <rubato/libtorch/growth/rectified_unit.hpp>
#include <string>
#include <vector>

namespace libtorch_rectified_unit_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;

TEST(RectifiedUnit, ComputesWhatItsLayersDo) {
  torch::manual_seed(1);
  Linear linear(3, 4);
  Conv2d conv(Conv2dOptions(3, 4, 3));
  BatchNorm2d norm(4);
  lt::rectified_unit flat(linear), deep(conv, norm);
  flat->eval(), deep->eval();
  const torch::Tensor x = torch::randn({5, 3}), image = torch::randn({2, 3, 8, 8});
  EXPECT_TRUE(torch::equal(flat->forward(x), torch::relu(linear(x))));
  EXPECT_TRUE(torch::equal(deep->forward(image), torch::relu(norm(conv(image)))));
  EXPECT_EQ(flat->weighted().inputs(), 3);
  EXPECT_EQ(deep->weighted().outputs(), 4);
}

TEST(RectifiedUnit, AnIdentityOfTheOutputs) {
  torch::manual_seed(2);
  lt::rectified_unit flat(Linear(3, 4));
  lt::rectified_unit deep(Conv2d(Conv2dOptions(3, 4, {3, 5}).stride(2)), BatchNorm2d(BatchNorm2dOptions(4).eps(0.1)));
  for (const auto& [unit, x] : {std::pair{flat, torch::randn({5, 3})}, {deep, torch::randn({2, 3, 9, 9})}}) {
    auto inserted = unit->inserted();
    inserted->eval();
    const torch::Tensor out = unit.ptr()->forward(x);
    EXPECT_TRUE(torch::allclose(inserted->forward(out), out, 0, 1e-5));
  }
}

TEST(RectifiedUnit, LayersAsPyTorchPrintsThem) {
  lt::rectified_unit flat(Linear(3, 4));
  lt::rectified_unit deep(Conv2d(Conv2dOptions(3, 4, {3, 5}).stride(2).bias(false)), BatchNorm2d(4));
  const std::string norm = "BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)";
  EXPECT_EQ(flat->layers(), (std::vector<std::string>{"Linear(in_features=3, out_features=4, bias=True)", "ReLU()"}));
  EXPECT_EQ(flat->inserted_layers(), flat->inserted()->layers());
  EXPECT_EQ(deep->layers(),
            (std::vector<std::string>{"Conv2d(3, 4, kernel_size=(3, 5), stride=(2, 2), bias=False)", norm, "ReLU()"}));
  EXPECT_EQ(
      deep->inserted_layers(),
      (std::vector<std::string>{"Conv2d(4, 4, kernel_size=(3, 5), stride=(1, 1), padding=(1, 2))", norm, "ReLU()"}));
  EXPECT_EQ(deep->inserted_layers(), deep->inserted()->layers());
}

TEST(RectifiedUnit, ACloneSharesNothing) {
  lt::rectified_unit unit(Conv2d(Conv2dOptions(3, 4, 3)), BatchNorm2d(4));
  auto copy = std::dynamic_pointer_cast<lt::rectified_unit_impl>(unit->clone());
  EXPECT_TRUE(torch::equal(copy->conv->weight, unit->conv->weight));
  const torch::Tensor before = unit->conv->weight.detach().clone();
  const torch::NoGradGuard no_graph;
  for (torch::Tensor& each : copy->parameters()) each.fill_(7);
  EXPECT_TRUE(torch::equal(before, unit->conv->weight));
  EXPECT_TRUE(copy->conv->weight.is_same(copy->named_parameters()["conv.weight"]));
}

}  // namespace
}  // namespace libtorch_rectified_unit_test
