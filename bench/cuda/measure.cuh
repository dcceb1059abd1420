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
    need(cudaDeviceSynchronize(), "memory of the device");  // streams that do not wait for the default one may follow
  }
  explicit device_numbers(const std::vector<T>& from) : device_numbers{from.size()} {
    need(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying to the device");
    need(cudaDeviceSynchronize(), "copying to the device");
  }
  device_numbers(const device_numbers&) = delete;
  device_numbers& operator=(const device_numbers&) = delete;
  ~device_numbers() { cudaFree(data_); }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(data_); }
  [[nodiscard]] std::vector<T> host(std::size_t count, std::size_t first = 0) const {
    std::vector<T> to(count);
    need(cudaDeviceSynchronize(), "waiting");
    need(cudaMemcpy(to.data(), data() + first, count * sizeof(T), cudaMemcpyDeviceToHost), "copying from the device");
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

/// How what is measured comes to the device.
enum class launching {
  replayed,         ///< captured many times into one graph: what the host takes to launch is not in it
  replayed_singly,  ///< captured once, and the graph launched many times
  direct            ///< as it is called, for what cannot be captured
};

/// A point in a stream, whose time is known once the device has come to it.
class moment {
 public:
  moment() { need(cudaEventCreate(&event_), "an event"); }
  moment(const moment&) = delete;
  moment& operator=(const moment&) = delete;
  ~moment() { cudaEventDestroy(event_); }

  void is_here(cudaStream_t stream) { need(cudaEventRecord(event_, stream), "an event"); }
  void await() const { need(cudaEventSynchronize(event_), "what is measured"); }
  [[nodiscard]] double seconds_since(const moment& earlier) const {
    float milliseconds = 0;
    need(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "an event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_{};
};

/// Seconds that one launch(stream) takes on the device, one after another: the median of `samples`, each of as many
/// launches as take 2 ms. The samples follow three that are not counted, and one another: while the device is busy with
/// one the host submits the next, so that no wait for the host is measured unless it is the slower of the two.
template <class Launch>
double seconds_of(cudaStream_t stream, const Launch& launch, launching how = launching::replayed, int samples = 31) {
  constexpr int first = 3;
  std::vector<moment> at(static_cast<std::size_t>(first + samples + 1));
  for (int i = 0; i < 3; ++i) launch(stream);
  at[0].is_here(stream);
  launch(stream);
  at[1].is_here(stream);
  at[1].await();
  const double one = at[1].seconds_since(at[0]);
  const int of_sample = static_cast<int>((std::clamp)(2e-3 / (std::max)(one, 1e-7), 1.0, 1000.0));

  cudaGraphExec_t replay = nullptr;
  if (how != launching::direct) {
    cudaGraph_t graph = nullptr;
    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int i = 0; i < (how == launching::replayed ? of_sample : 1); ++i) launch(stream);
    need(cudaStreamEndCapture(stream, &graph), "capturing");
    need(cudaGraphInstantiate(&replay, graph, 0), "a graph");
    need(cudaGraphDestroy(graph), "a graph");
  }
  const int times = how == launching::replayed ? 1 : of_sample;
  at[0].is_here(stream);
  for (std::size_t i = 1; i < at.size(); ++i) {
    for (int n = 0; n < times; ++n)
      if (replay != nullptr)
        need(cudaGraphLaunch(replay, stream), "a graph");
      else
        launch(stream);
    at[i].is_here(stream);
  }
  at.back().await();
  if (replay != nullptr) need(cudaGraphExecDestroy(replay), "a graph");
  std::vector<double> all;
  for (std::size_t i = first + 1; i < at.size(); ++i) all.push_back(at[i].seconds_since(at[i - 1]) / of_sample);
  const auto middle = all.begin() + samples / 2;
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace rubato::bench

#endif
