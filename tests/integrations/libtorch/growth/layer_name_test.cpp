#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <rubato/libtorch/growth/layer_name.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../../support/folder_test.hpp"

namespace libtorch_layer_name_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;

class LayerName : public rubato::test::folder_test {};

std::string name_of(const Module& layer) {
  const auto name = lt::layer_name(layer);
  return name ? *name : name.error().message;
}

// Each layer, what PyTorch prints for it, and how to make it in Python where that is not what is printed.
struct named_layer {
  std::shared_ptr<Module> layer;
  std::string printed;
  std::string python{};
};
std::vector<named_layer> all_layers() {
  return {
      {Linear(32, 10).ptr(), "Linear(in_features=32, out_features=10, bias=True)"},
      {Linear(LinearOptions(1, 2).bias(false)).ptr(), "Linear(in_features=1, out_features=2, bias=False)"},
      {Conv2d(Conv2dOptions(3, 32, 3)).ptr(), "Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1))"},
      {Conv2d(Conv2dOptions(32, 32, 3).padding(1)).ptr(),
       "Conv2d(32, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"},
      {Conv2d(Conv2dOptions(2, 4, {3, 5})
                  .dilation(2)
                  .groups(2)
                  .bias(false)
                  .padding(torch::kSame)
                  .padding_mode(torch::kReflect))
           .ptr(),
       "Conv2d(2, 4, kernel_size=(3, 5), stride=(1, 1), padding=same, dilation=(2, 2), groups=2, bias=False, "
       "padding_mode=reflect)",
       "Conv2d(2, 4, (3, 5), dilation=2, groups=2, bias=False, padding='same', padding_mode='reflect')"},
      {BatchNorm2d(32).ptr(), "BatchNorm2d(32, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"},
      {BatchNorm2d(BatchNorm2dOptions(3).eps(1e-3).momentum(c10::nullopt).affine(false)).ptr(),
       "BatchNorm2d(3, eps=0.001, momentum=None, affine=False, track_running_stats=True)"},
      {BatchNorm1d(BatchNorm1dOptions(3).eps(1e-4).momentum(1.0)).ptr(),
       "BatchNorm1d(3, eps=0.0001, momentum=1.0, affine=True, track_running_stats=True)"},
      {ReLU().ptr(), "ReLU()"},
      {ReLU(ReLUOptions(true)).ptr(), "ReLU(inplace=True)"},
      {LeakyReLU(LeakyReLUOptions().negative_slope(0.2).inplace(true)).ptr(),
       "LeakyReLU(negative_slope=0.2, inplace=True)"},
      {Tanh().ptr(), "Tanh()"},
      {Sigmoid().ptr(), "Sigmoid()"},
      {Identity().ptr(), "Identity()"},
      {Flatten().ptr(), "Flatten(start_dim=1, end_dim=-1)"},
      {Dropout(0.5).ptr(), "Dropout(p=0.5, inplace=False)"},
      {Dropout2d(0.1).ptr(), "Dropout2d(p=0.1, inplace=False)"},
      {AvgPool2d(2).ptr(), "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)"},
      {AvgPool2d(AvgPool2dOptions({2, 4}).padding({0, 1})).ptr(),
       "AvgPool2d(kernel_size=(2, 4), stride=(2, 4), padding=(0, 1))"},
      {MaxPool2d(MaxPool2dOptions(3).stride(1).padding(1).ceil_mode(true)).ptr(),
       "MaxPool2d(kernel_size=(3, 3), stride=(1, 1), padding=1, dilation=1, ceil_mode=True)"},
      {AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 1})).ptr(), "AdaptiveAvgPool2d(output_size=(1, 1))"},
      {AdaptiveMaxPool2d(AdaptiveMaxPool2dOptions({3, c10::nullopt})).ptr(),
       "AdaptiveMaxPool2d(output_size=(3, None))"},
  };
}

TEST_F(LayerName, NamesAreThoseOfPython) {
  for (const named_layer& each : all_layers()) EXPECT_EQ(name_of(*each.layer), each.printed);
}

TEST_F(LayerName, PythonPrintsTheSame) {
  const char* const named = std::getenv("RUBATO_TORCH_PYTHON");
  const std::string python = named != nullptr ? named : "/usr/bin/python3";
  if (std::system((python + " -c 'import torch' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no Python has torch (Debian: python3-torch)";
  {
    std::ofstream script{at("names.py")};
    script << "from torch.nn import *\nwrong = 0\ndef same(layer, text):\n  global wrong\n"
              "  if repr(layer) != text: print(repr(layer), '!=', text); wrong = 1\n";
    for (const named_layer& each : all_layers())
      script << "same(" << (each.python.empty() ? each.printed : each.python) << ", \"" << each.printed << "\")\n";
    script << "raise SystemExit(wrong)\n";
  }
  EXPECT_EQ(std::system((python + " " + at("names.py")).c_str()), 0);
}

TEST_F(LayerName, OtherLayersAreAnError) {
  const auto name = lt::layer_name(*Softmax(1));
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, rubato::errc::invalid_option);
  EXPECT_EQ(
      name.error().message,
      "layer_name: found torch::nn::SoftmaxImpl, expected a layer whose name in PyTorch is known, or a name beside "
      "it");
}

}  // namespace
}  // namespace libtorch_layer_name_test
