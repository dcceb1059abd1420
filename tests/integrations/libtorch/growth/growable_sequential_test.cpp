#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstddef>
#include <cstdint>
#include <rubato/adapt/growth/layer_vocabulary.hpp>
#include <rubato/libtorch/growth/growable_sequential.hpp>
#include <rubato/libtorch/growth/net2net.hpp>
#include <rubato/libtorch/replica.hpp>
#include <string>
#include <vector>

namespace libtorch_growable_sequential_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;
using rubato::errc;

const std::string relu = "ReLU()", conv1 = "Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1))",
                  norm1 = "BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
                  pool = "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)",
                  conv_inserted = "Conv2d(4, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
                  linear = "Linear(in_features=36, out_features=3, bias=True)",
                  linear_inserted = "Linear(in_features=3, out_features=3, bias=True)";

lt::growable_parts small_parts() {
  return lt::growable_parts{}
      .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
      .layer("pool", AvgPool2d(2))
      .flatten()
      .block("scores", Linear(36, 3));
}
lt::growable_sequential made_of(const lt::growable_parts& parts) {
  auto made = lt::growable_sequential::make(parts);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}
lt::growable_sequential small_net() { return made_of(small_parts()); }
void insert(lt::growable_sequential& net, std::size_t block) {
  net->insert(block, net->parts()[net->part_of(block)].units.front()->inserted());
}
torch::Tensor images() { return torch::randn({5, 2, 8, 8}); }
std::vector<std::string> layers_of(const lt::growable_sequential& net) {
  const auto description = net->description();
  if (!description) return {description.error().message};
  return {description->layers().begin(), description->layers().end()};
}
std::string refusal_of(const lt::growable_parts& parts) {
  const auto made = lt::growable_sequential::make(parts);
  EXPECT_FALSE(made);
  if (made) return {};
  EXPECT_EQ(made.error().code, errc::invalid_option);
  return made.error().message;
}

TEST(GrowableSequential, ComputesWhatItsPartsDo) {
  torch::manual_seed(1);
  Conv2d conv(Conv2dOptions(2, 4, 3));
  BatchNorm2d norm(4);
  Linear scores(36, 3);
  lt::growable_sequential net = made_of(
      lt::growable_parts{}.block("conv1", conv, norm).layer("pool", AvgPool2d(2)).flatten().block("scores", scores));
  net->eval();
  const torch::Tensor x = images();
  const torch::Tensor first = torch::relu(norm(conv(x)));
  EXPECT_TRUE(torch::equal(net->forward_to(x, 0), first));
  EXPECT_TRUE(torch::equal(net->forward(x), torch::relu(scores(torch::avg_pool2d(first, 2).flatten(1)))));
  EXPECT_EQ(net->blocks(), 2U);
  EXPECT_EQ(net->parameter_count(), 2 * 4 * 9 + 4 + 8 + 36 * 3 + 3);
}

TEST(GrowableSequential, InsertsBehindTheOriginalLayers) {
  lt::growable_sequential net = small_net();
  net->eval();
  net->to(torch::kFloat64);
  insert(net, 0);
  const auto oldest = net->parts()[0].units[1];
  insert(net, 0);
  const auto& units = net->parts()[0].units;
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units[2].ptr(), oldest.ptr());
  EXPECT_FALSE(units[1]->is_training()) << "the model's mode";
  EXPECT_EQ(units[1]->conv->weight.scalar_type(), torch::kFloat64) << "the model's type";
  const auto named = net->named_parameters();
  EXPECT_TRUE(named["conv1+1.conv.weight"].is_same(units[2]->conv->weight));
  EXPECT_TRUE(named["conv1+2.conv.weight"].is_same(units[1]->conv->weight));
  EXPECT_EQ(net->children()[1], units[1].ptr()) << "in the order in which they run";
}

TEST(GrowableSequential, TheDescriptionIsWhatPyTorchPrints) {
  const auto description = small_net()->description();
  ASSERT_TRUE(description) << description.error().message;
  EXPECT_EQ(layers_of(small_net()), (std::vector<std::string>{conv1, norm1, relu, pool, linear, relu}));
  ASSERT_EQ(description->blocks().size(), 2U);
  EXPECT_EQ(description->blocks()[0].layers, 3U);
  EXPECT_EQ(description->blocks()[0].insertion, (std::vector<std::string>{conv_inserted, norm1, relu}));
  EXPECT_EQ(description->blocks()[1].first, 4U);
  EXPECT_EQ(description->blocks()[1].insertion, (std::vector<std::string>{linear_inserted, relu}));
}

