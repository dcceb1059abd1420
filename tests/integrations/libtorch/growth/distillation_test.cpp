#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <cmath>
#include <cstddef>
#include <rubato/libtorch/growth/distillation.hpp>
#include <rubato/libtorch/growth/net2net.hpp>
#include <string>
#include <vector>

namespace libtorch_distillation_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;

lt::growable_sequential net_of(std::int64_t width, std::int64_t pooling = 2) {
  return *lt::growable_sequential::make(lt::growable_parts{}
                                            .block("conv1", Conv2d(Conv2dOptions(2, width, 3)), BatchNorm2d(width))
                                            .layer("pool", AvgPool2d(pooling))
                                            .block("conv2", Conv2d(Conv2dOptions(width, 5, 3)), BatchNorm2d(5))
                                            .layer("flat", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 1})))
                                            .flatten()
                                            .layer("scores", Linear(5, 3)));
}
torch::Tensor images() { return torch::randn({8, 2, 12, 12}); }
torch::Tensor evaluated(lt::growable_sequential net, const torch::Tensor& x) {
  const torch::NoGradGuard no_graph;
  net->eval();
  return net->forward(x);
}
// A trained model, and one that nothing was taught.
struct pair_of_nets {
  lt::growable_sequential teacher, student;
};
pair_of_nets some_pair() {
  torch::manual_seed(1);
  pair_of_nets made{net_of(4), net_of(4)};
  torch::optim::SGD sgd{made.teacher->parameters(), torch::optim::SGDOptions{0.1}};
  for (int n = 0; n < 5; ++n) {
    sgd.zero_grad();
    torch::cross_entropy_loss(made.teacher->forward(images()), torch::randint(3, {8}, torch::kLong)).backward();
    sgd.step();
  }
  return made;
}

TEST(Distillation, CopiesTheFirstLayersOfEachBlock) {
  auto [teacher, student] = some_pair();
  ASSERT_TRUE(lt::deepen(teacher, 0));
  const auto copied = lt::copy_of_first_layers(teacher, student);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*copied, 2U * (2 + 2 + 3) + 2);
  const auto a = teacher->named_parameters(), b = student->named_parameters();
  EXPECT_EQ(b.size(), 2U * 4 + 2);
  for (const auto& each : b) EXPECT_TRUE(torch::equal(*each, a[each.key()])) << each.key();
  EXPECT_FALSE(a["conv1.conv.weight"].is_same(b["conv1.conv.weight"]));
}

TEST(Distillation, BatchNormsAreCopiedToo) {
  auto [teacher, student] = some_pair();
  ASSERT_TRUE(lt::copy_of_first_layers(teacher, student));
  const auto& from = teacher->parts()[2].units[0]->norm;
  const auto& to = student->parts()[2].units[0]->norm;
  EXPECT_FALSE(torch::equal(to->running_mean, torch::zeros({5})));
  EXPECT_TRUE(torch::equal(to->running_mean, from->running_mean));
  EXPECT_TRUE(torch::equal(to->running_var, from->running_var));
  EXPECT_TRUE(torch::equal(to->weight, from->weight));
  EXPECT_EQ(to->num_batches_tracked.item<std::int64_t>(), 5);
}

TEST(Distillation, AnUntrainedInsertionLosesNothing) {
  auto [teacher, student] = some_pair();
  ASSERT_TRUE(lt::deepen(teacher, 0));
  ASSERT_TRUE(lt::deepen(teacher, 1));
  ASSERT_TRUE(lt::copy_of_first_layers(teacher, student));
  const torch::Tensor x = images();
  EXPECT_TRUE(torch::allclose(evaluated(student, x), evaluated(teacher, x), 0, 1e-4));
}

TEST(Distillation, LayersOutsideOfBlocksAreCopied) {
  auto [teacher, student] = some_pair();
  ASSERT_TRUE(lt::copy_of_first_layers(teacher, student));
  EXPECT_TRUE(torch::equal(student->named_parameters()["scores.weight"], teacher->named_parameters()["scores.weight"]));
}

TEST(Distillation, RefusesOtherModels) {
  auto [teacher, student] = some_pair();
  const torch::Tensor x = images(), before = evaluated(student, x);
  auto message = [&, to = student](const lt::growable_sequential& from) mutable {
    const auto copied = lt::copy_of_first_layers(from, to);
    EXPECT_FALSE(copied);
    EXPECT_EQ(copied.error().code, rubato::errc::invalid_option);
    return copied.error().message;
  };
  EXPECT_EQ(
      message(net_of(4, 3)),
      "copy_of_first_layers: part 1: found \"layer pool: AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)\", "
      "expected the teacher's \"layer pool: AvgPool2d(kernel_size=(3, 3), stride=(3, 3), padding=0)\"");
  EXPECT_EQ(message(*lt::growable_sequential::make(lt::growable_parts{}.block("scores", Linear(5, 3)))),
            "copy_of_first_layers: found a student of 6 parts, expected the teacher's 1");
  EXPECT_EQ(message(net_of(6)),
            "copy_of_first_layers: conv1.conv.bias: found a shape of [4], expected the teacher's, [6]");
  EXPECT_TRUE(torch::equal(evaluated(student, x), before));
}

