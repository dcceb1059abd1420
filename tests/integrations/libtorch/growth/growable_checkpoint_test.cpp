#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <rubato/libtorch/growth/growable_checkpoint.hpp>
#include <rubato/libtorch/growth/net2net.hpp>
#include <string>
#include <vector>

#include "../../../support/folder_test.hpp"

namespace libtorch_growable_checkpoint_test {
namespace {

namespace lt = rubato::libtorch;
using namespace torch::nn;
using rubato::errc;

class GrowableCheckpoint : public rubato::test::folder_test {};

lt::growable_sequential net_of(std::int64_t classes = 3, std::int64_t stride = 2) {
  return *lt::growable_sequential::make(lt::growable_parts{}
                                            .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                                            .layer("pool", AvgPool2d(AvgPool2dOptions(2).stride(stride)))
                                            .block("conv2", Conv2d(Conv2dOptions(4, 5, 3)), BatchNorm2d(5))
                                            .layer("flat", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({2, 2})))
                                            .flatten()
                                            .block("hidden", Linear(20, 6))
                                            .layer("scores", Linear(6, classes)));
}
torch::Tensor images() { return torch::randn({8, 2, 12, 12}); }
torch::Tensor evaluated(lt::growable_sequential net, const torch::Tensor& x) {
  const torch::NoGradGuard no_graph;
  net->eval();
  return net->forward(x);
}
lt::growable_sequential grown() {
  torch::manual_seed(1);
  lt::growable_sequential net = net_of();
  for (const std::size_t block : {0U, 0U, 2U}) EXPECT_TRUE(lt::deepen(net, block, {.calibration = images()}));
  const torch::NoGradGuard no_graph;
  for (torch::Tensor& each : net->parameters()) each.add_(torch::randn_like(each) * 0.05);
  static_cast<void>(net->forward(images()));  // moves the running means
  return net;
}

TEST_F(GrowableCheckpoint, AGrownModelComesBackBitEqual) {
  const lt::growable_sequential net = grown();
  const auto size = lt::save_growable(at("net.pt"), net);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(*size, std::filesystem::file_size(at("net.pt")));
  lt::growable_sequential loaded = net_of();
  const auto tensors = lt::load_growable(at("net.pt"), loaded);
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_EQ(*tensors, net->named_parameters().size() + net->named_buffers().size());
  const torch::Tensor x = images();
  EXPECT_GT(evaluated(net, x).std(0).max().item<float>(), 1e-3F) << "it depends on what comes in";
  EXPECT_TRUE(torch::equal(evaluated(loaded, x), evaluated(net, x)));
  const auto a = net->description(), b = loaded->description();
  ASSERT_TRUE(a && b);
  EXPECT_EQ((std::vector<std::string>{a->layers().begin(), a->layers().end()}),
            (std::vector<std::string>{b->layers().begin(), b->layers().end()}));
  net.ptr()->train(), loaded->train();
  EXPECT_TRUE(torch::equal(net.ptr()->forward(x), loaded->forward(x))) << "in training mode, too";
}

TEST_F(GrowableCheckpoint, AWidenedModelComesBackBitEqual) {
  lt::growable_sequential net = grown();
  rubato::random_sequence random{1};
  for (std::size_t block = 0; block < 3; ++block) ASSERT_TRUE(lt::widen(net, block, 9, random));
  ASSERT_TRUE(lt::save_growable(at("net.pt"), net));
  lt::growable_sequential loaded = net_of();
  const auto tensors = lt::load_growable(at("net.pt"), loaded);
  ASSERT_TRUE(tensors) << tensors.error().message;
  const torch::Tensor x = images();
  EXPECT_GT(evaluated(net, x).std(0).max().item<float>(), 1e-3F) << "it depends on what comes in";
  EXPECT_TRUE(torch::equal(evaluated(loaded, x), evaluated(net, x)));
  EXPECT_EQ(loaded->description()->layers()[0], "Conv2d(2, 9, kernel_size=(3, 3), stride=(1, 1))");
  ASSERT_TRUE(lt::deepen(loaded, 0));
  EXPECT_TRUE(torch::allclose(evaluated(loaded, x), evaluated(net, x), 0, 1e-4));
}

TEST_F(GrowableCheckpoint, AnEarlierOneShrinksTheModel) {
  lt::growable_sequential net = grown();
  const torch::Tensor x = images(), before = evaluated(net, x);
  ASSERT_TRUE(lt::save_growable(at("net.pt"), net));
  rubato::random_sequence random{1};
  ASSERT_TRUE(lt::deepen(net, 0));
  ASSERT_TRUE(lt::deepen(net, 1));
  ASSERT_TRUE(lt::widen(net, 1, 9, random));
  ASSERT_TRUE(lt::load_growable(at("net.pt"), net));
  EXPECT_TRUE(torch::equal(evaluated(net, x), before));
  EXPECT_EQ(net->parts()[0].units.size(), 3U);
}

TEST_F(GrowableCheckpoint, ParametersOfBothStayTheSameTensors) {
  ASSERT_TRUE(lt::save_growable(at("net.pt"), grown()));
  lt::growable_sequential net = net_of();
  const auto before = net->named_parameters();
  ASSERT_TRUE(lt::load_growable(at("net.pt"), net));
  const auto after = net->named_parameters();
  for (const auto& each : before) EXPECT_TRUE(after[each.key()].is_same(*each)) << each.key();
}

TEST_F(GrowableCheckpoint, RefusesOtherModels) {
  ASSERT_TRUE(lt::save_growable(at("net.pt"), grown()));
  const auto message = [&](lt::growable_sequential net) {
    const torch::Tensor x = images(), before = evaluated(net, x);
    const auto loaded = lt::load_growable(at("net.pt"), net);
    EXPECT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, errc::wrong_kind);
    EXPECT_TRUE(torch::equal(evaluated(net, x), before)) << "nothing has changed";
    return loaded.error().message;
  };
  const std::string it = at("net.pt") + ": another model: ";
  EXPECT_EQ(message(net_of(3, 1)),
            it + "part 1: found \"layer pool: AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)\", expected "
                 "\"layer pool: AvgPool2d(kernel_size=(2, 2), stride=(1, 1), padding=0)\"");
  EXPECT_EQ(message(net_of(4)), at("net.pt") + ": its widths do not go together with each other or with the model's");
  EXPECT_EQ(message(*lt::growable_sequential::make(lt::growable_parts{}
                                                       .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4))
                                                       .layer("pool", AvgPool2d(2)))),
            it + "part 2: found \"block conv2: Conv2d(0, 0, kernel_size=(3, 3), stride=(1, 1)), BatchNorm2d(0, "
                 "eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\", expected none");
}