TEST(GrowableSequential, TheDescriptionGrowsAsTheModelDoes) {
  lt::growable_sequential net = small_net();
  auto expected = net->description();
  ASSERT_TRUE(expected);
  for (const std::size_t block : {0U, 1U, 0U}) insert(net, block), expected->deepen(block);
  const auto found = net->description();
  ASSERT_TRUE(found);
  EXPECT_EQ(layers_of(net), (std::vector<std::string>{expected->layers().begin(), expected->layers().end()}));
  EXPECT_EQ(found->insertions(), 3U);
  for (const std::size_t block : {0U, 1U}) EXPECT_EQ(found->blocks()[block].first, expected->blocks()[block].first);
}

TEST(GrowableSequential, TheDescriptionSaysWhatWidens) {
  const auto parts = [](bool first, bool last) {
    return lt::growable_parts{}.block("a", Linear(3, 4), {.widens = first}).block("b", Linear(4, 2), {.widens = last});
  };
  const lt::growable_sequential net = made_of(parts(true, false));
  const auto description = net->description();
  ASSERT_TRUE(description) << description.error().message;
  EXPECT_TRUE(description->blocks()[0].widens);
  EXPECT_EQ(description->actions(), 4U);
  EXPECT_TRUE(net.copy()->description()->blocks()[0].widens);
  const auto unread = made_of(parts(true, true))->description();
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().message,
            "growable_model: block 1, which widens: found no layer behind it that reads its outputs, expected one");
  // As the model itself widens.
  lt::growable_sequential wide = net.copy();
  rubato::random_sequence random{1};
  ASSERT_TRUE(lt::widen(wide, 0, 8, random));
  auto expected = *net->description();
  expected.widen(0);
  EXPECT_EQ(layers_of(wide), (std::vector<std::string>{expected.layers().begin(), expected.layers().end()}));
}

TEST(GrowableSequential, AGrownCloneIsBitEqual) {
  torch::manual_seed(2);
  lt::growable_sequential net = small_net();
  insert(net, 0), insert(net, 0), insert(net, 1);
  static_cast<void>(net->forward(images()));  // moves the running means
  lt::growable_sequential copy = net.copy();
  const torch::Tensor x = images();
  EXPECT_TRUE(copy->is_training());
  net->eval(), copy->eval();
  EXPECT_TRUE(torch::equal(net->forward(x), copy->forward(x)));
  const auto a = net->named_parameters(), b = copy->named_parameters();
  ASSERT_EQ(a.keys(), b.keys()) << "in the same order";
  EXPECT_EQ(layers_of(net), layers_of(copy));
}

TEST(GrowableSequential, ACloneSharesNothing) {
  lt::growable_sequential net = small_net();
  insert(net, 0);
  net->eval();
  const torch::Tensor x = images(), before = net->forward(x).detach();
  lt::growable_sequential copy = net.copy();
  {
    const torch::NoGradGuard no_graph;
    for (torch::Tensor& each : copy->parameters()) each.add_(1);
    for (torch::Tensor& each : copy->buffers()) each.add_(1);
  }
  insert(copy, 0);
  EXPECT_TRUE(torch::equal(net->forward(x), before));
  EXPECT_EQ(net->parts()[0].units.size(), 2U);
  EXPECT_FALSE(torch::equal(copy->forward(x), before)) << "what was changed is what it computes with";
}

TEST(GrowableSequential, FrozenStaysFrozenInAClone) {
  lt::growable_sequential net = small_net();
  net->named_parameters()["conv1.conv.weight"].set_requires_grad(false);
  const lt::growable_sequential copy = net.copy();
  EXPECT_FALSE(copy->named_parameters()["conv1.conv.weight"].requires_grad());
  EXPECT_TRUE(copy->named_parameters()["scores.linear.weight"].requires_grad());
}

TEST(GrowableSequential, LayersWithoutANameAreAnError) {
  const auto description = made_of(small_parts().layer("odds", Softmax(1)))->description();
  ASSERT_FALSE(description);
  EXPECT_EQ(description.error().code, errc::invalid_option);
  EXPECT_EQ(
      description.error().message,
      "growable_sequential: layer \"odds\": layer_name: found torch::nn::SoftmaxImpl, expected a layer whose name "
      "in PyTorch is known, or a name beside it");
}

TEST(GrowableSequential, ANameCanBeGiven) {
  EXPECT_EQ(layers_of(made_of(small_parts().layer("odds", Softmax(1), "Softmax(dim=1)"))).back(), "Softmax(dim=1)");
}

