#ifndef RUBATO_BENCH_CUDA_MEASURE_CUH
#define RUBATO_BENCH_CUDA_MEASURE_CUH

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <rubato/core/result.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sections.hpp"

namespace rubato::bench {

/// A benchmark that cannot do what it measures says why, and ends.
inline void need(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "bench_cuda: %s: %s, %s\n", what, cudaGetErrorName(status), cudaGetErrorString(status));
  std::exit(EXIT_FAILURE);
}
inline void need(const error& e) {
  if (e.code == errc::ok) return;
  std::fprintf(stderr, "bench_cuda: %s\n", e.message.c_str());
  std::exit(EXIT_FAILURE);
}

/// Numbers on the device.
template <class T>
class device_numbers {
 public:
  explicit device_numbers(std::size_t count) : count_{count} {
    need(cudaMalloc(&data_, count * sizeof(T)), "memory of the device");
    need(cudaMemset(data_, 0, count * sizeof(T)), "memory of the device");  // not one page of zeros everywhere
  }
  explicit device_numbers(const std::vector<T>& from) : device_numbers{from.size()} {
    need(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying to the device");
  }
  device_numbers(const device_numbers&) = delete;
  device_numbers& operator=(const device_numbers&) = delete;
  ~device_numbers() { cudaFree(data_); }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(data_); }
  [[nodiscard]] std::vector<T> host(std::size_t count) const {
    std::vector<T> to(count);
    need(cudaDeviceSynchronize(), "waiting");
    need(cudaMemcpy(to.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost), "copying from the device");
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

/// How what is measured comes to the device.
enum class launching {
  replayed,  ///< captured many times into one graph: what the host takes to launch is not in it
  direct     ///< as it is called, for what cannot be captured
};

namespace detail {

class timer {
 public:
  timer() {
    need(cudaEventCreate(&begin_), "an event");
    need(cudaEventCreate(&end_), "an event");
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  template <class Work>
  double seconds(cudaStream_t stream, const Work& work) {
    float milliseconds = 0;
    need(cudaEventRecord(begin_, stream), "an event");
    work();
    need(cudaEventRecord(end_, stream), "an event");
    need(cudaEventSynchronize(end_), "what is measured");
    need(cudaEventElapsedTime(&milliseconds, begin_, end_), "an event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t begin_{}, end_{};
};

}  // namespace detail

/// Seconds that one launch(stream) takes on the device, one after another: the median of `samples`, each of as many
/// launches as take 2 ms, after a warm-up of as long as three samples.
template <class Launch>
double seconds_of(cudaStream_t stream, const Launch& launch, launching how = launching::replayed, int samples = 31) {
  detail::timer timer;
  for (int i = 0; i < 3; ++i) launch(stream);
  const double one = timer.seconds(stream, [&] { launch(stream); });
  const int of_sample = static_cast<int>((std::clamp)(2e-3 / (std::max)(one, 1e-7), 1.0, 1000.0));

  cudaGraphExec_t replay = nullptr;
  if (how == launching::replayed) {
    cudaGraph_t graph = nullptr;
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int i = 0; i < of_sample; ++i) launch(stream);
    need(cudaStreamEndCapture(stream, &graph), "capturing");
    need(cudaGraphInstantiate(&replay, graph, 0), "a graph");
    need(cudaGraphDestroy(graph), "a graph");
  }
  const auto sample = [&] {
    if (replay != nullptr)
      need(cudaGraphLaunch(replay, stream), "a graph");
    else
      for (int i = 0; i < of_sample; ++i) launch(stream);
  };
  std::vector<double> all;
  for (int i = -3; i < samples; ++i) {
    const double seconds = timer.seconds(stream, sample) / of_sample;
    if (i >= 0) all.push_back(seconds);
  }
  if (replay != nullptr) need(cudaGraphExecDestroy(replay), "a graph");
  std::nth_element(all.begin(), all.begin() + samples / 2, all.end());
  return all[static_cast<std::size_t>(samples / 2)];
}

}  // namespace rubato::bench

#endif
