#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <rubato/learned/loader.hpp>
#include <rubato/nn/mlp.hpp>
#include <string>
#include <vector>

#include "../io/container.hpp"
#include "../support/add_tensors.hpp"
#include "../support/some_network.hpp"

namespace rubato {
namespace {

using test::random_network;
using raw_policy = q_policy<rlp_state, nn::dynamic_mlp>;

struct file {
  std::string path = testing::TempDir() + "rubato_loader_" + std::to_string(::getpid()) + ".safetensors";
  ~file() { std::remove(path.c_str()); }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
};

policy_card about() {
  return {.loss_source = "worker_ema",
          .reward = "-time",
          .trained_on = "paper",
          .command = "by hand",
          .seed = 7,
          .licence = "Apache-2.0"};
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, {}, [](float x) { return std::bit_cast<std::uint32_t>(x); },
                            [](float x) { return std::bit_cast<std::uint32_t>(x); });
}

TEST(Loader, RoundTripIsBitExact) {
  const file f;
  nn::dynamic_mlp network = *nn::dynamic_mlp::make(
      {40, 17, 5, 3}, {.hidden = {.kind = nn::activation_kind::leaky_relu, .slope = 0.3}});
  random_sequence random{3};
  for (float& w : network.parameters()) w = static_cast<float>(random.normal());
  network.parameters()[5] = -0.0F;
  network.parameters()[6] = 1e-42F;  // subnormal
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{network}, about()));
  const auto back = load_q_policy(f.path, {.max_idle = 9});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same_bits(back->network().parameters(), network.parameters()));
  EXPECT_EQ(back->network().options(), network.options());
  EXPECT_EQ(back->options().max_idle, 9);
  EXPECT_EQ(back->scale().count(), 0U);
}

TEST(Loader, AStaticNetworkSavesTheSameBytes) {
  const file f;
  nn::mlp<40, 8, 3> fixed;
  const nn::dynamic_mlp network = random_network(1);
  std::ranges::copy(network.parameters(), fixed.parameters().begin());
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{network}, about()));
  const std::string bytes = f.bytes();
  ASSERT_TRUE(save_q_policy(f.path, q_policy{fixed, {}, rlp_state{}}, about()));
  EXPECT_EQ(f.bytes(), bytes);
}

TEST(Loader, TransposesWeights) {
  const file f;
  const nn::dynamic_mlp network = random_network(2);
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{network}, about()));
  const auto read = safetensors::load(f.path);
  ASSERT_TRUE(read);
  const tensor* weight = read->find("policy/layer0/weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<std::uint64_t>{8, 40})) << "one row per output";
  EXPECT_EQ(weight->at<float>(40 * 5 + 11), network.weight(0)(11, 5));
}

TEST(Loader, RestoresTheNormaliser) {
  const file f;
  normaliser<40> scale;
  random_sequence random{9};
  std::array<float, 40> row{};
  for (int n = 0; n < 50; ++n) {
    for (float& x : row) x = static_cast<float>(10 * random.normal());
    row[3] = 4;  // never varies
    scale.observe(row);
  }
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1), {}, {}, scale}, about()));
  const auto back = load_q_policy(f.path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->scale().count(), 50U);
  EXPECT_TRUE(back->scale().frozen());
  std::array<float, 40> one = row, other = row;
  scale.apply(one);
  back->scale().apply(other);
  EXPECT_TRUE(same_bits(one, other));
}

// Of any variance, not only those that are a sum over the count.
TEST(Loader, SavesWhatItLoaded) {
  const file f;
  random_sequence random{4};
  for (const std::uint64_t count : {1U, 3U, 7U, 1000U, 12345U}) {
    std::array<double, 40> means{}, variances{};
    for (double& x : means) x = random.normal();
    for (double& x : variances) x = 10 * random.uniform() + 1e-9;
    normaliser<40> scale;
    scale.assign(means, variances, count);
    ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1), {}, {}, scale}, about()));
    const std::string bytes = f.bytes();
    const auto back = load_q_policy(f.path);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(std::ranges::equal(back->scale().mean(), means));
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(back->scale().variance(i), variances[i]);
    ASSERT_TRUE(save_q_policy(f.path, *back, about()));
    EXPECT_EQ(f.bytes(), bytes) << count;
  }
}

