#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <rubato/libtorch/growth/net2net.hpp>
#include <string>
#include <vector>

namespace libtorch_net2net_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;
using rubato::random_sequence;

// Whose batch norms are not those of a new model, and whose units are alive.
lt::growable_sequential made_of(const lt::growable_parts& parts) {
  auto made = lt::growable_sequential::make(parts);
  EXPECT_TRUE(made) << made.error().message;
  const torch::NoGradGuard no_graph;
  for (auto& each : (*made)->named_parameters())
    if (each.key().find("norm") != std::string::npos) each->add_(torch::randn_like(*each) * 0.2);
  for (auto& each : (*made)->named_parameters())
    if (each.key().ends_with("linear.weight")) each->abs_();
  for (auto& each : (*made)->named_buffers()) {
    if (each.key().ends_with("running_mean")) each->add_(torch::randn_like(*each) * 0.1);
    if (each.key().ends_with("running_var")) each->mul_(torch::rand_like(*each) * 0.2 + 0.1);
  }
  return *made;
}
lt::growable_sequential conv_net() {
  torch::manual_seed(7);
  return made_of(lt::growable_parts{}
                     .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                     .layer("pool", AvgPool2d(2))
                     .block("conv2", Conv2d(Conv2dOptions(4, 5, 3).stride(2)), BatchNorm2d(5))
                     .layer("drop", Dropout(0.0))
                     .flatten()
                     .block("hidden", Linear(20, 6))
                     .block("scores", Linear(6, 3)));
}
torch::Tensor images() { return torch::randn({12, 2, 12, 12}); }
torch::Tensor evaluated(lt::growable_sequential net, const torch::Tensor& x) {
  const torch::NoGradGuard no_graph;
  const bool was = net->is_training();
  net->eval();
  const torch::Tensor y = net->forward(x);
  EXPECT_GT(y.std(0).max().item<float>(), 1e-2F) << "it depends on what comes in";
  net->train(was);
  return y;
}
// In training mode, of a copy, so that running means stay.
torch::Tensor trained(const lt::growable_sequential& net, const torch::Tensor& x) {
  const torch::NoGradGuard no_graph;
  lt::growable_sequential copy = net.copy();
  copy->train();
  return copy->forward(x);
}
float apart(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<float>(); }
template <class Result>
std::string message_of(const Result& of) {
  EXPECT_FALSE(of);
  if (of) return {};
  EXPECT_EQ(of.error().code, rubato::errc::invalid_option);
  return of.error().message;
}

TEST(Deepen, DeepeningChangesNothingInEvaluation) {
  for (std::size_t block = 0; block < 4; ++block) {
    lt::growable_sequential net = conv_net();
    const torch::Tensor x = images(), before = evaluated(net, x);
    ASSERT_TRUE(lt::deepen(net, block));
    EXPECT_LT(apart(evaluated(net, x), before), 1e-5F) << block;
    ASSERT_TRUE(lt::deepen(net, block, {.calibration = images()}));
    EXPECT_LT(apart(evaluated(net, x), before), 1e-5F) << block << ", calibrated";
  }
}

TEST(Deepen, DeepeningAgainAndAgain) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), before = evaluated(net, x);
  for (int n = 0; n < 3; ++n)
    for (std::size_t block = 0; block < 4; ++block) ASSERT_TRUE(lt::deepen(net, block));
  EXPECT_LT(apart(evaluated(net, x), before), 1e-4F);
}

TEST(Deepen, TheNewestInsertionIsFirst) {
  lt::growable_sequential net = conv_net();
  ASSERT_TRUE(lt::deepen(net, 0));
  const auto oldest = net->parts()[0].units[1].ptr();
  ASSERT_TRUE(lt::deepen(net, 0));
  EXPECT_EQ(net->parts()[0].units[2].ptr(), oldest);
}

TEST(Deepen, CalibrationKeepsTrainingMode) {
  lt::growable_sequential net = conv_net();
  net->eval();  // whatever its mode
  const torch::Tensor x = images(), before = trained(net, x);
  for (const std::size_t block : {0U, 1U, 0U}) {
    ASSERT_TRUE(lt::deepen(net, block, {.calibration = x}));
    EXPECT_LT(apart(trained(net, x), before), 1e-4F) << block;
  }
}

TEST(Deepen, WithoutCalibrationTrainingModeChanges) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), before = trained(net, x);
  ASSERT_TRUE(lt::deepen(net, 0));
  EXPECT_GT(apart(trained(net, x), before), 0.01F);
}

