#ifndef RUBATO_LEARNED_FINGERPRINT_HPP
#define RUBATO_LEARNED_FINGERPRINT_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "../core/fnv1a.hpp"
#include "../nn/activation_text.hpp"

namespace rubato::inline RUBATO_ABI {

/// FNV-1a over the bytes of numbers, little-endian, as 16 hexadecimal digits: tells one network's parameters from
/// another's in logs. Any range of float or double.
/// Tests   tests/learned/fingerprint_test.cpp
template <class Numbers>
[[nodiscard]] std::string fingerprint_of(const Numbers& numbers) {
  std::uint64_t hash = fnv1a(std::string_view{});
  for (const auto number : numbers) {
    using bits = std::conditional_t<sizeof(number) == 4, std::uint32_t, std::uint64_t>;
    const auto whole = std::bit_cast<bits>(number);
    std::array<std::uint8_t, sizeof(number)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(whole >> (8 * i));
    hash = fnv1a(bytes, hash);
  }
  return hexadecimal(hash);
}

namespace detail {

/// What of a network decides, as members of a JSON object, each behind a comma: shape, activations and a fingerprint of
/// the parameters, as far as the network tells them.
template <class Network>
[[nodiscard]] std::string json_of_network(const Network& network, std::size_t inputs) {
  std::string json;
  if constexpr (requires { network.layers(); network.options(); }) {
    json.append(R"(,"layers":[)").append(std::to_string(inputs));
    for (const auto& layer : network.layers()) json.append(",").append(std::to_string(layer.outputs));
    json.append(R"(],"activation":")").append(nn::to_text(network.options().hidden));
    json.append(R"(","output":")").append(nn::to_text(network.options().output)).append(R"(")");
  }
  if constexpr (requires { network.parameters(); })
    json.append(R"(,"weights":")").append(fingerprint_of(network.parameters())).append(R"(")");
  return json;
}

}  // namespace detail

}  // namespace rubato::inline RUBATO_ABI

#endif