TEST(Loader, ReadsWhatPythonWrote) {
  const auto policy = load_q_policy(test::golden_path("rlp"));
  ASSERT_TRUE(policy) << policy.error().message;
  const nn::dynamic_mlp& network = policy->network();
  ASSERT_EQ(network.layers().size(), 2U);
  EXPECT_EQ(network.weight(0)(3, 1), 43 * 0.125F - 5) << "[1, 3] of an array of 2 rows";
  EXPECT_EQ(network.bias(0)[1], -0.25F);
  EXPECT_EQ(network.weight(1)(1, 2), 1.5F);
  EXPECT_EQ(network.bias(1)[2], 0.125F);
  EXPECT_EQ(network.options().hidden, (nn::activation{nn::activation_kind::leaky_relu, 0.01}));
  EXPECT_EQ(policy->scale().count(), 1000U) << "no power of two: times it and over it again is another number";
  EXPECT_EQ(policy->scale().mean()[39], 39 * 0.1);
  EXPECT_EQ(policy->scale().variance(39), 39 * 0.1 + 1);
  const auto any = load_policy(test::golden_path("rlp"));
  ASSERT_TRUE(any) << any.error().message;
  EXPECT_EQ(any->describe().json, policy->describe().json);
}

// So what is written here opens there, with the same values.
TEST(Loader, WritesTheBytesThatPythonWrites) {
  const file f;
  const auto python = safetensors::load(test::golden_path("rlp"));
  const auto policy = load_q_policy(test::golden_path("rlp"));
  ASSERT_TRUE(python && policy);
  const auto card = read_policy_card(*python);
  ASSERT_TRUE(card);
  ASSERT_TRUE(save_q_policy(f.path, *policy, *card));
  safetensors_writer same;
  same.metadata("rubato", *to_json(card_of(*policy, *card)));  // the same but for this build's version
  for (const tensor& each : python->tensors()) same.add(each);
  EXPECT_EQ(f.bytes(), test::written(same));
}

TEST(Loader, SameBytesTwice) {
  const file f;
  const raw_policy policy{random_network(1)};
  const auto size = save_q_policy(f.path, policy, about());
  ASSERT_TRUE(size);
  const std::string bytes = f.bytes();
  EXPECT_EQ(*size, bytes.size());
  ASSERT_TRUE(save_q_policy(f.path, policy, about()));
  EXPECT_EQ(f.bytes(), bytes);
}

// A file with this card, and a network of these widths.
errc refusal(const std::string& path, const std::function<void(policy_card&)>& change, std::string& message,
             std::vector<std::uint32_t> widths = {40, 8, 3}) {
  policy_card card = card_of(raw_policy{random_network(1)}, about());
  card.layers = widths;
  change(card);
  safetensors_writer out;
  const auto json = to_json(card);
  EXPECT_TRUE(json) << json.error().message;
  out.metadata("rubato", *json);
  std::vector<std::vector<float>> values(2 * widths.size());
  for (std::size_t l = 0; l + 1 < widths.size() && card.rule.empty(); ++l) {
    values[2 * l].resize(std::size_t{widths[l]} * widths[l + 1]);
    values[2 * l + 1].resize(widths[l + 1]);
    out.add(detail::layer_tensor(l, "weight"), {widths[l + 1], widths[l]}, values[2 * l]);
    out.add(detail::layer_tensor(l, "bias"), {widths[l + 1]}, values[2 * l + 1]);
  }
  EXPECT_TRUE(out.save(path));
  const auto policy = load_q_policy(path);
  if (policy) return message = "accepted", errc::ok;
  message = policy.error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_TRUE(message.starts_with(path)) << message;
  return policy.error().code;
}

