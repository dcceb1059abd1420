#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <rubato/io/policy_card.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container.hpp"

namespace {

using rubato::feature;
using rubato::errc;
using rubato::parse_policy_card;
using rubato::policy_card;
using rubato::read_policy_card;
using rubato::safetensors;
using rubato::safetensors_writer;
using rubato::to_json;
using rubato::test::golden_path;
using rubato::test::parsed;
using rubato::test::rewritten;

// The card of tests/io/golden/make.py.
policy_card learned() {
  return {.rubato = "0.1.0",
          .kind = "rlp",
          .features = {{"loss", ""}, {"staleness", "steps"}, {"caf\xC3\xA9", "\xC2\xB5s"}},
          .loss_source = "push",
          .actions = {"hold", "submitter"},
          .decision_period = "push",
          .reward = "-time",
          .trained_on = "paper",
          .command = "rubato-lab train --agent dqn-paper --out \"p\"",
          .seed = UINT64_MAX,
          .evaluation = {{"paper", "bsp", 1.25, 1.125, 1.5, 10}},
          .licence = "Apache-2.0",
          .layers = {3, 4, 2},
          .activation = "leaky_relu(0.01)"};
}
policy_card rule_based() { return {.rubato = "0.1.0", .kind = "ssp", .rule = "ssp:3", .licence = "CC0-1.0"}; }

std::string json_of(const policy_card& card) {
  const auto text = to_json(card);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : std::string{};
}

std::string card_refusal(std::string_view json, errc code = errc::corrupt) {
  const auto card = parse_policy_card(json, "card");
  if (card) return "accepted";
  EXPECT_EQ(card.error().code, code) << card.error().message;
  return card.error().message;
}

// The learned card's JSON after a change of one of its members.
std::string changed(const std::function<void(nlohmann::ordered_json&)>& change) {
  auto json = nlohmann::ordered_json::parse(json_of(learned()));
  change(json);
  return json.dump();
}

TEST(PolicyCard, RoundTrip) {
  for (const policy_card& card : {learned(), rule_based()}) {
    const std::string text = json_of(card);
    const auto back = parse_policy_card(text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, card);
    EXPECT_EQ(json_of(*back), text);
  }
}

TEST(PolicyCard, GoldenJson) {
  EXPECT_EQ(
      json_of(rule_based()),
      R"({"format":1,"rubato":"0.1.0","kind":"ssp","rule":"ssp:3","features":[],"features_hash":"cbf29ce484222325",)"
      R"("loss_source":"","actions":[],"decision_period":"","reward":"","trained_on":"","command":"","seed":0,)"
      R"("evaluation":[],"licence":"CC0-1.0","layers":[],"activation":""})");
}

TEST(PolicyCard, ReadsWhatPythonWrote) {
  const auto file = safetensors::load(golden_path("policy"));
  ASSERT_TRUE(file);
  const auto card = read_policy_card(*file);
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(*card, learned());
  EXPECT_EQ(json_of(learned()), *file->metadata("rubato")) << "the same bytes, too";
}

TEST(PolicyCard, MembersInAnyOrder) {
  const auto json = nlohmann::json::parse(json_of(learned()));  // sorted by name
  const auto card = parse_policy_card(json.dump(2));
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(*card, learned());
}

TEST(PolicyCard, RefusesUnknownKeys) {
  EXPECT_EQ(card_refusal(changed([](auto& j) { j["note"] = 1; })),
            "card: byte 566, \"note\": found the unknown key \"note\", expected a key of the policy card");
  EXPECT_NE(card_refusal(changed([](auto& j) { j["features"][1]["x"] = 1; })).find("found the unknown key \"x\""),
            std::string::npos);
  EXPECT_NE(card_refusal(changed([](auto& j) { j["evaluation"][0]["x"] = 1; })).find("found the unknown key \"x\""),
            std::string::npos);
}

TEST(PolicyCard, NamesMissingKeys) {
  EXPECT_EQ(card_refusal("{}"),
            "card: byte 1: found no \"format\", \"rubato\", \"kind\", \"rule\", \"features\", \"features_hash\", "
            "\"loss_source\", "
            "\"actions\", \"decision_period\", \"reward\", \"trained_on\", \"command\", \"seed\", \"evaluation\", "
            "\"licence\", "
            "\"layers\", \"activation\", expected every key of the policy card");
  const auto members = nlohmann::json::parse(json_of(learned()));
  for (const auto& member : members.items())
    EXPECT_NE(
        card_refusal(changed([&](auto& j) { j.erase(member.key()); })).find("found no \"" + member.key() + "\", expected"),
        std::string::npos);
  EXPECT_NE(card_refusal(changed([](auto& j) { j["features"][0].erase("unit"); })).find("\"features\": found no \"unit\""),
            std::string::npos);
  EXPECT_NE(card_refusal(changed([](auto& j) { j["evaluation"][0].erase("low"); })).find("\"evaluation\": found no \"low\""),
            std::string::npos);
}

TEST(PolicyCard, OtherFormatVersion) {
  const std::string message = "card: byte 10, \"format\": found format 2, expected 1, the one this build reads";
  EXPECT_EQ(card_refusal(changed([](auto& j) { j["format"] = 2; }), errc::wrong_kind), message);
  EXPECT_EQ(card_refusal(R"({"format":2,"new in 2":{}})", errc::wrong_kind), message) << "not that its keys are unknown";
}

TEST(PolicyCard, OtherTypes) {
  const auto members = nlohmann::json::parse(json_of(learned()));
  for (const auto& member : members.items())
    for (const char* other : {"null", "true", "{}", "-1", "1.5", "[[]]"})
      EXPECT_NE(card_refusal(changed([&](auto& j) { j[member.key()] = nlohmann::json::parse(other); })), "accepted")
          << member.key() << ' ' << other;
  EXPECT_NE(card_refusal(changed([](auto& j) { j["layers"][1] = std::uint64_t{1} << 32; })), "accepted");
  EXPECT_NE(card_refusal(changed([](auto& j) { j["kind"] = "a\x1b[2J"; })).find("found a control or hidden character, expected none"),
            std::string::npos);
  EXPECT_NE(card_refusal(json_of(learned()) + '\n'), "accepted");
}

TEST(PolicyCard, FeatureHash) {
  struct compiled_in {
    std::string_view name, unit;
  };
  static constexpr std::array<compiled_in, 2> known{{{"loss", ""}, {"staleness", "steps"}}};
  static_assert(rubato::feature_hash(known) == 0x65a057f8a120d529);
  EXPECT_EQ(rubato::feature_hash(learned().features), 0x779f54806ac71049U) << "as Python computed it";
  EXPECT_NE(rubato::feature_hash(std::vector<feature>{{"ab", ""}}),
            rubato::feature_hash(std::vector<feature>{{"a", "b"}}));
  EXPECT_NE(card_refusal(changed([](auto& j) {
              j["features_hash"] = "779f54806ac71048";
            })).find("found features_hash \"779f54806ac71048\", expected \"779f54806ac71049\""),
            std::string::npos);
  EXPECT_NE(card_refusal(changed([](auto& j) { j["features"][0]["unit"] = "nats"; })).find("found features_hash"),
            std::string::npos);
}

TEST(PolicyCard, KnownFeaturesAndActions) {
  struct compiled_in {
    std::string_view name, unit;
  };
  const policy_card card = learned();
  const auto features = card.features;
  const auto check = [&](const auto& known, const std::vector<std::string_view>& actions) {
    const rubato::error e = rubato::check_known(card, known, actions, "p");
    return std::string{name(e.code)} + ' ' + e.message;
  };
  EXPECT_EQ(check(features, {"hold", "submitter"}), "ok ");
  EXPECT_EQ(check(std::array<compiled_in, 2>{{{"loss", ""}, {"staleness", "updates"}}}, {"hold", "submitter"}),
            "wrong_kind p: feature 1: found \"staleness\" in \"steps\", expected \"staleness\" in \"updates\"");
  EXPECT_EQ(check(std::array<compiled_in, 1>{{{"loss", ""}}}, {}),
            "wrong_kind p: feature 1: found \"staleness\" in \"steps\", expected none");
  EXPECT_EQ(check(features, {"hold", "submitter", "all"}), "wrong_kind p: action 2: found none, expected \"all\"");
  EXPECT_EQ(check(features, {"submitter", "hold"}), "wrong_kind p: action 0: found \"hold\", expected \"submitter\"");
}

TEST(PolicyCard, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::function<void(policy_card&)>& change) {
    policy_card card = learned();
    change(card);
    const auto text = to_json(card);
    if (text) return std::string{"written"};
    EXPECT_EQ(text.error().code, errc::invalid_option);
    return text.error().message;
  };
  EXPECT_EQ(refused([](auto& c) { c.kind = ""; }), "policy card: found an empty kind, expected the kind of the policy");
  EXPECT_EQ(refused([](auto& c) { c.layers = {}; }),
            "policy card: found neither rule nor layers, expected one of them");
  EXPECT_EQ(refused([](auto& c) { c.rule = "ssp:3"; }),
            "policy card: found both rule and layers, expected one of them");
  EXPECT_EQ(refused([](auto& c) { c.features[1].name = "loss"; }),
            "policy card: found feature \"loss\" twice, expected different names");
  EXPECT_EQ(refused([](auto& c) { c.actions[0] = ""; }),
            "policy card: found a nameless action, expected different names");
  EXPECT_EQ(refused([](auto& c) { c.layers = {3}; }),
            "policy card: found 1 layer size, expected 2 to 64");
  EXPECT_EQ(refused([](auto& c) { c.layers[1] = 0; }), "policy card: found size 0 of layer 1, expected at least 1");
  EXPECT_EQ(refused([](auto& c) { c.layers.insert(c.layers.begin() + 1, 62, 4U); }),
            "policy card: found 65 layer sizes, expected 2 to 64");
  EXPECT_EQ(refused([](auto& c) { c.layers[0] = 4; }),
            "policy card: found 3 features, expected 4, the size of the input layer");
  EXPECT_EQ(refused([](auto& c) { c.layers[2] = 1; }),
            "policy card: found 2 actions, expected at least 1 and at most 1, the size of the output layer");
  EXPECT_EQ(refused([](auto& c) { c.layers[2] = 3; }), "written")
      << "an output besides the actions, as of a dueling network";
  EXPECT_EQ(refused([](auto& c) { c.actions = {}; }),
            "policy card: found 0 actions, expected at least 1 and at most 2, the size of the output layer");
  EXPECT_EQ(refused([](auto& c) { c.activation = ""; }),
            "policy card: found no activation, expected one, because there are layers");
  EXPECT_EQ(refused([](auto& c) { c = rule_based(), c.activation = "tanh"; }),
            "policy card: found the activation \"tanh\", expected none, because there are no layers");
  EXPECT_EQ(refused([](auto& c) { c.licence = "MIT \xE2\x80\xAE"; }),
            "policy card: byte 504, \"licence\": found a control or hidden character, expected none")
      << "what turns the rest of a line round";
  EXPECT_EQ(refused([](auto& c) { c.reward = "a\nb"; }),
            "policy card: byte 278, \"reward\": found a control or hidden character, expected none");
  EXPECT_EQ(refused([](auto& c) { c.reward = "\xFF"; }), "policy card: found text that is not UTF-8, expected UTF-8");
  EXPECT_NE(refused([](auto& c) { c.evaluation[0].low = std::nan(""); }).find("\"low\": found null, expected a number"),
            std::string::npos);
  EXPECT_EQ(refused([](auto& c) { c.format = 2; }),
            "policy card: byte 10, \"format\": found format 2, expected 1, the one this build reads");
}

