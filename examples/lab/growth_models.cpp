#include "growth_models.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "growth_json.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using adapt::growable_block;
using nlohmann::json;
using support::user_error;

constexpr std::size_t largest_model = std::size_t{1} << 20;  // bytes of a file

// Layers as PyTorch prints them.
[[nodiscard]] std::string linear_layer(std::size_t inputs, std::size_t outputs) {
  return "Linear(in_features=" + std::to_string(inputs) + ", out_features=" + std::to_string(outputs) + ", bias=True)";
}
[[nodiscard]] std::string convolution(int in, int out, bool padded = false) {
  return "Conv2d(" + std::to_string(in) + ", " + std::to_string(out) + ", kernel_size=(3, 3), stride=(1, 1)" +
         (padded ? ", padding=(1, 1))" : ")");
}
[[nodiscard]] std::string normalisation(int channels) {
  return "BatchNorm2d(" + std::to_string(channels) +
         ", eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)";
}
const std::string relu = "ReLU()", flat_pool = "AdaptiveAvgPool2d(output_size=(1, 1))",
                  halving_pool = "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=0)";

[[nodiscard]] growable_block convolutional_block(std::uint32_t first, int channels) {
  return {first, 3, {convolution(channels, channels, true), normalisation(channels), relu}};
}

// The strings of an array.
[[nodiscard]] std::vector<std::string> layers_in(const json& all, const char* name, const std::string& place) {
  const auto at = all.find(name);
  if (at == all.end() || !at->is_array()) throw user_error{place + "found no array \"" + name + "\", expected one"};
  std::vector<std::string> layers;
  for (const json& each : *at) {
    if (!each.is_string()) throw user_error{place + name + ": found " + support::excerpt(each) + ", expected strings"};
    layers.push_back(each.get<std::string>());
  }
  return layers;
}
[[nodiscard]] std::uint32_t number_in(const json& all, const char* name, const std::string& place) {
  const auto at = all.find(name);
  if (at == all.end() || !at->is_number_unsigned() || at->get<std::uint64_t>() > 1'000'000)
    throw user_error{place + "found no \"" + name + "\" from 0 to 1000000, expected one"};
  return at->get<std::uint32_t>();
}
void expect_only(const json& all, const std::set<std::string>& names, const std::string& place) {
  for (const auto& [name, value] : all.items())
    if (!names.contains(name))
      throw user_error{place + "found " + support::excerpt(name) + ", which is no part of a model"};
}

}  // namespace

adapt::growable_model published_model(const std::string& name) {
  const growable_block last{.first = 0, .layers = 2, .insertion = {linear_layer(10, 10), relu}};
  std::vector<std::string> layers;
  std::vector<growable_block> blocks;
  if (name == "convnet2") {
    layers = {
        convolution(3, 32), normalisation(32),    relu, halving_pool, convolution(32, 32), normalisation(32), relu,
        flat_pool,          linear_layer(32, 10), relu};
    blocks = {convolutional_block(0, 32), convolutional_block(4, 32), last};
  } else if (name == "convnet3") {
    layers = {convolution(3, 64), normalisation(64),    relu, convolution(64, 32), normalisation(32), relu,
              flat_pool,          linear_layer(32, 10), relu};
    blocks = {convolutional_block(0, 64), convolutional_block(3, 32), last};
  } else {
    throw user_error{"model \"" + name + "\": expected convnet2 or convnet3"};
  }
  blocks.back().first = static_cast<std::uint32_t>(layers.size() - 2);
  return *adapt::growable_model::make(std::move(layers), std::move(blocks));
}

adapt::growable_model perceptron(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                                 bool widens) {
  std::vector<std::string> layers;
  std::vector<growable_block> blocks;
  for (const std::size_t width : hidden) {
    blocks.push_back({static_cast<std::uint32_t>(layers.size()), 2, {linear_layer(width, width), relu}, widens});
    layers.insert(layers.end(), {linear_layer(inputs, width), relu});
    inputs = width;
  }
  layers.push_back(linear_layer(inputs, outputs));
  return *adapt::growable_model::make(std::move(layers), std::move(blocks));
}

adapt::growable_model read_growable_model(const std::filesystem::path& file) {
  const std::string place = file.string() + ": ";
  const json all = object_in(file, largest_model);
  expect_only(all, {"layers", "blocks"}, place);
  std::vector<std::string> layers = layers_in(all, "layers", place);
  const auto found = all.find("blocks");
  if (found == all.end() || !found->is_array()) throw user_error{place + "found no array \"blocks\", expected one"};
  std::vector<growable_block> blocks;
  for (const json& each : *found) {
    const std::string which = place + "block " + std::to_string(blocks.size()) + ": ";
    if (!each.is_object()) throw user_error{which + "found " + support::excerpt(each) + ", expected an object"};
    expect_only(each, {"first", "layers", "insertion", "widens"}, which);
    const auto widens = each.find("widens");
    if (widens != each.end() && !widens->is_boolean())
      throw user_error{which + "widens: found " + support::excerpt(*widens) + ", expected true or false"};
    blocks.push_back({number_in(each, "first", which), number_in(each, "layers", which),
                      layers_in(each, "insertion", which), widens != each.end() && widens->get<bool>()});
  }
  auto made = adapt::growable_model::make(std::move(layers), std::move(blocks));
  if (!made) throw user_error{place + made.error().message};
  return std::move(*made);
}

std::string as_json(const adapt::growable_model& model) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array();
  for (const growable_block& each : model.blocks()) {
    blocks.push_back({{"first", each.first}, {"layers", each.layers}, {"insertion", each.insertion}});
    if (each.widens) blocks.back()["widens"] = true;
  }
  const std::vector<std::string> layers(model.layers().begin(), model.layers().end());
  return nlohmann::ordered_json{{"layers", layers}, {"blocks", blocks}}.dump(2) + "\n";
}

}  // namespace rubato::lab