TEST(Loader, SaysWhatDisagrees) {
  const file f;
  std::string message;
  const auto expect = [&](const std::string& words, const std::function<void(policy_card&)>& change,
                          std::vector<std::uint32_t> widths = {40, 8, 3}) {
    EXPECT_EQ(refusal(f.path, change, message, widths), errc::wrong_kind) << words;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  EXPECT_EQ(refusal(f.path, [](policy_card&) {}, message), errc::ok) << message;
  expect(R"(found kind "ppo", expected "rlp")", [](policy_card& c) { c.kind = "ppo"; });
  expect(R"(feature 2: found "loss_change@0" in "bits", expected "loss_change@0" in "nats")",
         [](policy_card& c) { c.features[2].unit = "bits"; });
  expect(R"(feature 0: found "temperature" in "pushes", expected "iteration@0" in "pushes")",
         [](policy_card& c) { c.features[0].name = "temperature"; });
  expect(R"(feature 40: found "more")", [](policy_card& c) { c.features.push_back({"more", ""}); }, {41, 8, 3});
  expect(R"(feature 39: found none)", [](policy_card& c) { c.features.pop_back(); }, {39, 8, 3});
  expect(R"(action 1: found "self", expected "submitter")", [](policy_card& c) { c.actions[1] = "self"; });
  expect(R"(action 2: found none)", [](policy_card& c) { c.actions.pop_back(); });
  expect(R"(decision_period "epoch")", [](policy_card& c) { c.decision_period = "epoch"; });
  expect("an output layer of 4", [](policy_card&) {}, {40, 8, 4});
  expect(R"(activation "swish")", [](policy_card& c) { c.activation = "swish"; });
  expect("layers: dynamic_mlp: width 1 is 3000", [](policy_card&) {}, {40, 3000, 3});
  expect("18 widths", [](policy_card&) {},
         {40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3});
  expect(R"(the rule "ssp:3")", [](policy_card& c) { c.rule = "ssp:3", c.layers.clear(), c.activation.clear(); });
}

// Nothing would keep the policy to it.
TEST(Loader, ARangeIsRefused) {
  const file f;
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1)}, about()));
  test::add_tensors(f.path, {"obs_range/least", "obs_range/most"}, std::vector<float>(40, 1.0F));
  const auto policy = load_q_policy(f.path);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message,
            f.path + ": tensor \"obs_range/least\": found one, expected none in a policy of kind \"rlp\"");
}

TEST(Loader, BadOptionsAreRefusedForEveryKind) {
  const file f;
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1)}, about()));
  EXPECT_EQ(load_policy(f.path, {.max_idle = -1}).error().code, errc::invalid_option);
  using correction = residual_policy<progress_state, nn::dynamic_mlp>;
  ASSERT_TRUE(save_residual_policy(f.path, correction{*nn::dynamic_mlp::make({progress_state::dim, corrections})}));
  EXPECT_TRUE(load_policy(f.path, {.max_idle = 1}));
  EXPECT_EQ(load_policy(f.path, {.max_idle = -1}).error().code, errc::invalid_option);
}

TEST(Loader, TensorsOfAnotherSize) {
  const file f;
  std::string message;
  EXPECT_EQ(refusal(f.path, [](policy_card& c) { c.layers[1] = 9; }, message), errc::corrupt);
  EXPECT_NE(message.find("policy/layer0/weight"), std::string::npos) << message;
}

TEST(Loader, RefusesNaN) {
  const file f;
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1)}, about()));
  std::string bytes = f.bytes();
  bytes.replace(bytes.size() - 4, 4, "\x00\x00\xc0\x7f", 4);  // NaN, the low byte first
  std::ofstream{f.path, std::ios::binary} << bytes;
  const auto policy = load_q_policy(f.path);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::corrupt);
  EXPECT_NE(policy.error().message.find("expected a finite number"), std::string::npos) << policy.error().message;
}

TEST(Loader, RefusesAMissingFile) {
  const auto policy = load_q_policy("/nowhere/at.all");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::io);
}

TEST(Loader, RefusesOptions) {
  const file f;
  ASSERT_TRUE(save_q_policy(f.path, raw_policy{random_network(1)}, about()));
  const auto policy = load_q_policy(f.path, {.max_idle = -1});
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::invalid_option);
}