// Writes a model's state, changed, and says what reading it comes to.
template <class Change>
std::string message_of_changed(const std::string& path, const Change& change) {
  const lt::growable_sequential net = grown();
  auto state = lt::detail::named_state(*net);
  state.emplace(lt::detail::outline_key, lt::detail::bytes_of(lt::detail::outline_text(net)));
  change(state);
  c10::Dict<std::string, torch::Tensor> all;
  for (const auto& [name, tensor] : state) all.insert(name, tensor.detach().clone());
  EXPECT_TRUE(rubato::write_file(path, lt::detail::saved(all)));
  lt::growable_sequential to = net_of();
  const torch::Tensor x = images(), before = evaluated(to, x);
  const auto loaded = lt::load_growable(path, to);
  EXPECT_FALSE(loaded);
  EXPECT_TRUE(torch::equal(evaluated(to, x), before)) << "nothing has changed";
  EXPECT_EQ(to->parts()[0].units.size(), 1U) << "nothing has changed";
  return loaded ? "" : loaded.error().message;
}

TEST_F(GrowableCheckpoint, RefusesWidthsThatDoNotGoTogether) {
  const std::string path = at("net.pt"),
                    widths = path + ": its widths do not go together with each other or with the model's";
  using state = std::map<std::string, torch::Tensor>;
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["conv1+1.norm.weight"] = torch::ones({7}); }), widths);
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["conv1+1.conv.bias"] = torch::ones({7}); }), widths);
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["conv1+1.conv.weight"] = torch::ones({4, 7, 3, 3}); }), widths);
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["scores.bias"] = torch::ones({7}); }), widths);
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["conv1.conv.weight"] = torch::ones({4, 7, 3, 3}); }), widths);
  EXPECT_EQ(message_of_changed(path,
                               [](state& s) {
                                 s["conv1.conv.weight"] = torch::ones({4, 2, 5, 5});
                               }),
            path + ": conv1.conv.weight is of another shape or type than the model's");
  EXPECT_EQ(
      message_of_changed(path, [](state& s) { s["conv1.conv.weight"] = s["conv1.conv.weight"].to(torch::kLong); }),
      path + ": conv1.conv.weight is of another shape or type than the model's");
  EXPECT_EQ(message_of_changed(path, [](state& s) { s["other"] = torch::ones({7}); }),
            path + ": the model has no other");
  EXPECT_EQ(message_of_changed(path, [](state& s) { s.erase("conv1+1.norm.bias"); }),
            path + ": there is no conv1+1.norm.bias");
}

TEST_F(GrowableCheckpoint, RefusesWhatIsNoCheckpoint) {
  lt::growable_sequential net = net_of();
  EXPECT_EQ(lt::load_growable(at("none.pt"), net).error().code, errc::io);
  EXPECT_EQ(lt::load_growable(folder.string(), net).error().code, errc::io);
  std::ofstream{at("text.pt")} << "a text";
  EXPECT_EQ(lt::load_growable(at("text.pt"), net).error().code, errc::corrupt);
  ASSERT_TRUE(lt::save_state(at("state.pt"), *net));
  const auto state = lt::load_growable(at("state.pt"), net);
  EXPECT_EQ(state.error().code, errc::wrong_kind);
  EXPECT_EQ(state.error().message,
            at("state.pt") + ": found no outline of a model that grows, expected a file of save_growable()");
  ASSERT_TRUE(lt::save_growable(at("net.pt"), net));
  std::ifstream file{at("net.pt"), std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{file}, {}};
  for (std::size_t n = 0; n < whole.size(); n += 501) {
    std::ofstream{at("cut.pt"), std::ios::binary}.write(whole.data(), static_cast<std::streamsize>(n));
    EXPECT_EQ(lt::load_growable(at("cut.pt"), net).error().code, errc::corrupt) << n;
  }
  EXPECT_EQ(lt::save_growable(at("missing") + "/net.pt", net).error().code, errc::io);
}

}  // namespace
}  // namespace libtorch_growable_checkpoint_test