// A policy file whose tensors agree with the card, to be broken by tests.
struct policy_file {
  policy_card card = learned();
  std::vector<float> weight0 = std::vector<float>(12, 0.5F), bias0 = std::vector<float>(4),
                     weight1 = std::vector<float>(8), bias1 = std::vector<float>(2), other = std::vector<float>(3);
  std::vector<float> most{};  // of the range of inputs; empty: there is none
  std::vector<double> mean = std::vector<double>(3), var = std::vector<double>(3, 1.0);
  std::uint64_t count = 7;
  std::vector<std::uint64_t> shape0{4, 3};
  bool normalised = true, with_card = true;
  std::string other_name = "opt/momentum";

  [[nodiscard]] std::string refusal() const {
    safetensors_writer writer;
    if (with_card) writer.metadata("rubato", json_of(card));
    writer.add("policy/layer0/weight", shape0, weight0).add("policy/layer0/bias", {bias0.size()}, bias0);
    writer.add("policy/layer1/weight", {2, 4}, weight1).add("policy/layer1/bias", {2}, bias1);
    if (normalised) writer.add("obs_norm/mean", {mean.size()}, mean).add("obs_norm/count", {}, std::span{&count, 1});
    if (normalised) writer.add("obs_norm/var", {var.size()}, var);
    writer.add(other_name, {3}, other);
    if (!most.empty()) writer.add("obs_range/most", {most.size()}, most);
    const auto file = parsed(rubato::test::written(writer));
    const auto read = file ? read_policy_card(*file) : file.error();
    if (read) return "accepted";
    EXPECT_EQ(read.error().code, errc::corrupt);
    return read.error().message;
  }
};