TEST(Loader, RefusesToSave) {
  const file f;
  nn::dynamic_mlp network = random_network(1);
  network.bias(1)[2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(save_q_policy(f.path, raw_policy{network}).error().code, errc::invalid_option);
  const nn::dynamic_mlp ends_with_tanh =
      *nn::dynamic_mlp::make({40, 3}, {.output = {.kind = nn::activation_kind::tanh}});
  EXPECT_EQ(save_q_policy(f.path, raw_policy{ends_with_tanh}).error().code, errc::invalid_option);
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::array<double, 40> good{}, wrong{};
    good.fill(1);
    wrong.fill(1);
    wrong[7] = bad;
    normaliser<40> mean, variance;
    mean.assign(wrong, good, 3);
    variance.assign(good, wrong, 3);
    EXPECT_EQ(save_q_policy(f.path, raw_policy{random_network(1), {}, {}, mean}).error().code, errc::invalid_option);
    if (bad == bad) {
      const auto refused = save_q_policy(f.path, raw_policy{random_network(1), {}, {}, variance});
      EXPECT_EQ(refused.error().code, errc::invalid_option);
      EXPECT_NE(refused.error().message.find("found a mean or variance"), std::string::npos);
    }
  }
  EXPECT_EQ(save_q_policy("/nowhere/at.all", raw_policy{random_network(1)}).error().code, errc::io);
  EXPECT_EQ(f.bytes(), "");
}

template <class Encoder>
void expect_found(const std::string& path) {
  nn::dynamic_mlp network = *nn::dynamic_mlp::make({Encoder::dim, 4, 3});
  random_sequence random{Encoder::dim};
  for (float& w : network.parameters()) w = static_cast<float>(random.normal());
  const q_policy policy{network, {}, Encoder{}};
  ASSERT_TRUE(save_q_policy(path, policy, about()));
  const auto found = load_policy(path, {.max_idle = 7});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->kind(), Encoder::kind);
  EXPECT_EQ(found->describe().json, (q_policy{network, {.max_idle = 7}, Encoder{}}.describe().json));
  EXPECT_TRUE(load_q_policy<Encoder>(path));
  const auto refused = [](const auto& loaded) { return !loaded && loaded.error().code == errc::wrong_kind ? 1 : 0; };
  EXPECT_EQ(refused(load_q_policy<rlp_state>(path)) + refused(load_q_policy<rlp_normalised_state>(path)) +
                refused(load_q_policy<cluster_state>(path)),
            2)
      << "who asks for one encoder gets no other";
}

TEST(Loader, FindsTheEncoder) {
  const file f;
  expect_found<rlp_state>(f.path);
  expect_found<rlp_normalised_state>(f.path);
  expect_found<cluster_state>(f.path);
}

// The kind of any policy.
struct kind_of_policy {
  template <class P>
  explicit kind_of_policy(P) : kind{P::kind} {}
  std::string_view kind;
};

TEST(Loader, MakesWhatIsAskedFor) {
  EXPECT_EQ(load_policy<kind_of_policy>(test::golden_path("rlp"))->kind, rlp_state::kind);
  static_assert(std::same_as<decltype(load_policy("")), result<any_policy>>);
}

// What load_q_policy says, too.
TEST(Loader, RefusesARule) {
  const file f;
  std::string message;
  static_cast<void>(refusal(
      f.path, [](policy_card& c) { c = {.rubato = "0.1.0", .kind = "ssp", .rule = "ssp:3"}; }, message));
  const auto policy = load_policy(f.path);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::wrong_kind);
  EXPECT_EQ(policy.error().message,
            f.path + R"(: policy card: found the rule "ssp:3", expected a learned policy, with layers)");
  EXPECT_EQ(message, policy.error().message);
}

TEST(Loader, RefusesAnEmptyContainer) {
  const auto policy = policy_of(safetensors{});
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::corrupt);
}

TEST(Loader, RefusesAnUnknownKind) {
  const file f;
  std::string message;
  static_cast<void>(refusal(f.path, [](policy_card& c) { c.kind = "ppo"; }, message));
  const auto policy = load_policy(f.path);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, errc::wrong_kind);
  EXPECT_NE(policy.error().message.find("\"ppo\""), std::string::npos);
}

}  // namespace
}  // namespace rubato
