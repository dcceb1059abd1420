#ifndef RUBATO_LIBTORCH_TENSOR_OVER_HPP
#define RUBATO_LIBTORCH_TENSOR_OVER_HPP

#include <torch/types.h>

#include <cstdint>
#include <rubato/config.hpp>
#include <span>

namespace rubato::inline RUBATO_ABI::libtorch {

/// Floats as a tensor of one dimension, where they lie. The floats outlive the tensor.
[[nodiscard]] inline torch::Tensor tensor_over(std::span<float> values) {
  return torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kFloat32);
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