std::string refused(const std::function<void(policy_file&)>& change) {
  policy_file file;
  change(file);
  return file.refusal();
}

TEST(PolicyCard, TensorsAgree) {
  EXPECT_EQ(refused([](auto&) {}), "accepted");
  EXPECT_EQ(refused([](auto& f) { f.normalised = false; }), "accepted");
  EXPECT_EQ(refused([](auto& f) { f.other_name = "value/layer0/weight"; }), "accepted");
}

TEST(PolicyCard, TensorsDisagree) {
  EXPECT_EQ(refused([](auto& f) {
              f.shape0 = {3, 4};
            }),
            "file: tensor \"policy/layer0/weight\": found F32 of shape [3, 4], expected F32 of shape [4, 3]");
  EXPECT_EQ(refused([](auto& f) { f.bias0.resize(5); }),
            "file: tensor \"policy/layer0/bias\": found F32 of shape [5], expected F32 of shape [4]");
  EXPECT_EQ(refused([](auto& f) {
              f.card.layers = {3, 4, 4, 2};
            }),
            "file: tensor \"policy/layer1/weight\": found F32 of shape [2, 4], expected F32 of shape [4, 4]");
  EXPECT_EQ(refused([](auto& f) {
              f.card.layers = {3, 4, 2, 2};
            }),
            "file: tensor \"policy/layer2/weight\": found nothing, expected F32 of shape [2, 2]");
  EXPECT_EQ(refused([](auto& f) {
              f.card.layers = {3, 4};
            }),
            "file: tensor \"policy/layer1/bias\": found F32 of shape [2], expected only tensors of the layers that the "
            "card declares");
  EXPECT_EQ(refused([](auto& f) {
              f.card.layers = {3, 4294967295, 2};
            }),
            "file: tensor \"policy/layer0/weight\": found F32 of shape [4, 3], expected F32 of shape [4294967295, 3]");
  EXPECT_EQ(refused([](auto& f) { f.mean.resize(2); }),
            "file: tensor \"obs_norm/mean\": found F64 of shape [2], expected F64 of shape [3]");
  EXPECT_EQ(refused([](auto& f) { f.normalised = false, f.other_name = "obs_norm/mean"; }),
            "file: tensor \"obs_norm/mean\": found F32 of shape [3], expected F64 of shape [3]");
  EXPECT_EQ(refused([](auto& f) { f.other_name = "policy/gain"; }),
            "file: tensor \"policy/gain\": found F32 of shape [3], expected only tensors of the layers that the card "
            "declares");
  EXPECT_EQ(refused([](auto& f) { f.with_card = false; }),
            "file: found no \"rubato\" in __metadata__, expected a policy card");
}

