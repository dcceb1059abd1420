#include <torch/nn.h>

#include <cstdint>
#include <rubato/libtorch/averaging_group.hpp>
#include <rubato/libtorch/replica.hpp>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

namespace lt = rubato::libtorch;

int complain(const std::string& sentence);

int average(std::uint32_t rank, int steps, lt::replica<torch::nn::Sequential>* net) {
  // BLOCK
  return 0;
}
