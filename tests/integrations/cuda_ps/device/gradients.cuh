#ifndef RUBATO_TESTS_INTEGRATIONS_CUDA_PS_DEVICE_GRADIENTS_CUH
#define RUBATO_TESTS_INTEGRATIONS_CUDA_PS_DEVICE_GRADIENTS_CUH

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <rubato/cuda_ps/replay.hpp>
#include <rubato/cuda_ps/round_book.cuh>
#include <rubato/cuda_ps/worker_lane.cuh>
#include <vector>

namespace rubato::cuda_ps::test {

// A gradient that depends on what was read, and on who computes it in which step: the same on host and device.
RUBATO_DETAIL_SHARED inline float gradient_at(float parameter, std::uint32_t worker, std::uint64_t step,
                                              std::size_t i) noexcept {
  const auto noise = static_cast<float>((worker * 7919U + step * 104729U + i * 31U) % 1000U);
  return exact::plus_product(0.001F * noise, 0.25F, parameter);
}
template <int = 0>
__global__ void gradient_kernel(lane_step step, std::uint32_t worker, std::size_t size, bool ones) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    step.gradient[i] = ones ? 1.0F : gradient_at(step.parameters[i], worker, step.number, i);
  if (blockIdx.x == 0 && threadIdx.x == 0) *step.loss = 1;
}
inline void compute(const lane_step& step, std::uint32_t worker, std::size_t size, bool ones = false) {
  gradient_kernel<><<<8, 128, 0, step.stream>>>(step, worker, size, ones);
}

// What such gradients come to on the host after so many rounds of all workers: their mean, summed from worker 0 up.
inline std::vector<float> rounds_at_the_host(const std::vector<float>& initial, const rule_options& rule,
                                             std::uint32_t workers, std::uint32_t rounds) {
  host_shards all{initial, workers};
  round_book book{rule};
  for (std::uint32_t step = 1; step <= rounds; ++step) {
    const std::vector<float> read(all.values().begin(), all.values().end());
    for (std::uint32_t w = 0; w < workers; ++w)
      for (std::size_t i = 0; i < read.size(); ++i) all.gradient(w, 0)[i] = gradient_at(read[i], w, step, i);
    book.begin();
    for (std::uint32_t w = 0; w < workers; ++w) book.admit(verdict::accumulate, w, 0, gradient_note{.weight = 1});
    book.flush(1.0F / static_cast<float>(workers));
    book.finish(0);
    static_cast<void>(all.carry_out(book[0], book.waiting()));
  }
  return {all.values().begin(), all.values().end()};
}

// What a log of such gradients makes of `initial`. The gradients come from the log too: each from the parameters of the
// version that it names.
inline std::vector<float> replayed(const std::vector<log_entry>& log, const rule_options& rule,
                                   const std::vector<float>& initial) {
  std::vector<std::vector<float>> versions{initial};
  std::vector<float> gradient(initial.size());
  for (std::size_t n = 1; n <= log.size(); ++n) {
    const auto again = replay({log.data(), n}, rule, initial,
                              [&](std::uint32_t w, std::uint32_t step, std::uint64_t v) -> const std::vector<float>& {
                                for (std::size_t i = 0; i < gradient.size(); ++i)
                                  gradient[i] = gradient_at(versions[v][i], w, step, i);
                                return gradient;
                              });
    EXPECT_TRUE(again) << again.error().message;
    if (!again) return {};
    versions.push_back(*again);
  }
  return versions.back();
}

}  // namespace rubato::cuda_ps::test

#endif
