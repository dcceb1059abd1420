// Files that are no policies, or none for this build: one for each thing that can be wrong, named after it.
#ifndef RUBATO_TESTS_EXAMPLES_HOSTILE_POLICIES_HPP
#define RUBATO_TESTS_EXAMPLES_HOSTILE_POLICIES_HPP

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "policy_bytes.hpp"

namespace rubato::test {

struct hostile_policy {
  std::string name;     ///< of the file: what is wrong with it
  std::string bytes;
  std::string message;  ///< what is said about it after "FILE: ", with N for numbers of bytes
};

namespace hostile {

inline std::string entry(const std::string& name, const std::string& begin, const std::string& end,
                         const std::string& shape = "[1]", const std::string& type = "\"F32\"") {
  return '"' + name + R"(":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":[)" + begin + ',' + end +
         "]}";
}
/// One tensor of eight bytes.
inline std::string one(const std::string& shape, const std::string& begin = "0", const std::string& end = "8",
                       const std::string& type = "\"F32\"") {
  return container('{' + entry("w", begin, end, shape, type) + '}', "12345678");
}
inline std::string two(const std::string& a, const std::string& b, const std::string& data) {
  return container('{' + a + ',' + b + '}', data);
}
inline std::string named(const std::string& name) { return container('{' + entry(name, "0", "4") + '}', "1234"); }

inline std::string changed(const std::function<void(policy_bytes&)>& change) {
  policy_bytes file = policy_bytes::of();
  change(file);
  return file.bytes();
}
/// With another text in place of a part of the card.
inline std::string in_card(const std::string& part, const std::string& other) {
  return changed([&](policy_bytes& f) {
    f.card_text = f.card_json();
    f.card_text.replace(f.card_text.find(part), part.size(), other);
  });
}
inline std::string rule_based(const std::string& kind, const std::string& rule, bool tensors = false) {
  return changed([&](policy_bytes& f) {
    f.card = {.rubato = f.card.rubato, .kind = kind, .rule = rule};
    if (!tensors) f.header.clear(), f.data.clear();
  });
}

}  // namespace hostile

/// What is not in the format.
[[nodiscard]] inline std::vector<hostile_policy> hostile_containers() {
  using namespace hostile;
  using namespace std::string_literals;
  const std::string integer = "an integer of 0 to 9007199254740992";
  const std::string fields = "expected dtype, shape and data_offsets";
  const auto shape = [&](const std::string& name, const std::string& number) {
    return hostile_policy{name, one('[' + number + ']'),
                          "byte N, \"w\".\"shape\": found " + number + ", expected " + integer};
  };
  std::string many = "{";
  for (int i = 0; i < 4097; ++i) many += (i == 0 ? "" : ",") + entry(std::to_string(i), "0", "0", "[0]");
  return {
      {"empty", "", "found 0 bytes, expected at least 8 for the header's length"},
      {"shorter_than_a_length", "1234567", "found 7 bytes, expected at least 8 for the header's length"},
      {"no_header", container(0, ""), "byte N: found nothing, expected \"{\""},
      {"header_longer_than_the_file", container(3, "{}"),
       "byte N: found a header of 3 bytes, expected at most 2, which is what follows"},
      {"length_of_all_ones", container(UINT64_MAX, "{}"),
       "byte N: found a header of 18446744073709551615 bytes, expected at most 2, which is what follows"},
      {"header_above_the_limit", container("{}" + std::string(1 << 20, ' ')),
       "byte N: found a header of 1048578 bytes, expected at most 1048576, which is the limit"},
      {"begins_with_a_blank", container(" {}"), "byte N: found \" \", expected \"{\""},
      {"begins_with_a_byte_order_mark", container("\xEF\xBB\xBF{}"), "byte N: found \"\\xef\", expected \"{\""},
      {"a_list", container("[]"), "byte N: found \"[\", expected \"{\""},
      {"a_pickle", "\x80\x04\x95\x07\0\0\0\0\0\0\0]\x94."s,
       "byte N: found a header of 127206528 bytes, expected at most 6, which is what follows"},
      {"a_text", "name: rlp, layers: 40 8 3",
       "byte N: found a header of 7814343738623091054 bytes, expected at most 17, which is what follows"},
      {"header_cut_off", container("{"), "byte N: found the end, expected a key in quotes"},
      {"line_end_after_the_header", container("{}\n"), "byte N: found \"\\x0a\", expected the end of the text"},
      {"two_headers", container("{}{}"), "byte N: found an object, expected the end of the text"},
      {"not_utf8", container("{\"\xFF\":1}"), "byte N: found \"\\xff\", expected UTF-8"},
      {"overlong_utf8", container("{\"__metadata__\":{\"a\":\"\xC0\x80\"}}"),
       "byte N, \"__metadata__\".\"a\": found \"\\xc0\", expected UTF-8"},
      {"half_a_surrogate_pair", container(R"({"\ud800":1})"),
       "byte N: found half a surrogate pair, expected both halves"},
      {"repeated_tensor", two(entry("w", "0", "4"), entry("w", "4", "8"), "12345678"),
       "byte N: found the key \"w\" again, expected each key once"},
      {"repeated_tensor_escaped", two(entry("w", "0", "4"), entry("\\u0077", "4", "8"), "12345678"),
       "byte N: found the key \"w\" again, expected each key once"},
      {"repeated_field", container(R"({"w":{"dtype":"F32","shape":[1],"sh\u0061pe":[1]}})"),
       "byte N, \"w\": found the key \"shape\" again, expected each key once"},
      {"repeated_metadata", container(R"({"__metadata__":{},"__metadata__":{}})"),
       "byte N: found the key \"__metadata__\" again, expected each key once"},
      {"repeated_key_of_metadata", container(R"({"__metadata__":{"a":"","\u0061":""}})"),
       "byte N, \"__metadata__\": found the key \"a\" again, expected each key once"},
      {"nesting_too_deep", one("[[[[[2]]]]]"), "byte N, \"w\".\"shape\": found an array, expected " + integer},
      shape("number_negative", "-2"),
      shape("number_fractional", "2.0"),
      shape("number_with_exponent", "2e0"),
      shape("number_with_leading_zero", "02"),
      shape("number_above_2_to_53", "9007199254740993"),
      shape("number_above_2_to_64", "18446744073709551618"),
      shape("number_null", "null"),
      {"number_as_text", one("[\"2\"]"), "byte N, \"w\".\"shape\": found a string, expected " + integer},
      {"unknown_field", container(R"({"w":{"dtype":"F32","shape":[2],"stride":1,"data_offsets":[0,8]}})", "12345678"),
       "byte N, \"w\".\"stride\": found the key \"stride\", expected dtype, shape and data_offsets only"},
      {"no_dtype", container(R"({"w":{"shape":[2],"data_offsets":[0,8]}})", "12345678"),
       "byte N, \"w\": found no dtype, " + fields},
      {"no_shape", container(R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", "12345678"),
       "byte N, \"w\": found no shape, " + fields},
      {"no_offsets", container(R"({"w":{"dtype":"F32","shape":[2]}})", "12345678"),
       "byte N, \"w\": found no data_offsets, " + fields},
      {"a_number_for_a_tensor", container(R"({"w":1})"), "byte N, \"w\": found 1, expected an object"},
      {"rank_of_9", one("[1,1,1,1,1,1,1,1,2]"),
       "byte N, \"w\".\"shape\": found one more dimension, expected at most 8"},
      {"product_overflows", one("[4294967296,4294967296]", "0", "0"),
       "byte N, \"w\": found F32 of shape [4294967296, 4294967296], expected less than 2^64 bytes"},
      {"size_is_not_that_of_the_shape", one("[3]"),
       "byte N, \"w\": found data_offsets 8 bytes apart, expected 12 for F32 of shape [3]"},
      {"offsets_reversed", one("[2]", "8", "0"),
       "byte N, \"w\".\"data_offsets\": found [8, 0], expected begin <= end"},
      {"three_offsets", one("[2]", "0", "8,8"),
       "byte N, \"w\".\"data_offsets\": found a third offset, expected begin and end"},
      {"gap", two(entry("a", "0", "4"), entry("b", "5", "9"), "123456789"),
       "tensor \"b\": found its begin at byte N of the data, expected 4: a gap"},
      {"gap_at_the_begin", two(entry("a", "1", "5"), entry("b", "5", "9"), "123456789"),
       "tensor \"a\": found its begin at byte N of the data, expected 0: a gap"},
      {"overlap", two(entry("a", "0", "4"), entry("b", "3", "7"), "1234567"),
       "tensor \"b\": found its begin at byte N of the data, expected 4: an overlap"},
      {"trailing_byte", one("[1]", "0", "4").substr(0, 8 + 54) + "12345",
       "found 5 bytes of data, expected 4, where the last tensor ends"},
      {"last_byte_missing", policy_bytes::of().bytes().substr(0, policy_bytes::of().bytes().size() - 1),
       "found 2059 bytes of data, expected 2060, where the last tensor ends"},
      {"name_with_nul", named("a\\u0000b"),
       "byte N, \"a\\x00b\": found a control or hidden character in the name, expected none"},
      {"name_that_clears_the_screen", named("\\u001b[2J"),
       "byte N, \"\\x1b[2J\": found a control or hidden character in the name, expected none"},
      {"name_with_delete", named("\\u007f"), "byte N, \"\\x7f\": found a control or hidden character in the name, expected none"},
      {"name_of_257_bytes", named(std::string(257, 'n')),
       "byte N, \"" + std::string(64, 'n') + "...\": found a name of 257 bytes, expected at most 256"},
      {"too_many_tensors", container(many + '}'), "byte N, \"4096\": found one more tensor, expected at most 4096"},
      {"metadata_is_a_text", container(R"({"__metadata__":"a"})"),
       "byte N, \"__metadata__\": found a string, expected an object"},
      {"metadata_is_a_number", container(R"({"__metadata__":{"a":1}})"),
       "byte N, \"__metadata__\".\"a\": found 1, expected a string"},
      {"metadata_is_an_object", container(R"({"__metadata__":{"rubato":{}}})"),
       "byte N, \"__metadata__\".\"rubato\": found an object, expected a string"},
      {"metadata_key_with_line_end", container(R"({"__metadata__":{"a\nb":""}})"),
       "byte N, \"__metadata__\".\"a\\x0ab\": found the key \"a\\x0ab\", expected at most 256 bytes, no control or "
       "hidden characters"},
      {"type_f16", one("[4]", "0", "8", "\"F16\""),
       "byte N, \"w\".\"dtype\": found the unsupported type \"F16\", expected F32, F64, I64 or U64"},
      {"type_unknown", one("[2]", "0", "8", "\"f32\""),
       "byte N, \"w\".\"dtype\": found the unsupported type \"f32\", expected F32, F64, I64 or U64"},
  };
}

/// What is in the format, but has no card, or one that makes no sense, or tensors that are not those of the card.
[[nodiscard]] inline std::vector<hostile_policy> hostile_cards() {
  using namespace hostile;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const std::string of_card = "found F32 of shape [2, 2], expected only tensors of the layers that the card declares";
  const auto weight = [&](const std::string& name, const std::string& tensor, float value, const std::string& shown) {
    return hostile_policy{name, changed([&](auto& f) { f.put(tensor, 3, value); }),
                          "tensor \"" + tensor + "\": found " + shown + " at 3, expected a finite number"};
  };
  const auto variance = [&](const std::string& name, double value, const std::string& shown) {
    return hostile_policy{name, changed([&](auto& f) { f.put("obs_norm/var", 7, value); }),
                          "tensor \"obs_norm/var\": found " + shown + " at 7, expected a finite variance above 0"};
  };
  return {
      {"no_metadata", one("[2]"), "found no \"rubato\" in __metadata__, expected a policy card"},
      {"no_card", container(R"({"__metadata__":{"format":"pt"}})"),
       "found no \"rubato\" in __metadata__, expected a policy card"},
      {"card_is_no_json", changed([](auto& f) { f.card_text = "rlp"; }),
       "policy card: byte N: found rlp, expected an object"},
      {"card_of_a_later_format", in_card("\"format\":1", "\"format\":2,\"new\":{}"),
       "policy card: byte N, \"format\": found format 2, expected 1, the one this build reads"},
      {"card_with_unknown_key", in_card("\"reward\"", "\"prize\""),
       "policy card: byte N, \"prize\": found the unknown key \"prize\", expected a key of the policy card"},
      {"card_without_a_key", in_card(",\"reward\":\"-time\"", ""),
       "policy card: byte N: found no \"reward\", expected every key of the policy card"},
      {"card_with_repeated_key", in_card("\"reward\"", "\"s\\u0065ed\":1,\"reward\""),
       "policy card: byte N: found the key \"seed\" again, expected each key once"},
      {"card_with_a_terminal_sequence", in_card("by hand", "\\u001b[2J"),
       "policy card: byte N, \"command\": found a control or hidden character, expected none"},
      {"card_with_a_bad_seed", in_card("\"seed\":1", "\"seed\":1.5"),
       "policy card: byte N, \"seed\": found 1.5, expected an integer of 0 to 18446744073709551615"},
      {"card_with_a_ratio_of_nan", in_card("\"ratio\":1.25", "\"ratio\":NaN"),
       "policy card: byte N, \"evaluation\".\"ratio\": found \"N\", expected a number"},
      {"card_nested_too_deep", in_card("\"layers\":[40", "\"layers\":[[[[[[40]]]]]"),
       "policy card: byte N, \"layers\": found an array, expected an integer of 0 to 4294967295"},
      {"features_hash_differs", in_card("\"unit\":\"nats\"", "\"unit\":\"bits\""),
       "policy card: byte N: found features_hash \"eafa44f169bc54cb\", expected \"1fc696a580300cbf\""},
      {"neither_rule_nor_layers", changed([](auto& f) { f.card.layers.clear(); }),
       "policy card: found neither rule nor layers, expected one of them"},
      {"both_rule_and_layers", changed([](auto& f) { f.card.rule = "asp"; }),
       "policy card: found both rule and layers, expected one of them"},
      {"feature_twice", changed([](auto& f) { f.card.features[1] = f.card.features[0]; }),
       "policy card: found feature \"iteration@0\" twice, expected different names"},
      {"action_without_a_name", changed([](auto& f) { f.card.actions[2].clear(); }),
       "policy card: found a nameless action, expected different names"},
      {"layer_of_size_0", changed([](auto& f) { f.card.layers[1] = 0; }),
       "policy card: found size 0 of layer 1, expected at least 1"},
      {"too_many_layers", changed([](auto& f) { f.card.layers.insert(f.card.layers.begin(), 62, 40U); }),
       "policy card: found 65 layer sizes, expected 2 to 64"},
      {"fewer_features_than_inputs", changed([](auto& f) { f.card.features.pop_back(); }),
       "policy card: found 39 features, expected 40, the size of the input layer"},
      {"more_actions_than_outputs", changed([](auto& f) { f.card.actions.emplace_back("none"); }),
       "policy card: found 4 actions, expected at least 1 and at most 3, the size of the output layer"},
      {"layers_without_an_activation", changed([](auto& f) { f.card.activation.clear(); }),
       "policy card: found no activation, expected one, because there are layers"},
      {"layers_are_not_those_of_the_tensors", changed([](auto& f) { f.card.layers[1] = 9; }),
       "tensor \"policy/layer0/weight\": found F32 of shape [8, 40], expected F32 of shape [9, 40]"},
      {"layers_of_2_to_32", changed([](auto& f) { f.card.layers[1] = 4294967295; }),
       "tensor \"policy/layer0/weight\": found F32 of shape [8, 40], expected F32 of shape [4294967295, 40]"},
      {"layer_missing", changed([](auto& f) { f.card.layers.push_back(3); }),
       "tensor \"policy/layer2/weight\": found nothing, expected F32 of shape [3, 3]"},
      {"weights_transposed", changed([](auto& f) { f.header["policy/layer0/weight"]["shape"] = {40, 8}; }),
       "tensor \"policy/layer0/weight\": found F32 of shape [40, 8], expected F32 of shape [8, 40]"},
      {"weights_of_double_precision",
       changed([](auto& f) {
         f.header["policy/layer0/weight"]["dtype"] = "F64";
         f.header["policy/layer0/weight"]["shape"] = {8, 20};
       }),
       "tensor \"policy/layer0/weight\": found F64 of shape [8, 20], expected F32 of shape [8, 40]"},
      {"tensor_of_no_layer",
       changed([](auto& f) { f.add("policy/layer2/weight", "F32", {2, 2}, std::vector(4, 0.F)); }),
       "tensor \"policy/layer2/weight\": " + of_card},
      {"statistics_of_another_size",
       changed([](auto& f) { f.header["obs_norm/mean"]["shape"] = {4, 10}; }),
       "tensor \"obs_norm/mean\": found F64 of shape [4, 10], expected F64 of shape [40]"},
      {"means_without_variances",
       changed([](auto& f) {
         f.header["spread"] = f.header["obs_norm/var"];
         f.header.erase("obs_norm/var");
       }),
       "tensor \"obs_norm/var\": found nothing, expected F64 of shape [40]"},
      weight("weight_of_nan", "policy/layer0/weight", nan, "nan"),
      weight("weight_infinite", "policy/layer1/weight", infinite, "inf"),
      weight("bias_of_minus_infinity", "policy/layer0/bias", -infinite, "-inf"),
      {"mean_of_nan", changed([](auto& f) { f.put("obs_norm/mean", 0, std::nan("")); }),
       "tensor \"obs_norm/mean\": found nan at 0, expected a finite number"},
      variance("variance_of_0", 0.0, "0"),
      variance("variance_negative", -1e-9, "-1e-09"),
      variance("variance_of_nan", std::nan(""), "nan"),
      variance("variance_infinite", HUGE_VAL, "inf"),
      {"rule_with_tensors", rule_based("asp", "asp", true),
       "tensor \"obs_norm/mean\": found F64 of shape [40], expected no tensor of a network, because the card has no "
       "layers"},
  };
}

/// Whole policies that this build cannot run; anybody may look at them.
[[nodiscard]] inline std::vector<hostile_policy> foreign_policies() {
  using namespace hostile;
  const auto first_layer = [](policy_bytes& f, std::uint64_t inputs) {
    f.card.layers[0] = static_cast<std::uint32_t>(inputs);
    for (const char* name : {"obs_norm/mean", "obs_norm/var", "policy/layer0/weight"}) f.header.erase(name);
    f.header.erase("policy/layer0/bias"), f.header.erase("policy/layer1/weight"), f.header.erase("policy/layer1/bias");
    f.data.clear();
    for (std::size_t l = 0; l + 1 < f.card.layers.size(); ++l) {
      const std::uint64_t in = f.card.layers[l], out = f.card.layers[l + 1];
      const std::string layer = "policy/layer" + std::to_string(l);
      f.add(layer + "/weight", "F32", {out, in}, std::vector<float>(in * out, 0.5F));
      f.add(layer + "/bias", "F32", {out}, std::vector<float>(out));
    }
  };
  const auto with_layers = [&](const std::vector<std::uint32_t>& layers) {
    return changed([&](auto& f) {
      f.card.layers = layers;
      first_layer(f, layers[0]);
    });
  };
  return {
      {"unknown_kind", changed([](auto& f) { f.card.kind = "ppo"; }),
       "policy card: found kind \"ppo\", expected rlp, rlp_normalised, cluster or progress"},
      {"kind_of_other_features", changed([](auto& f) { f.card.kind = "rlp_normalised"; }),
       "policy card: feature 0: found \"iteration@0\" in \"pushes\", expected \"iteration@0\" in "
       "\"log1p(pushes)/10\""},
      {"unknown_feature", changed([](auto& f) { f.card.features[6].name = "temperature"; }),
       "policy card: feature 6: found \"temperature\" in \"nats\", expected \"loss_change@1\" in \"nats\""},
      {"feature_in_another_unit", changed([](auto& f) { f.card.features[1].unit = "bits"; }),
       "policy card: feature 1: found \"loss@0\" in \"bits\", expected \"loss@0\" in \"nats\""},
      {"features_in_another_order", changed([](auto& f) { std::swap(f.card.features[1], f.card.features[2]); }),
       "policy card: feature 1: found \"loss_change@0\" in \"nats\", expected \"loss@0\" in \"nats\""},
      {"one_feature_less", changed([&](auto& f) {
         f.card.features.pop_back();
         first_layer(f, 39);
       }),
       "policy card: feature 39: found none, expected \"staleness@9\" in \"pushes\""},
      {"one_feature_more", changed([&](auto& f) {
         f.card.features.push_back({"workers", ""});
         first_layer(f, 41);
       }),
       "policy card: feature 40: found \"workers\", expected none"},
      {"another_action", changed([](auto& f) { f.card.actions[1] = "slowest"; }),
       "policy card: action 1: found \"slowest\", expected \"submitter\""},
      {"actions_in_another_order", changed([](auto& f) { std::swap(f.card.actions[0], f.card.actions[1]); }),
       "policy card: action 0: found \"submitter\", expected \"hold\""},
      {"one_action_less", changed([](auto& f) { f.card.actions.pop_back(); }),
       "policy card: action 2: found none, expected \"all\""},
      {"another_decision_period", changed([](auto& f) { f.card.decision_period = "epoch"; }),
       "policy card: found decision_period \"epoch\", expected \"push\""},
      {"one_output_more", with_layers({40, 8, 4}),
       "policy card: found an output layer of 4, expected one of 3: hold, submitter, all"},
      {"unknown_activation", changed([](auto& f) { f.card.activation = "swish"; }),
       "policy card: found activation \"swish\", expected identity, relu, tanh or leaky_relu(SLOPE)"},
      {"layer_too_wide", with_layers({40, 3000, 3}),
       "policy card: layers: dynamic_mlp: width 1 is 3000, expected 1 to 2048"},
      {"too_deep", with_layers({40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3}),
       "policy card: layers: dynamic_mlp: 18 widths, expected 2 to 17"},
      {"unknown_rule", rule_based("presto", "presto:3"),
       "policy card: found the rule \"presto:3\", expected a rule of --policies that reads no file"},
      {"rule_without_its_bound", rule_based("ssp", "ssp"),
       "policy card: rule \"ssp\": found \"\", expected a number of steps, or inf"},
      {"rule_that_names_a_file", rule_based("file", "file:rule_that_names_a_file.safetensors"),
       "policy card: found the rule \"file:rule_that_names_a_file.safetensors\", expected a "
       "rule of --policies that reads no file"},
      {"rule_of_another_kind", rule_based("bsp", "ssp:3"),
       "policy card: found the rule \"ssp:3\" of kind \"bsp\", expected the kind of that rule"},
  };
}

}  // namespace rubato::test

#endif
