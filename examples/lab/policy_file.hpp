#ifndef RUBATO_EXAMPLES_LAB_POLICY_FILE_HPP
#define RUBATO_EXAMPLES_LAB_POLICY_FILE_HPP

#include <cstdint>
#include <rubato/core/result.hpp>
#include <rubato/io/policy_card.hpp>
#include <rubato/io/safetensors.hpp>
#include <string>

namespace rubato::lab {

/// A policy file as it was read: nothing says yet that this build can run it; policy_in() does.
struct policy_file {
  safetensors tensors;
  policy_card card;
  std::uint64_t bytes = 0;
};

/// Errors  those of safetensors::load and read_policy_card
[[nodiscard]] result<policy_file> read_policy_file(const std::string& path);

}  // namespace rubato::lab

#endif
