#include <torch/nn.h>

#include <cstdint>
#include <rubato/gloo_ps/gloo_link.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <rubato/libtorch/averaging_group.hpp>
#include <rubato/libtorch/replica.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

namespace ps = rubato::gloo_ps;
namespace lt = rubato::libtorch;

torch::Tensor loss_of(torch::nn::SequentialImpl& module, std::uint32_t samples);

void work(std::uint32_t rank, std::uint32_t shards, lt::replica<torch::nn::Sequential>& net, ps::gloo_connector connect) {
  // BLOCK
}