TEST(GrowableSequential, RefusesImpossibleParts) {
  const std::string it = "growable_sequential: ";
  EXPECT_EQ(refusal_of(lt::growable_parts{}.layer("pool", AvgPool2d(2))),
            it + "found no block that can be deepened, expected at least 1");
  EXPECT_EQ(refusal_of({}), it + "found no block that can be deepened, expected at least 1");
  EXPECT_EQ(refusal_of(small_parts().layer("pool", AvgPool2d(2))),
            it + "part \"pool\": found this name twice, expected it once");
  for (const std::string name : {"", "a.b", "a+1"})
    EXPECT_EQ(refusal_of(small_parts().layer(name, AvgPool2d(2))),
              it + "part \"" + name + "\": found this name, expected one without dots and pluses");
  EXPECT_EQ(refusal_of(lt::growable_parts{}.block("c", Conv2d(Conv2dOptions(2, 4, {3, 2})), BatchNorm2d(4))),
            it + "part \"c\": found a kernel of 3 x 2, expected odd ones, which have a centre");
  EXPECT_EQ(refusal_of(lt::growable_parts{}.block("c", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(5))),
            it + "part \"c\": found a batch norm of 5 channels, expected 4");
  for (const BatchNorm2dOptions& options :
       {BatchNorm2dOptions(4).affine(false), BatchNorm2dOptions(4).track_running_stats(false)})
    EXPECT_EQ(refusal_of(lt::growable_parts{}.block("c", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(options))),
              it + "part \"c\": found " + lt::layer_name(options, 2) + ", expected one with weights and running means");
}

TEST(GrowableSequential, InsertionsCanBeRemoved) {
  lt::growable_sequential net = small_net();
  insert(net, 0), insert(net, 0);
  const auto oldest = net->parts()[0].units[2].ptr();
  net->remove_insertions(0, 1);
  ASSERT_EQ(net->parts()[0].units.size(), 2U);
  EXPECT_EQ(net->parts()[0].units[1].ptr(), oldest);
  EXPECT_FALSE(net->named_parameters().contains("conv1+2.conv.weight"));
  net->remove_insertions(0, 3);
  EXPECT_EQ(net->parts()[0].units.size(), 2U);
  net->remove_insertions(0, 0);
  EXPECT_EQ(net->named_parameters().keys(), small_net()->named_parameters().keys());
}

TEST(GrowableSequential, OutlinesLeaveOutWidths) {
  const auto wide = made_of(lt::growable_parts{}
                                .block("conv1", Conv2d(Conv2dOptions(2, 6, 3)), BatchNorm2d(6))
                                .layer("pool", AvgPool2d(2))
                                .flatten()
                                .block("scores", Linear(54, 3)));
  EXPECT_EQ(wide->outline(), small_net()->outline());
  const auto strided = made_of(lt::growable_parts{}
                                   .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                                   .layer("pool", AvgPool2d(AvgPool2dOptions(2).stride(1)))
                                   .flatten()
                                   .block("scores", Linear(100, 3)));
  EXPECT_NE(strided->outline(), small_net()->outline());
  EXPECT_EQ(made_of(small_parts().layer("odds", Softmax(1)))->outline().back(), "layer odds: torch::nn::SoftmaxImpl");
}

TEST(GrowableSequential, AReplicaTrainsIt) {
  lt::growable_sequential net = small_net();
  insert(net, 0);
  auto replica = lt::replica<lt::growable_sequential>::make(net);
  ASSERT_TRUE(replica) << replica.error().message;
  EXPECT_EQ(replica->size(), static_cast<std::size_t>(net->parameter_count()));
  static_cast<void>(replica->gradient((*replica)->forward(images()).sum()));
  EXPECT_GT(replica->gradient_norm(), 0);
}

TEST(GrowableSequential, AgentsKnowTheLayers) {
  const auto words = rubato::adapt::layer_vocabulary::make(
      {{conv1, 0}, {norm1, 1}, {relu, 2}, {pool, 3}, {conv_inserted, 4}, {linear, 5}, {linear_inserted, 6}}, 7);
  ASSERT_TRUE(words) << words.error().message;
  lt::growable_sequential net = small_net();
  insert(net, 0), insert(net, 1);
  const auto description = net->description();
  ASSERT_TRUE(description);
  const auto rows = words->rows_of(description->layers());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, (std::vector<std::uint32_t>{0, 1, 2, 4, 1, 2, 3, 5, 2, 6, 2}));
}

}  // namespace
}  // namespace libtorch_growable_sequential_test