TEST(Deepen, CalibrationLeavesTheRestOfTheModel) {
  lt::growable_sequential net = conv_net();
  const lt::growable_sequential before = net.copy();
  ASSERT_TRUE(lt::deepen(net, 1, {.calibration = images()}));
  const auto named = net->named_parameters(), buffers = net->named_buffers();
  for (const auto& each : before->named_parameters()) EXPECT_TRUE(torch::equal(*each, named[each.key()])) << each.key();
  for (const auto& each : before->named_buffers()) EXPECT_TRUE(torch::equal(*each, buffers[each.key()])) << each.key();
}

TEST(Deepen, CalibratesChannelsThatAreDead) {
  lt::growable_sequential net = conv_net();
  {
    const torch::NoGradGuard no_graph;
    net->parts()[0].units[0]->norm->weight[1] = 0;
    net->named_parameters()["conv1.norm.bias"][1] = -1;
  }
  const torch::Tensor x = images(), in_training = trained(net, x), in_evaluation = evaluated(net, x);
  ASSERT_TRUE(lt::deepen(net, 0, {.calibration = x}));
  EXPECT_LT(apart(trained(net, x), in_training), 1e-4F);
  EXPECT_LT(apart(evaluated(net, x), in_evaluation), 1e-4F);
}

TEST(Deepen, DeepensALinearBlockInBothModes) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), in_training = trained(net, x), in_evaluation = evaluated(net, x);
  ASSERT_TRUE(lt::deepen(net, 2));
  EXPECT_EQ(apart(trained(net, x), in_training), 0);
  EXPECT_EQ(apart(evaluated(net, x), in_evaluation), 0);
}

TEST(Deepen, ParametersStayTheSameTensors) {
  lt::growable_sequential net = conv_net();
  const auto before = net->named_parameters();
  ASSERT_TRUE(lt::deepen(net, 0));
  const auto after = net->named_parameters();
  for (const auto& each : before) EXPECT_TRUE(after[each.key()].is_same(*each)) << each.key();
}

TEST(Deepen, DeepeningKeepsDeviceTypeAndMode) {
  lt::growable_sequential net = conv_net();
  net->to(torch::kFloat64);
  net->eval();
  ASSERT_TRUE(lt::deepen(net, 0, {.calibration = images().to(torch::kFloat64)}));
  for (const auto& each : net->named_parameters()) EXPECT_EQ(each->scalar_type(), torch::kFloat64) << each.key();
  for (const auto& each : net->modules()) EXPECT_FALSE(each->is_training());
}

TEST(Deepen, AddsAsManyParameters) {
  lt::growable_sequential net = conv_net();
  const std::int64_t before = net->parameter_count();
  EXPECT_EQ(*lt::deepen(net, 0), 4U * 4 * 9 + 4 + 8);
  EXPECT_EQ(*lt::deepen(net, 2), 6U * 6 + 6);
  EXPECT_EQ(net->parameter_count() - before, 4 * 4 * 9 + 4 + 8 + 6 * 6 + 6);
}

float loss_after(lt::growable_sequential net, const torch::Tensor& x, const torch::Tensor& labels, int steps) {
  torch::optim::Adam adam{net->parameters(), torch::optim::AdamOptions{1e-2}};
  torch::Tensor loss;
  for (int n = 0; n < steps; ++n) {
    adam.zero_grad();
    loss = torch::cross_entropy_loss(net->forward(x), labels);
    loss.backward();
    adam.step();
  }
  return loss.item<float>();
}

TEST(Deepen, AnInsertionLearns) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), labels = torch::randint(3, {12}, torch::kLong);
  ASSERT_TRUE(lt::deepen(net, 0, {.calibration = x}));
  const torch::Tensor weight = net->named_parameters()["conv1+1.conv.weight"].detach().clone();
  const float first = loss_after(net, x, labels, 1);
  EXPECT_LT(loss_after(net, x, labels, 40), first);
  EXPECT_FALSE(torch::equal(weight, net->named_parameters()["conv1+1.conv.weight"]));
}

TEST(Deepen, RefusesToDeepen) {
  lt::growable_sequential net = conv_net();
  EXPECT_EQ(message_of(lt::deepen(net, 4)), "deepen: block 4: found no such block, expected one below 4");
  const std::string wrong = message_of(lt::deepen(net, 1, {.calibration = torch::randn({4, 3, 12, 12})}));
  EXPECT_EQ(wrong.find("deepen: block 1 (conv2): calibration: "), 0U) << wrong;
  EXPECT_EQ(wrong.find('\n'), std::string::npos) << "a sentence";
  EXPECT_EQ(
      message_of(lt::deepen(net, 1, {.calibration = images() / 0})),
      "deepen: block 1 (conv2): found numbers in the calibration batch's activations that are not finite, expected "
      "finite ones");
  EXPECT_EQ(net->parts()[2].units.size(), 1U);
}

