#ifndef RUBATO_BENCH_CUDA_FORWARD_PEERS_HPP
#define RUBATO_BENCH_CUDA_FORWARD_PEERS_HPP

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace rubato::bench {

/// 40-64-32-3 with ReLU between the layers, by another library, in fp32.
class forward_peer {
 public:
  forward_peer() = default;
  forward_peer(const forward_peer&) = delete;
  forward_peer& operator=(const forward_peer&) = delete;
  virtual ~forward_peer() = default;

  /// `queries` rows of the device's memory; runs before anything is timed. "", or why this peer cannot.
  virtual std::string prepare(std::size_t queries, const float* in, float* out, cudaStream_t stream) = 0;
  virtual void launch(cudaStream_t stream) = 0;
  /// Whether launch() can be captured into a graph; if not, it is timed beside ours as a graph of one launch.
  [[nodiscard]] virtual bool captured() const noexcept = 0;
};

/// From parameters on the device, in the order of nn::mlp. Null where the library was not found.
std::unique_ptr<forward_peer> cublaslt_forward(const float* parameters);
std::unique_ptr<forward_peer> torch_forward(const std::vector<float>& parameters);

}  // namespace rubato::bench

#endif
