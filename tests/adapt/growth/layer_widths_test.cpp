#include <rubato/adapt/growth/layer_widths.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace rubato::adapt;

namespace layer_widths_test {
namespace {

TEST(LayerWidths, ReadsWhatPyTorchPrints) {
  const layer_widths linear{"Linear(in_features=784, out_features=10, bias=True)"};
  EXPECT_EQ(linear.inputs().value, 784U);
  EXPECT_EQ(linear.outputs().value, 10U);
  EXPECT_TRUE(linear.connects());
  for (const char* const layer : {"Conv1d(3, 32, kernel_size=(3,), stride=(1,))", "Conv3d(3, 32, kernel_size=1)",
                                  "Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"}) {
    EXPECT_EQ(layer_widths{layer}.inputs().value, 3U) << layer;
    EXPECT_EQ(layer_widths{layer}.outputs().value, 32U) << layer;
    EXPECT_TRUE(layer_widths{layer}.connects()) << layer;
  }
  const layer_widths norm{"BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"};
  EXPECT_EQ(norm.inputs().value, 64U);
  EXPECT_EQ(norm.outputs().value, 64U);
  EXPECT_FALSE(norm.connects());
}

TEST(LayerWidths, OthersPassOnWhatTheyRead) {
  for (const char* const layer :
       {"ReLU()", "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)", "Dropout(p=0.5, inplace=False)",
        "MyConv2d(3, 4)", "Conv4d(3, 4)", "Bilinear(3, 4)"}) {
    EXPECT_FALSE(layer_widths{layer}.connects()) << layer;
    EXPECT_EQ(layer_widths{layer}.inputs().length, 0U) << layer;
    EXPECT_EQ(widened(layer, widened_part::both), layer);
  }
}

TEST(LayerWidths, Doubles) {
  const std::string linear = "Linear(in_features=8, out_features=5, bias=True)";
  EXPECT_EQ(widened(linear, widened_part::inputs), "Linear(in_features=16, out_features=5, bias=True)");
  EXPECT_EQ(widened(linear, widened_part::outputs), "Linear(in_features=8, out_features=10, bias=True)");
  EXPECT_EQ(widened(linear, widened_part::both), "Linear(in_features=16, out_features=10, bias=True)");
  EXPECT_EQ(widened("Conv2d(3, 32, kernel_size=(3, 3))", widened_part::outputs), "Conv2d(3, 64, kernel_size=(3, 3))");
  EXPECT_EQ(widened("Conv2d(5, 5, kernel_size=(5, 5))", widened_part::both), "Conv2d(10, 10, kernel_size=(5, 5))");
  for (const widened_part which : {widened_part::inputs, widened_part::outputs, widened_part::both})
    EXPECT_EQ(widened("BatchNorm1d(6, eps=1e-05)", which), "BatchNorm1d(12, eps=1e-05)");
}

TEST(LayerWidths, DoublesInWhateverOrder) {
  const std::string turned = "Linear(out_features=8, in_features=6)";
  EXPECT_EQ(widened(turned, widened_part::inputs), "Linear(out_features=8, in_features=12)");
  EXPECT_EQ(widened(turned, widened_part::outputs), "Linear(out_features=16, in_features=6)");
  EXPECT_EQ(widened(turned, widened_part::both), "Linear(out_features=16, in_features=12)");
}

TEST(LayerWidths, WhatIsTooLargeStays) {
  const std::string large = "Conv2d(10000000000000000000, 3)";
  EXPECT_EQ(widened(large, widened_part::both), "Conv2d(10000000000000000000, 6)");
  EXPECT_TRUE(layer_widths{large}.connects());
}

TEST(LayerWidths, NoWidthThatCannotBe) {
  for (const char* const layer :
       {"Linear(", "Linear(in_features=8)", "Linear(in_features=0, out_features=4)",
        "Linear(out_features=4, in_features=", "Linear(in_features=-8, out_features=4)", "Conv2d(", "Conv2d(3",
        "Conv2d(3, ", "Conv2d(3,32)", "BatchNorm2d(", "BatchNorm2d(x)", "Conv2d(99999999999999999999, 3)"}) {
    EXPECT_FALSE(layer_widths{layer}.connects()) << layer;
    EXPECT_EQ(layer_widths{layer}.outputs().length, 0U) << layer;
  }
}

}  // namespace
}  // namespace layer_widths_test