TEST(Widen, WideningChangesNothingInEvaluation) {
  for (std::size_t block = 0; block < 3; ++block) {
    lt::growable_sequential net = conv_net();
    const torch::Tensor x = images(), before = evaluated(net, x);
    random_sequence random{block};
    const std::int64_t count = net->parameter_count();
    const auto added = lt::widen(net, block, 17, random);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(net->parameter_count() - count, static_cast<std::int64_t>(*added));
    EXPECT_LT(apart(evaluated(net, x), before), 1e-5F) << block;
    EXPECT_EQ(net->parts()[net->part_of(block)].weighted().outputs(), 17);
    const auto description = net->description();
    ASSERT_TRUE(description);
    EXPECT_NE(description->blocks()[block].insertion[0].find("17"), std::string::npos) << "the options say so, too";
  }
}

TEST(Widen, WideningALinearBlock) {
  torch::manual_seed(3);
  lt::growable_sequential net = made_of(lt::growable_parts{}.block("a", Linear(3, 4)).block("b", Linear(4, 2)));
  const torch::Tensor x = torch::randn({9, 3}), before = evaluated(net, x);
  random_sequence random{1};
  EXPECT_EQ(*lt::widen(net, 0, 7, random), 3U * (3 + 1) + 3 * 2);
  EXPECT_LT(apart(evaluated(net, x), before), 1e-5F);
}

TEST(Widen, WidensThroughPoolingAndFlattening) {
  torch::manual_seed(4);
  lt::growable_sequential net = made_of(lt::growable_parts{}
                                            .block("conv", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                                            .layer("max", MaxPool2d(2))
                                            .layer("act", Tanh())
                                            .layer("pool", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({2, 2})))
                                            .layer("flat", Flatten())
                                            .block("scores", Linear(16, 3)));
  const torch::Tensor x = images(), before = evaluated(net, x);
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 9, random));
  EXPECT_EQ(net->parts()[5].weighted().inputs(), 36);
  EXPECT_LT(apart(evaluated(net, x), before), 1e-5F);
}

TEST(Widen, WidensWhatWasInserted) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), labels = torch::randint(3, {12}, torch::kLong);
  for (const std::size_t block : {0U, 0U, 1U, 2U}) ASSERT_TRUE(lt::deepen(net, block, {.calibration = x}));
  static_cast<void>(loss_after(net, x, labels, 5));  // identities no longer
  const torch::Tensor before = evaluated(net, x);
  random_sequence random{5};
  for (std::size_t block = 0; block < 3; ++block) {
    const auto added = lt::widen(net, block, 11, random);
    ASSERT_TRUE(added) << added.error().message;
    for (const lt::rectified_unit& unit : net->parts()[net->part_of(block)].units)
      EXPECT_EQ(unit->weighted().outputs(), 11);
    EXPECT_LT(apart(evaluated(net, x), before), 1e-4F) << block;
  }
  ASSERT_TRUE(lt::deepen(net, 0));
  EXPECT_LT(apart(evaluated(net, x), before), 1e-4F) << "deepened once more";
  lt::growable_sequential copy = net.copy();
  EXPECT_TRUE(torch::equal(evaluated(copy, x), evaluated(net, x)));
}

TEST(Widen, WidensWhatALayerReads) {
  torch::manual_seed(5);
  lt::growable_sequential net = made_of(lt::growable_parts{}
                                            .block("conv", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                                            .layer("mix", Conv2d(Conv2dOptions(4, 3, 1)))
                                            .flatten());
  const torch::Tensor x = images(), before = evaluated(net, x);
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 6, random));
  EXPECT_LT(apart(evaluated(net, x), before), 1e-5F);
  EXPECT_EQ(net->description()->layers()[3], "Conv2d(6, 3, kernel_size=(1, 1), stride=(1, 1))");
}

TEST(Widen, TheSameSeedTheSameCopies) {
  std::vector<torch::Tensor> weights;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    lt::growable_sequential net = conv_net();
    random_sequence random{seed};
    ASSERT_TRUE(lt::widen(net, 0, 20, random, {.noise = 0.1}));
    weights.push_back(net->named_parameters()["conv1.conv.weight"]);
  }
  EXPECT_TRUE(torch::equal(weights[0], weights[1]));
  EXPECT_FALSE(torch::equal(weights[0], weights[2]));
}

