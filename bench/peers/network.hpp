// The network 40-64-32-3 with leaky ReLU inside, and its training, by other libraries. Each library is in a unit of its
// own, which is compiled as that library runs fastest and has nothing of rubato in it but this header.
#ifndef RUBATO_BENCH_PEERS_NETWORK_HPP
#define RUBATO_BENCH_PEERS_NETWORK_HPP

#include <cstddef>
#include <memory>
#include <vector>

namespace rubato::bench {

inline constexpr std::size_t peer_inputs = 40, peer_first = 64, peer_second = 32, peer_outputs = 3;

/// Parameters lie as in nn::mlp: layer after layer, the weights of one input side by side, then the biases.
struct network_peer {
  virtual ~network_peer() = default;
  /// One sample. `in` begins a cache line, and 8 numbers after the 40 may be read.
  virtual void evaluate(const float* in, float* out) = 0;
  /// So many samples of 40 numbers, side by side.
  virtual void forward(std::size_t rows, const float* in, float* out) = 0;
};

struct network_library {
  const char* name;  ///< as in the counter over_NAME
  float slope;       ///< of the activation below 0 that it computes: 0.01, or 0 where it has no leaky ReLU
  bool batches;      ///< forward() is one call of the library
  std::unique_ptr<network_peer> (*make)(const float* parameters);
};

/// Those that this program was built with.
[[nodiscard]] const std::vector<network_library>& network_libraries();
/// The processor for which OpenBLAS computes, "none" without RLtools.
[[nodiscard]] const char* blas_kernels();
/// Names of those that it could have, and has not.
[[nodiscard]] const char* missing_libraries();

}  // namespace rubato::bench

#endif
