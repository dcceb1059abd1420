#ifndef RUBATO_CUDA_WAITING_CUH
#define RUBATO_CUDA_WAITING_CUH

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "controller_state.cuh"
#include "error.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// How the streams of workers wait for what a controller on the device decides.
///
///     words      each stream waits for a word in memory that the decision writes: any rule, any worker. CUDA does not
///                see this order, so that the scheduler may run what waits before what it waits for: streams that wait
///                must not be more than the device runs at once (CUDA_DEVICE_MAX_CONNECTIONS, 8 unless it is set).
///     graph      a SWITCH node over the action chooses among graphs that were made before: any rule, and CUDA sees
///                all of it; who goes on is fixed for each action, so that `some` falls to the host.
///     events     streams wait for each other's events: fixed sets only, that is bsp and asp. For other rules the host
///                reads each decision record, and lets go whom it names.
enum class waiting : std::uint8_t { words, graph, events };

/// What the device and its driver can do.
struct waiting_capabilities {
  /// The signature of cuStreamWaitValue32.
  using wait_function = CUresult(CUDAAPI*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  int driver = 0;                      ///< version of the driver, such as 13000
  wait_function wait_value = nullptr;  ///< cuStreamWaitValue32 of CUDA 12; null where the driver has none
  bool has_switch = false;             ///< SWITCH nodes: driver 12.8
  bool maps_memory = false;            ///< memory of the host can be mapped into the device
};

/// Asks driver and device. The 32-bit wait of CUDA 12 has no attribute of its own (those of CUDA 11 are about the
/// function that it replaced): it can be used where the driver has it. Of a driver without it, wait_value is null.
///
/// Host only; no stream is touched. Errors: io, with what the runtime answers, for instance without a device.
/// Tests   tests/cuda/device/waiting_test.cu: CapabilitiesWithoutADevice, SaysWhatTheDeviceCan
inline result<waiting_capabilities> capabilities(int device) {
  waiting_capabilities can;
  int maps = 0;
  if (const error e = check(cudaDeviceGetAttribute(&maps, cudaDevAttrCanMapHostMemory, device), "capabilities");
      e.code != errc::ok)
    return e;
  if (const error e = check(cudaDriverGetVersion(&can.driver), "capabilities: driver version"); e.code != errc::ok)
    return e;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (const error e =
          check(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &entry, 12000, cudaEnableDefault, &found),
                "capabilities: cuStreamWaitValue32");
      e.code != errc::ok)
    return e;
  if (found == cudaDriverEntryPointSuccess)
    can.wait_value = reinterpret_cast<waiting_capabilities::wait_function>(entry);
  can.has_switch = can.driver >= 12080;
  can.maps_memory = maps != 0;
  return can;
}

/// The best way to wait for the decisions of a rule: words, then a graph, then events; `streams` is how many wait at
/// once, `at_once` how many the device runs (see waiting). Where the answer is events and the rule is neither bsp nor
/// asp, the host reads the records.
/// Tests   tests/cuda/device/waiting_test.cu: ChoosesWhatTheDeviceCan
[[nodiscard]] inline waiting choose_waiting(const waiting_capabilities& can, rule kind, std::uint32_t streams,
                                            std::uint32_t at_once) noexcept {
  const bool fixed = kind == rule::bsp || kind == rule::asp;
  if (can.wait_value != nullptr && streams < at_once) return waiting::words;
  if (can.has_switch && !fixed) return waiting::graph;
  return waiting::events;
}

/// The stream waits until the word is `value` or more, counted round (2^32 steps are no problem); see release_words.
///
/// While streams wait nothing may wait for the whole device, which never becomes idle: no cudaDeviceSynchronize,
/// cudaFree or cudaMalloc; and what writes the words must be loaded. CUDA loads a kernel at its first launch, and may
/// wait for the device to do so: set CUDA_MODULE_LOADING=EAGER before the first call of CUDA, or launch each kernel
/// once before.
/// Asynchronous. Errors: io where the driver cannot, or refuses; invalid_option for a null word.
/// Tests   tests/cuda/device/waiting_test.cu: StreamsWaitForTheirWords, WorkersStepAsTheyAreReleased,
///         RefusesWhatTheDriverLacks
inline error wait_for_release(const waiting_capabilities& can, cudaStream_t stream, const std::uint32_t* word,
                              std::uint32_t value) {
  if (word == nullptr) return {errc::invalid_option, "wait_for_release: word is null, expected memory of the device"};
  if (can.wait_value == nullptr)
    return {errc::io, "wait_for_release: driver " + std::to_string(can.driver) + " has no cuStreamWaitValue32 of 12.0"};
  return check(can.wait_value(stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ),
               "wait_for_release");
}

/// What comes next in `stream` waits for what each of the others has been given so far: a barrier of fixed members.
/// One event per stream, made by the caller (cudaEventDisableTiming is quickest), free for use again at once.
/// Asynchronous. Errors: invalid_option for lists of unequal length; what the runtime answers.
/// Tests   tests/cuda/device/waiting_test.cu: StreamsWaitForEvents
inline error wait_for_streams(cudaStream_t stream, std::span<const cudaStream_t> others,
                              std::span<const cudaEvent_t> events) {
  if (others.size() != events.size())
    return {errc::invalid_option, "wait_for_streams: " + std::to_string(events.size()) + " events, expected one for " +
                                      "each of " + std::to_string(others.size()) + " streams"};
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (error e = check(cudaEventRecord(events[i], others[i]), "wait_for_streams: record"); e.code != errc::ok)
      return e;
    if (error e = check(cudaStreamWaitEvent(stream, events[i], 0), "wait_for_streams: wait"); e.code != errc::ok)
      return e;
  }
  return {};
}

/// Each of the others waits for what `stream` has been given so far: the end of such a barrier.
/// Tests   tests/cuda/device/waiting_test.cu: StreamsWaitForEvents
inline error release_streams(cudaStream_t stream, cudaEvent_t event, std::span<const cudaStream_t> others) {
  if (error e = check(cudaEventRecord(event, stream), "release_streams: record"); e.code != errc::ok) return e;
  for (const cudaStream_t each : others)
    if (error e = check(cudaStreamWaitEvent(each, event, 0), "release_streams: wait"); e.code != errc::ok) return e;
  return {};
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