TEST(PolicyCard, ValuesMustBeFinite) {
  EXPECT_EQ(refused([](auto& f) { f.weight0[5] = std::nanf(""); }),
            "file: tensor \"policy/layer0/weight\": found nan at 5, expected a finite number");
  EXPECT_EQ(refused([](auto& f) { f.bias1[1] = -std::numeric_limits<float>::infinity(); }),
            "file: tensor \"policy/layer1/bias\": found -inf at 1, expected a finite number");
  EXPECT_EQ(refused([](auto& f) { f.mean[0] = std::nan(""); }),
            "file: tensor \"obs_norm/mean\": found nan at 0, expected a finite number");
  EXPECT_EQ(refused([](auto& f) { f.other_name = "value/bias", f.other[2] = std::nanf(""); }),
            "file: tensor \"value/bias\": found nan at 2, expected a finite number");
  EXPECT_EQ(refused([](auto& f) { f.other[2] = std::nanf(""); }), "accepted") << "of no concern to who runs the policy";
}

TEST(PolicyCard, VariancesMustBePositive) {
  for (const auto& [bad, text] :
       {std::pair{0.0, "0"}, {-0.0, "-0"}, {-1e-9, "-1e-09"}, {std::nan(""), "nan"}, {HUGE_VAL, "inf"}})
    EXPECT_EQ(refused([variance = bad](auto& f) { f.var[1] = variance; }),
              "file: tensor \"obs_norm/var\": found " + std::string{text} + " at 1, expected a finite variance above 0");
  EXPECT_EQ(refused([&](auto& f) { f.var[1] = std::numeric_limits<double>::denorm_min(); }), "accepted");
}

