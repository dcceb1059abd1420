#ifndef RUBATO_TESTS_EXAMPLES_POLICY_BYTES_HPP
#define RUBATO_TESTS_EXAMPLES_POLICY_BYTES_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <rubato/io/safetensors_writer.hpp>
#include <rubato/learned/loader.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/container_bytes.hpp"
#include "../support/some_network.hpp"

namespace rubato::test {

/// A policy file that this build runs, in parts that a test may change before it makes bytes of them.
struct policy_bytes {
  using json = nlohmann::ordered_json;

  policy_card card;
  json header = json::object();  ///< of tensors alone
  std::string data;
  std::string card_text;  ///< in place of `card`, if not empty

  /// Of a network of 40, 8 and 3 units drawn from `seed`; with statistics.
  template <class Encoder = rlp_state>
  [[nodiscard]] static policy_bytes of(std::uint64_t seed = 1) {
    policy_bytes made;
    const nn::dynamic_mlp network = random_network(seed, Encoder::dim);
    const q_policy<Encoder, nn::dynamic_mlp> policy{network};
    made.card = card_of(policy, {.loss_source = "worker_ema",
                                 .reward = "-time",
                                 .trained_on = "shared4",
                                 .command = "by hand",
                                 .seed = seed,
                                 .evaluation = {{"shared4", "bsp:sum", 1.25, 1.125, 1.5, 10}},
                                 .licence = "Apache-2.0"});
    made.add("obs_norm/mean", "F64", {Encoder::dim}, std::vector<double>(Encoder::dim, 0.25));
    made.add("obs_norm/var", "F64", {Encoder::dim}, std::vector<double>(Encoder::dim, 4.0));
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
      const auto weight = network.weight(l);
      std::vector<float> rows;
      for (std::size_t o = 0; o < weight.outputs; ++o)
        for (std::size_t i = 0; i < weight.inputs; ++i) rows.push_back(weight(i, o));
      const std::string layer = "policy/layer" + std::to_string(l);
      made.add(layer + "/weight", "F32", {weight.outputs, weight.inputs}, rows);
      made.add(layer + "/bias", "F32", {weight.outputs}, network.bias(l));
    }
    return made;
  }

  template <class Values>
  void add(const std::string& name, const std::string& type, const std::vector<std::uint64_t>& shape,
           const Values& values) {
    const std::size_t begin = data.size();
    for (const auto value : values) {
      using bits = std::conditional_t<sizeof(value) == 4, std::uint32_t, std::uint64_t>;
      const bits raw = std::bit_cast<bits>(value);
      for (std::size_t i = 0; i < sizeof(value); ++i) data += static_cast<char>((raw >> (8 * i)) & 0xFF);
    }
    header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }

  /// Overwrites a value of a tensor.
  template <class T>
  void put(const std::string& name, std::size_t index, T value) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const bits raw = std::bit_cast<bits>(value);
    std::size_t at = header[name]["data_offsets"][0].get<std::size_t>() + index * sizeof(T);
    for (std::size_t i = 0; i < sizeof(T); ++i) data[at++] = static_cast<char>((raw >> (8 * i)) & 0xFF);
  }

  /// The card as it is, sense or not.
  [[nodiscard]] std::string card_json() const { return detail::card_json::write(card); }

  /// The text of the header.
  [[nodiscard]] std::string head() const {
    json all = json::object();
    all["__metadata__"]["rubato"] = card_text.empty() ? card_json() : card_text;
    all.update(header);
    return all.dump();
  }
  [[nodiscard]] std::string bytes() const { return container(head(), data); }
};

}  // namespace rubato::test

#endif
