#include <torch/nn.h>

#include <cstdint>
#include <memory>
#include <rubato/libtorch/trainer.hpp>
#include <rubato/sync/ssp.hpp>

std::uint64_t dropped_by(rubato::result<std::unique_ptr<rubato::libtorch::trainer<torch::nn::Sequential>>>& made) {
  // BLOCK
  return dropped;
}