TEST(Distillation, TheTeachersWeightFades) {
  EXPECT_DOUBLE_EQ(lt::fading_lambda(0), 0.75);
  EXPECT_DOUBLE_EQ(lt::fading_lambda(1), 0.1875);
  EXPECT_DOUBLE_EQ(lt::fading_lambda(3), 0.75 / 64);
  EXPECT_DOUBLE_EQ(lt::fading_lambda(2, 0.5, 0.5), 0.125);
}

TEST(Distillation, TheLossIsThatOfTheFormula) {
  const std::vector<std::vector<double>> student{{1, -2, 0.5}, {0.25, 3, -1}}, teacher{{2, 0, -1}, {-0.5, 0.75, 1}};
  const std::vector<int> labels{2, 1};
  const double temperature = 3, lambda = 0.3;
  const auto softmax = [](const std::vector<double>& z, double t, std::size_t at) {
    double sum = 0;
    for (const double each : z) sum += std::exp(each / t);
    return std::exp(z[at] / t) / sum;
  };
  double expected = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 3; ++c)
      expected -= lambda * softmax(teacher[n], temperature, c) * std::log(softmax(student[n], temperature, c)) *
                  temperature * temperature / 2;
    expected -= (1 - lambda) * std::log(softmax(student[n], 1, static_cast<std::size_t>(labels[n]))) / 2;
  }
  const auto tensor = [](const std::vector<std::vector<double>>& of) {
    return torch::tensor({of[0][0], of[0][1], of[0][2], of[1][0], of[1][1], of[1][2]}, torch::kFloat64).view({2, 3});
  };
  const auto loss = lt::distillation_loss(tensor(student), tensor(teacher), torch::tensor({2, 1}, torch::kLong),
                                          {.temperature = temperature, .lambda = lambda});
  ASSERT_TRUE(loss) << loss.error().message;
  EXPECT_NEAR(loss->item<double>(), expected, 1e-12);
}

TEST(Distillation, WithoutATeachersWeightItIsTheCrossEntropy) {
  const torch::Tensor student = torch::randn({4, 3}), labels = torch::tensor({2, 1, 0, 0}, torch::kLong);
  const auto loss = lt::distillation_loss(student, torch::randn({4, 3}), labels, {.lambda = 0});
  ASSERT_TRUE(loss);
  EXPECT_FLOAT_EQ(loss->item<float>(), torch::cross_entropy_loss(student, labels).item<float>());
}

TEST(Distillation, TheGradientIsTheStudentsOnly) {
  const torch::Tensor student = torch::randn({4, 3}).requires_grad_(), teacher = torch::randn({4, 3}).requires_grad_();
  const auto loss = lt::distillation_loss(student, teacher, torch::tensor({2, 1, 0, 0}, torch::kLong));
  ASSERT_TRUE(loss);
  loss->backward();
  EXPECT_TRUE(student.grad().defined());
  EXPECT_FALSE(teacher.grad().defined());
}

TEST(Distillation, AStudentComesToItsTeacher) {
  torch::manual_seed(2);
  const torch::Tensor teacher = torch::randn({4, 3}), labels = teacher.argmax(1);
  torch::Tensor student = torch::randn({4, 3}).requires_grad_();
  torch::optim::SGD sgd{{student}, torch::optim::SGDOptions{1.0}};
  for (int n = 0; n < 2000; ++n) {
    sgd.zero_grad();
    lt::distillation_loss(student, teacher, labels, {.lambda = 1})->backward();
    sgd.step();
  }
  EXPECT_TRUE(torch::allclose(torch::softmax(student, 1), torch::softmax(teacher, 1), 0, 1e-3));
}

TEST(Distillation, RefusesImpossibleLosses) {
  const torch::Tensor logits = torch::randn({2, 3}), labels = torch::tensor({2, 1}, torch::kLong);
  const auto message = [](const rubato::result<torch::Tensor>& loss) {
    EXPECT_FALSE(loss);
    EXPECT_EQ(loss.error().code, rubato::errc::invalid_option);
    return loss.error().message;
  };
  const std::string it = "distillation_loss: ";
  EXPECT_EQ(message(lt::distillation_loss(logits, logits, labels, {.temperature = 0})),
            it + "found a temperature of 0, expected one above 0");
  EXPECT_EQ(message(lt::distillation_loss(logits, logits, labels, {.lambda = 1.5})),
            it + "found a lambda of 1.5, expected one from 0 to 1");
  EXPECT_EQ(message(lt::distillation_loss(logits, torch::randn({2, 4}), labels)),
            it + "found logits of [2, 3] and a teacher's of [2, 4], expected a batch of classes, alike");
  EXPECT_EQ(message(lt::distillation_loss(logits, logits, torch::tensor({2}, torch::kLong))),
            it + "found labels of [1], expected 2");
  EXPECT_EQ(message(lt::distillation_loss(logits, logits, torch::tensor({2, 3}, torch::kLong))).find(it), 0U);
}

}  // namespace
}  // namespace libtorch_distillation_test
