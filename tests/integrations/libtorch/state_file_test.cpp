#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <rubato/libtorch/replica.hpp>
#include <rubato/libtorch/state_file.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../support/folder_test.hpp"
#include "some_nets.hpp"

namespace libtorch_state_file_test {
namespace {

namespace lt = rubato::libtorch;
using lt::test::Net;
using lt::test::Normed;
using rubato::errc;

class StateFile : public rubato::test::folder_test {};

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
void write(const std::string& path, const std::string& content) {
  std::ofstream{path, std::ios::binary}.write(content.data(), static_cast<std::streamsize>(content.size()));
}

TEST_F(StateFile, RoundTrip) {
  torch::manual_seed(1);
  auto made = lt::replica<Normed>::make(Normed{});  // whose parameters are views of one tensor
  Normed from = made->module(), to;
  static_cast<void>(from->forward(torch::rand({8, 2})));  // moves the running means
  const auto size = lt::save_state(at("state.pt"), *from);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(*size, std::filesystem::file_size(at("state.pt")));
  EXPECT_LT(*size, 6000u) << "a view takes no more room than it has numbers";
  const auto tensors = lt::load_state(at("state.pt"), *to);
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_EQ(*tensors, 9u);
  from->eval(), to->eval();
  const torch::Tensor x = torch::rand({3, 2});
  EXPECT_TRUE(torch::equal(from->forward(x), to->forward(x)));
  const auto again = lt::save_state(at("again.pt"), *to);
  ASSERT_TRUE(again);
  EXPECT_EQ(content_of(at("state.pt")), content_of(at("again.pt")));
}

TEST_F(StateFile, RefusesOtherModules) {
  Net net;
  Normed normed;
  ASSERT_TRUE(lt::save_state(at("net.pt"), *net));
  ASSERT_TRUE(lt::save_state(at("normed.pt"), *normed));
  const auto less = lt::load_state(at("net.pt"), *normed), more = lt::load_state(at("normed.pt"), *net);
  EXPECT_EQ(less.error().code, errc::wrong_kind);
  EXPECT_EQ(less.error().message, at("net.pt") + ": there is no norm.bias");
  EXPECT_EQ(more.error().message, at("normed.pt") + ": the module has no norm.bias");
  Net wide;
  wide->a = wide->replace_module("a", torch::nn::Linear(3, 5));
  const torch::Tensor before = wide->b->weight.detach().clone();
  EXPECT_EQ(lt::load_state(at("net.pt"), *wide).error().message,
            at("net.pt") + ": a.weight is of another shape or type than the module's");
  EXPECT_TRUE(torch::equal(before, wide->b->weight)) << "nothing is changed by half";
}

TEST_F(StateFile, RefusesWhatIsNoState) {
  Net net;
  EXPECT_EQ(lt::load_state(at("none.pt"), *net).error().code, errc::io);
  EXPECT_EQ(lt::load_state(folder.string(), *net).error().code, errc::io);
  write(at("text.pt"), "a text");
  const auto text = lt::load_state(at("text.pt"), *net);
  EXPECT_EQ(text.error().code, errc::corrupt);
  EXPECT_EQ(text.error().message.find('\n'), std::string::npos) << "a sentence";
  ASSERT_TRUE(lt::save_state(at("state.pt"), *net));
  const std::string whole = content_of(at("state.pt"));
  for (std::size_t n = 0; n < whole.size(); n += 61) {
    write(at("cut.pt"), whole.substr(0, n));
    EXPECT_EQ(lt::load_state(at("cut.pt"), *net).error().code, errc::corrupt) << n;
  }
  EXPECT_EQ(lt::save_state(at("missing") + "/state.pt", *net).error().code, errc::io);
}

// A Python that has torch: the one that RUBATO_TORCH_PYTHON names, else python3, else Debian's; empty if none has it.
std::string python_with_torch() {
  const char* const named = std::getenv("RUBATO_TORCH_PYTHON");
  for (const std::string python : {named != nullptr ? named : "python3", "/usr/bin/python3"})
    if (std::system((python + " -c 'import torch' 2>/dev/null").c_str()) == 0) return python;
  return {};
}

TEST_F(StateFile, PythonReadsIt) {
  const std::string python = python_with_torch();
  if (python.empty()) GTEST_SKIP() << "no Python has torch (Debian: python3-torch)";
  torch::manual_seed(1);
  torch::nn::Sequential net{torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)), torch::nn::BatchNorm2d(4),
                            torch::nn::ReLU(), torch::nn::Flatten(), torch::nn::Linear(4 * 6 * 6, 10)};
  auto held = lt::replica<torch::nn::Sequential>::make(net);
  ASSERT_TRUE(held);
  static_cast<void>(net->forward(torch::rand({16, 3, 8, 8})));  // moves the running means
  net->eval();
  const auto outputs = std::make_shared<torch::nn::Module>();
  const torch::Tensor x = outputs->register_buffer("x", torch::rand({5, 3, 8, 8}));
  outputs->register_buffer("y", net->forward(x).detach());
  ASSERT_TRUE(lt::save_state(at("net.pt"), *net));
  ASSERT_TRUE(lt::save_state(at("outputs.pt"), *outputs));
  std::ofstream{at("compare.py")} << R"(
import sys, torch
from torch.nn import *
net = Sequential(Conv2d(3, 4, 3), BatchNorm2d(4), ReLU(), Flatten(), Linear(4 * 6 * 6, 10)).eval()
net.load_state_dict(torch.load(sys.argv[1]))
outputs = torch.load(sys.argv[2])
off = (net(outputs["x"]) - outputs["y"]).abs().max().item()
print(f"torch {torch.__version__}: outputs differ by at most {off:g}")
sys.exit(0 if off <= 1e-5 else 1)
)";
  EXPECT_EQ(std::system((python + " " + at("compare.py") + " " + at("net.pt") + " " + at("outputs.pt")).c_str()), 0);
}

TEST_F(StateFile, ReadsWhatPythonWrote) {
  const std::string python = python_with_torch();
  if (python.empty()) GTEST_SKIP() << "no Python has torch (Debian: python3-torch)";
  std::ofstream{at("write.py")} << R"(
import sys, torch
from torch.nn import *
net = Sequential(Linear(3, 4), BatchNorm1d(4), Linear(4, 2))
net(torch.rand(16, 3))  # moves the running means
x = torch.rand(5, 3)
torch.save(dict(net.state_dict()), sys.argv[1])
torch.save({"x": x, "y": net.eval()(x).detach()}, sys.argv[2])
)";
  ASSERT_EQ(std::system((python + " " + at("write.py") + " " + at("net.pt") + " " + at("outputs.pt")).c_str()), 0);
  torch::nn::Sequential net{torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 2)};
  const auto outputs = std::make_shared<torch::nn::Module>();
  const torch::Tensor x = outputs->register_buffer("x", torch::zeros({5, 3}));
  const torch::Tensor y = outputs->register_buffer("y", torch::zeros({5, 2}));
  const auto tensors = lt::load_state(at("net.pt"), *net), two = lt::load_state(at("outputs.pt"), *outputs);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(*tensors, 9U);
  net->eval();
  EXPECT_TRUE(torch::allclose(net->forward(x), y, 0, 1e-5));
}

}  // namespace
}  // namespace libtorch_state_file_test