TEST(Widen, UnitsAreCopiesOfUnits) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor old = net->named_parameters()["conv1.conv.weight"].detach().clone();
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 20, random));
  const auto& unit = *net->parts()[0].units[0];
  EXPECT_TRUE(torch::equal(unit.conv->weight.slice(0, 0, 4), old));
  std::vector<int> copies(4, 1);
  for (std::int64_t n = 4; n < 20; ++n)
    for (std::int64_t m = 0; m < 4; ++m) {
      if (!torch::equal(unit.conv->weight[n], old[m])) continue;
      ++copies[static_cast<std::size_t>(m)];
      for (const torch::Tensor& each :
           {unit.conv->bias, unit.norm->weight, unit.norm->bias, unit.norm->running_mean, unit.norm->running_var})
        EXPECT_EQ(each[n].item<float>(), each[m].item<float>());
    }
  EXPECT_EQ(copies[0] + copies[1] + copies[2] + copies[3], 20);
  EXPECT_EQ(unit.norm->options.num_features(), 20);
}

TEST(Widen, NoiseBreaksSymmetry) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), before = evaluated(net, x);
  const torch::Tensor old = net->named_parameters()["conv1.conv.weight"].detach().clone();
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 8, random, {.noise = 1e-2}));
  const torch::Tensor weight = net->named_parameters()["conv1.conv.weight"];
  EXPECT_TRUE(torch::equal(weight.slice(0, 0, 4), old)) << "originals have none";
  for (std::int64_t n = 4; n < 8; ++n)
    for (std::int64_t m = 0; m < n; ++m) EXPECT_FALSE(torch::equal(weight[n], weight[m])) << n << ' ' << m;
  const float off = apart(evaluated(net, x), before);
  EXPECT_GT(off, 0);
  EXPECT_LT(off, 0.1F * before.abs().max().item<float>());
}

TEST(Widen, WideningKeepsTrainingMode) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), before = trained(net, x);
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 9, random));
  EXPECT_LT(apart(trained(net, x), before), 1e-4F);
}

TEST(Widen, AWidenedModelLearns) {
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), labels = torch::randint(3, {12}, torch::kLong);
  static_cast<void>(loss_after(net, x, labels, 1));
  random_sequence random{1};
  ASSERT_TRUE(lt::widen(net, 0, 9, random));
  EXPECT_FALSE(net->named_parameters()["conv1.conv.weight"].grad().defined());
  EXPECT_TRUE(net->named_parameters()["conv1.conv.weight"].requires_grad());
  const float first = loss_after(net, x, labels, 1);
  EXPECT_LT(loss_after(net, x, labels, 40), first);
}

TEST(Widen, RefusesToWiden) {
  random_sequence random{1};
  lt::growable_sequential net = conv_net();
  const torch::Tensor x = images(), before = evaluated(net, x);
  EXPECT_EQ(message_of(lt::widen(net, 4, 9, random)), "widen: block 4: found no such block, expected one below 4");
  for (const std::int64_t width : {-1, 0, 4})
    EXPECT_EQ(message_of(lt::widen(net, 0, width, random)),
              "widen: block 0 (conv1): found a width of " + std::to_string(width) + ", expected more than 4");
  for (const double noise : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(message_of(lt::widen(net, 0, 9, random, {.noise = noise})),
              "widen: block 0 (conv1): expected noise of 0 or more");
  EXPECT_EQ(
      message_of(lt::widen(net, 3, 9, random)),
      "widen: block 3 (scores): found no layer with weights behind it, expected one: its outputs are the model's, "
      "such as the scores of classes");
  EXPECT_EQ(apart(evaluated(net, x), before), 0);

  const auto block = [] { return lt::growable_parts{}.block("c", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4)); };
  const auto wrong = [&](const lt::growable_parts& parts) {
    lt::growable_sequential of = made_of(parts);
    return message_of(lt::widen(of, 0, 9, random));
  };
  const std::string it = "widen: block 0 (c): ";
  EXPECT_EQ(wrong(block().layer("norm", BatchNorm2d(4)).layer("d", Conv2d(Conv2dOptions(4, 2, 1)))),
            it + "part \"norm\" behind it is torch::nn::BatchNorm2dImpl, expected a pooling, a flattening of all "
                 "dimensions but the first, a dropout or an activation");
  EXPECT_EQ(wrong(block().layer("d", Conv2d(Conv2dOptions(4, 4, 3).groups(2)))),
            it + "part \"d\" behind it has groups of channels, expected a convolution of all of them");
  EXPECT_EQ(wrong(block().layer("l", Linear(8, 3))),
            it + "part \"l\" behind it has 8 inputs, expected 4, behind a flattening if it is linear");
  EXPECT_EQ(wrong(block().flatten().layer("l", Linear(9, 3))),
            it + "part \"l\" behind it has 9 inputs, expected 4 or a multiple");
  EXPECT_EQ(wrong(lt::growable_parts{}
                      .block("c", Conv2d(Conv2dOptions(2, 4, 3).groups(2)), BatchNorm2d(4))
                      .layer("d", Conv2d(Conv2dOptions(4, 2, 1)))),
            it + "found groups of channels, expected a convolution of all of them");
}

}  // namespace
}  // namespace libtorch_net2net_test