TEST(PolicyCard, SomethingMustHaveBeenObserved) {
  EXPECT_EQ(refused([](auto& f) { f.count = 0; }),
            "file: tensor \"obs_norm/count\": found 0, expected at least 1 observation");
  EXPECT_EQ(refused([](auto& f) { f.count = 1; }), "accepted");
}

TEST(PolicyCard, RangesHaveTwoEnds) {
  EXPECT_EQ(refused([](auto& f) { f.other_name = "obs_range/least"; }),
            "file: tensor \"obs_range/most\": found nothing, expected F32 of shape [3]");
  EXPECT_EQ(refused([](auto& f) { f.other_name = "obs_range/width"; }),
            "file: tensor \"obs_range/width\": found F32 of shape [3], expected only tensors of the layers that the card "
            "declares");
}

TEST(PolicyCard, RangesBeginWithTheLeast) {
  const auto ranged = [](std::vector<float> least, std::vector<float> most) {
    return refused([&](auto& f) { f.other_name = "obs_range/least", f.other = least, f.most = most; });
  };
  EXPECT_EQ(ranged({0, 1, 2}, {0, 1, 3}), "accepted");
  EXPECT_EQ(ranged({0, 1, 2}, {0, 0.5F, 3}),
            "file: tensor \"obs_range/most\": found 0.5 at 1, expected at least what obs_range/least has there, 1");
  EXPECT_EQ(ranged({0, 1, 2}, {0, std::nanf(""), 3}),
            "file: tensor \"obs_range/most\": found nan at 1, expected a finite number");
}

TEST(PolicyCard, RuleBasedHasNoTensors) {
  safetensors_writer writer;
  writer.metadata("rubato", json_of(rule_based()));
  const auto file = parsed(rubato::test::written(writer));
  ASSERT_TRUE(file);
  const auto card = read_policy_card(*file);
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->rule, "ssp:3");
  EXPECT_EQ(refused([](auto& f) { f.card = rule_based(); }),
            "file: tensor \"obs_norm/count\": found U64 of shape [], expected no tensor of a network, because the card "
            "has no layers");
}

}  // namespace
