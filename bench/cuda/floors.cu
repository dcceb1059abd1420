#include <cstddef>

#include "measure.cuh"

// What the card can do at most: multiply-adds from registers to registers, and a copy that no cache can hold.
namespace rubato::bench {
namespace {

constexpr int sums = 8, rounds = 1024, threads = 256;

__global__ void __launch_bounds__(threads) multiply_add_kernel(float a, float b, float* out) {
  float sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = static_cast<float>(threadIdx.x + static_cast<unsigned>(i));
#pragma unroll 32  // 256 multiply-adds to the few instructions of a loop
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int i = 0; i < sums; ++i) sum[i] = __fmaf_rn(sum[i], a, b);
  }
  float all = 0;
  for (int i = 0; i < sums; ++i) all += sum[i];
  if (all == 0.5F) *out = all;  // never, but the compiler does not know
}

__global__ void copy_kernel(const float4* from, float4* to, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    to[i] = from[i];
}

}  // namespace

void measure_floors(card& what) {
  const device_numbers<float> nowhere{1};
  const int blocks = what.processors * 8 * 4;
  const double seconds = seconds_of(what.stream, [&](cudaStream_t stream) {
    multiply_add_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(0.999F, 1e-3F, nowhere.data());
    need(cudaGetLastError(), "the floor of multiply-adds");
  });
  what.multiply_adds = static_cast<double>(blocks) * threads * rounds * sums / seconds;

  constexpr std::size_t count = std::size_t{1} << 25;  // half a gigabyte there, half back
  const device_numbers<float4> from{count}, to{count};
  const double copied = seconds_of(what.stream, [&](cudaStream_t stream) {
    copy_kernel<<<static_cast<unsigned>(what.processors * 16), 512, 0, stream>>>(from.data(), to.data(), count);
    need(cudaGetLastError(), "the floor of a copy");
  });
  what.bytes = 2.0 * count * sizeof(float4) / copied;
}

}  // namespace rubato::bench
